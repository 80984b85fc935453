"""Open streams as a user meets them: what can be pushed, what comes out when, and what is refused with which words."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from datetime import UTC, date, datetime

import pandas as pd
import pyarrow as pa
import pytest

import eventide as et
from eventide.errors import BindError, DataError, LimitError

COLUMNS = {"ts": int, "kind": str, "k": str}
PAIRS = "SELECT a.ts AS a, b.ts AS b WHERE A AS a ; B AS b PARTITION BY k WITHIN 10"
TIMED = pa.schema([("ts", pa.timestamp("us", "UTC")), ("kind", pa.string())])


def rows(words: str) -> list[dict]:
    """Return the events of words like `a3/p`: of type A at 3, with the key p."""
    events = []
    for word in words.split():
        event, _, key = word.partition("/")
        events.append({"ts": int(event[1:]), "kind": event[0].upper(), "k": key or None})
    return events


def opened(query: str = PAIRS, **settings) -> et.Live:
    return et.query(query).open(COLUMNS, time="ts", type="kind", **settings)


def pairs(table: pa.Table) -> list[tuple[int, int]]:
    return [(row["a"], row["b"]) for row in table.to_pylist()]


# What can be pushed -------------------------------------------------------------------------------------------------------


class Capsule:
    """Something that only the Arrow C stream interface knows."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table.__arrow_c_stream__(requested_schema)


FORMS = {
    "dictionaries": lambda table: table.to_pylist(),
    "a table": lambda table: table,
    "a batch": lambda table: table.to_batches()[0],
    "pandas": lambda table: pd.DataFrame(table.to_pylist()),
    "other Arrow data": Capsule,
    "columns in another order, and more of them": lambda table: table.select(["k", "kind", "ts"]).append_column("x", pa.array([1, 2])),
    "narrower numbers": lambda table: table.set_column(0, "ts", table["ts"].cast(pa.int32())),
}


@pytest.mark.parametrize("form", FORMS)
def test_batches_of_many_forms_are_taken(form: str) -> None:
    table = pa.Table.from_pylist(rows("a1/p b2/p"), pa.schema([("ts", pa.int64()), ("kind", pa.string()), ("k", pa.string())]))
    assert pairs(opened().push(FORMS[form](table))) == [(1, 2)]


def test_frames_of_polars_are_taken() -> None:
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame(rows("a1/p b2/p"))
    assert pairs(opened().push(frame)) == [(1, 2)]
    live = et.query(PAIRS).open(frame, time="ts", type="kind")
    assert pairs(live.push(frame.with_columns(pl.col("kind").cast(pl.Categorical)))) == [(1, 2)]


def test_categories_may_be_views_of_texts() -> None:
    table = pa.Table.from_pylist(rows("a1/p b2/p"))
    kinds = pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.uint32()), pa.array(["A", "B"]).cast(pa.string_view()))
    assert pairs(opened().push(table.set_column(1, "kind", kinds))) == [(1, 2)]


@pytest.mark.parametrize("schema", [COLUMNS, pa.schema([("ts", pa.int64()), ("kind", pa.string()), ("k", pa.string())]),
                                    pa.table({"ts": [1], "kind": ["A"], "k": ["x"]}), {"ts": "int64", "kind": "text", "k": pa.string()},
                                    pd.DataFrame({"ts": [1], "kind": ["A"], "k": ["x"]})], ids=["types", "schema", "table", "names", "frame"])
def test_the_columns_are_told_in_many_ways(schema: object) -> None:
    live = et.query(PAIRS).open(schema, time="ts", type="kind")
    assert pairs(live.push(rows("a1/p b2/p"))) == [(1, 2)]
    assert live.schema.names == ["a", "b"]


def test_texts_of_times_are_read() -> None:
    live = et.query("SELECT b.ts AS t WHERE A ; B AS b WITHIN 1 minute").open(TIMED, time="ts", type="kind", lateness="1 second")
    found = live.push([{"ts": "2026-01-01T00:00:00Z", "kind": "A"}, {"ts": "2026-01-01T00:00:02+00:00", "kind": "B"}])
    assert found["t"].to_pylist() == [datetime(2026, 1, 1, 0, 0, 2, tzinfo=UTC)]


@pytest.mark.parametrize(
    ("batch", "condition"),
    [
        (5, "UNKNOWN_DATA"),
        ("a text", "UNKNOWN_DATA"),
        ([1], "UNKNOWN_DATA"),
        (pa.table({"ts": [1], "kind": ["A"]}), "MISSING_COLUMN"),
        ([{"ts": "soon", "kind": "A"}], "BAD_BATCH"),
        (pa.table({"ts": ["soon"], "kind": ["A"], "k": ["x"]}), "BAD_BATCH"),
    ],
    ids=["a number", "a text", "a list of numbers", "a column less", "a text for a time", "a table of texts"],
)
def test_a_batch_that_does_not_fit_is_refused_and_changes_nothing(batch: object, condition: str) -> None:
    live = opened()
    live.push(rows("a1/p"))
    with pytest.raises(DataError) as refused:
        live.push(batch)
    assert refused.value.condition == condition
    assert refused.value.hint
    assert pairs(live.push(rows("b2/p"))) == [(1, 2)]


def test_an_expression_that_fails_on_a_batch_changes_nothing() -> None:
    live = opened("SELECT a.ts AS a, b.ts AS b WHERE A AS a ; B AS b FILTER a.ts * a.ts * 1000000000000000000 > a.ts - 5 WITHIN 10")
    live.push(rows("a1"))
    with pytest.raises(DataError, match="BAD_VALUE"):
        live.push(rows("a9"))
    assert pairs(live.push(rows("b3"))) == [(1, 3)]


# What comes out when --------------------------------------------------------------------------------------------------------


def test_late_events_are_left_out_counted_and_shown() -> None:
    live = opened(lateness=2)
    live.push(rows("a1/q x10/p"))
    assert pairs(live.push(rows("a7/p a8/p b9/p"))) == [(8, 9)]
    assert live.late.to_pylist() == [{"ts": 7, "kind": "A", "k": "p"}]
    assert live.progress.late == 1
    live.push(rows("x11/p"))
    assert live.late.num_rows == 0
    assert live.late.column_names == ["ts", "kind", "k"]
    live.push(rows("x1/p"))
    assert live.late["ts"].to_pylist() == [1], "what no query asks for is shown, but not counted"
    assert live.progress.late == 1


def test_time_comes_without_events() -> None:
    live = opened("SELECT a.ts AS a WHERE A AS a ; NOT B WITHIN 10", lateness=3)
    assert live.push(rows("a1")).num_rows == 0
    assert live.advance(11).num_rows == 0
    assert live.advance(12)["a"].to_pylist() == [1]
    assert live.progress.watermark == 12
    live.advance(5)
    assert live.progress.watermark == 12, "a watermark never goes back"
    assert live.push(rows("a11")).num_rows == 0
    assert live.progress.late == 1


def test_the_watermark_is_told_as_the_time_column_has_it() -> None:
    live = et.query("SELECT * WHERE A ; B WITHIN 1 minute").open(TIMED, time="ts", type="kind", lateness="1 second")
    assert live.progress.watermark is None
    live.advance(datetime(2026, 1, 1, tzinfo=UTC))
    assert live.progress.watermark == datetime(2026, 1, 1, tzinfo=UTC)
    live.advance("2026-01-02 00:00:00")
    assert live.progress.watermark == datetime(2026, 1, 2, tzinfo=UTC)
    days = et.query("SELECT * WHERE A ; B WITHIN 2 days").open({"day": date, "kind": str}, time="day", type="kind")
    days.advance(date(2026, 1, 3))
    assert days.progress.watermark == date(2026, 1, 3)
    for wrong in ("soon", None, 1.5, date):
        with pytest.raises(BindError, match="BAD_WATERMARK"):
            opened().advance(wrong)


def test_the_end_makes_everything_certain() -> None:
    with pytest.warns(et.EventideWarning, match="WITHIN is not a duration"):
        live = opened("SELECT a.ts AS a WHERE A AS a ; NOT B WITHIN 3 EVENTS", lateness=3)
    assert live.push(rows("a1 x2")).num_rows == 0
    assert live.advance(1000).num_rows == 0, "a window of events is not over with time"
    assert live.finish()["a"].to_pylist() == [1]
    for call in (lambda: live.push(rows("a9")), live.finish, live.dump, lambda: live.advance(3)):
        with pytest.raises(BindError, match=r"STREAM_OVER.*finished"):
            call()
    assert live.progress.matches == 1


def test_early_results_are_taken_back() -> None:
    live = opened("SELECT a.ts AS a, b.ts AS b WHERE A AS a ; NOT C ; B AS b WITHIN 10", lateness=5, output="early")
    shown = live.push(rows("a1 b4")).to_pylist()
    assert [(row["change"], row["a"], row["b"]) for row in shown] == [("+", 1, 4)]
    back = live.push(rows("c2")).to_pylist()
    assert [(row["change"], row["match_id"]) for row in back] == [("-", shown[0]["match_id"])]
    assert live.finish().num_rows == 0


def test_ordered_results_come_by_their_ends() -> None:
    live = opened(lateness=5, output="ordered", buckets=3)
    first = pairs(live.push(rows("a1/p a1/q a2/r b6/p b4/q b3/r")))
    assert first == []
    assert pairs(live.finish()) == [(2, 3), (1, 4), (1, 6)]


def test_time_outs_are_told_where_they_are_asked_for() -> None:
    live = opened(lateness=0, timeouts=True)
    assert live.timeouts.num_rows == 0
    live.push(rows("a1/p a2/q b3/q x20/p"))
    assert [(row["k"], row["match_start"], row["expired_at"], row["missing"]) for row in live.timeouts.to_pylist()] == [
        ("p", 1, 11, "B AS b")
    ]
    live.push(rows("a21/p"))
    assert live.timeouts.num_rows == 0
    live.finish()
    assert live.timeouts["match_start"].to_pylist() == [21]
    assert live.progress.timeouts == 2
    with pytest.raises(BindError, match="NO_TIMEOUTS"):
        _ = opened().timeouts


def test_state_has_a_cap() -> None:
    live = opened(max_state=4_000, overflow="drop_oldest")
    for time in range(100):
        live.push(rows(" ".join(f"a{time}/{key}" for key in range(20))))
    assert live.progress.dropped > 0
    assert live.progress.state_bytes <= 4_000
    strict = opened(max_state=4_000)
    many = rows(" ".join(f"a1/{key}" for key in range(200)))
    with pytest.raises(LimitError, match="STATE_TOO_LARGE"):
        strict.push(many)
    with pytest.raises(BindError, match=r"STREAM_OVER.*error"):
        strict.push(rows("a100/p"))


def test_what_is_held_does_not_grow_with_the_stream() -> None:
    live = opened("SELECT a.ts AS a WHERE A AS a ; B AS b FILTER a.k = b.k WITHIN 10", lateness=0)
    sizes = []
    for step in range(600):
        live.push(rows(f"a{step * 20}/name{step} b{step * 20 + 1}/name{step}"))
        if step % 100 == 99:
            sizes.append(live.progress.state_bytes)
    assert max(sizes) < 1.2 * sizes[0]


def test_events_without_a_time_are_counted() -> None:
    live = opened()
    live.push([{"ts": None, "kind": "A", "k": "p"}, *rows("a1/p b2/p")])
    assert (live.progress.untimed, live.progress.events, live.progress.matches) == (1, 3, 1)


def test_arrival_decides_between_equal_times() -> None:
    live = opened("SELECT a.ts AS a, b.ts AS b WHERE A AS a ; B AS b WITHIN 10", lateness=0)
    live.push(rows("b5 a5"))
    assert pairs(live.push(rows("b5 x9"))) == [(5, 5)]


# Several streams ------------------------------------------------------------------------------------------------------------


def two() -> et.Live:
    given = et.events(pa.table({"ts": pa.array([], pa.int64()), "kind": pa.array([], pa.string())}), time="ts", type="kind")
    return et.query("SELECT a.ts AS a, b.ts AS b FROM S, T WHERE S>A AS a ; T>B AS b WITHIN 10").open(S=given, T=given, lateness=0)


def test_the_slowest_of_several_streams_rules() -> None:
    live = two()
    assert pairs(live.push(S=[{"ts": 1, "kind": "A"}])) == []
    assert live.progress.watermark is None
    live.push(T=[{"ts": 9, "kind": "B"}])
    assert live.progress.watermark == 1
    live.advance(7, stream="S")
    assert live.progress.watermark == 7
    live.advance(20)
    assert live.progress.watermark == 20
    with pytest.raises(BindError, match="SEVERAL_STREAMS"):
        live.push([{"ts": 30, "kind": "A"}])
    with pytest.raises(BindError, match="UNKNOWN_STREAM"):
        live.push(U=[{"ts": 30, "kind": "A"}])
    with pytest.raises(BindError, match="UNKNOWN_STREAM"):
        live.advance(30, stream="U")


def test_several_streams_are_pushed_together_and_resumed() -> None:
    live = et.resume(two().dump())
    assert pairs(live.push(S=[{"ts": 1, "kind": "A"}], T=[{"ts": 2, "kind": "B"}])) == [(1, 2)]


# Sources --------------------------------------------------------------------------------------------------------------------


def test_a_loop_over_batches_yields_matches() -> None:
    live = opened("SELECT a.ts AS a WHERE A AS a ; NOT B WITHIN 10")
    assert list(live.over(rows(words) for words in ("a1", "x9 x13", "a14"))) == [{"a": 1}, {"a": 14}]
    kept = opened()
    assert list(kept.over([rows("a1/p")], finish=False)) == []
    assert pairs(kept.push(rows("b2/p"))) == [(1, 2)]


def test_an_async_loop_yields_matches() -> None:
    async def source():
        for words in ("a1/p", "b2/p", "b3/p"):
            await asyncio.sleep(0)
            yield rows(words)

    async def collected() -> list[dict]:
        return [match async for match in opened().over(source())]

    assert asyncio.run(collected()) == [{"a": 1, "b": 2}, {"a": 1, "b": 3}]


def test_a_block_closes_its_stream() -> None:
    with opened() as live:
        live.push(rows("a1/p"))
    with pytest.raises(BindError, match=r"STREAM_OVER.*closed"):
        live.push(rows("b2/p"))
    live.close()


# What is refused ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "settings", "condition"),
    [
        (PAIRS, {"output": "soon"}, "UNKNOWN_OUTPUT"),
        (PAIRS, {"overflow": "later"}, "UNKNOWN_OVERFLOW"),
        (PAIRS, {"max_state": 0}, "BAD_SETTING"),
        (PAIRS, {"buckets": "many"}, "BAD_SETTING"),
        (PAIRS, {"lateness": "10 seconds"}, "BAD_LATENESS"),
        (PAIRS, {"lateness": -1}, "BAD_LATENESS"),
        (PAIRS, {"matcher": "guess"}, "UNKNOWN_MATCHER"),
        (PAIRS + " LIMIT 2", {"output": "early"}, "LIMIT_UNDECIDED"),
        (PAIRS + " LIMIT 2", {"overflow": "drop_oldest"}, "DROP_NOT_SOUND"),
        ("SELECT * WHERE A AS a ; B WITHIN 5 ORDER BY a.ts LIMIT 3", {}, "RESULTS_ON_STREAM"),
        ("SELECT * WHERE A ; B WITHIN 5 LIMIT 2", {"timeouts": True}, "TIMEOUTS_NOT_DEFINED"),
        ("SELECT a.x WHERE A AS a ; B WITHIN 5", {}, "UNKNOWN_ATTRIBUTE"),
    ],
)
def test_what_a_stream_on_spark_refuses_is_refused(query: str, settings: dict, condition: str) -> None:
    with pytest.raises(BindError) as refused:
        opened(query, **settings)
    assert refused.value.condition == condition


@pytest.mark.parametrize(
    ("schema", "roles", "condition"),
    [
        (COLUMNS, {}, "MISSING_COLUMN"),
        (COLUMNS, {"time": "when"}, "MISSING_COLUMN"),
        (COLUMNS, {"time": "kind"}, "BAD_TIME_COLUMN"),
        (COLUMNS, {"time": "ts", "time_unit": "weeks"}, "BAD_TIME_UNIT"),
        ({"ts": "whole", "kind": str}, {"time": "ts"}, "UNKNOWN_SCHEMA"),
        ({"ts": 5}, {"time": "ts"}, "UNKNOWN_SCHEMA"),
        (7, {"time": "ts"}, "UNKNOWN_SCHEMA"),
        (None, {}, "NO_EVENTS"),
    ],
)
def test_columns_that_do_not_fit_are_refused(schema: object, roles: dict, condition: str) -> None:
    with pytest.raises(BindError) as refused:
        et.query("SELECT * WHERE A ; B").open(schema, **roles)
    assert refused.value.condition == condition


def test_a_process_with_an_open_stream_knows_no_spark() -> None:
    told = (
        "import sys, eventide as et\n"
        "live = et.query('SELECT * WHERE A AS a ; B AS b WITHIN 9').open({'ts': int, 'kind': str}, time='ts', type='kind')\n"
        "assert live.push([{'ts': 1, 'kind': 'A'}, {'ts': 2, 'kind': 'B'}]).num_rows == 1\n"
        "et.resume(live.dump()).finish()\n"
        "assert 'pyspark' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-W", "ignore", "-c", told], check=True)
