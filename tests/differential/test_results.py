"""Results over all matches against the oracle, on random queries and random streams."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest

from eventide.plan.totals.methods import Growth
from harness.checking import run_batch
from harness.kinds.sequences.kind import SequenceCase, Sequences
from harness.kinds.sequences.queries import Trial
from harness.kinds.sequences.totals import make_best_trial, make_group_trial, make_sample_trial
from harness.seeds import seeds
from harness.ways import CUT, EMBEDDED, SAMPLED_AGAIN

BATCHES = 5
QUERIES = 40
NEAR_QUERIES = 20
AGAIN = 3


def totals(make: Callable[[Random], Trial], *, near: bool = False) -> Sequences:
    """Return queries of one sort; `near` keeps those whose conditions relate neighbours, so that no match is listed."""
    return Sequences(make, streams=20, accepts=lambda case: not near or is_near(case))


def is_near(case: SequenceCase) -> bool:
    return case.label == Growth.POLYNOMIAL.name


@pytest.mark.parametrize("seed", seeds(BATCHES, quick=2))
def test_groups_agree_with_the_listed_matches(seed: int) -> None:
    taken = run_batch(totals(make_group_trial), seed, (EMBEDDED,), queries=QUERIES).labels
    # A batch that takes one way alone would say that the generator no longer makes queries for the others.
    assert min(taken[growth.name] for growth in Growth) > 0


@pytest.mark.parametrize("seed", seeds(BATCHES, quick=2))
def test_the_best_matches_are_the_first_of_all_matches_sorted(seed: int) -> None:
    assert run_batch(totals(make_best_trial), seed, (EMBEDDED,), queries=QUERIES).labels[Growth.LINEAR.name] > 0


@pytest.mark.parametrize("seed", seeds(BATCHES, quick=2))
def test_a_sample_holds_matches_once_each_and_as_many_as_asked_for(seed: int) -> None:
    assert run_batch(totals(make_sample_trial), seed, (EMBEDDED,), queries=QUERIES).labels[Growth.LINEAR.name] > 0


@pytest.mark.parametrize("seed", seeds(BATCHES, quick=2))
def test_neighbours_are_remembered_on_the_way_back_to_the_best_matches(seed: int) -> None:
    run_batch(totals(make_best_trial, near=True), seed, (CUT,), queries=NEAR_QUERIES)


@pytest.mark.parametrize("seed", seeds(BATCHES, quick=2))
def test_neighbours_are_remembered_on_the_way_back_to_drawn_matches(seed: int) -> None:
    run_batch(totals(make_sample_trial, near=True), seed, (EMBEDDED,), queries=NEAR_QUERIES)


@pytest.mark.parametrize("seed", seeds(BATCHES, quick=2))
def test_a_sample_does_not_depend_on_batches_and_the_order_of_keys(seed: int) -> None:
    run_batch(totals(make_sample_trial, near=True), seed, (SAMPLED_AGAIN,), queries=AGAIN)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(1000, 1200))
def test_results_over_all_matches_agree_on_many_more(seed: int) -> None:
    for make in (make_group_trial, make_best_trial, make_sample_trial):
        run_batch(totals(make), seed, (EMBEDDED, CUT), queries=QUERIES)
    run_batch(totals(make_best_trial, near=True), seed, (EMBEDDED,), queries=QUERIES)
    run_batch(totals(make_sample_trial, near=True), seed, (EMBEDDED, SAMPLED_AGAIN), queries=QUERIES)
