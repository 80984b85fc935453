"""One life of the streams: goes on from the checkpoints and ends when all files are read, unless it is killed before."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

sys.path.insert(0, str(Path(__file__).parents[1]))

from crash.workload import LATENESS_SECONDS, SCHEMA, matches

SETTINGS = {
    "spark.master": "local[2]",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.session.timeZone": "UTC",
    "spark.driver.memory": "700m",
    # State is restored from snapshots and from changes alike.
    "spark.sql.streaming.stateStore.minDeltasForSnapshot": "3",
    "spark.sql.streaming.stateStore.maintenanceInterval": "2s",
}


def main(folder: Path) -> None:
    """Run both streams to the end of the files that are there."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.appName("eventide-crash")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    frame = spark.readStream.schema(from_arrow_schema(SCHEMA)).option("maxFilesPerTrigger", 1).parquet(str(folder / "events"))
    running = []
    for name, found in matches(frame, lateness=f"{LATENESS_SECONDS} seconds", buckets=3).items():
        writer = found.writeStream.format("parquet").option("checkpointLocation", str(folder / name / "checkpoint"))
        running.append(writer.trigger(availableNow=True).start(str(folder / name / "rows")))
    for query in running:
        query.awaitTermination()
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
