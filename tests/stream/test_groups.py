"""GROUP BY END and WINDOW on streams: the rows of a table of the same events, whatever the disorder and the micro-batches."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import eventide as et
from eventide.errors import BindError, DataError
from eventide.pattern import GroupUnit, Query, Selector
from eventide.plan.totals.methods import Growth
from eventide.runtime.collect import group_totals
from eventide.runtime.streams.planning.jobs import StreamOptions
from harness.checking import run_batch
from harness.kinds.sequences.kind import SequenceCase, Sequences
from harness.kinds.sequences.oracle import produced_groups
from harness.kinds.sequences.streams import EPOCH
from harness.kinds.sequences.totals import make_group_trial
from harness.stream_ways import micro_batches, run_of, stream_options
from harness.ways import EMBEDDED, Way
from stream.driving import Run

BATCHES = 3
QUERIES = 12
OUTPUTS = ("final", "ordered")


# Against the oracle --------------------------------------------------------------------------------------------------


def completes(case: SequenceCase) -> bool:
    """Return whether a stream can complete the groups of a query."""
    query = case.trial.query
    # Which of equal matches ANY takes may differ between a stream and a table.
    return query.group_by.unit is not GroupUnit.PARTITION and query.selector is not Selector.ANY


def last_end(query: Query, row: tuple[object, ...]) -> int:
    """Return the latest time at which a match of a row's group can end, in units of the clock."""
    ending = query.group_by.unit is GroupUnit.END
    name = "match_end" if ending else "window_end"
    edge: Any = row[next(place for place, item in enumerate(query.output) if item.expression.sql == name)]
    moment = datetime.fromisoformat(edge).replace(tzinfo=UTC) if isinstance(edge, str) else edge
    clock = (moment - EPOCH) // timedelta(microseconds=1) if isinstance(moment, datetime) else moment
    return clock if ending else clock - 1


def run_groups(case: SequenceCase, rng: Random) -> pa.Table:
    """Run a case as a stream; after each micro-batch the rows of the groups that are certain must be there, and no others."""
    run = run_of(case, stream_options(case, rng, rng.choice(OUTPUTS)))
    plan, query = run.plans["q"], case.trial.query
    for piece in micro_batches(case):
        run.feed(case.tables(piece))
        watermark = run.counters[-1]["watermark"]
        known = Counter() if watermark is None else Counter(
            {row: count for row, count in case.expected.group_rows.items() if last_end(query, row) < watermark - plan.hold}
        )
        assert produced_groups(query, run.result("q")) == known, f"not what is certain at {watermark}"
    run.advance_clock()
    assert not sum(counters["late"] for counters in run.counters)
    return run.result("q")


GROUPS = Sequences(make_group_trial, streams=10, late=True, accepts=completes)
WAYS = (EMBEDDED, Way("streamed", run_groups, refusals=frozenset({"RESULTS_ON_STREAM"})))


def test_rows_of_groups_leave_as_the_watermark_passes_and_agree_with_a_table_and_the_oracle() -> None:
    taken: Counter[str] = Counter()
    for seed in range(BATCHES):
        taken += run_batch(GROUPS, seed, WAYS, queries=QUERIES).labels
    # A generator that no longer makes queries for one of the ways would leave it untested.
    assert min(taken[growth.name] for growth in Growth) > 0


@pytest.mark.long
@pytest.mark.parametrize("seed", range(1000, 1060))
def test_groups_of_a_stream_agree_with_the_oracle_on_many_more(seed: int) -> None:
    run_batch(GROUPS, seed, WAYS, queries=5 * QUERIES)


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
