"""WITHIN ... BETWEEN STEPS: what it keeps under every operator, in the oracle and in the engine alike."""

from __future__ import annotations

import pyarrow as pa
import pytest

import eventide as et
from differential.checking import Way, outcome
from differential.queries import Trial
from eventide.errors import BindError
from eventide.language import parse
from eventide.pattern import Event, Gap, Query, Sequence, Window, WindowUnit
from eventide_reference import count_matches, find_matches

WAYS = [Way(), Way(cuts=1), Way("runs"), Way("runs", cuts=3), Way(counts=True)]
DEFAULTS = {"tie": None, "stream": "S1", "case_id": 0, "k": 1, "v": 1, "w": 1.0, "s": "p", "ok": True, "m": 0, "f": 0.0}


def events(text):
    """`A0 B3`: an event of type A at time 0 and one of type B at time 3."""
    return [{**DEFAULTS, "id": place, "type": word[0], "time": int(word[1:])} for place, word in enumerate(text.split())]


def supports(query, rows):
    """Return the events of each match in the form of the input."""
    found = set()
    for match in find_matches(query, rows):
        indices = sorted({index for bound in match.bindings.values() for index in bound})
        found.add(" ".join(f"{rows[index]['type']}{rows[index]['time']}" for index in indices))
    return found


CASES = {
    "exactly the distance is inside": ("SELECT * WHERE A ; B WITHIN 3 BETWEEN STEPS", "A0 B3 B4", {"A0 B3"}),
    "the whole match may be longer than a step": (
        "SELECT * WHERE A ; B ; C WITHIN 3 BETWEEN STEPS",
        "A0 B3 C6",
        {"A0 B3 C6"},
    ),
    "both windows are asked": ("SELECT * WHERE A ; B ; C WITHIN 5, 3 BETWEEN STEPS", "A0 A1 B3 C6", {"A1 B3 C6"}),
    "nothing apart leaves equal times": ("SELECT * WHERE A ; B WITHIN 0 BETWEEN STEPS", "A0 B0 B1", {"A0 B0"}),
    "every round of a loop is a step": (
        "SELECT * WHERE A ; B+ ; C WITHIN 2 BETWEEN STEPS",
        "A0 B2 B4 C6",
        {"A0 B2 B4 C6"},
    ),
    "a missing part leaves its neighbours as neighbours": (
        "SELECT * WHERE A ; B? ; C WITHIN 2 BETWEEN STEPS",
        "A0 B2 C3",
        {"A0 B2 C3"},
    ),
    "operands of AND are neighbours in the order of their events": (
        "SELECT * WHERE (A ; C) AND B WITHIN 2 BETWEEN STEPS",
        "A0 B2 C4 B7",
        {"A0 B2 C4"},
    ),
    "each way of OR is asked alone": (
        "SELECT * WHERE A ; (B OR (C ; B)) WITHIN 2 BETWEEN STEPS",
        "A0 C2 B3",
        {"A0 C2 B3"},
    ),
    "an event that is skipped does not bridge a gap": ("SELECT * WHERE A ; B WITHIN 2 BETWEEN STEPS", "A0 X1 X2 B3", set()),
    "next takes the event that it meets and is then too far": (
        "SELECT * WHERE A ~> B ~> C WITHIN 2 BETWEEN STEPS",
        "A0 B1 B3 C4",
        set(),
    ),
    "a nested FILTER does not narrow what counts as a step": (
        "SELECT * WHERE ((A AS a ; B AS b) FILTER a.v = b.v) ; C WITHIN 2 BETWEEN STEPS",
        "A0 B1 C3 C4",
        {"A0 B1 C3"},
    ),
    "NOT looks at its gap, and negated events are no steps": (
        "SELECT * WHERE A ; NOT X ; B WITHIN 4 BETWEEN STEPS",
        "A0 X1 A2 B4",
        {"A2 B4"},
    ),
    "NOT at the end looks as far as the whole window": (
        "SELECT * WHERE A ; B ; NOT X WITHIN 6, 2 BETWEEN STEPS",
        "A0 B2 X5 A10 B12 X17",
        {"A10 B12"},
    ),
    "a selector compares what the window leaves": (
        "SELECT LAST * WHERE A ; B WITHIN 2 BETWEEN STEPS",
        "A0 A1 B2",
        {"A1 B2"},
    ),
    "the longest match that the window leaves": (
        "SELECT MAX * WHERE A+ ; B WITHIN 2 BETWEEN STEPS",
        "A0 A3 A4 B5",
        {"A3 A4 B5"},
    ),
    "a match that is too far apart consumes nothing": (
        "SELECT * WHERE A ; B PARTITION BY case_id WITHIN 2 BETWEEN STEPS CONSUME BY PARTITION",
        "A0 B3 A4 B5 B6",
        {"A4 B5"},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_oracle_keeps_what_is_near_enough(name):
    text, stream, expected = CASES[name]
    assert supports(parse(text), events(stream)) == expected


@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("name", CASES)
def test_the_engine_agrees(name, way):
    text, stream, _ = CASES[name]
    trial = Trial(parse(text), tie_break=False, timestamps=False, seconds=False, several_streams=False, by_case=True)
    assert outcome(trial, events(stream), way) is None


def test_sase_has_the_same_window():
    query = parse("PATTERN SEQ(A a, B+ b[]) WHERE skip_till_next_match(a, b[]) { a.v <= b.v } WITHIN 9, 2 BETWEEN STEPS")
    assert supports(query, events("A0 B2 B5")) == {"A0 B2"}


def test_forgotten_variables_are_steps_all_the_same():
    table = pa.table({"ts": [0, 2, 4, 9], "kind": ["A", "B", "C", "C"]})
    query = et.query("SELECT match_start, match_end WHERE A ; B ; C WITHIN 2 BETWEEN STEPS")
    assert query.match(et.events(table, time="ts", type="kind")).to_pylist() == [{"match_start": 0, "match_end": 4}]


def test_counting_counts_what_the_window_leaves():
    query = parse("SELECT * WHERE A ; B+ ; C WITHIN 2 BETWEEN STEPS")
    rows = events("A0 B1 B2 B3 B7 C4 C9")
    table = pa.table({"ts": [row["time"] for row in rows], "kind": [row["type"] for row in rows]})
    counted = et.query(query).count(et.events(table, time="ts", type="kind"))
    assert int(counted["matches"][0].as_py()) == count_matches(query, rows)[()]


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
