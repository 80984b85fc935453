"""Streams that end, streams that fall silent, and checkpoints that are looked at before anything runs."""

from __future__ import annotations

import time
import warnings
from datetime import datetime

import pyarrow as pa
import pytest

import eventide as et
from eventide.errors import BindError, DataError
from spark.streaming import FileStream, comparable, configured, quiet

SCHEMA = pa.schema([("ts", pa.timestamp("us", "UTC")), ("n", pa.int64()), ("kind", pa.string()), ("k", pa.string())])
ABSENT = "SELECT k, a.n AS a WHERE A AS a ; NOT B PARTITION BY k WITHIN 5 seconds"
CLAUSE = """SELECT * FROM events MATCH_RECOGNIZE (
    PARTITION BY k ORDER BY ts MEASURES FIRST(A.n) AS first, COUNT(*) AS length
    PATTERN (A B*) WITHIN 60 SECONDS DEFINE A AS kind = 'A', B AS kind = 'B')"""


def event(second, kind, k="p"):
    return {"ts": second * 1_000_000, "n": second, "kind": kind, "k": k}


BATCHES = ([event(1, "A"), event(2, "A", "q")], [event(3, "B"), event(4, "A")], [event(4, "B", "r")])
"""The last micro-batch does not move the clock."""


@pytest.fixture
def stream(spark, tmp_path):
    return FileStream(spark, tmp_path / "events", SCHEMA).add(*BATCHES)


def given(data):
    return et.events(data, time="ts", type="kind")


def table():
    return pa.Table.from_pylist([row for batch in BATCHES for row in batch], schema=SCHEMA)


def timeless(rows):
    """Leave out times: a sink of Parquet tells them without their zone."""
    return [{name: value for name, value in row.items() if not isinstance(value, datetime)} for row in rows]


def quietly(call):
    with quiet():
        return call()


@pytest.mark.parametrize("way", ["query", "sql", pytest.param("timeouts", marks=pytest.mark.ci), pytest.param("queries", marks=pytest.mark.ci)])
def test_the_end_of_the_input_is_the_end_of_the_stream(stream, sink, way):
    settings = {"lateness": "2 seconds", "buckets": 2, "finish": True}
    late = et.query("SELECT * WHERE A ; B ; C PARTITION BY k WITHIN 5 seconds")
    ways = {
        "query": (lambda data, **more: et.query(ABSENT).match(given(data), **more)),
        "sql": (lambda data, **more: et.sql(CLAUSE, events=data, **more)),
        "timeouts": (lambda data, **more: late.timeouts(given(data), **more)),
        "queries": (lambda data, **more: et.queries({"one": ABSENT}).match(given(data), **more)),
    }
    sink.run(quietly(lambda: ways[way](stream.frame(), **settings)))
    expected = quietly(lambda: ways[way](table())).to_pylist()
    assert comparable(timeless(sink.rows())) == comparable(timeless(expected)) != []


def test_a_stream_that_has_ended_takes_no_further_events(stream, sink):
    found = et.query(ABSENT).match(given(stream.frame()), lateness=0, buckets=2, finish=True)
    sink.run(found)
    before = sink.rows()
    assert sink.run(found).rows() == before
    stream.add([event(9, "A")])
    with pytest.raises(DataError, match="STREAM_FINISHED"), et.errors():
        sink.run(found)


def test_the_end_is_refused_where_spark_would_not_tell_it(spark, stream):
    query = et.query(ABSENT)
    with pytest.raises(BindError, match=r'FINISH_WITH_WATERMARK(.|\n)*lateness="10000 ms"'):
        query.match(given(stream.frame().withWatermark("ts", "10 seconds")), finish=True)
    with configured(spark, spark__sql__streaming__noDataMicroBatches__enabled="false"), pytest.raises(BindError, match="NO_DATA_BATCHES"):
        query.match(given(stream.frame()), lateness=0, finish=True)


def test_absence_comes_out_although_nothing_comes(spark, stream, tmp_path):
    found = et.query(ABSENT).match(given(stream.frame()), lateness=0, buckets=1, idle_after="1 second")
    writer = found.writeStream.format("memory").queryName("silence").option("checkpointLocation", str(tmp_path / "checkpoint"))
    running = writer.start()
    try:
        deadline = time.monotonic() + 120
        while len(spark.table("silence").collect()) < 2 and time.monotonic() < deadline and running.isActive:
            time.sleep(0.2)
        assert sorted((row.k, row.a) for row in spark.table("silence").collect()) == [("p", 4), ("q", 2)]
        assert running.lastProgress.observedMetrics["eventide"].buckets == 1
    finally:
        running.stop()


def test_a_run_over_what_is_there_does_not_wait_for_the_wall(stream, sink):
    sink.run(et.query(ABSENT).match(given(stream.frame()), lateness=0, buckets=1, idle_after="1 second"))
    assert sink.rows() == []


# Checkpoints ------------------------------------------------------------------------------------------------------------


def test_a_checkpoint_is_checked_before_anything_runs(stream, sink):
    checkpoint = str(sink.folder / "checkpoint")
    query, data = et.query(ABSENT), given(stream.frame())
    query.check(data, checkpoint=checkpoint)
    sink.run(query.match(data, lateness=0, buckets=2))
    query.check(data, checkpoint=checkpoint, buckets=2)
    et.query(ABSENT.replace("AS a WHERE", "AS started WHERE")).check(data, checkpoint=checkpoint, buckets=2)
    with pytest.raises(DataError, match=r"QUERY_CHANGED(.|\n)*WITHIN was 5 seconds and is 6 seconds"):
        et.query(ABSENT.replace("5", "6")).check(data, checkpoint=checkpoint, buckets=2)
    with pytest.raises(DataError, match=r"BUCKETS_CHANGED(.|\n)*Give buckets=2"):
        query.check(data, checkpoint=checkpoint, buckets=3)
    with pytest.raises(DataError, match=r'QUERY_CHANGED(.|\n)*output was "final" and is "early"'):
        query.check(data, checkpoint=checkpoint, buckets=2, output="early")
    stream.frame().writeStream.format("noop").option("checkpointLocation", checkpoint + "-2").trigger(availableNow=True).start().awaitTermination()
    with pytest.raises(DataError, match="UNKNOWN_STATE"):
        query.check(data, checkpoint=checkpoint + "-2", buckets=2)


def test_checkpoints_belong_to_streams_on_spark_and_settings_to_checkpoints(stream):
    with pytest.raises(BindError, match="NOT_A_STREAM"):
        et.query(ABSENT).check(given(table()), checkpoint="somewhere")
    with pytest.raises(BindError, match="NO_CHECKPOINT"):
        et.query(ABSENT).check(given(table()), buckets=3)


@pytest.mark.ci
def test_a_clause_is_checked_against_its_checkpoint(stream, sink):
    checkpoint = str(sink.folder / "checkpoint")
    sink.run(quietly(lambda: et.sql(CLAUSE, events=stream.frame(), lateness=0, buckets=2)))
    et.statement(CLAUSE).check(checkpoint=checkpoint, buckets=2, events=stream.frame())
    with pytest.raises(DataError, match=r"QUERY_CHANGED(.|\n)*PATTERN was A B\* and is A B\+"):
        et.statement(CLAUSE.replace("B*", "B+")).check(checkpoint=checkpoint, buckets=2, events=stream.frame())


def test_a_stream_goes_on_with_other_names_and_another_order_of_columns(stream, sink):
    whole = "WHERE A AS a ; B AS b PARTITION BY k WITHIN 50 seconds"
    sink.run(et.query(f"SELECT a.n AS a, b.n AS b {whole}").match(given(stream.frame()), lateness="9 seconds", buckets=2))
    stream.add([event(20, "B"), event(21, "B", "q")], [event(99, "Z")])
    changed = et.query(f"SELECT b.n AS later, a.n AS a, k {whole}").match(given(stream.frame()), lateness="12 seconds", buckets=2)
    rows = []
    running = changed.writeStream.foreachBatch(lambda frame, _: rows.extend(row.asDict() for row in frame.collect()))
    running = running.option("checkpointLocation", str(sink.folder / "checkpoint")).trigger(availableNow=True).start()
    running.awaitTermination()
    found = {(row["k"], row["a"], row["later"]) for row in rows}
    assert found == {("p", 1, 20), ("p", 4, 20), ("q", 2, 21)}


# Sinks and modes, as a user writes them ------------------------------------------------------------------------------------

PAIRS = "SELECT k, a.n AS a, b.n AS b WHERE A AS a ; B AS b PARTITION BY k WITHIN 50 seconds"


def written(found, tmp_path, **trigger):
    writer = found.writeStream.option("checkpointLocation", str(tmp_path / "checkpoint"))
    return writer.trigger(**(trigger or {"availableNow": True}))


@pytest.fixture
def pairs(stream):
    return et.query(PAIRS).match(given(stream.frame()), lateness=0, buckets=1)


def test_a_memory_sink(spark, pairs, tmp_path):
    written(pairs, tmp_path).format("memory").queryName("pairs").start().awaitTermination()
    assert [tuple(row) for row in spark.table("pairs").collect()] == [("p", 1, 3)]


@pytest.mark.ci
def test_a_console_sink(pairs, tmp_path):
    running = written(pairs, tmp_path).format("console").start()
    running.awaitTermination()
    assert running.exception() is None
    assert sum(progress.sink.numOutputRows for progress in running.recentProgress) == 1


def test_a_trigger_by_the_clock_and_update_mode_which_is_append_where_nothing_is_added_up(spark, pairs, tmp_path):
    running = written(pairs, tmp_path, processingTime="1 second").outputMode("update").format("memory").queryName("updated").start()
    try:
        deadline = time.monotonic() + 120
        while running.isActive and time.monotonic() < deadline and not spark.table("updated").count():
            time.sleep(0.2)
        assert [tuple(row) for row in spark.table("updated").collect()] == [("p", 1, 3)]
    finally:
        running.stop()


def test_complete_mode_is_refused_before_anything_runs(pairs, tmp_path):
    from pyspark.errors import AnalysisException

    with pytest.raises(AnalysisException, match=r"[Cc]omplete"):
        written(pairs, tmp_path).outputMode("complete").format("memory").queryName("complete").start()


@pytest.mark.ci
def test_totals_over_matches_in_complete_mode(spark, pairs, tmp_path):
    running = written(pairs.groupBy("k").count(), tmp_path).outputMode("complete").format("memory").queryName("totals").start()
    running.awaitTermination()
    assert [tuple(row) for row in spark.table("totals").collect()] == [("p", 1)]


def test_no_setting_is_said_twice(stream):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        et.query(PAIRS).match(given(stream.frame()), lateness=0, idle_after="1 minute")
