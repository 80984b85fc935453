"""Find card testing in a stream: a file is replayed out of order, matches are written as soon as they are certain."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pyarrow.parquet as pq
from pyspark.sql import SparkSession

import eventide as et
from eventide.datasets import cards

QUERY = """
    SELECT card, a.amount AS tried, b.amount AS taken
    WHERE  Card AS a ; Card AS b
    FILTER a.amount < 5 AND b.amount >= 500
    PARTITION BY card
    WITHIN 4 minutes
"""


def main() -> None:
    """Replay generated payments with 20 % of them late, and show what each micro-batch found."""
    folder = Path(tempfile.mkdtemp(prefix="eventide-example-"))
    source = folder / "payments.parquet"
    pq.write_table(cards(2_000, cards=40, seed=7, fraud=0.05), source)
    spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    payments = et.replay(
        spark, str(source), time="ts", rows_per_batch=500, disorder=20, bound="30 seconds", end_marker="10 minutes"
    )
    found = et.query(QUERY).match(et.events(payments, time="ts", type="kind", tie_break="seq"), lateness="30 seconds")
    writer = found.writeStream.format("parquet").option("checkpointLocation", str(folder / "checkpoint"))
    stream = writer.trigger(availableNow=True).start(str(folder / "matches"))
    stream.awaitTermination()
    for progress in stream.recentProgress:
        counters = progress["observedMetrics"].get("eventide")
        if counters is not None:
            print(f"micro-batch {progress['batchId']}: {counters['events']} events, {counters['matches']} matches")
    spark.read.parquet(str(folder / "matches")).orderBy("card", "taken").show(5)
    spark.stop()


if __name__ == "__main__":
    main()
