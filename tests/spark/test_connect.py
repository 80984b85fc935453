"""Spark Connect: the same calls, where the driver has neither a JVM nor a SparkContext of its own."""

from __future__ import annotations

from random import Random

import pyarrow as pa
import pytest

import eventide as et
from eventide.progress.tally import read_progress
from spark.streaming import FileStream, comparable, quiet, spark_rows

pytestmark = pytest.mark.connect

SCHEMA = pa.schema([("ts", pa.timestamp("us", "UTC")), ("n", pa.int64()), ("kind", pa.string()), ("k", pa.int64())])
QUERY = "SELECT k, a.n AS a, b.n AS b WHERE A AS a ; B AS b ; NOT C PARTITION BY k WITHIN 20 seconds"
CLAUSE = """SELECT * FROM events MATCH_RECOGNIZE (
    PARTITION BY k ORDER BY ts, n MEASURES FIRST(A.n) AS first, COUNT(*) AS length
    PATTERN (A B+) WITHIN 60 SECONDS DEFINE A AS kind = 'A', B AS kind <> 'A'
)"""


@pytest.fixture(scope="module")
def table():
    rng = Random(1)
    rows = [{"ts": 1_000_000 * second, "n": second, "kind": rng.choice("ABC"), "k": rng.randrange(3)} for second in range(90)]
    rows.append({"ts": 10**12, "n": -1, "kind": "Z", "k": 9})
    return pa.Table.from_pylist(rows, schema=SCHEMA)


@pytest.fixture
def stream(spark, tmp_path, table):
    return FileStream(spark, tmp_path / "events", SCHEMA).add(table.slice(0, 50), table.slice(50))


def given(data):
    return et.events(data, time="ts", type="kind", tie_break="n")


def test_the_session_is_one_of_spark_connect(spark):
    from pyspark.sql.connect.session import SparkSession

    assert isinstance(spark, SparkSession)


def test_an_event_query_finds_over_connect_what_the_embedded_engine_finds(spark, table):
    expected = comparable(et.query(QUERY).match(given(table)).to_pylist())
    assert spark_rows(et.query(QUERY).match(given(spark.createDataFrame(table)))) == expected != []


def test_a_clause_finds_over_connect_what_the_embedded_engine_finds(spark, table):
    expected = comparable(et.sql(CLAUSE, events=table).to_pylist())
    assert spark_rows(et.sql(CLAUSE, events=spark.createDataFrame(table))) == expected != []


def test_a_stream_over_connect_gives_the_result_of_a_table_and_its_counters(table, stream, sink):
    sink.run(et.query(QUERY).match(given(stream.frame()), lateness=0, buckets=2))
    assert comparable(sink.rows()) == comparable(et.query(QUERY).match(given(table)).to_pylist())
    assert sum(read_progress(progress).counters.get("events", 0) for progress in sink.progress) == table.num_rows


def test_a_stream_of_rows_over_connect_goes_on_from_its_checkpoint(spark, tmp_path, table, sink):
    stream = FileStream(spark, tmp_path / "events", SCHEMA)
    for begin, size in ((0, 50), (50, 41)):
        with quiet():
            sink.run(et.sql(CLAUSE, events=stream.add(table.slice(begin, size)).frame(), buckets=2))
    assert comparable(sink.rows()) == comparable(et.sql(CLAUSE, events=table).to_pylist())
