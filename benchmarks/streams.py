"""Streams: micro-batches against a stateless floor, latency of small ones, Flink SQL on the same events, and a long soak."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import eventide as et
from benchmarks.report import Figure, show
from benchmarks.row_patterns import CORES, PEER_PYTHON, PEER_SCRIPT, SHARED, scratch_folder, spark_session, ticks, write_csv

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

KEYS = (100, 10_000, 1_000_000)
BATCH = 100_000
BATCHES = 12
WARM = 4
"""Micro-batches that are not measured: workers start and load their kernels."""
SIZES = (100_000, 500_000, 1_000_000)
MICRO_BATCHES = 10
SEQUENCE = (
    "SELECT k, a.v AS low, c.v AS high WHERE A AS a ; B AS b ; C AS c FILTER a.v < b.v AND b.v < c.v "
    "PARTITION BY k WITHIN {window} milliseconds"
)
NEGATION = (
    "SELECT k, a.v AS low, b.v AS high WHERE A AS a ; NOT C ; B AS b FILTER a.v < 0.2 PARTITION BY k WITHIN {window} milliseconds"
)
CLAUSE = (
    "SELECT * FROM events MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES FIRST(v) AS high, LAST(v) AS low "
    "PATTERN (S D+ U) WITHIN INTERVAL '{seconds}' SECOND DEFINE D AS D.v < PREV(D.v), U AS U.v > PREV(U.v))"
)


@dataclass(frozen=True)
class Batches:
    """What the progress of a streaming query says: seconds of each measured micro-batch, and counters."""

    seconds: list[float]
    counters: list[dict[str, int]]

    @property
    def usual(self) -> float:
        """The median micro-batch."""
        return median(self.seconds)


def write_events(folder: Path, keys: int, batches: int, rows: int) -> None:
    """Write one file for each micro-batch; 10,000 events make a second."""
    folder.mkdir()
    kinds = np.array(["A", "B", "C", "D"])
    for number in range(batches):
        draw = np.random.default_rng(number)
        micros = 1_700_000_000_000_000 + (np.arange(rows) + number * rows) * 100
        table = pa.table(
            {
                "ts": pa.array(micros, pa.timestamp("us", "UTC")),
                "kind": kinds[draw.integers(0, len(kinds), rows)],
                "k": draw.integers(0, keys, rows),
                "v": draw.random(rows),
            }
        )
        path = folder / f"{number:05}.parquet"
        pq.write_table(table, path)
        # Spark takes files in the order of their times.
        os.utime(path, (number, number))


def read_stream(spark: SparkSession, folder: Path) -> DataFrame:
    """Return the files as a stream, one a micro-batch."""
    schema = "ts timestamp, kind string, k long, v double"
    return spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder))


def run(frame: DataFrame, checkpoint: Path, warm: int = WARM) -> Batches:
    """Run a stream over all that is there and keep nothing."""
    writer = frame.writeStream.format("noop").option("checkpointLocation", str(checkpoint))
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    progress = [report for report in query.recentProgress if report["numInputRows"]]
    counters = [report["observedMetrics"]["eventide"].asDict() for report in progress if "eventide" in report["observedMetrics"]]
    return Batches([report["durationMs"]["triggerExecution"] / 1000 for report in progress][warm:], counters[warm:])


def floor_of(frame: DataFrame) -> DataFrame:
    """Return the cheapest way through Python: the columns that a query reads, there and back."""
    narrow = frame.selectExpr("k", "unix_micros(ts) AS t", "kind", "v")
    return narrow.mapInArrow(lambda batches: batches, narrow.schema)


def streams(rows: int = BATCH) -> list[Figure]:
    """Measure micro-batches of 100,000 events for few, many and very many keys, and of 200 events for latency."""
    figures = []
    with spark_session() as spark, scratch_folder() as folder:
        for_streams(spark)
        for keys in KEYS:
            source = folder / f"events-{keys}"
            write_events(source, keys, BATCHES, rows)
            frame = read_stream(spark, source)
            events = et.events(frame, time="ts", type="kind")
            floor = run(floor_of(frame), folder / f"floor-{keys}")
            figures.append(Figure(f"floor, {keys:,} keys", floor.usual, "s a micro-batch"))
            # A window holds about ten events of a key, whatever the number of keys: all matches of more would explode.
            ways = {
                "A ; B ; C": et.query(SEQUENCE.format(window=keys)).match(events, lateness="1 second"),
                "A ; NOT C ; B": et.query(NEGATION.format(window=keys)).match(events, lateness="1 second"),
                "MATCH_RECOGNIZE": et.sql(CLAUSE.format(seconds=max(1, keys // 1000)), events=frame, lateness="1 second"),
            }
            for name, result in ways.items():
                spent = run(result, folder / f"{name.replace(' ', '')}-{keys}")
                found = sum(counted["matches"] for counted in spent.counters)
                state = spent.counters[-1]["state_bytes"] / 1e6
                says = f"{name}, {keys:,} keys, {found:,} matches, {state:.1f} MB of state"
                target = "<= 2" if keys == 10_000 else None
                figures.append(Figure(says, rows / spent.usual / 1e3, "k events/s"))
                figures.append(Figure(f"{name}, {keys:,} keys: against the floor", spent.usual / floor.usual, "ratio", target))
                show(figures[-2:])
        figures.extend(latency(spark, folder))
    return figures


def for_streams(spark: SparkSession) -> None:
    # Every partition of the state commits in every micro-batch: one for each core is the fastest.
    spark.conf.set("spark.sql.shuffle.partitions", str(CORES))
    # Each query keeps so many reports; the default forgets the first ones.
    spark.conf.set("spark.sql.streaming.numRecentProgressUpdates", "100000")


def latency(spark: SparkSession, folder: Path, rows: int = 200) -> list[Figure]:
    """Measure small micro-batches: a match comes out with the micro-batch that makes it certain."""
    source = folder / "small"
    write_events(source, 100, 20, rows)
    frame = read_stream(spark, source)
    floor = run(floor_of(frame), folder / "floor-small")
    events = et.events(frame, time="ts", type="kind")
    spent = run(et.query(SEQUENCE.format(window=100)).match(events, lateness="0 seconds"), folder / "small-sequence")
    return [
        Figure(f"micro-batch of {rows} events: floor", floor.usual, "s"),
        Figure(f"micro-batch of {rows} events: from event to match, A ; B ; C", spent.usual, "s"),
    ]


def against_flink(rows: int = 2_000_000) -> list[Figure]:
    """Measure Flink SQL in streaming mode and Spark streaming over the same ticks, 1,000 companies, all warm.

    Flink takes the first half of them; Spark as many as make ten micro-batches, of three sizes.
    """
    if not PEER_PYTHON.exists():
        sys.exit("Flink is not installed here.\nHint: make bench-flink")
    figures = []
    with spark_session() as spark, scratch_folder() as folder:
        for_streams(spark)
        table = ticks(2 * rows, 1_000)
        source = folder / "ticks.csv"
        write_csv(table.slice(0, rows), source)
        flink = run_flink(source, folder)
        for size in SIZES:
            cut = cut_in_files(table.slice(0, MICRO_BATCHES * size), size, folder / f"cut-{size}")
            figures.extend(compare(spark, cut, size, flink, folder))
    return figures


def cut_in_files(table: pa.Table, size: int, folder: Path) -> Path:
    """Write one file for each micro-batch."""
    folder.mkdir()
    for number, begin in enumerate(range(0, table.num_rows, size)):
        path = folder / f"{number:05}.csv"
        write_csv(table.slice(begin, size), path)
        os.utime(path, (number, number))
    return folder


def run_flink(source: Path, folder: Path) -> dict[str, dict[str, float]]:
    """Run the shared queries in Flink's streaming mode."""
    job, results = folder / "job.json", folder / "results.json"
    queries = {workload.name: within(workload.sql(workload.flink_define), flink=True) for workload in SHARED}
    job.write_text(json.dumps({"csv": str(source), "parallelism": CORES, "queries": queries, "streaming": True}))
    subprocess.run([PEER_PYTHON, PEER_SCRIPT, job, results], check=True)
    return json.loads(results.read_text())


def within(sql: str, *, flink: bool) -> str:
    """Add WITHIN, which bounds the state; Flink leaves out the distance itself."""
    # Times are whole milliseconds, so that one more is the same window there.
    window = "INTERVAL '600.001' SECOND(3, 3)" if flink else "INTERVAL '600' SECOND"
    return sql.replace(") DEFINE", f") WITHIN {window} DEFINE")


def compare(spark: SparkSession, cut: Path, size: int, flink: dict[str, dict[str, float]], folder: Path) -> list[Figure]:
    schema = "ts TIMESTAMP_NTZ, seq BIGINT, company STRING, price DOUBLE, volume BIGINT"
    reader = spark.readStream.schema(schema).option("timestampNTZFormat", "yyyy-MM-dd HH:mm:ss.SSS")
    frame = reader.option("maxFilesPerTrigger", 1).csv(str(cut))
    figures = []
    for workload in SHARED:
        sql = within(workload.sql(), flink=False)
        name = f"{workload.name}, micro-batches of {size:,}"
        if size == SIZES[0]:
            run(et.sql(sql, ticks=frame), folder / f"cold-{workload.name[:3]}")
        spent = run(et.sql(sql, ticks=frame), folder / f"warm-{workload.name[:3]}-{size}", 1)
        found = sum(counted["matches"] for counted in spent.counters)
        theirs = flink[workload.name]
        rows = theirs["rows"]
        figures += [
            Figure(f"{name}: Flink, {int(theirs['matches']):,} matches", rows / theirs["warm"] / 1e3, "k events/s"),
            Figure(f"{name}: Spark, {found:,} matches", size / spent.usual / 1e3, "k events/s"),
            Figure(f"{name}: faster than Flink by", size / spent.usual * theirs["warm"] / rows, "times", ">= 3"),
        ]
    return figures


def soak(rows: int = 50_000_000, size: int = 250_000) -> list[Figure]:
    """Push many events through one stream; state, memory and time of the last micro-batches against those of the first."""
    with spark_session() as spark, scratch_folder() as folder:
        for_streams(spark)
        source = folder / "events"
        write_events(source, 10_000, rows // size, size)
        frame = read_stream(spark, source)
        result = et.query(SEQUENCE.format(window=10_000)).match(et.events(frame, time="ts", type="kind"), lateness="1 second")
        query = result.writeStream.format("noop").option("checkpointLocation", str(folder / "checkpoint"))
        started = query.trigger(availableNow=True).start()
        memory = []
        while not started.awaitTermination(5):
            memory.append(resident())
        progress = [report for report in started.recentProgress if report["numInputRows"]]
        seconds = [report["durationMs"]["triggerExecution"] / 1000 for report in progress]
        state = [report["observedMetrics"]["eventide"]["state_bytes"] for report in progress]
        matches = sum(report["observedMetrics"]["eventide"]["matches"] for report in progress)
    quarter = len(seconds) // 4
    return [
        Figure(f"soak: {rows:,} events, {matches:,} matches", rows / sum(seconds) / 1e3, "k events/s"),
        Figure("soak: time of a micro-batch, last quarter against second", _ratio(seconds, quarter), "ratio", "<= 1.2"),
        Figure("soak: state, last quarter against second", _ratio(state, quarter), "ratio", "<= 1.1"),
        Figure("soak: memory of all processes, last quarter against second", _ratio(memory, len(memory) // 4), "ratio", "<= 1.2"),
        Figure("soak: memory of all processes at most", max(memory) / 2**30, "GiB"),
    ]


def _ratio(values: list[float], quarter: int) -> float:
    return mean(values[-quarter:]) / mean(values[quarter : 2 * quarter])


def resident() -> int:
    """Return the resident memory of this process and all that it started, in bytes."""
    parents, sizes = {}, {}
    page = os.sysconf("SC_PAGE_SIZE")
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            sizes[int(folder.name)] = int((folder / "statm").read_text().split()[1]) * page
        except OSError:
            # It has ended meanwhile.
            continue
        parents[int(folder.name)] = int(fields[1])
    total = 0
    for process, size in sizes.items():
        ancestor = process
        while ancestor not in (0, 1, os.getpid()):
            ancestor = parents.get(ancestor, 0)
        total += size if ancestor == os.getpid() else 0
    return total
