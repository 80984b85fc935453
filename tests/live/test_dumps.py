"""A stream as bytes: it goes on from every cut, keeps its counts, and refuses what is not its own."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest

import eventide as et
from eventide.errors import BindError, DataError
from eventide.pattern import Event, Named
from eventide.runtime.streams.bucket import Bucket
from eventide.runtime.streams.live.saved import VERSION, Saved
from eventide.runtime.streams.state_bytes import pack, unpack
from live.test_open_streams import COLUMNS, PAIRS, opened, pairs, rows

EVENTS = "a1/p b2/q a3/q x4/p b5/p a6/p b7/q c8/p b9/p x12/p a14/q b20/q x40/p"
QUERIES = {
    "pairs": PAIRS,
    "absence": "SELECT a.ts AS a, b.ts AS b WHERE A AS a ; NOT C ; B AS b PARTITION BY k WITHIN 10",
    "repeats": "SELECT a.ts AS a, COUNT(b) AS b WHERE A AS a ; B+ AS b WITHIN 10",
    "groups": "SELECT window_start AS a, COUNT(*) AS b WHERE A AS a ; B+ AS b WITHIN 10 GROUP BY WINDOW 10",
}


@pytest.mark.parametrize("output", ["final", "ordered", "early"])
@pytest.mark.parametrize("name", QUERIES)
def test_a_stream_goes_on_from_every_cut(name: str, output: str) -> None:
    if (name, output) == ("groups", "early"):
        with pytest.raises(BindError, match="RESULTS_ON_STREAM"):
            opened(QUERIES[name], output=output)
        return
    timeouts = name != "groups"
    events = rows(EVENTS)
    whole = opened(QUERIES[name], lateness=4, output=output, timeouts=timeouts)
    told = [whole.push([event]).to_pylist() for event in events] + [whole.finish().to_pylist()]
    expired = whole.progress.timeouts
    for cut in range(len(events)):
        before = opened(QUERIES[name], lateness=4, output=output, timeouts=timeouts)
        lines = [before.push([event]).to_pylist() for event in events[:cut]]
        after = et.resume(before.dump())
        lines += [after.push([event]).to_pylist() for event in events[cut:]] + [after.finish().to_pylist()]
        assert lines == told
        assert (after.progress.events, after.progress.timeouts) == (len(events), expired)
    assert sum(map(len, told)) > 1


def test_counts_and_the_watermark_go_on() -> None:
    live = opened(lateness=2)
    live.push(rows("a1/p x10/p"))
    live.push(rows("a2/p b9/p"))
    again = et.resume(live.dump())
    assert again.progress == live.progress
    assert again.progress.late == 1
    assert again.dump() == live.dump()


def test_a_clause_of_sql_goes_on() -> None:
    text = """SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES A.x AS a, LAST(B.x) AS b PATTERN (A B+ C)
              WITHIN INTERVAL '1' MINUTE DEFINE B AS B.x > PREV(B.x), C AS C.x < PREV(C.x))"""
    columns = {"ts": "timestamp", "k": str, "x": int}
    steps = [{"ts": f"2026-01-01 00:00:{n:02}", "k": "p", "x": x} for n, x in enumerate((5, 6, 7, 3, 4, 1, 9))]
    whole = et.statement(text).open(columns, lateness="2 seconds")
    told = [whole.push([step]).to_pylist() for step in steps] + [whole.finish().to_pylist()]
    live = et.statement(text).open(columns, lateness="2 seconds")
    lines = []
    for step in steps:
        lines.append(live.push([step]).to_pylist())
        live = et.resume(live.dump(), et.statement(text))
    assert [*lines, live.finish().to_pylist()] == told
    assert sum(map(len, told)) == 1


def test_a_query_that_was_built_goes_on_where_a_language_can_write_it() -> None:
    model = replace(et.query(PAIRS).model, text="", language="builder")
    live = et.query(model).open(COLUMNS, time="ts", type="kind")
    live.push(rows("a1/p"))
    assert pairs(et.resume(live.dump()).push(rows("b2/p"))) == [(1, 2)]
    parts = (Named(Event(None), "a"), Named(Event("B"), "b"))
    any_type = et.query(replace(model, pattern=replace(model.pattern, parts=parts)))
    live = any_type.open(COLUMNS, time="ts", type="kind")
    live.push(rows("x1/p"))
    with pytest.raises(BindError, match="QUERY_NOT_WRITTEN"):
        et.resume(live.dump())
    assert pairs(et.resume(live.dump(), any_type).push(rows("b2/p"))) == [(1, 2)]


def test_settings_are_those_of_the_first_opening() -> None:
    live = opened(lateness=3, output="early", max_state=100_000, matcher="automaton", buckets=2)
    again = et.resume(live.dump())
    assert again.schema.names[:2] == ["change", "match_id"]
    assert again.dump() == live.dump()


# What is refused --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "asked",
    [et.query(PAIRS.replace("10", "11")), et.queries({"match": PAIRS}), et.statement(
        "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY x MEASURES A.x AS a PATTERN (A B))")],
    ids=["another window", "several queries", "a statement"],
)
def test_a_dump_of_another_query_is_refused(asked: object) -> None:
    live = opened()
    with pytest.raises(DataError, match="QUERY_CHANGED"):
        et.resume(live.dump(), asked)
    assert et.resume(live.dump(), et.query(PAIRS.replace(" WHERE", "\n  WHERE")))


@pytest.mark.parametrize(
    ("state", "condition"),
    [(b"", "UNKNOWN_STATE"), (b"something else", "UNKNOWN_STATE"), (pack({"n": 1}), "UNKNOWN_STATE"), ("text", "UNKNOWN_STATE")],
    ids=["nothing", "bytes", "other parts", "text"],
)
def test_what_is_no_dump_is_refused(state: object, condition: str) -> None:
    with pytest.raises(DataError) as refused:
        et.resume(state)
    assert refused.value.condition == condition


def test_a_damaged_dump_is_refused() -> None:
    state = bytearray(opened().dump())
    for cut in (len(state) - 100, len(state) // 2, 70, 9, 5):
        with pytest.raises(DataError, match=r"DAMAGED_STATE|UNKNOWN_STATE"):
            et.resume(bytes(state[:cut]))
    state[len(state) // 2] ^= 255
    with pytest.raises(DataError, match="DAMAGED_STATE"):
        et.resume(bytes(state))


def test_a_dump_of_another_version_is_refused() -> None:
    parts = unpack(opened().dump())
    with pytest.raises(DataError, match="STATE_VERSION"):
        et.resume(pack({**parts, "version": VERSION + 1}))


def test_a_dump_whose_keys_are_hashed_in_another_way_is_refused() -> None:
    saved = Saved.unpack(opened().dump())
    with pytest.raises(DataError, match=r"STATE_VERSION.*DuckDB"):
        et.resume(replace(saved, hashes=[1, 2, 3]).pack())


def test_state_of_the_other_runtime_is_refused_by_name() -> None:
    live = opened()
    live.push(rows("a1/p"))
    driver = live._matching.driver
    [state] = driver.dump().values()
    with pytest.raises(DataError, match="OTHER_RUNTIME"):
        et.resume(state)
    on_spark = Bucket(replace(driver.job, engine="spark"), next(iter(driver.job.places())))
    with pytest.raises(DataError, match=r"OTHER_RUNTIME.*Arrow batches.*Spark"):
        on_spark.load(state)


def test_columns_of_another_type_do_not_join_what_is_held() -> None:
    live = opened()
    live.push(rows("a1/p"))
    other = et.query(PAIRS).open({**COLUMNS, "k": pa.int64()}, time="ts", type="kind")
    with pytest.raises(DataError, match="QUERY_CHANGED"):
        other._matching.driver.load(live._matching.driver.dump())
    assert pairs(et.resume(live.dump()).push(rows("b2/p"))) == [(1, 2)]
