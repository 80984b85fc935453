"""What a user of Spark says about time is heard: a watermark on the input is the lateness of the events."""

from __future__ import annotations

import warnings
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest

import eventide as et
from eventide.errors import EventideWarning
from spark.streaming import FileStream

SCHEMA = pa.schema([("ts", pa.timestamp("us", "UTC")), ("arrived", pa.timestamp("us", "UTC")), ("kind", pa.string()), ("k", pa.string())])
QUERY = "SELECT k, a.ts AS a, b.ts AS b WHERE A AS a ; B AS b PARTITION BY k WITHIN 30 minutes"
CLAUSE = """SELECT * FROM events MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES A.ts AS a, B.ts AS b
    PATTERN (A B) WITHIN 30 MINUTES DEFINE A AS kind = 'A', B AS kind = 'B')"""
START = datetime(2026, 1, 1, tzinfo=UTC)


def at(minute, kind, k):
    moment = START + timedelta(minutes=minute)
    return {"ts": moment, "arrived": moment, "kind": kind, "k": k}


# The second batch brings an event that is five minutes behind.
BATCHES = ([at(0, "A", "u1"), at(20, "A", "u2")], [at(15, "B", "u1"), at(21, "A", "u2")], [at(90, "A", "u9")])


@pytest.fixture
def frame(spark, tmp_path):
    stream = FileStream(spark, tmp_path / "events", SCHEMA)
    return stream.add(*(pa.Table.from_pylist(rows, schema=SCHEMA) for rows in BATCHES)).frame()


def told(call):
    """Return what a call gives, and what it warns of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = call()
    return result, [str(warning.message) for warning in caught if warning.category is EventideWarning]


def events(frame):
    return et.events(frame, time="ts", type="kind")


@pytest.mark.parametrize("way", ["query", pytest.param("queries", marks=pytest.mark.ci), "sql"])
def test_the_watermark_of_the_input_is_the_lateness(frame, sink, way):
    marked = frame.withWatermark("ts", "10 minutes")
    ways = {
        "query": lambda: et.query(QUERY).match(events(marked), buckets=1),
        "queries": lambda: et.queries({"one": QUERY}).match(events(marked), buckets=1),
        "sql": lambda: et.sql(CLAUSE, events=marked, buckets=1),
    }
    found, warned = told(ways[way])
    assert not [text for text in warned if "late" in text]
    sink.run(found)
    assert [(row["k"], row["b"].minute) for row in sink.rows()] == [("u1", 15)]


def test_without_either_a_warning_says_what_happens(frame):
    for call in (
        lambda: et.query(QUERY).match(events(frame)),
        lambda: et.query(QUERY).late(events(frame)),
        lambda: et.query(QUERY).timeouts(events(frame)),
        lambda: et.queries({"one": QUERY}).match(events(frame)),
        lambda: et.sql(CLAUSE, events=frame),
    ):
        _, warned = told(call)
        assert [text for text in warned if text.startswith("Events that come out of order are left out")]
    _, warned = told(lambda: et.query(QUERY).match(events(frame), lateness=0))
    assert not [text for text in warned if "late" in text]


def test_where_both_are_given_a_warning_says_which_holds(frame):
    marked = frame.withWatermark("ts", "10 minutes")
    _, warned = told(lambda: et.query(QUERY).match(events(marked), lateness="1 minute"))
    assert "lateness='1 minute' holds, and not the 600000 ms of withWatermark." in warned
    _, warned = told(lambda: et.query(QUERY).match(events(marked), lateness=timedelta(minutes=10)))
    assert not [text for text in warned if "late" in text]


def test_a_watermark_on_another_column_does_not_count(frame):
    _, warned = told(lambda: et.query(QUERY).match(events(frame.withWatermark("arrived", "10 minutes"))))
    assert [text for text in warned if "The watermark on arrived does not count: the time of the events is ts." in text]
