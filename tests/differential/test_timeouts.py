"""Timed-out partial matches: the oracle on small cases, and the local engine against it on random queries and streams."""

from __future__ import annotations

import pyarrow as pa
import pytest

import eventide as et
from eventide.errors import BindError
from eventide.language import parse
from eventide_reference import timeouts
from harness.checking import run_batch
from harness.kinds.sequences.kind import Sequences
from harness.kinds.sequences.totals import make_timeout_trial
from harness.seeds import seeds
from harness.ways import EMBEDDED

BATCHES = 12
QUERIES_OF_A_BATCH = 15
FEWEST_TIMEOUTS = 100


def rows_of(text):
    """`A0 B3`: an event of type A at time 0 and one of type B at time 3; `A0:2` has the value 2."""
    rows = []
    for word in text.split():
        event, _, value = word.partition(":")
        rows.append({"type": event[0], "time": int(event[1:]), "v": int(value or 0)})
    return rows


def found(query, text):
    """Return what the oracle and the engine say alike: start, reached, missing and last step of each event that times out."""
    rows = rows_of(text)
    expected = [(out.match_start, out.reached, out.missing, out.last_step_at) for out in timeouts(parse(query), rows)]
    table = pa.Table.from_pylist(rows)
    produced = et.query(query).timeouts(et.events(table, time="time", type="type")).to_pylist()
    assert [(row["match_start"], row["reached"], row["missing"], row["last_step_at"]) for row in produced] == expected
    return expected


def test_an_event_times_out_when_its_window_ends_without_a_match():
    assert found("SELECT * WHERE A ; B WITHIN 5", "A0 A3 B8 A20") == [(0, 1, "B", 0), (20, 1, "B", 20)]


def test_the_row_tells_how_far_the_match_came():
    assert found("SELECT * WHERE A ; B+ AS b ; C ; D WITHIN 9", "A0 B2 B3 C4") == [(0, 3, "D", 4)]


def test_events_with_equal_times_time_out_one_by_one():
    assert found("SELECT * WHERE A AS a ; B AS b FILTER a.v = b.v WITHIN 5", "A0:1 A0:2 A0:2 B1:1") == [(0, 1, "B AS b", 0)] * 2


def test_a_part_that_may_be_missing_is_reached_with_the_part_before_it():
    assert found("SELECT * WHERE A ; B? ; C WITHIN 5", "A0 B2") == [(0, 2, "C", 0)]


def test_conditions_on_later_parts_are_not_asked_of_a_prefix():
    query = "SELECT * WHERE A AS a ; B AS b ; C AS c FILTER a.v < b.v AND b.v < c.v WITHIN 9"
    assert found(query, "A0:1 B1:1 B3:2 C4:2") == [(0, 2, "C AS c", 3)]


def test_an_aggregate_over_later_events_is_not_asked_of_a_prefix():
    query = "SELECT * WHERE A ; B ; A FILTER COUNT(A) = 2 AND COUNT(*) = 3 AND A.v > 0 WITHIN 9"
    assert found(query, "A0:1 B1:1 A2:0 A20:0") == [(0, 2, "A", 1)]


def test_the_event_of_a_not_at_the_end_is_what_was_missing():
    assert found("SELECT * WHERE A ; B ; NOT C WITHIN 5", "A0 B1 C3 A10 B11") == [(0, 2, "NOT C", 1)]


def test_a_not_whose_condition_is_not_decided_forbids_nothing_yet():
    query = "SELECT * WHERE A ; NOT (X AS x FILTER x.v = c.v) ; B ; C AS c WITHIN 9"
    assert found(query, "A0 X1:3 B2 C3:3") == [(0, 2, "C AS c", 2)]
    assert found("SELECT * WHERE A ; NOT X ; B ; C AS c WITHIN 9", "A0 X1:3 B2 C3:3") == [(0, 1, "B", 0)]


def test_the_operands_of_and_are_one_part():
    assert found("SELECT * WHERE A AND B WITHIN 5", "B0 A9 B10") == [(0, 0, "A AND B", 0), (10, 0, "A AND B", 10)]


def test_an_event_that_fails_a_condition_on_itself_begins_nothing():
    assert found("SELECT * WHERE A AS a ; B FILTER a.v > 1 WITHIN 5", "A0:1 A1:2") == [(1, 1, "B", 1)]


def test_a_window_between_steps_holds_in_every_prefix():
    assert found("SELECT * WHERE A ; B ; C WITHIN 9, 2 BETWEEN STEPS", "A0 B3 C4") == [(0, 1, "B", 0)]


def test_the_columns_have_the_types_of_the_time_column():
    table = pa.table({"day": pa.array([0], pa.date32()), "kind": ["A"], "user": ["u"]})
    late = et.query("SELECT * WHERE A ; B PARTITION BY user WITHIN 36 hours").timeouts(et.events(table, time="day", type="kind"))
    assert late.schema.names == [
        "user", "match_start", "expired_at", "reached", "steps", "reached_steps", "missing", "last_step_at",
    ]  # fmt: skip
    [row] = late.to_pylist()
    assert str(row["match_start"]) == "1970-01-01"
    assert str(row["expired_at"]) == "1970-01-02 12:00:00"
    assert (row["reached"], row["steps"], row["reached_steps"], row["missing"]) == (1, 2, ["A"], "B")


def test_columns_of_the_events_may_have_the_names_of_the_result():
    table = pa.table({"match_start": [1], "kind": ["A"], "reached": [7], "missing": ["x"]})
    [row] = et.query("SELECT * WHERE A ; B WITHIN 5").timeouts(et.events(table, time="match_start", type="kind")).to_pylist()
    assert (row["match_start"], row["reached"], row["missing"]) == (1, 1, "B")


def test_the_last_moment_of_a_window_stays_in_the_range():
    table = pa.table({"ts": [2**63 - 2], "kind": ["A"]})
    [row] = et.query("SELECT * WHERE A ; B WITHIN 5").timeouts(et.events(table, time="ts", type="kind")).to_pylist()
    assert row["expired_at"] == 2**63 - 1


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("SELECT * WHERE A ; B", "no window"),
        ("SELECT * WHERE A ; B WITHIN 5 BETWEEN STEPS", "no window"),
        ("SELECT * WHERE A ; B WITHIN 5 events", "plain time"),
        ("SELECT * WHERE A ; B WITHIN 5 SLIDE 2", "plain time"),
        ("SELECT NEXT * WHERE A ; B WITHIN 5", "selector NEXT"),
        ("SELECT * WHERE A ; B WITHIN 5 CONSUME BY ANY", "CONSUME BY"),
        ("SELECT * WHERE A ; B WITHIN 5 LIMIT 3", "LIMIT"),
        ("SELECT * WHERE A ; B PARTITION BY missing WITHIN 5", "called missing"),
    ],
)
def test_a_query_whose_partial_matches_have_no_end_is_refused(text, reason):
    table = pa.table({"ts": [1], "kind": ["A"], "missing": [1]})
    with pytest.raises(BindError, match=reason) as caught:
        et.query(text).timeouts(et.events(table, time="ts", type="kind"))
    assert caught.value.condition == "TIMEOUTS_NOT_DEFINED"
    assert caught.value.hint


def test_a_condition_that_only_rows_decide_is_refused():
    table = pa.table({"ts": [1], "kind": ["A"], "s": ["p"]})
    with pytest.raises(BindError, match="OPAQUE_CONDITION") as caught:
        et.query("SELECT * WHERE A AS a ; B AS b FILTER a.s < b.s WITHIN 5").timeouts(et.events(table, time="ts", type="kind"))
    assert "columns of the events" in (caught.value.hint or "")


# Random queries ------------------------------------------------------------------------------------------------------

TIMED = Sequences(make_timeout_trial, streams=12)


@pytest.mark.parametrize("seed", seeds(BATCHES, quick=3))
def test_the_engine_agrees_with_the_oracle_on_what_times_out(seed):
    assert run_batch(TIMED, seed, (EMBEDDED,), queries=QUERIES_OF_A_BATCH).found > FEWEST_TIMEOUTS


@pytest.mark.long
@pytest.mark.parametrize("seed", range(1000, 1100))
def test_the_engine_agrees_with_the_oracle_on_many_more(seed):
    assert run_batch(TIMED, seed, (EMBEDDED,), queries=QUERIES_OF_A_BATCH).found > FEWEST_TIMEOUTS


@pytest.mark.parametrize("clause", ["GROUP BY PARTITION", "SAMPLE 3", "ORDER BY b.v LIMIT 2"])
def test_results_over_all_matches_have_no_time_outs(clause):
    selected = "COUNT(*) AS n" if clause.startswith("GROUP") else "*"
    with pytest.raises(BindError, match=r"\[TIMEOUTS_NOT_DEFINED\]"):
        found(f"SELECT {selected} WHERE A ; B AS b WITHIN 5 {clause}", "A0 B1")
