"""What is wrong with the events themselves, or with how they are given, is said in one sentence with a hint."""

from __future__ import annotations

from datetime import timedelta

import pyarrow as pa
import pytest

import eventide as et
from eventide import builder
from eventide.errors import BindError
from eventide.plan.expressions.schema import Kind, StreamSchema
from eventide.runtime.streams.planning.lateness import bind_lateness

TABLE = pa.table({"ts": [1, 2], "kind": ["A", "B"], "price": [1.5, 2.5], "day": ["2024-01-01", "2024-01-02"]})
QUERY = et.query("SELECT * FROM trades WHERE A ; B")


def message_of(call) -> str:
    with pytest.raises(BindError) as caught:
        call()
    return str(caught.value)


@pytest.mark.parametrize(
    ("roles", "message"),
    [
        (
            {"time": "tz"},
            "[MISSING_COLUMN] The events have no column tz for their time.\nHint: There is: ts, kind, price, day.",
        ),
        (
            {"time": "ts", "type": "kindd"},
            "[MISSING_COLUMN] The events have no column kindd for their type.\nHint: Did you mean kind?",
        ),
        (
            {"time": "ts", "tie_break": "sequence"},
            "[MISSING_COLUMN] The events have no column sequence for their tie-break.\nHint: There is: ts, kind, price, day.",
        ),
        (
            {"time": "day"},
            "[BAD_TIME_COLUMN] The time column day is a string.\nHint: Use a timestamp, a date or whole numbers; convert text with to_timestamp first.",
        ),
        (
            {"time": "price"},
            "[BAD_TIME_COLUMN] The time column price is a double.\nHint: Use a timestamp, a date or whole numbers; convert text with to_timestamp first.",
        ),
        (
            {"time": "ts", "time_unit": "minutes"},
            "[BAD_TIME_UNIT] There is no time unit minutes.\nHint: There are: s, ms, us, ns.",
        ),

    ],
)
def test_a_wrong_role_is_explained(roles, message):
    assert message_of(lambda: et.events(TABLE, **roles)) == message


def test_data_of_an_unknown_kind_is_explained():
    assert message_of(lambda: et.events([1, 2], time="ts")) == (
        "[UNKNOWN_DATA] A list cannot be read as events.\n"
        "Hint: Give a Spark DataFrame, a pyarrow.Table, or anything with __arrow_c_stream__ (pandas, polars, DuckDB)."
    )


def test_a_bare_table_is_no_events():
    assert message_of(lambda: QUERY.match(TABLE)) == (
        '[NOT_EVENTS] trades is a Table, not events.\nHint: Say which column is the time: et.events(trades, time="...").'
    )


def test_a_match_of_nothing_is_explained():
    assert message_of(QUERY.match) == (
        '[NO_EVENTS] The query was given no events.\nHint: Call q.match(et.events(data, time="...")).'
    )


def test_a_stream_that_is_not_given_is_explained():
    events = et.events(TABLE, time="ts", type="kind")
    assert message_of(lambda: et.query("SELECT * FROM S1, S2 WHERE A ; B").match(S1=events, T2=events)) == (
        "[UNKNOWN_STREAM] No events were given for the stream S2.\n"
        "line 1, column 19\n"
        "  SELECT * FROM S1, S2 WHERE A ; B\n"
        "                    ^^\n"
        "Hint: Give them by name: q.match(S2=et.events(...)). There is: S1, T2."
    )


def test_streams_whose_columns_differ_in_kind_are_explained():
    first = et.events(TABLE, time="ts", type="kind")
    second = et.events(TABLE.set_column(2, "price", pa.array(["x", "y"])), time="ts", type="kind")
    assert message_of(lambda: et.query("SELECT * FROM S1, S2 WHERE A ; B").match(S1=first, S2=second)) == (
        "[COLUMN_KINDS_DIFFER] The column price is a double in one stream and a string in S2.\n"
        "Hint: Convert or rename the column in one of the streams."
    )


def test_too_many_predicates_are_explained():
    pattern = " ; ".join(f"T{number}" for number in range(63))
    events = et.events(TABLE, time="ts", type="kind")
    assert message_of(lambda: et.query(f"SELECT * WHERE {pattern}").check(events)) == (
        "[TOO_MANY_PREDICATES] The pattern has 63 different event predicates; 62 is the most there can be.\n"
        "Hint: Use one variable with OR in its condition in place of many event types."
    )


def test_as_many_predicates_as_there_are_bits_can_be_used():
    pattern = " OR ".join(["A", *(f"T{number}" for number in range(61))])
    found = et.query(f"SELECT COUNT(*) AS n WHERE {pattern}").match(et.events(TABLE, time="ts", type="kind"))
    assert found.to_pylist() == [{"n": 1}]


def test_an_unknown_matcher_is_explained():
    events = et.events(TABLE, time="ts", type="kind")
    assert message_of(lambda: QUERY.match(events, matcher="run")) == (
        "[UNKNOWN_MATCHER] There is no matcher run.\nHint: Did you mean runs?"
    )


def test_a_matcher_that_would_be_wrong_is_refused():
    query = et.query("SELECT * WHERE A AS a ~> B AS b FILTER a.price < b.price")
    message = message_of(lambda: query.match(et.events(TABLE, time="ts", type="kind"), matcher="automaton"))
    assert message.startswith("[MATCHER_NOT_SOUND]")
    assert message.endswith('Hint: Use matcher="runs", or leave the choice to the planner.')


@pytest.mark.parametrize("aggregate", ["SUM(b.items)", "MAX(b.items)", "AVG(b.items)"])
def test_an_aggregate_of_lists_is_refused(aggregate):
    table = TABLE.append_column("items", pa.array([[1], [2]]))
    query = et.query(f"SELECT {aggregate} AS x WHERE B+ AS b WITHIN 5")
    with pytest.raises(BindError, match=r"\[TYPE_MISMATCH\] (SUM|MAX) of b reads values of the type"):
        query.check(et.events(table, time="ts", type="kind"))


def test_a_unit_is_refused_where_times_have_none():
    timed = TABLE.set_column(0, "ts", TABLE["ts"].cast(pa.timestamp("us")))
    assert message_of(lambda: et.events(timed, time="ts", time_unit="ms")) == (
        "[BAD_TIME_UNIT] The time column ts is a timestamp, which has no unit.\n"
        "Hint: Leave out time_unit; it says what a column of whole numbers counts."
    )


@pytest.mark.parametrize(("unit", "second"), [("s", 1), ("ms", 1_000), ("us", 1_000_000), ("ns", 1_000_000_000)])
def test_durations_are_those_of_the_unit(unit, second):
    table = pa.table({"ts": [0, 3 * second, 3 * second + 1], "kind": ["A", "B", "B"]})
    events = et.events(table, time="ts", type="kind", time_unit=unit)
    assert et.query("SELECT b WHERE A ; B AS b WITHIN 3 seconds").match(events).num_rows == 1


@pytest.mark.parametrize("setting", [{"lateness": "1 second"}, {"lateness": 0}, {"output": "early"}, {"buckets": 2}, {"max_state": 9}])
def test_what_only_streams_have_is_refused_on_tables(setting):
    events = et.events(TABLE, time="ts", type="kind", time_unit="s")
    rows = "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts MEASURES 1 AS x PATTERN (A) DEFINE A AS true)"
    for call in (
        lambda: QUERY.match(events, **setting),
        lambda: et.queries({"one": QUERY}).match(events, **setting),
        lambda: et.sql(rows, t=TABLE, **setting),
    ):
        assert message_of(call).startswith("[NOT_A_STREAM]")


@pytest.mark.parametrize("setting", [{"lateness": "1 second"}, {"buckets": 2}, {"max_state": 9}])
def test_timeouts_of_a_table_refuse_what_only_streams_have(setting):
    events = et.events(TABLE, time="ts", type="kind", time_unit="s")
    query = et.query("SELECT * WHERE A ; B WITHIN 5 seconds")
    assert message_of(lambda: query.timeouts(events, **setting)).startswith("[NOT_A_STREAM]")


def test_durations_may_be_those_of_python():
    built = builder.query(
        builder.event("A") >> builder.event("B"), within=timedelta(minutes=10), slide=timedelta(minutes=5)
    )
    assert "WITHIN 10 minutes SLIDE 5 minutes" in built.text
    steps = builder.query(builder.event("A") >> builder.event("B"), between_steps=timedelta(milliseconds=1500))
    assert "WITHIN 1500 milliseconds BETWEEN STEPS" in steps.text
    assert bind_lateness(timedelta(seconds=2), StreamSchema({"ts": Kind.TIMESTAMP}, "ts")) == 2_000_000
    assert bind_lateness(timedelta(milliseconds=1), StreamSchema({"ts": Kind.INTEGER}, "ts", time_unit="s")) == 1
