"""ORDER BY with LIMIT, and SAMPLE: some matches of very many."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from random import Random

import numpy as np
import pyarrow as pa
import pytest

import eventide as et
from eventide.errors import EventideError, EventideWarning
from eventide.match.totals.exact import Aggregator, EventColumns
from eventide.match.totals.paths import Numbered
from eventide.plan.expressions.schema import Kind
from eventide.plan.matchers.registry import make_plan
from eventide.runtime.collect.sample import drawn_numbers

TABLE = pa.table(
    {
        "ts": range(202),
        "kind": ["A", *["B"] * 200, "C"],
        "x": [(37 * number) % 101 - 50 for number in range(202)],
        "k": [number % 2 for number in range(202)],
    }
)
EVENTS = et.events(TABLE, time="ts", type="kind")


def chi_square(counts: list[int], expected: float) -> float:
    """Return how far counts are from being equal."""
    return sum((count - expected) ** 2 / expected for count in counts)


def test_the_best_of_two_to_the_two_hundred_matches_are_found() -> None:
    text = "SELECT SUM(b.x) AS s WHERE A ; B+ AS b ; C ORDER BY SUM(b.x) DESC LIMIT 4"
    with warnings.catch_warnings():
        warnings.simplefilter("error", EventideWarning)
        found = et.query(text).match(EVENTS)["s"].to_pylist()
    values = TABLE["x"].to_pylist()[1:-1]
    best = sum(value for value in values if value > 0)
    # Zeros can be left out or taken, and the smallest values swapped, for the next best ones.
    assert found[0] == best
    assert found == sorted(found, reverse=True)
    assert values.count(0) == 2
    assert found == [best] * 4


def test_equal_scores_are_ordered_by_the_end() -> None:
    text = "SELECT match_end WHERE B AS a ; B AS b WITHIN 2 ORDER BY COUNT(b) LIMIT 5"
    assert et.query(text).match(EVENTS)["match_end"].to_pylist() == [2, 3, 3, 4, 4]


def test_a_limit_of_nothing_gives_nothing() -> None:
    assert et.query("SELECT * WHERE A ; B AS b ORDER BY b.x LIMIT 0").match(EVENTS).num_rows == 0
    assert et.query("SELECT * WHERE A ; B AS b SAMPLE 0").match(EVENTS).num_rows == 0


def test_scores_that_are_not_finite_are_refused() -> None:
    table = pa.table({"ts": [1, 2], "kind": ["A", "B"], "x": [1.0, math.nan]})
    with pytest.raises(EventideError, match="SCORE_NOT_FINITE"):
        et.query("SELECT * WHERE A ; B AS b ORDER BY b.x LIMIT 1").match(et.events(table, time="ts", type="kind"))


def test_conditions_between_distant_events_warn_that_every_match_is_listed() -> None:
    short = et.events(TABLE.slice(0, 12), time="ts", type="kind")
    for clause in ("ORDER BY SUM(b.x) LIMIT 2", "SAMPLE 2 SEED 1"):
        with pytest.warns(EventideWarning, match="enumerates every match here"):
            found = et.query(f"SELECT * WHERE A ; B+ AS b FILTER SUM(b.x) < 999 WITHIN 99 {clause}").match(short)
        assert found.num_rows == 2


def test_every_number_is_another_match() -> None:
    plan = make_plan(et.query("SELECT * WHERE A AS a ; B+ AS b ; (C OR B AS d) WITHIN 4 EVENTS").model, {}, _floats)
    rng = Random(5)
    masks = [rng.choice((1, 2, 3, 5, 7)) for _ in range(30)]
    aggregator = Aggregator(plan.automaton(), len(plan.predicates))
    places = np.arange(30, dtype=np.int64)
    nothing = np.zeros((0, 30))
    values, valid = nothing.astype(np.int64), nothing.astype(np.uint8)
    events = EventColumns(np.array(masks), places, places - 4, np.array([0, 14, 30]), places * 0, 1, values, valid)
    kept = aggregator.kept(events)
    numbered = Numbered(aggregator, kept, aggregator.matches_of_ends(kept))
    totals = []
    for key in range(2):
        begin, end = int(kept.offsets[key]), int(kept.offsets[key + 1])
        totals.append(numbered.total(begin, end))
        assert len(set(numbered.matches([(begin, number) for number in range(totals[-1])]))) == totals[-1]
    assert min(totals) > 10


def _floats(trees: object) -> list[Kind]:
    return [Kind.FLOAT for _ in trees]  # type: ignore[attr-defined]


def test_ranks_of_two_tasks_draw_all_matches_alike() -> None:
    drawn: Counter[tuple[int, int]] = Counter()
    rounds = 4000
    for seed in range(rounds):
        source = Random(seed)
        ranked = [
            (rank, task, number)
            for task, total in enumerate((3, 9))
            for rank, number in drawn_numbers(source, total, 4, math.inf)
        ]
        drawn.update((task, number) for _, task, number in sorted(ranked)[:4])
    assert len(drawn) == 12
    # Eleven degrees of freedom: above 24.7 one time in a hundred; the draws are without replacement, so it is less.
    assert chi_square(list(drawn.values()), rounds * 4 / 12) < 24.7


def test_samples_of_all_keys_are_uniform() -> None:
    table = pa.table({"ts": [1, 2, 3, 4, 1, 2, 3], "kind": ["B"] * 7, "k": [1] * 4 + [2] * 3})
    events = et.events(table, time="ts", type="kind")
    # 15 and 7 non-empty sets.
    drawn: Counter[str] = Counter()
    rounds = 220
    for seed in range(rounds):
        rows = et.query(f"SELECT * WHERE B+ AS b PARTITION BY k SAMPLE 5 SEED {seed}").match(events).to_pylist()
        assert len({repr(row) for row in rows}) == 5
        drawn.update(repr(row) for row in rows)
    assert len(drawn) == 22
    # 21 degrees of freedom: above 38.9 one time in a hundred.
    assert chi_square(list(drawn.values()), rounds * 5 / 22) < 38.9


def test_a_sample_of_more_than_all_is_all() -> None:
    short = et.events(TABLE.slice(0, 8), time="ts", type="kind")
    found = et.query("SELECT * WHERE A ; B+ AS b SAMPLE 1000").match(short)
    everything = et.query("SELECT * WHERE A ; B+ AS b WITHIN 100").match(short)
    assert sorted(map(repr, found.to_pylist())) == sorted(map(repr, everything.to_pylist()))


def test_the_same_seed_draws_the_same_matches_and_another_draws_others() -> None:
    text = "SELECT SUM(b.x) AS s, COUNT(b) AS n WHERE A ; B+ AS b ; C SAMPLE 20 SEED {}"
    one, same, other = (et.query(text.format(seed)).match(EVENTS).to_pylist() for seed in (1, 1, 2))
    assert one == same != other


def test_a_score_of_whole_numbers_that_no_double_holds_is_rounded() -> None:
    table = pa.table({"ts": [1, 2, 3], "kind": ["A", "B", "B"], "v": [0, 5, 2**53 + 1]})
    best = et.query("SELECT b.ts AS y WHERE A AS a ; B AS b ORDER BY b.v DESC LIMIT 1").match(et.events(table, time="ts", type="kind"))
    assert best["y"].to_pylist() == [3]
