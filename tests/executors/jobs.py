"""What a program does whose workers have no Eventide: each job prints a line of JSON. The first argument names them."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import warnings
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import eventide as et
from eventide.executors import workers

warnings.simplefilter("ignore")
TABLE = pa.table({"ts": [1, 2, 3, 4], "kind": ["A", "B", "A", "B"], "k": [1, 1, 2, 2]})
QUERY = et.query("SELECT k, a.ts AS a, b.ts AS b WHERE A AS a ; B AS b PARTITION BY k")
CLAUSE = """SELECT * FROM events MATCH_RECOGNIZE (
    PARTITION BY k ORDER BY ts MEASURES A.ts AS a, B.ts AS b PATTERN (A B) DEFINE A AS kind = 'A', B AS kind = 'B')"""


def session():
    builder = SparkSession.builder
    if os.environ.get("EVENTIDE_CONNECT"):
        builder = builder.remote("local[1]")
    else:
        builder = builder.master("local[1]").config("spark.driver.bindAddress", "127.0.0.1")
    settings = {
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.streaming.stateStore.providerClass": "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def events(spark):
    return et.events(spark.createDataFrame(TABLE), time="ts", type="kind")


def refused(spark):
    with et.errors():
        return rows(QUERY.match(events(spark)))


def refused_by_the_worker(spark):
    """As on a cluster, where the driver cannot look at the workers."""
    workers.refuse_unfit_workers = lambda _: None
    return refused(spark)


def unguarded(spark):
    """Without et.errors() the sentence stands at the end of Spark's error."""
    try:
        return rows(QUERY.match(events(spark)))
    except PySparkException as error:
        return [line for line in str(error).splitlines() if line.strip()][-2:]


def shipped(spark):
    et.ship(spark)
    et.ship(spark)
    return rows(QUERY.match(events(spark))) + rows(et.sql(CLAUSE, events=spark.createDataFrame(TABLE)))


def streamed(spark):
    with tempfile.TemporaryDirectory() as folder:
        pyarrow.parquet.write_table(TABLE, Path(folder, "one.parquet"))
        frame = spark.readStream.schema("ts long, kind string, k long").parquet(folder)
        found = QUERY.match(et.events(frame, time="ts", type="kind"), buckets=1)
        with et.errors():
            out, check = Path(folder, "out"), Path(folder, "check")
            writer = found.writeStream.format("parquet").option("path", str(out)).option("checkpointLocation", str(check))
            writer.trigger(availableNow=True).start().awaitTermination()
            return rows(spark.read.parquet(str(out)))


def limited(spark):
    """An error of ours that a worker raises is raised as itself."""
    with et.errors():
        return rows(QUERY.match(events(spark), max_matches=1))


def loaded(spark):
    """What a worker has loaded after a match."""

    def modules(batches):
        import sys

        list(batches)
        names = sorted({name.split(".")[0] for name in sys.modules} & {"numba", "eventide", "duckdb", "sqlglot", "lark"})
        yield pa.RecordBatch.from_pydict({"name": names})

    return [row[0] for row in spark.range(1).coalesce(1).mapInArrow(modules, "name string").collect()]


def rows(frame):
    return sorted([row["k"], row["a"], row["b"]] for row in frame.collect())


def main():
    spark = session()
    for name in sys.argv[1:]:
        try:
            said = globals()[name](spark)
        except et.EventideError as error:
            said = {"error": type(error).__name__, "condition": error.condition, "message": error.message, "hint": error.hint}
        sys.stdout.write(json.dumps({name: said}) + "\n")
        sys.stdout.flush()
    spark.stop()


if __name__ == "__main__":
    main()
