"""Streams without Spark: pushes of 10,000 and of 100 events over 10,000 keys, sustained rate and time from push to match.

The floor is what DuckDB takes to prepare the same batch: the standing query alone, without buckets and matchers. Times are those
of the processor, so that others on the machine do not count; the wall's 99th percentile is beside them.
"""

from __future__ import annotations

import gc
import sys
import time
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

import eventide as et
from benchmarks.report import Figure
from benchmarks.row_patterns import PEER_PYTHON, SHARED, read_locally, scratch_folder, spark_session, ticks, write_csv
from benchmarks.streams import SIZES as MICRO_BATCHES
from benchmarks.streams import compare, cut_in_files, for_streams, run_flink, within

if TYPE_CHECKING:
    from pathlib import Path

KEYS = 10_000
SIZES = (10_000, 100)
SECOND = 10_000
"""Events that make a second of event time."""
SCHEMA = pa.schema([("ts", pa.timestamp("us", "UTC")), ("kind", pa.string()), ("k", pa.int64()), ("v", pa.float64())])
QUERIES = {
    "A ; B ; C": (
        "SELECT k, a.v AS low, c.v AS high WHERE A AS a ; B AS b ; C AS c FILTER a.v < b.v AND b.v < c.v "
        "PARTITION BY k WITHIN 5 seconds"
    ),
    "A ; NOT C ; B": "SELECT k, a.v AS low, b.v AS high WHERE A AS a ; NOT C ; B AS b PARTITION BY k WITHIN 5 seconds",
    "A ~> B+ ~> C": "SELECT k, a.v AS low, COUNT(b) AS n WHERE A AS a ~> B+ AS b ~> C PARTITION BY k WITHIN 5 seconds",
}
WARM = 0.3
"""The share of the pushes that is not measured: windows fill, kernels load."""


@dataclass(frozen=True)
class Pushes:
    """Seconds of each measured push, by the processor and by the wall, and of its preparation alone."""

    processor: np.ndarray
    wall: np.ndarray
    floor: np.ndarray
    matches: int


def batches(events: int, size: int) -> list[pa.Table]:
    """Return events, those of a fifth a tenth of a second late."""
    draw = np.random.default_rng(7)
    begin = int(datetime(2026, 1, 1).timestamp()) * 1_000_000  # noqa: DTZ001 - any day will do
    ts = begin + np.arange(events) * 1_000_000 // SECOND - np.where(draw.random(events) < 0.2, 100_000, 0)
    kind = np.array(["A", "B", "C", "X"])[draw.integers(0, 4, events)]
    columns = [pa.array(ts).cast(SCHEMA.field("ts").type), kind, draw.integers(0, KEYS, events), draw.random(events)]
    table = pa.table([pa.array(column) for column in columns], schema=SCHEMA)
    return [table.slice(begin, size).combine_chunks() for begin in range(0, events, size)]


def pushed(query: str, given: list[pa.Table]) -> Pushes:
    """Push all batches; garbage is collected before and not meanwhile."""
    live = et.query(query).open(SCHEMA, time="ts", type="kind", lateness="200 milliseconds")
    prepare = live._matching  # noqa: SLF001 - the floor is a part of it
    processor, wall, floor, matches = [], [], [], 0
    gc.collect()
    for batch in given:
        began = time.process_time()
        prepare.prepared({"stream": batch})
        floor.append(time.process_time() - began)
        began, clock = time.process_time(), time.perf_counter()
        matches += live.push(batch).num_rows
        processor.append(time.process_time() - began)
        wall.append(time.perf_counter() - clock)
    first = int(WARM * len(given))
    return Pushes(*(np.array(seconds[first:]) for seconds in (processor, wall, floor)), matches)


def live(events: int) -> list[Figure]:
    """Return rates and latencies."""
    figures = []
    for size in SIZES:
        # Small pushes take longer for each event.
        given = batches(max(events if size > 1_000 else events // 10, 50 * size), size)
        for name, query in QUERIES.items():
            found = pushed(query, given)
            assert found.matches, "a query without matches measures nothing"
            label = f"live, {name}, pushes of {size:,}, {KEYS:,} keys"
            target = "below 5" if size == min(SIZES) else None
            figures += [
                Figure(f"{label}: rate", size * len(found.processor) / found.processor.sum(), "events/s"),
                Figure(f"{label}: half of the pushes", 1e3 * float(np.percentile(found.processor, 50)), "ms"),
                Figure(f"{label}: 99 of 100 pushes", 1e3 * float(np.percentile(found.processor, 99)), "ms", target),
                Figure(f"{label}: 99 of 100 pushes, by the wall", 1e3 * float(np.percentile(found.wall, 99)), "ms", target),
                Figure(f"{label}: against preparing alone", float(np.median(found.processor) / np.median(found.floor)), "times"),
            ]
    return figures


def against_flink(rows: int) -> list[Figure]:
    """Measure Flink SQL in streaming mode, Spark streaming and pushes in this process over the same file of ticks, all warm.

    Flink and Spark use all cores, pushes one. Every time includes reading the file.
    """
    if not PEER_PYTHON.exists():
        sys.exit("Flink is not installed here.\nHint: make bench-flink")
    figures = []
    with scratch_folder() as folder:
        table = ticks(rows, 1_000)
        # Small pushes take longer for each event, and so take fewer of them.
        sources = {size: folder / f"ticks-{size}.csv" for size in SIZES}
        for size, source in sources.items():
            write_csv(table.slice(0, rows if size == max(SIZES) else rows // 10), source)
        flink = run_flink(sources[max(SIZES)], folder)
        for workload in SHARED:
            theirs = flink[workload.name]
            sql = within(workload.sql(), flink=False)
            rate, cost = theirs["rows"] / theirs["warm"], theirs["rows"] / theirs["processor"]
            flinks = f"{workload.name}: Flink, {int(theirs['matches']):,} matches"
            figures += [
                Figure(f"{flinks}, by the wall", rate / 1e3, "k events/s"),
                Figure(f"{flinks}, by the processor", cost / 1e3, "k events/s"),
            ]
            for size, source in sources.items():
                used, wall, matches, pushed_rows = _ticks_pushed(sql, source, size)
                ours = f"{workload.name}: pushes of {size:,}, {matches:,} matches of {pushed_rows:,} events"
                figures += [
                    Figure(f"{ours}, by the wall", pushed_rows / wall / 1e3, "k events/s"),
                    Figure(f"{ours}, by the processor", pushed_rows / used / 1e3, "k events/s"),
                    Figure(f"{ours}: faster than Flink by the wall", pushed_rows / wall / rate, "times", ">= 10"),
                    Figure(f"{ours}: faster than Flink by the processor", pushed_rows / used / cost, "times"),
                ]
        with spark_session() as spark:
            for_streams(spark)
            size = MICRO_BATCHES[0]
            figures += compare(spark, cut_in_files(table.slice(0, 10 * size), size, folder / "cut"), size, flink, folder)
    return figures


def _ticks_pushed(sql: str, source: Path, size: int) -> tuple[float, float, int, int]:
    """Return seconds of the processor and the wall, matches and events of a second run; as Flink's, the first one warms up."""
    for _ in range(2):
        gc.collect()
        began, clock = time.process_time(), time.perf_counter()
        given = read_locally(source)
        with et.statement(sql).open(given.schema, lateness="0 seconds") as live:
            matches = sum(live.push(given.slice(begin, size)).num_rows for begin in range(0, given.num_rows, size))
            matches += live.finish().num_rows
        used, wall = time.process_time() - began, time.perf_counter() - clock
    return used, wall, matches, given.num_rows
