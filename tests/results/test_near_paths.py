"""The best matches and samples where conditions relate neighbouring events, or others to the first: nothing is listed."""

from __future__ import annotations

import json
import warnings
from collections import Counter
from itertools import pairwise
from random import Random
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest

import eventide as et
from eventide.errors import EventideWarning, LimitError
from eventide.match.totals import neighbour_paths, paths
from eventide.match.totals.exact import EventColumns
from eventide.match.totals.paths import Match, Numbered, Ranked
from eventide.plan.expressions.schema import Kind
from eventide.plan.matchers.registry import make_plan
from eventide.plan.plan import Plan
from eventide.plan.totals.methods import Growth
from eventide.runtime.stage.propagation import make_aggregator
from match.test_jit_modes import elsewhere
from results.test_chosen import chi_square

RISING = "A ; B+ AS b ; C FILTER b.x <= NEXT(b.x)"
ABOVE_THE_FIRST = "A AS a ; B+ AS b ; C FILTER b.x >= a.x"
SCRIPT = "import json; from results.test_near_paths import answers; print(json.dumps(answers()))"


def loop(values: list[int | None], before: int = 0, keys: list[int] | None = None) -> et.EventColumns:
    """Return A, then a B for each value, then C."""
    size = len(values)
    columns: dict[str, Any] = {"ts": range(size + 2), "kind": ["A", *["B"] * size, "C"], "x": [before, *values, 0]}
    return et.events(pa.table(columns | ({} if keys is None else {"k": keys})), time="ts", type="kind")


def run(text: str, events: et.EventColumns) -> list[dict[str, Any]]:
    """Return the rows of a query that must not list all matches."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", EventideWarning)
        rows: list[dict[str, Any]] = et.query(text).match(events).to_pylist()
    return rows


def rising(values: list[int]) -> bool:
    return all(one <= other for one, other in pairwise(values))


@pytest.mark.parametrize("pattern", [RISING, ABOVE_THE_FIRST, f"{RISING} AND a.x <= b.x".replace("A ;", "A AS a ;")])
@pytest.mark.parametrize("within", ["", "WITHIN 500", "WITHIN 250 EVENTS"])
def test_the_best_of_two_to_the_two_hundred_matches_are_found(pattern: str, within: str) -> None:
    events = loop([number // 2 for number in range(200)])
    best = run(f"SELECT * WHERE {pattern} {within} ORDER BY SUM(b.x) + COUNT(b) DESC LIMIT 4", events)
    found = [[event["ts"] for event in row["b"]] for row in best]
    everything = list(range(1, 201))
    # The next best leave out one of the two zeros, then both, or one of the ones.
    assert found[0] == everything
    assert sorted(map(len, found)) == [198, 199, 199, 200] or sorted(map(len, found)) == [199, 199, 199, 200]
    assert all(set(one) <= set(everything) for one in found)


@pytest.mark.parametrize("pattern", [RISING, ABOVE_THE_FIRST])
def test_matches_drawn_of_ten_to_the_sixty_keep_the_condition(pattern: str) -> None:
    events = loop([number // 2 for number in range(200)])
    drawn = run(f"SELECT * WHERE {pattern} SAMPLE 100 SEED 7", events)
    found = [tuple(event["ts"] for event in row["b"]) for row in drawn]
    assert len(set(found)) == 100
    # Every B is in half of the matches: 50 times of 100, give or take 5 standard deviations.
    counts = Counter(place for match in found for place in match)
    assert all(25 <= counts[place] <= 75 for place in range(1, 201))


def test_what_cannot_follow_is_never_drawn() -> None:
    rng = Random(3)
    values = [rng.randrange(40) for _ in range(120)]
    drawn = run(f"SELECT * WHERE {RISING} SAMPLE 200 SEED 1", loop(list(values)))
    best = run(f"SELECT * WHERE {RISING} ORDER BY SUM(b.x) DESC LIMIT 50", loop(list(values)))
    for row in (*drawn, *best):
        assert rising([event["x"] for event in row["b"]])
    scores = [sum(event["x"] for event in row["b"]) for row in best]
    assert scores == sorted(scores, reverse=True)
    assert scores[0] == heaviest_rise(values)


def heaviest_rise(values: list[int]) -> int:
    """Return the largest sum of values that do not fall, by the textbook."""
    best: list[int] = []
    for place, value in enumerate(values):
        best.append(value + max((best[other] for other in range(place) if values[other] <= value), default=0))
    return max(best)


def test_null_fits_nothing() -> None:
    rows = run("SELECT * WHERE B+ AS b FILTER b.x <= NEXT(b.x) ORDER BY COUNT(b) DESC LIMIT 100", loop([1, None, 2]))
    assert [[event["x"] for event in row["b"]] for row in rows] == [[1, 2], [1], [None], [2]]


@pytest.mark.parametrize(
    ("pattern", "number"), [("B+ AS b FILTER b.x <= NEXT(b.x)", 27), ("B AS a ; B+ AS b FILTER b.x >= a.x", 23)]
)
def test_samples_of_all_keys_are_uniform(pattern: str, number: int) -> None:
    table = {"ts": [1, 2, 3, 4, 5, 1, 2, 3], "kind": ["B"] * 8, "x": [1, 2, 1, 3, 3, 1, 1, 0], "k": [1] * 5 + [2] * 3}
    events = et.events(pa.table(table), time="ts", type="kind")
    everything = {repr(row) for row in et.query(f"SELECT * WHERE {pattern} PARTITION BY k WITHIN 99").match(events).to_pylist()}
    assert len(everything) == number
    drawn: Counter[str] = Counter()
    rounds = 150
    for seed in range(rounds):
        rows = run(f"SELECT * WHERE {pattern} PARTITION BY k SAMPLE 5 SEED {seed}", events)
        assert len({repr(row) for row in rows}) == 5
        drawn.update(repr(row) for row in rows)
    assert set(drawn) == everything
    # Above 45.6 (26 degrees of freedom) and 40.3 (22) one time in a hundred; without repetition it is less.
    assert chi_square(list(drawn.values()), rounds * 5 / number) < {27: 45.6, 23: 40.3}[number]


def test_too_many_pairs_are_refused_as_for_groups() -> None:
    with mock.patch("eventide.match.totals.neighbouring.MOST_PAIRS", 50):
        for clause in ("ORDER BY SUM(b.x) LIMIT 2", "SAMPLE 2 SEED 1"):
            with pytest.raises(LimitError, match="TOO_MANY_PAIRS"):
                run(f"SELECT * WHERE {RISING} {clause}", loop(list(range(30))))


def test_explain_says_that_neighbours_are_remembered() -> None:
    for clause, walk in (("ORDER BY SUM(b.x) LIMIT 2", "k-best: "), ("SAMPLE 2", "path sampling: ")):
        near = et.query(f"SELECT * WHERE {RISING} {clause}").explain()
        assert walk in near
        assert "polynomial: conditions relate neighbouring events" in near
        linear = et.query(f"SELECT * WHERE A ; B+ AS b {clause}").explain()
        assert walk in linear
        assert "linear: " in linear
        far = et.query(f"SELECT * WHERE A ; B+ AS b FILTER SUM(b.x) < 9 {clause}").explain()
        assert "enumeration: SUM(b.x) < 9" in far
        assert walk not in far


PATTERNS = (
    "B+ AS b FILTER b.x <= NEXT(b.x)",
    "A AS a ; B+ AS b ; C AS c FILTER a.x <= FIRST(b.x) AND c.x >= LAST(b.x)",
    "A AS a ; (B AS b OR C AS c)+ FILTER b.x >= a.x",
    "A AS a ; B* AS b ; C? AS c FILTER b.x >= a.x AND c.x <= a.x",
    "A+ AS a ; NOT C ; B AS b FILTER a.x <= NEXT(a.x) AND b.x < LAST(a.x)",
    "A ; B+ AS b : C AS c FILTER b.x <> NEXT(b.x) AND c.x > LAST(b.x)",
)
WINDOWS = ("", "WITHIN 5")


def plan_of(text: str) -> Plan:
    plan = make_plan(et.query(text).model, {}, lambda trees: [Kind.INTEGER for _ in trees])
    assert plan.totals_method.growth is Growth.POLYNOMIAL
    return plan


def random_events(rng: Random, plan: Plan, size: int) -> EventColumns:
    """Return events of two keys that set random bits, with values that are null now and then."""
    every_bit = (1 << len(plan.predicates)) - 1
    masks = np.array([rng.choice((1, 2, 2, 3, 4, 5, 7)) & every_bit for _ in range(size)])
    times = np.sort(np.array([rng.randrange(size) for _ in range(size)]))
    cut = rng.randrange(size + 1)
    offsets = np.array([0, cut, size])
    clocks = np.concatenate([times[:cut], times[cut:] + 1000])
    window = plan.query.window
    lows = np.full(size, np.iinfo(np.int64).min)
    if window is not None:
        lows = clocks - 5
    columns = len(plan.values)
    values = np.array([[rng.randrange(4) for _ in range(size)] for _ in range(columns)], np.int64).reshape(columns, size)
    valid = np.array([[rng.random() < 0.9 for _ in range(size)] for _ in range(columns)], np.uint8).reshape(columns, size)
    return EventColumns(masks, clocks, lows, offsets, np.zeros(size, np.int64), 1, values, valid)


def check_walks(rng: Random, text: str) -> int:
    """Compare the numbered matches with the ranked ones; returns how many there are."""
    plan = plan_of(text)
    aggregator, _ = make_aggregator(plan)
    kept = aggregator.kept(random_events(rng, plan, rng.randrange(3, 13)))
    matches = aggregator.matches_of_ends(kept)
    numbered = Numbered(aggregator, kept, matches)
    every = numbered.matches([(0, number) for number in range(sum(matches))])
    assert len(set(every)) == len(every)
    assert [match.end for match in every] == [end for end, number in enumerate(matches) for _ in range(number)]
    labels = int(aggregator.symbols.tables.label.max(initial=0)) + 1
    values = np.array([[rng.randrange(-3, 4) for _ in kept.row] for _ in range(2)], np.float64).reshape(2, -1)
    binds = np.array([[rng.random() < 0.7 for _ in range(labels)] for _ in range(2)], np.uint8)

    def weight(match: Match) -> float:
        return float(sum(values[term, event] for event, label in match.bound for term in range(2) if binds[term, label]))

    order = np.array(rng.sample(range(len(kept.row)), len(kept.row)), np.int64)
    by_weight = sorted((-weight(match), int(order[match.end])) for match in every)
    for wanted in (len(every) + 1, rng.randrange(1, 5)):
        found = list(Ranked(aggregator, kept, values, binds).first(wanted, order))
        assert [(-claimed, int(order[match.end])) for claimed, match in found] == by_weight[:wanted]
        assert all(claimed == weight(match) for claimed, match in found)
        assert len({match for _, match in found} & set(every)) == len(found)
    return len(every)


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("pattern", PATTERNS)
def test_numbered_and_ranked_matches_are_the_same(pattern: str, window: str) -> None:
    rng = Random(pattern + window)
    assert sum(check_walks(rng, f"SELECT * WHERE {pattern} {window}") for _ in range(40)) > 20


@pytest.mark.parametrize("pattern", PATTERNS)
def test_small_stores_and_many_primes_change_nothing(pattern: str) -> None:
    rng = Random(pattern)
    with (
        mock.patch.object(neighbour_paths, "SAFE_BITS", 1),
        mock.patch.object(neighbour_paths, "MOST_STARTS", 1),
        mock.patch.object(neighbour_paths, "MOST_TOTALS", 7),
        mock.patch.object(paths, "MOST_REMEMBERED", 3),
    ):
        assert sum(check_walks(rng, f"SELECT * WHERE {pattern}") for _ in range(15)) > 5


def test_counts_beyond_the_doubles_are_numbered_exactly() -> None:
    # Equal values: any set of them is a match, so the numbers of an end are those of the sets before it.
    plan = plan_of("SELECT * WHERE B+ AS b FILTER b.x <= NEXT(b.x)")
    size = 1050
    aggregator, _ = make_aggregator(plan)
    places = np.arange(size, dtype=np.int64)
    columns = (len(plan.values), size)
    lows = np.full(size, np.iinfo(np.int64).min)
    events = EventColumns(
        places * 0 + 1, places, lows, np.array([0, size]), places * 0, 1, np.zeros(columns, np.int64), np.ones(columns, np.uint8)
    )
    kept = aggregator.kept(events)
    matches = aggregator.matches_of_ends(kept)
    assert matches == [2**place for place in range(size)]
    numbered = Numbered(aggregator, kept, matches)
    total = numbered.total(0, size)
    ends = [total - 1, total - 2, total // 2, 2**1048 + 12345, 0]
    found = numbered.matches([(0, number) for number in sorted(ends)])
    assert len(set(found)) == len(ends)
    assert [match.end for match in found] == [0, 1048, 1049, 1049, 1049]


def answers() -> list[Any]:
    """Return the best and drawn matches of small streams."""
    rng = Random(5)
    found: list[Any] = []
    for pattern in PATTERNS:
        plan = plan_of(f"SELECT * WHERE {pattern} WITHIN 5")
        aggregator, _ = make_aggregator(plan)
        kept = aggregator.kept(random_events(rng, plan, 9))
        matches = aggregator.matches_of_ends(kept)
        numbered = Numbered(aggregator, kept, matches)
        labels = int(aggregator.symbols.tables.label.max(initial=0)) + 1
        ranked = Ranked(aggregator, kept, np.arange(1.0, len(kept.row) + 1).reshape(1, -1), np.ones((1, labels), np.uint8))
        with mock.patch.object(neighbour_paths, "SAFE_BITS", 1):
            found.append(numbered.matches([(0, number) for number in range(sum(matches))]))
        found.append(list(ranked.first(5, np.arange(len(kept.row)))))
    return found


def test_plain_python_walks_the_same_ways() -> None:
    assert elsewhere(SCRIPT, NUMBA_DISABLE_JIT="1") == json.loads(json.dumps(answers()))


@pytest.mark.long
def test_the_walks_stay_inside_their_arrays(tmp_path: Any) -> None:
    assert elsewhere(SCRIPT, NUMBA_BOUNDSCHECK="1", NUMBA_CACHE_DIR=str(tmp_path)) == json.loads(json.dumps(answers()))
