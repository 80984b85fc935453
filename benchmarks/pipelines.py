"""Whole pipelines, Parquet to Parquet: Spark against its own floor, and the embedded runtime on the same file."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq

import eventide as et
from benchmarks.preparing import planned, prepared
from benchmarks.report import Figure
from eventide.datasets import abc

if TYPE_CHECKING:
    from collections.abc import Callable

QUERY = "SELECT * WHERE A AS a ; B+ AS b ; C AS c PARTITION BY key WITHIN 30 minutes"


def best_of(function: Callable[[], None], times: int = 3) -> float:
    """Return the best time of several runs."""
    best = float("inf")
    for _ in range(times):
        started = time.perf_counter()
        function()
        best = min(best, time.perf_counter() - started)
    return best


def pipelines(events: int = 5_000_000, keys: int = 10_000) -> list[Figure]:
    """Measure 5 million events over 10,000 keys."""
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    warnings.simplefilter("ignore")
    folder = Path(tempfile.mkdtemp(prefix="eventide-benchmark-"))
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.memory", "6g")
        .config("spark.log.level", "ERROR")
        .getOrCreate()
    )
    try:
        source = folder / "events.parquet"
        pq.write_table(abc(events, keys, seed=1), source)
        query = et.query(QUERY)

        def run_spark() -> None:
            frame = et.events(spark.read.parquet(str(source)), time="ts", type="kind", tie_break="seq")
            query.match(frame).write.mode("overwrite").parquet(str(folder / "spark"))

        def run_floor() -> None:
            given = et.events(spark.read.parquet(str(source)), time="ts", type="kind", tie_break="seq")
            narrow = prepared(*planned(QUERY, given))
            narrow.mapInArrow(lambda batches: batches, narrow.schema).write.mode("overwrite").parquet(str(folder / "floor"))

        def run_local() -> None:
            given = et.events(pq.read_table(source), time="ts", type="kind", tie_break="seq")
            pq.write_table(query.match(given), folder / "local.parquet")

        run_spark()
        run_local()
        floor, on_spark, local = best_of(run_floor), best_of(run_spark), best_of(run_local)
        matches = pq.read_metadata(folder / "local.parquet").num_rows
        return [
            Figure(f"Spark, {events:,} events, {keys:,} keys, {matches:,} matches", on_spark, "s", None),
            Figure("Spark floor: the same pipeline with a function that returns its input", floor, "s", None),
            Figure("Spark against its floor", on_spark / floor, "ratio", "<= 1.5"),
            Figure("embedded, the same file", local, "s", None),
            Figure("embedded against Spark", local / on_spark, "ratio", "< 1"),
        ]
    finally:
        spark.stop()
        shutil.rmtree(folder)
