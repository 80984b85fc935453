"""What a bucket promises: refuse foreign state, keep what is its own, count what it leaves out, stay within its cap."""

from __future__ import annotations

from random import Random

import pyarrow as pa
import pytest

import eventide as et
from eventide.errors import BindError, DataError, LimitError
from eventide.runtime.streams import bucket as bucket_module
from eventide.runtime.streams.bucket import Bucket
from eventide.runtime.streams.bucket_query import END, MATCH_HIGH, MATCH_LOW, START
from eventide.runtime.streams.job import DROP_OLDEST
from eventide.runtime.streams.output import OrderedOutput
from eventide.runtime.streams.planning.jobs import StreamOptions, reorder_reason
from eventide.runtime.streams.state_bytes import pack, unpack
from stream.driving import Run
from stream.test_stories import SCHEMA, events_of

PAIRS = "SELECT * WHERE A AS a ; B AS b PARTITION BY k WITHIN 10"
ROLES = {"stream": et.events(SCHEMA.empty_table(), time="ts", type="kind")}


def running(queries: dict[str, str] | str, options: StreamOptions | None = None, *, registry: bool = False) -> Run:
    texts = {"q": queries} if isinstance(queries, str) else queries
    return Run({name: et.query(text) for name, text in texts.items()}, ROLES, options or StreamOptions(), registry=registry)


def feed(run: Run, words: str) -> None:
    run.feed({"stream": events_of(words.split())})


def resumed(run: Run, again: Run) -> Run:
    again.states, again.prepared_schema = dict(run.states), run.prepared_schema
    return again


def matches(run: Run, name: str = "q") -> list[tuple[int, int]]:
    return sorted((row["match_start"], row["match_end"]) for row in run.result(name).to_pylist())


def test_state_of_another_query_is_refused() -> None:
    run = running(PAIRS)
    feed(run, "a1/p")
    with pytest.raises(DataError, match="QUERY_CHANGED"):
        feed(resumed(run, running(PAIRS.replace("10", "11"))), "b2/p")


def test_white_space_does_not_make_another_query() -> None:
    run = running(PAIRS)
    feed(run, "a1/p")
    again = resumed(run, running(PAIRS.replace(" WHERE", "\n   WHERE")))
    feed(again, "b2/p")
    assert matches(again) == [(1, 2)]


def test_another_output_is_another_query() -> None:
    run = running(PAIRS)
    feed(run, "a1/p")
    with pytest.raises(DataError, match="QUERY_CHANGED"):
        feed(resumed(run, running(PAIRS, StreamOptions(output="early"))), "b2/p")


def test_another_number_of_buckets_is_refused() -> None:
    run = running(PAIRS, StreamOptions(buckets=3))
    feed(run, "a1/p")
    with pytest.raises(DataError, match=r"BUCKETS_CHANGED.*buckets=3"):
        feed(resumed(run, running(PAIRS, StreamOptions(buckets=4))), "b2/p")


def test_the_lateness_may_change_and_the_watermark_never_goes_back() -> None:
    run = running(PAIRS, StreamOptions(0))
    feed(run, "a1/p x10/p")
    again = resumed(run, running(PAIRS, StreamOptions(100)))
    feed(again, "b9/p b10/p")
    assert sum(counters["late"] for counters in again.counters) == 1
    assert matches(again) == [(1, 10)]


def test_bytes_that_are_no_state_are_refused() -> None:
    job = running(PAIRS).job
    bucket = Bucket(job, next(iter(job.places())))
    with pytest.raises(DataError, match="UNKNOWN_STATE"):
        bucket.load(b"something else")


def test_state_of_a_later_version_is_refused() -> None:
    run = running(PAIRS)
    feed(run, "a1/p")
    number, state = next(iter(run.states.items()))
    with pytest.raises(DataError, match="STATE_VERSION"):
        Bucket(run.job, number).load(pack(unpack(state) | {"version": 99}))


def test_state_of_an_older_version_is_migrated_step_by_step(monkeypatch: pytest.MonkeyPatch) -> None:
    run = running(PAIRS)
    feed(run, "a1/p")
    older = {}
    for number, state in run.states.items():
        parts = unpack(state)
        parts["number"] = parts.pop("next_id")
        older[number] = pack(parts | {"version": -1})
    monkeypatch.setitem(bucket_module.MIGRATIONS, -1, lambda parts: parts | {"version": 0})
    monkeypatch.setitem(
        bucket_module.MIGRATIONS, 0, lambda parts: {**parts, "next_id": parts["number"], "version": bucket_module.VERSION}
    )
    run.states = older
    feed(run, "b2/p")
    assert matches(run) == [(1, 2)]


def test_events_without_a_time_are_counted_and_left_out() -> None:
    run = running(PAIRS)
    table = pa.table({"ts": [1, None, 2], "kind": ["A", "A", "B"], "k": ["p", "p", "p"]}, schema=SCHEMA)
    run.feed({"stream": table})
    assert matches(run) == [(1, 2)]


def test_a_bucket_above_its_cap_stops_the_query() -> None:
    run = running(PAIRS, StreamOptions(max_state=3_000, buckets=1))
    with pytest.raises(LimitError, match="STATE_TOO_LARGE"):
        feed(run, " ".join(f"a{time}/p" for time in range(500)))


@pytest.mark.parametrize("query", [PAIRS, PAIRS.replace("A AS a ; B", "A AS a ~> B"), PAIRS.replace("; B", "; NOT C ; B")])
def test_a_bucket_above_its_cap_gives_up_the_oldest_partial_matches(query: str) -> None:
    query = query.replace("WITHIN 10", "WITHIN 1000")
    run = running(query, StreamOptions(max_state=9_000, buckets=1, overflow=DROP_OLDEST))
    whole = running(query, StreamOptions(buckets=1))
    for begin in range(0, 600, 20):
        words = " ".join(f"a{time}/p" for time in range(begin, begin + 20))
        feed(run, words)
        feed(whole, words)
    for one in (run, whole):
        feed(one, "b600/p x700/p")
    assert sum(counters["dropped"] for counters in run.counters) > 0
    assert max(counters["state_bytes"] for counters in run.counters) <= 9_000
    kept, all_of_them = matches(run), matches(whole)
    # Nothing is invented, and the latest starts are still there.
    assert 0 < len(kept) < len(all_of_them)
    assert kept == all_of_them[-len(kept) :]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * WHERE NOT X ; A AS a ; B AS b WITHIN 100",
        "SELECT NEXT * WHERE A AS a ; B AS b WITHIN 100",
        "SELECT * WHERE A AS a ; B AS b WITHIN 100 CONSUME BY PARTITION",
        "SELECT * WHERE A AS a ; B AS b WITHIN 100 LIMIT 3",
    ],
)
def test_partial_matches_are_not_dropped_where_that_would_invent_matches(query: str) -> None:
    with pytest.raises(BindError, match="DROP_NOT_SOUND"):
        running(query, StreamOptions(overflow=DROP_OLDEST))


def test_events_are_put_in_order_where_a_late_one_must_find_what_not_forbids() -> None:
    plan = running("SELECT * WHERE A AS a ; NOT X ; B AS b WITHIN 100").plans["q"]
    assert reorder_reason(plan) is None
    assert reorder_reason(plan, DROP_OLDEST) is not None


@pytest.mark.parametrize("role", ["time", "tie_break", "time_unit"])
def test_other_roles_of_the_columns_make_another_query(role: str) -> None:
    table = pa.table({"ts": [1], "other": [1], "kind": ["A"]})
    changed = {"time": "ts", "type": "kind", "tie_break": "ts", "time_unit": "s"} | {role: "ms" if role == "time_unit" else "other"}
    runs = [
        Run({"q": et.query("SELECT * WHERE A ; B WITHIN 1 second")}, {"stream": et.events(table, **roles)})
        for roles in ({"time": "ts", "type": "kind", "tie_break": "ts", "time_unit": "s"}, changed)
    ]
    before, now = (run.job.queries[0].owner for run in runs)
    assert f"{role} was" in now.change_since(before.written())
    assert before.change_since(before.written()) is None


def test_streams_whose_times_count_other_units_are_refused() -> None:
    table = pa.table({"ts": [1], "kind": ["A"]})
    streams = {name: et.events(table, time="ts", type="kind", time_unit=unit) for name, unit in (("s", "s"), ("t", "ms"))}
    with pytest.raises(BindError, match="TIMES_DIFFER"):
        et.query("SELECT * FROM s, t WHERE A ; B WITHIN 5 seconds").match(**streams)


def test_a_late_event_of_several_groups_is_counted_once() -> None:
    texts = {"one": PAIRS, "two": "SELECT * WHERE A ; B WITHIN 5", "three": "SELECT * WHERE A ; C PARTITION BY kind WITHIN 5"}
    run = running(texts, registry=True)
    feed(run, "x50/p")
    feed(run, "a1/p c2/p")
    assert sum(counters["late"] for counters in run.counters) == 2


def test_nothing_is_held_when_limit_is_reached() -> None:
    run = running("SELECT * WHERE A AS a ; B AS b LIMIT 2")
    feed(run, "a1 b2 b3 b4 x9")
    assert len(matches(run)) == 2
    feed(run, "a10 a11 b12 x20")
    assert len(matches(run)) == 2
    assert run.counters[-1]["held"] == 0


def test_that_the_measure_of_a_window_decreases_is_seen_however_events_are_cut() -> None:
    schema = pa.schema([("ts", pa.int64()), ("kind", pa.string()), ("v", pa.int64())])
    roles = {"stream": et.events(schema.empty_table(), time="ts", type="kind")}
    run = Run({"q": et.query("SELECT * WHERE A AS a ; B AS b WITHIN 3 [v]")}, roles, StreamOptions(buckets=1))
    for ts, kind, value in ((1, "B", 5), (2, "A", 1)):
        run.feed({"stream": pa.table({"ts": [ts], "kind": [kind], "v": [value]})})
    with pytest.raises(DataError, match="WINDOW_ATTRIBUTE_DECREASES"):
        run.feed({"stream": pa.table({"ts": [3], "kind": ["B"], "v": [2]})})


def test_another_output_of_a_registry_is_refused() -> None:
    first = running({"q": PAIRS}, StreamOptions(output="ordered"), registry=True)
    feed(first, "a1/p b2/p")
    with pytest.raises(DataError, match="QUERY_CHANGED"):
        feed(resumed(first, running({"q": PAIRS}, registry=True)), "x30/p")


def test_queries_that_read_other_streams_cannot_share_a_pass() -> None:
    table = pa.table({"ts": [1], "kind": ["A"]})
    streams = {name: et.events(table, time="ts", type="kind") for name in ("s", "t")}
    text = "SELECT a.ts AS x FROM s, t WHERE s>A AS a ; t>B"
    both = et.queries({"one": text, "two": text.replace("s, t", "t, s")})
    with pytest.raises(BindError, match="OTHER_STREAMS"):
        both.match(**streams)


def test_a_column_that_is_called_query_cannot_stand_beside_the_one_that_names_the_query() -> None:
    table = pa.table({"ts": [1], "kind": ["A"]})
    with pytest.raises(BindError, match="DUPLICATE_COLUMN"):
        et.queries({"one": "SELECT a.ts AS query WHERE A AS a"}).match(et.events(table, time="ts", type="kind"))


def test_results_with_equal_ends_keep_their_order() -> None:
    table = pa.table({"s0": [0, 1, 2, 3], START: [1] * 4, END: [4, 4, 4, 2], MATCH_HIGH: [9, 3, 7, 1], MATCH_LOW: [0] * 4})
    stage = OrderedOutput(0)
    [ordered] = stage.take([table], None, 100)  # type: ignore[arg-type]
    assert ordered["s0"].to_pylist() == [3, 0, 1, 2]


def test_several_queries_share_a_run() -> None:
    texts = {
        "pairs": PAIRS,
        "everywhere": "SELECT * WHERE A AS a : B AS b WITHIN 10",
        "triples": "SELECT * WHERE A AS a ; B AS b ; C AS c PARTITION BY k WITHIN 10",
        "by kind": "SELECT * WHERE X AS a ; X AS b PARTITION BY kind WITHIN 5",
    }
    rng = Random(4)
    words = [f"{rng.choice('abcx')}{time // 2}/{rng.choice('pqr')}" for time in range(200)]
    together = running(texts, StreamOptions(2), registry=True)
    for begin in range(0, 200, 17):
        feed(together, " ".join(words[begin : begin + 17]))
    together.advance_clock()
    for name, text in texts.items():
        whole = et.query(text).match(et.events(events_of(words), time="ts", type="kind"))
        expected = sorted((row["match_start"], row["match_end"]) for row in whole.to_pylist())
        assert matches(together, name) == expected, name
        assert expected, name


def test_unchanged_queries_keep_their_state_when_others_change() -> None:
    first = running({"kept": PAIRS, "changed": PAIRS, "gone": PAIRS}, registry=True)
    feed(first, "a1/p a2/q")
    changed = {"new": PAIRS, "changed": PAIRS.replace("10", "9"), "kept": PAIRS}
    second = resumed(first, running(changed, registry=True))
    feed(second, "b3/p a4/p b5/p")
    second.advance_clock()
    assert matches(second, "kept") == [(1, 3), (1, 5), (4, 5)]
    assert matches(second, "changed") == matches(second, "new") == [(4, 5)]
    third = resumed(second, running({"gone": PAIRS}, registry=True))
    third.advance_clock()
    assert matches(third, "gone") == []


def test_the_cut_into_buckets_changes_nothing() -> None:
    rng = Random(3)
    words = [f"{rng.choice('abc')}{time // 3}/{rng.choice('pqrstuv')}" for time in range(300)]
    results = []
    for buckets in (1, 2, 7, 16):
        query = "SELECT k, a.ts AS x, b.ts AS y WHERE A AS a ; NOT C ; B AS b PARTITION BY k WITHIN 10"
        run = running(query, StreamOptions(buckets=buckets))
        for begin in range(0, 300, 50):
            feed(run, " ".join(words[begin : begin + 50]))
        run.advance_clock()
        results.append(sorted(tuple(row.values()) for row in run.result("q").to_pylist()))
    assert results[0]
    assert all(result == results[0] for result in results)


def test_idle_keys_are_given_up() -> None:
    run = running("SELECT * WHERE A AS a ~> B AS b PARTITION BY k WITHIN 10", StreamOptions(buckets=1))
    for key in range(500):
        feed(run, f"a{key}/{key}")
    assert max(counters["held"] for counters in run.counters) <= 13
    assert sum(counters["expired"] for counters in run.counters) > 480
    assert sum(map(len, run.states.values())) < 20_000
