"""WITHIN ... BETWEEN STEPS where no case file can tell it; the others are in `tests/cases`."""

from __future__ import annotations

import pyarrow as pa
import pytest

import eventide as et
from eventide.errors import BindError
from eventide.pattern import Event, Gap, Query, Sequence, Window, WindowUnit


def test_forgotten_variables_are_steps_all_the_same():
    table = pa.table({"ts": [0, 2, 4, 9], "kind": ["A", "B", "C", "C"]})
    query = et.query("SELECT match_start, match_end WHERE A ; B ; C WITHIN 2 BETWEEN STEPS")
    assert query.match(et.events(table, time="ts", type="kind")).to_pylist() == [{"match_start": 0, "match_end": 4}]


def test_times_at_both_ends_of_the_range_are_far_apart():
    table = pa.table({"ts": [-(2**63), 2**63 - 1], "kind": ["A", "B"]})
    query = et.query("SELECT * WHERE A ; B WITHIN 5 BETWEEN STEPS")
    assert query.match(et.events(table, time="ts", type="kind")).num_rows == 0


def test_a_model_whose_steps_are_counted_is_refused():
    pattern = Sequence((Event("A"), Event("B")), (Gap(),))
    table = pa.table({"ts": [1], "kind": ["A"]})
    with pytest.raises(BindError, match="STEPS_NEED_TIME"):
        et.query(Query(pattern, step_window=Window(WindowUnit.EVENTS, 3))).check(et.events(table, time="ts", type="kind"))


def test_steps_alone_bound_the_matches_of_a_pattern_without_endless_loops():
    def bound(text):
        return et.query(text).explain().partition("\nwindow\n")[2].splitlines()[0].strip()

    assert bound("SELECT * WHERE A{2,4} ; B WITHIN 30 seconds BETWEEN STEPS").endswith("bound a match to 2 minutes")
    assert bound("SELECT * WHERE A+ ; B WITHIN 30 seconds BETWEEN STEPS") == "none: a match may be as long as the stream"


def test_spark_judges_steps_by_its_own_clock(spark):
    rows = [("2024-01-01 00:00:00", "A"), ("2024-01-01 00:00:30", "B"), ("2024-01-01 00:01:01", "B"), ("2024-01-01 00:01:31", "C")]
    frame = spark.createDataFrame(rows, "at STRING, kind STRING").selectExpr("CAST(at AS TIMESTAMP) AS ts", "kind")
    query = et.query("SELECT COUNT(b) AS n WHERE A ; B+ AS b ; C WITHIN 10 minutes, 31 seconds BETWEEN STEPS")
    assert [row.n for row in query.match(et.events(frame, time="ts", type="kind")).collect()] == [2]
