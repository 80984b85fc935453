"""Streams without Spark: pushes of 10,000 and of 100 events over 10,000 keys, sustained rate and time from push to match.

The floor is what DuckDB takes to prepare the same batch: the standing query alone, without buckets and matchers. Times are those
of the processor, so that others on the machine do not count; the wall's 99th percentile is beside them.
"""

from __future__ import annotations

import gc
import time
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import pyarrow as pa

import eventide as et
from benchmarks.report import Figure

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
