"""GROUP BY END and WINDOW on streams: the rows of a table of the same events, whatever the disorder and the micro-batches."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from random import Random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import eventide as et
from differential.checking import events_of, make_events
from differential.results import expected_groups, make_group_trial, produced_groups, run_quietly
from differential.streams import EPOCH
from eventide.errors import BindError, DataError
from eventide.pattern import Consumption, GroupUnit, Selector
from eventide.pattern.sequence_printing import to_ceql
from eventide.plan.totals.methods import Growth
from eventide.runtime.collect import group_totals
from eventide.runtime.streams.planning.jobs import StreamOptions
from stream.driving import Run
from stream.test_event_engine import disordered, pieces, tables_of

if TYPE_CHECKING:
    from differential.queries import Trial

BATCHES = 3
QUERIES = 12
STREAMS_OF_A_TABLE = 10
SHARED_STREAMS = 4
OUTPUTS = ("final", "ordered")


# Against the oracle --------------------------------------------------------------------------------------------------


def make_stream_trial(rng: Random) -> Trial:
    """Return a random query whose groups a stream can complete."""
    while True:
        trial = make_group_trial(rng)
        # Which of equal matches ANY takes may differ between a stream and a table.
        if trial.query.group_by.unit is not GroupUnit.PARTITION and trial.query.selector is not Selector.ANY:
            return trial


def last_end(trial: Trial, row: tuple[object, ...]) -> int:
    """Return the latest time at which a match of a row's group can end, in units of the clock."""
    ending = trial.query.group_by.unit is GroupUnit.END
    name = "match_end" if ending else "window_end"
    edge: Any = row[next(place for place, item in enumerate(trial.query.output) if item.expression.sql == name)]
    clock = (edge - EPOCH) // timedelta(microseconds=1) if isinstance(edge, datetime) else edge
    return clock if ending else clock - 1


def check(rng: Random, trial: Trial) -> Growth | None:
    """Compare a stream with a table of its events and with the oracle; returns the way it took, None where it is refused."""
    together = trial.query.consumption is Consumption.ANY
    streams = 1 if not trial.by_case else SHARED_STREAMS if together else STREAMS_OF_A_TABLE
    rows = make_events(rng, trial, streams)
    bound = rng.choice((0, 1, 3, 8))
    arrived = disordered(rng, rows, bound, tie_break=trial.tie_break)
    output, unit = rng.choice(OUTPUTS), 1_000_000 if trial.timestamps else 1
    try:
        options = StreamOptions(bound * unit, output, rng.choice((1, 2, 3)))
        run = Run({"q": et.query(trial.query)}, events_of(trial, [], lambda table: table), options)
    except BindError as refusal:
        assert "NOT at the end" in refusal.message  # noqa: PT017
        return None
    plan = run.plans["q"]
    expected = expected_groups(trial, arrived)
    text = f"{to_ceql(trial.query)}\n{output}, bound {bound}, {plan.totals_method.growth}"
    for piece in pieces(rng, arrived):
        run.feed(tables_of(trial, piece))
        watermark = run.counters[-1]["watermark"]
        known = Counter() if watermark is None else Counter(
            {row: count for row, count in expected.items() if last_end(trial, row) < watermark - plan.hold}
        )
        assert produced_groups(trial, run.result("q")) == known, text
    run.advance_clock()
    assert not sum(counters["late"] for counters in run.counters)
    assert produced_groups(trial, run.result("q")) == expected, text
    assert produced_groups(trial, run_quietly(trial.query, events_of(trial, arrived, lambda table: table))) == expected, text
    return plan.totals_method.growth


def run_batch(seed: int, queries: int) -> Counter[Growth | None]:
    rng = Random(seed)
    return Counter(check(rng, make_stream_trial(rng)) for _ in range(queries))


def test_rows_of_groups_leave_as_the_watermark_passes_and_agree_with_a_table_and_the_oracle() -> None:
    taken: Counter[Growth | None] = Counter()
    for seed in range(BATCHES):
        taken += run_batch(seed, QUERIES)
    # A generator that no longer makes queries for one of the ways would leave it untested.
    assert min(taken[cost] for cost in Growth) > 0


@pytest.mark.long
@pytest.mark.parametrize("seed", range(1000, 1060))
def test_groups_of_a_stream_agree_with_the_oracle_on_many_more(seed: int) -> None:
    run_batch(seed, 5 * QUERIES)


# One behaviour each --------------------------------------------------------------------------------------------------

SCHEMA = pa.schema([("ts", pa.int64()), ("kind", pa.string()), ("k", pa.string()), ("id", pa.int64()), ("x", pa.int64())])


def table(*rows: tuple[int, str], k: str = "a") -> pa.Table:
    return pa.Table.from_pylist([{"ts": ts, "kind": kind, "k": k, "id": 0, "x": ts} for ts, kind in rows], schema=SCHEMA)


def begin(query: str, *, registry: bool = False, **options: Any) -> Run:
    given = {"stream": et.events(table(), time="ts", type="kind")}
    queries = {"q": et.query(query)}
    if registry:
        queries["plain"] = et.query("SELECT b WHERE B AS b PARTITION BY k")
    return Run(queries, given, StreamOptions(**options), registry=registry)


def shown(run: Run) -> list[tuple[Any, ...]]:
    """Return what came out so far, without the doubles beside exact numbers."""
    rows = run.result("q").to_pylist()
    return [tuple(value for name, value in row.items() if not name.endswith("_approx")) for row in rows]


def test_an_end_leaves_when_no_event_to_come_can_stand_before_it() -> None:
    run = begin("SELECT match_end, COUNT(*) AS n, SUM(a.x) AS s WHERE A AS a ; B WITHIN 10 GROUP BY END", lateness=3)
    run.feed({"stream": table((5, "B"), (2, "A"), (3, "A"))})
    run.feed({"stream": table((8, "B"))})
    assert shown(run) == []
    run.feed({"stream": table((9, "Z"))})
    assert shown(run) == [(5, "2", "5")]
    run.advance_clock()
    assert shown(run) == [(5, "2", "5"), (8, "2", "5")]


def test_a_window_leaves_when_the_watermark_reaches_its_end() -> None:
    run = begin(
        "SELECT window_start, window_end, COUNT(*) AS n, MIN(a.x) AS low WHERE A AS a ; B WITHIN 10 GROUP BY WINDOW 10", lateness=2
    )
    run.feed({"stream": table((8, "A"), (9, "B"), (11, "B"), (10, "A"))})
    assert shown(run) == []
    run.feed({"stream": table((12, "Z"))})
    assert shown(run) == [(0, 10, "1", 8)]
    run.feed({"stream": table((21, "Z"))})
    assert shown(run) == [(0, 10, "1", 8)]
    run.feed({"stream": table((22, "Z"))})
    assert shown(run) == [(0, 10, "1", 8), (10, 20, "2", 8)]


def test_a_group_waits_for_a_not_at_its_end() -> None:
    run = begin("SELECT match_end, COUNT(*) AS n WHERE A AS a ; B ; NOT C WITHIN 10 GROUP BY END")
    run.feed({"stream": table((1, "A"), (5, "A"), (6, "B"), (14, "C"), (16, "Z"))})
    assert shown(run) == []
    run.feed({"stream": table((17, "Z"))})
    assert shown(run) == [(6, "1")]


@pytest.mark.parametrize("registry", [False, True])
@pytest.mark.parametrize(
    ("shown_key", "clause", "expected"),
    [("k, ", "PARTITION BY k", [("u", 100, "12"), ("v", 100, "12")]), ("", "", [(100, "24")])],
)
def test_keys_that_follow_from_equalities_share_the_window_of_their_partition(
    shown_key: str, clause: str, expected: list[tuple[Any, ...]], registry: bool
) -> None:
    query = f"SELECT {shown_key}window_end, COUNT(*) AS n WHERE A AS a ; B AS b FILTER a.id = b.id {clause} WITHIN 5 GROUP BY WINDOW 100"
    # The other query spreads events by the hash that tells the partitions of this one apart.
    run = begin(query, buckets=5, registry=registry)
    assert run.plans["q"].derived_keys
    for first in range(0, 40, 20):
        rows = [
            {"ts": first + place, "kind": "AB"[place % 2], "k": "uv"[number % 2], "id": number, "x": 0}
            for number in range(12)
            for place in range(2)
        ]
        run.feed({"stream": pa.Table.from_pylist(sorted(rows, key=lambda row: row["ts"]), schema=SCHEMA)})
    run.advance_clock()
    assert sorted(shown(run)) == expected


def test_counts_and_sums_stay_exact_over_micro_batches_whatever_their_size() -> None:
    query = "SELECT window_end, COUNT(*) AS n, SUM(b.x) AS s, AVG(b.x) AS m, MAX(b.x) AS top WHERE B+ AS b WITHIN 99 GROUP BY WINDOW 250"
    run = begin(query)
    rows = [(ts, "B") for ts in range(400)]
    for first in range(0, 400, 35):
        run.feed({"stream": table(*rows[first : first + 35])})
    run.advance_clock()
    whole = et.query(query).match(et.events(table(*rows), time="ts", type="kind")).to_pylist()
    assert run.result("q").to_pylist() == whole
    assert int(whole[0]["n"]) > 1 << 100


def test_state_holds_the_events_of_a_window_and_the_groups_that_are_open() -> None:
    run = begin("SELECT k, window_end, COUNT(*) AS n WHERE B+ AS b PARTITION BY k WITHIN 20 GROUP BY WINDOW 50", buckets=1)
    sizes = []
    for first in range(0, 2000, 100):
        run.feed({"stream": table(*((ts, "B") for ts in range(first, first + 100)), k=f"key {first % 700}")})
        sizes.append(sum(map(len, run.states.values())))
        assert run.counters[-1]["held"] <= 22
    assert max(sizes[2:]) < 1.2 * min(sizes[2:])
    assert sum(counters["expired"] for counters in run.counters) > 0


def test_groups_and_matches_leave_one_run_side_by_side() -> None:
    run = begin("SELECT match_end, COUNT(*) AS n WHERE A ; B PARTITION BY k WITHIN 9 GROUP BY END", registry=True)
    run.feed({"stream": table((1, "A"), (2, "B"), (3, "Z"))})
    assert shown(run) == [(2, "1")]
    assert run.result("plain").num_rows == 1


def test_state_of_another_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    run = begin("SELECT COUNT(*) AS n WHERE A GROUP BY WINDOW 10")
    run.feed({"stream": table((1, "A"))})
    monkeypatch.setattr(group_totals, "STATE_VERSION", 2)
    with pytest.raises(DataError, match="STATE_VERSION"):
        run.feed({"stream": table((2, "A"))})


@pytest.mark.parametrize(
    ("clauses", "options", "reason"),
    [
        ("WHERE A ; B WITHIN 9 GROUP BY PARTITION", {}, "never complete"),
        ("WHERE A ; B WITHIN 9 GROUP BY END", {"output": "early"}, "every event would replace it"),
        ("WHERE A ; B WITHIN 9 GROUP BY END", {"overflow": "drop_oldest"}, "totals of GROUP BY would be wrong"),
        ("WHERE A ; B ; NOT C WITHIN 9 events GROUP BY END", {}, "no time tells"),
        ("WHERE A AS a WITHIN 9 ORDER BY COUNT(a) LIMIT 3", {}, "never final"),
        ("WHERE A WITHIN 9 SAMPLE 3", {}, "never final"),
    ],
)
def test_what_a_stream_never_decides_is_refused_with_the_reason(clauses: str, options: dict[str, str], reason: str) -> None:
    with pytest.raises(BindError, match=reason) as refused:
        begin(f"SELECT COUNT(*) AS n {clauses}", **options)
    assert refused.value.hint


def test_the_operator_for_disorder_is_refused() -> None:
    given = {"stream": et.events(table(), time="ts", type="kind")}
    with pytest.raises(BindError, match="MATCHER_NOT_SOUND"):
        Run({"q": et.query("SELECT COUNT(*) AS n WHERE A ; B WITHIN 9 GROUP BY END")}, given, force="disorder")
