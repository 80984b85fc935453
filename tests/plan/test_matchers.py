"""Which matcher runs a query: by the query alone, by what the first events show, or because a user asked for it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import eventide as et
from eventide.errors import BindError
from eventide.match.dag.matching.matcher import DagMatcher
from eventide.match.protocol import EventBatch
from eventide.match.recompute.matcher import RecomputeMatcher
from eventide.match.runs.matcher import RunsMatcher
from eventide.plan.expressions.schema import Kind, StreamSchema
from eventide.plan.matchers.protocol import DAG, DISORDER, RECOMPUTE, RUNS, Takes
from eventide.plan.matchers.registry import MATCHERS, enumerated_plan, make_matcher, make_plan, plan_with_sample
from eventide.plan.matchers.sample import MOST_EVENTS, Sample
from eventide.plan.plan import Plan
from eventide.runtime.budget.limits import StageLimits
from eventide.runtime.stage import assembly

SCHEMA = StreamSchema({"ts": Kind.INTEGER, "kind": Kind.STRING, "x": Kind.FLOAT, "y": Kind.FLOAT}, time="ts", type="kind")
NARROW = "A AS a ; B AS b ; C AS c FILTER a.x > b.x AND a.y < b.y AND b.x > c.x AND b.y < c.y"
HALF = "A AS a ; B AS b ; C AS c FILTER a.x < b.x AND b.x < c.x"
LOOP = "B+ AS b ; C AS c FILTER b.x > NEXT(b.x) AND b.y < NEXT(b.y)"


def plan_of(pattern: str, window: int | str | None = None, matcher: str | None = None) -> Plan:
    text = f"SELECT * WHERE {pattern}" + ("" if window is None else f" WITHIN {window}")
    return make_plan(et.query(text).model, {"S": SCHEMA}, lambda trees: [Kind.FLOAT] * len(trees), matcher=matcher)


def batch_of(plan: Plan, events: int, window: int, seed: int = 1) -> EventBatch:
    """Draw events of all types of a plan; of a step about one event in a window is higher in x and lower in y than another."""
    rng = np.random.default_rng(seed)
    types = len(plan.predicates)
    mask = np.left_shift(1, rng.integers(0, types, events)).astype(np.int64)
    x = rng.random(events)
    columns = {"`x`": x, "`y`": x + min(6 * types / window, 10.0) * rng.random(events)}
    values = np.stack([columns[value.sql].view(np.int64) for value in plan.values])
    clock = np.arange(events, dtype=np.int64)
    return EventBatch(mask, clock, clock - window, values=values, valid=np.ones_like(values, np.uint8))


def chosen(pattern: str, window: int) -> str:
    plan = plan_of(pattern, window)
    return plan_with_sample(plan, Sample.of(plan, batch_of(plan, 20_000, window))).choice.matcher


@pytest.mark.parametrize(
    ("pattern", "window", "matcher"),
    [
        (NARROW, 4, DAG),
        (NARROW, 20, DAG),
        (NARROW, 1_000, RECOMPUTE),
        (NARROW, 10_000, RECOMPUTE),
        (HALF, 20, DAG),
        (HALF, 100, DAG),
        (HALF, 10_000, DAG),
        (LOOP, 3, DAG),
        (LOOP, 20, RECOMPUTE),
    ],
)
def test_what_the_first_events_show_decides_between_the_automaton_and_recomputation(pattern, window, matcher):
    assert chosen(pattern, window) == matcher


def test_without_a_sample_the_query_alone_decides_and_says_so():
    assert plan_of(NARROW, 10_000).choice.matcher == DAG
    assert "chosen by the query alone" in plan_of(NARROW, 10_000).choice.reason
    assert plan_of(LOOP, 10).choice.matcher == RECOMPUTE


def test_a_query_without_conditions_between_events_wants_no_sample():
    assert not plan_of("A ; B+ ; C", 10).choice.wants_sample
    assert plan_of(HALF, 10).choice.wants_sample


def test_a_window_that_counts_events_says_itself_whether_loops_are_recomputed():
    large, small = plan_of(LOOP, "10 events"), plan_of(LOOP, "3 events")
    assert (large.choice.matcher, small.choice.matcher) == (RECOMPUTE, DAG)
    assert "too small for recomputation" in small.choice.reason
    assert not large.choice.wants_sample
    assert plan_of(NARROW, "10 events").choice.wants_sample


def test_a_matcher_that_was_asked_for_stays_whatever_the_events_show():
    plan = plan_of(NARROW, 10_000, DAG)
    assert not plan.choice.wants_sample
    assert plan_with_sample(plan, Sample.of(plan, batch_of(plan, 1_000, 10_000))) is plan


def test_dag_is_another_name_of_the_automaton():
    assert plan_of(HALF, 10, "dag").choice == plan_of(HALF, 10, "automaton").choice


def test_an_unknown_matcher_is_refused_with_the_names_that_there_are():
    with pytest.raises(BindError, match="UNKNOWN_MATCHER"):
        plan_of(HALF, 10, "automatons")


def test_a_matcher_that_would_be_wrong_is_refused():
    with pytest.raises(BindError, match="The matcher recompute cannot run the query: the pattern holds AND"):
        plan_of("A AS a AND B AS b FILTER a.x < b.x", 10, RECOMPUTE)


def test_the_disorder_native_operator_is_noted_beside_the_matcher_of_ordered_events():
    choice = plan_of("A AS a ; B AS b FILTER a.x < b.x", 10, DISORDER).choice
    assert (choice.matcher, choice.forced) == (DAG, DISORDER)


def test_every_registered_matcher_says_what_it_takes_and_has_a_name_of_its_own():
    assert {matcher.takes for matcher in MATCHERS} == set(Takes)
    assert len({matcher.name for matcher in MATCHERS}) == len(MATCHERS)


@pytest.mark.parametrize(("matcher", "kind"), [(DAG, DagMatcher), (RUNS, RunsMatcher), (RECOMPUTE, RecomputeMatcher)])
def test_what_is_made_is_the_matcher_that_was_chosen(matcher, kind):
    made, _ = make_matcher(plan_of(HALF, 10, matcher), StageLimits())
    assert type(made) is kind


def test_slices_are_found_by_a_matcher_that_has_paths():
    plan = plan_of(LOOP, 10)
    assert plan.choice.matcher == RECOMPUTE
    assert enumerated_plan(plan).choice.matcher == DAG
    sliced, _ = make_matcher(plan, StageLimits(slices=2))
    assert type(sliced) is DagMatcher


def test_a_sample_counts_windows_shares_and_fitting_pairs():
    plan = plan_of(HALF, 100)
    sample = Sample.of(plan, batch_of(plan, 5_000, 100))
    assert (sample.events, sample.largest_window) == (5_000, 101)
    assert 95 < sample.mean_window < 101
    assert all(0.3 < share < 0.37 for share in sample.shares)
    assert all(0.45 < fits < 0.55 for fits in sample.fits)


def test_conditions_between_the_same_events_are_judged_together():
    plan = plan_of("A AS a ; B AS b FILTER a.x > b.x AND a.y < b.y", 1_000)
    first, second = Sample.of(plan, batch_of(plan, 5_000, 1_000)).fits
    assert 0.45 < first < 0.55
    assert second < 0.02


def test_the_same_events_always_show_the_same():
    plan = plan_of(NARROW, 50)
    batch = batch_of(plan, 3_000, 50)
    assert Sample.of(plan, batch) == Sample.of(plan, batch)


def test_a_sample_looks_at_a_bounded_number_of_events():
    plan = plan_of(HALF, 5)
    assert Sample.of(plan, batch_of(plan, MOST_EVENTS + 1_000, 5)).events == MOST_EVENTS


def test_nothing_shows_nothing():
    plan = plan_of(HALF, 5)
    empty = Sample.of(plan, batch_of(plan, 0, 5))
    assert (empty.events, empty.mean_window, empty.fits) == (0, 0.0, (1.0, 1.0))
    assert plan_with_sample(plan, empty).choice.matcher == DAG


def test_windows_end_where_keys_do():
    plan = plan_of(HALF, 100)
    batch = batch_of(plan, 10, 100)
    restart = np.array([1, 0, 0, 0, 0, 1, 0, 0, 0, 0], np.uint8)
    keyed = EventBatch(batch.mask, batch.clock, batch.window_start, restart=restart, values=batch.values, valid=batch.valid)
    assert Sample.of(plan, keyed).largest_window == 5


def test_an_embedded_table_is_looked_at_once_and_the_result_stays_the_same(monkeypatch):
    rng = np.random.default_rng(3)
    x = rng.random(3_000)
    table = pa.table(
        {"ts": np.arange(3_000), "kind": rng.choice(["A", "B", "C"], 3_000), "x": x, "y": x + 0.02 * rng.random(3_000)}
    )
    query = et.query(f"SELECT * WHERE {NARROW} WITHIN 1000 events")
    taken = []

    def spied(plan: Plan, sample: Sample) -> Plan:
        taken.append(plan_with_sample(plan, sample))
        return taken[-1]

    monkeypatch.setattr(assembly, "plan_with_sample", spied)
    found = query.match(et.events(table, time="ts", type="kind"))
    assert [plan.choice.matcher for plan in taken] == [RECOMPUTE]
    forced = query.match(et.events(table, time="ts", type="kind"), matcher="automaton")
    assert len(taken) == 1
    assert sorted(found.to_pylist(), key=str) == sorted(forced.to_pylist(), key=str)
    assert found.num_rows > 0
