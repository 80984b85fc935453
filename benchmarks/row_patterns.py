"""MATCH_RECOGNIZE over stock ticks: embedded, Spark against its floor, and Flink SQL on the same file."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import warnings
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

import eventide as et
from benchmarks.pipelines import best_of
from benchmarks.report import Figure
from eventide.datasets import stocks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import DataFrame, SparkSession

PARTITIONS = (1, 10_000)
CORES = os.cpu_count() or 1
ORDERED = ("company", "ts", "seq")
PEER_SCRIPT = Path(__file__).parent / "peers" / "flink_ticks.py"
PEER_PYTHON = Path(__file__).parents[1] / ".venv-peers" / "bin" / "python"
MEASURES = "FIRST(seq) AS first_seq, LAST(seq) AS last_seq"


@dataclass(frozen=True)
class Workload:
    """A query: what stands behind the measures, the columns it reads besides the ordered ones, and how Flink must say it."""

    name: str
    pattern: str
    define: str
    values: tuple[str, ...]
    flink_define: str | None = None
    why_not_flink: str | None = None

    def sql(self, define: str | None = None) -> str:
        """Return the query."""
        return (
            f"SELECT * FROM ticks MATCH_RECOGNIZE (PARTITION BY company ORDER BY ts, seq MEASURES {MEASURES} "
            f"ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW PATTERN ({self.pattern}) DEFINE {define or self.define})"
        )


WORKLOADS = (
    Workload(
        "V shape, STRT DOWN+ UP+",
        "STRT DOWN+ UP+",
        "DOWN AS DOWN.price < PREV(DOWN.price), UP AS UP.price > PREV(UP.price)",
        ("price",),
        why_not_flink="a pattern must not end with a greedy quantifier, and there is no PREV",
    ),
    Workload(
        "no match, UP+ CRASH",
        "UP+ CRASH",
        "UP AS UP.price > PREV(UP.price), CRASH AS CRASH.price < 0.5 * PREV(CRASH.price)",
        ("price",),
        why_not_flink="there is no PREV, and the row before the first UP is not in the match",
    ),
    Workload(
        "nested quantifiers, ((A+)+ B?)+ C",
        "((A+)+ B?)+ C",
        "A AS A.price > PREV(A.price), B AS B.price < PREV(B.price) AND B.volume < 200, C AS C.volume > 900",
        ("price", "volume"),
        why_not_flink="there are no groups",
    ),
    Workload(
        "aggregate in DEFINE, A+ B",
        "A+ B",
        "A AS SUM(A.volume) < 1000",
        ("volume",),
        why_not_flink="A never gives back a row that B needs",
    ),
)
# The same questions in words that both have: what decides between two variables is in their conditions, PREV is LAST(x, 1).
SHARED = (
    Workload(
        "V shape, STRT DOWN+ UP",
        "STRT DOWN+ UP",
        "DOWN AS DOWN.price < PREV(DOWN.price), UP AS UP.price > PREV(UP.price)",
        ("price",),
        "DOWN AS (LAST(DOWN.price, 1) IS NULL AND DOWN.price < STRT.price) OR DOWN.price < LAST(DOWN.price, 1), "
        "UP AS UP.price > LAST(DOWN.price)",
    ),
    Workload(
        "no match, STRT UP+ CRASH",
        "STRT UP+ CRASH",
        "UP AS UP.price > PREV(UP.price), CRASH AS CRASH.price < 0.5 * PREV(CRASH.price)",
        ("price",),
        "UP AS (LAST(UP.price, 1) IS NULL AND UP.price > STRT.price) OR UP.price > LAST(UP.price, 1), "
        "CRASH AS CRASH.price < 0.5 * LAST(UP.price)",
    ),
    Workload(
        "aggregate in DEFINE, A+ B",
        "A+ B",
        "A AS SUM(A.volume) < 1000, B AS SUM(A.volume) + B.volume >= 1000",
        ("volume",),
        "A AS SUM(A.volume) < 1000, B AS SUM(A.volume) + B.volume >= 1000",
    ),
)


@contextmanager
def spark_session() -> Iterator[SparkSession]:
    """Start Spark with a thread for each core, and stop it."""
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    warnings.simplefilter("ignore")
    spark = (
        SparkSession.builder.master(f"local[{CORES}]")
        .config("spark.sql.shuffle.partitions", str(2 * CORES))
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.memory", "6g")
        .config("spark.log.level", "ERROR")
        .getOrCreate()
    )
    try:
        yield spark
    finally:
        spark.stop()


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Make a folder for the data, and remove it."""
    folder = Path(tempfile.mkdtemp(prefix="eventide-benchmark-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def ticks(rows: int, companies: int) -> pa.Table:
    """Generate the ticks."""
    return stocks(rows, companies, seed=1).select(["ts", "seq", "company", "price", "volume"])


def discard(frame: DataFrame) -> None:
    """Compute all rows and keep none."""
    frame.write.format("noop").mode("overwrite").save()


def floor_of(frame: DataFrame, workload: Workload) -> DataFrame:
    """Return the pipeline that every way through Python must pay: shuffle by key, sort, there and back, on the same columns."""
    narrow = frame.select(*ORDERED, *workload.values)
    ordered = narrow.repartition("company").sortWithinPartitions(*ORDERED)
    return ordered.mapInArrow(lambda batches: batches, ordered.schema)


def row_patterns(rows: int = 2_000_000) -> list[Figure]:
    """Measure the embedded engine, and Spark against its floor, from Arrow and from Parquet."""
    figures = []
    with spark_session() as spark, scratch_folder() as folder:
        for companies in PARTITIONS:
            table = ticks(rows, companies)
            source = folder / f"ticks-{companies}.parquet"
            pq.write_table(table, source)
            frame = spark.read.parquet(str(source))
            for workload in WORKLOADS:
                figures.extend(measure(spark, table, frame, workload, companies))
    return figures


def measure(spark: SparkSession, table: pa.Table, frame: DataFrame, workload: Workload, companies: int) -> list[Figure]:
    """Measure one query on one table."""
    name = f"{workload.name}, {companies:,} partition{'s' if companies > 1 else ''}"
    query = workload.sql()
    matches = et.sql(query, ticks=table).num_rows
    on_spark = et.sql(query, spark=spark, ticks=frame).count()
    agreement = "" if matches == on_spark else f", BUT {on_spark:,} ON SPARK"
    local = best_of(lambda: et.sql(query, ticks=table))
    floor = best_of(lambda: discard(floor_of(frame, workload)))
    spent = best_of(lambda: discard(et.sql(query, spark=spark, ticks=frame)))
    return [
        Figure(f"{name}, {matches:,} matches{agreement}: local", table.num_rows / local / 1e6, "M rows/s"),
        Figure(f"{name}: Spark", spent, "s"),
        Figure(f"{name}: Spark against its floor of {floor:.2f} s", spent / floor, "ratio", "<= 1.5"),
    ]


def against_flink(rows: int = 2_000_000) -> list[Figure]:
    """Measure Flink SQL, Spark and the embedded engine from the same CSV file, all warm, and compare what they find."""
    if not PEER_PYTHON.exists():
        sys.exit("Flink is not installed here.\nHint: make bench-flink")
    for workload in WORKLOADS:
        print(f"Flink cannot express {workload.name}: {workload.why_not_flink}.", flush=True)
    figures = []
    with spark_session() as spark, scratch_folder() as folder:
        for companies in PARTITIONS:
            source = folder / f"ticks-{companies}.csv"
            write_csv(ticks(rows, companies), source)
            flink = run_flink(source, folder)
            for workload in SHARED:
                figures.extend(compare(spark, source, rows, companies, workload, flink[workload.name]))
    return figures


def write_csv(table: pa.Table, path: Path) -> None:
    """Write the ticks as one file without a header, times as Flink reads them."""
    times = pc.strftime(table["ts"].cast(pa.timestamp("ms", "UTC")), "%Y-%m-%d %H:%M:%S")
    text = table.set_column(0, "ts", times)
    pa_csv.write_csv(text, path, pa_csv.WriteOptions(include_header=False, quoting_style="none"))


def run_flink(source: Path, folder: Path) -> dict[str, dict[str, float]]:
    """Run the shared queries with the interpreter of the peers' environment."""
    job, results = folder / "job.json", folder / "results.json"
    queries = {workload.name: workload.sql(workload.flink_define) for workload in SHARED}
    job.write_text(json.dumps({"csv": str(source), "parallelism": CORES, "queries": queries}))
    subprocess.run([PEER_PYTHON, PEER_SCRIPT, job, results], check=True)
    return json.loads(results.read_text())


def read_locally(source: Path) -> pa.Table:
    """Read the file for the embedded engine."""
    names = ["ts", "seq", "company", "price", "volume"]
    types = {"ts": pa.timestamp("us"), "seq": pa.int64(), "company": pa.string(), "price": pa.float64(), "volume": pa.int64()}
    options = pa_csv.ConvertOptions(column_types=types)
    return pa_csv.read_csv(source, pa_csv.ReadOptions(column_names=names), convert_options=options)


def read_on_spark(spark: SparkSession, source: Path) -> DataFrame:
    """Read the file for Spark."""
    schema = "ts TIMESTAMP_NTZ, seq BIGINT, company STRING, price DOUBLE, volume BIGINT"
    return spark.read.schema(schema).option("timestampNTZFormat", "yyyy-MM-dd HH:mm:ss.SSS").csv(str(source))


def compare(
    spark: SparkSession, source: Path, rows: int, companies: int, workload: Workload, flink: dict[str, float]
) -> list[Figure]:
    """Measure our side of one query and put it beside Flink's."""
    name = f"{workload.name}, {companies:,} partition{'s' if companies > 1 else ''}"
    query = workload.sql()
    found = {
        "Flink": int(flink["matches"]),
        "Spark": et.sql(query, spark=spark, ticks=read_on_spark(spark, source)).count(),
        "local": et.sql(query, ticks=read_locally(source)).num_rows,
    }
    agreed = len(set(found.values())) == 1
    says = f"all find {found['Flink']:,} matches" if agreed else f"MATCHES DIFFER: {found}"
    warm: dict[str, Callable[[], object]] = {
        "Spark": lambda: discard(et.sql(query, spark=spark, ticks=read_on_spark(spark, source))),
        "embedded": lambda: et.sql(query, ticks=read_locally(source)),
    }
    figures = [Figure(f"{name}: Flink, {says}", rows / flink["warm"] / 1e3, "k rows/s")]
    for engine, run in warm.items():
        spent = best_of(run, 2)
        figures.append(Figure(f"{name}: {engine}", rows / spent / 1e3, "k rows/s"))
        figures.append(Figure(f"{name}: {engine} faster than Flink by", flink["warm"] / spent, "times", ">= 10"))
    return figures


def large_partition(rows: int = 100_000_000) -> list[Figure]:
    """Measure the memory of one large partition that comes in order, in a process of its own."""
    script = f"from benchmarks.row_patterns import peak_of; print(*peak_of({rows}))"
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", script], check=True, capture_output=True, text=True)
    table, peak, seconds = map(float, done.stdout.split())
    name = f"one partition of {rows:,} rows, embedded"
    return [
        Figure(f"{name}: peak memory, the table of {table:.1f} GiB included", peak, "GiB", "<= 8"),
        Figure(name, rows / seconds / 1e6, "M rows/s"),
    ]


def peak_of(rows: int) -> tuple[float, float, float]:
    """Run the V shape over one partition; return the size of the table, the peak memory (both in GiB) and the seconds."""
    draw = np.random.default_rng(1)
    prices = np.empty(rows)
    for begin in range(0, rows, 1 << 22):
        piece = prices[begin : begin + (1 << 22)]
        piece[:] = draw.normal(100, 1, len(piece)).round(2)
    table = pa.table({"ts": np.arange(rows), "price": prices})
    query = (
        "SELECT COUNT(*) AS n FROM ticks MATCH_RECOGNIZE (ORDER BY ts MEASURES STRT.price AS high, COUNT(*) AS steps "
        "PATTERN (STRT DOWN+ UP+) DEFINE DOWN AS price < PREV(price), UP AS price > PREV(price))"
    )
    begin_time = perf_counter()
    et.sql(query, ticks=table)
    seconds = perf_counter() - begin_time
    return table.nbytes / 2**30, getrusage(RUSAGE_SELF).ru_maxrss / 2**20, seconds
