"""Results over all matches against the listed matches, on random queries and random streams."""

from __future__ import annotations

from collections import Counter
from functools import partial
from random import Random
from typing import TYPE_CHECKING

import pytest

from differential.results import (
    check_best,
    check_groups,
    check_sample,
    check_sample_again,
    make_best_trial,
    make_group_trial,
    make_near,
    make_plain_trial,
)
from eventide.pattern import Consumption
from eventide.plan.totals.methods import Growth
from seeds import seeds

if TYPE_CHECKING:
    from collections.abc import Callable

    from differential.queries import Trial

BATCHES = 5
QUERIES = 40
NEAR_QUERIES = 20
STREAMS_OF_A_TABLE = 20
SHARED_STREAMS = 4


def run_batch(
    seed: int, queries: int, make: Callable[[Random], Trial], check: Callable[[Random, Trial, int], Growth]
) -> Counter[Growth]:
    """Check random queries, each on a table of several streams; returns which ways they took."""
    rng = Random(seed)
    taken: Counter[Growth] = Counter()
    for _ in range(queries):
        trial = make(rng)
        interleaved = trial.query.consumption is Consumption.ANY
        streams = 1 if not trial.by_case else SHARED_STREAMS if interleaved else STREAMS_OF_A_TABLE
        taken[check(rng, trial, streams)] += 1
    return taken


@pytest.mark.parametrize("seed", seeds(BATCHES, quick=2))
def test_groups_agree_with_the_listed_matches(seed: int) -> None:
    taken = run_batch(seed, QUERIES, make_group_trial, check_groups)
    # A batch that takes one way alone would say that the generator no longer makes queries for the others.
    assert min(taken[cost] for cost in Growth) > 0


@pytest.mark.parametrize("seed", seeds(BATCHES, quick=2))
def test_the_best_matches_are_the_first_of_all_matches_sorted(seed: int) -> None:
    assert run_batch(seed, QUERIES, make_best_trial, check_best)[Growth.LINEAR] > 0


@pytest.mark.parametrize("seed", seeds(BATCHES, quick=2))
def test_a_sample_holds_matches_once_each_and_as_many_as_asked_for(seed: int) -> None:
    assert run_batch(seed, QUERIES, make_plain_trial, check_sample)[Growth.LINEAR] > 0


@pytest.mark.parametrize("seed", seeds(BATCHES, quick=2))
def test_neighbours_are_remembered_on_the_way_back_to_the_best_matches(seed: int) -> None:
    run_batch(seed, NEAR_QUERIES, partial(make_near, make=make_best_trial), check_best)


@pytest.mark.parametrize("seed", seeds(BATCHES, quick=2))
def test_neighbours_are_remembered_on_the_way_back_to_drawn_matches(seed: int) -> None:
    run_batch(seed, NEAR_QUERIES, partial(make_near, make=make_plain_trial), check_sample)


@pytest.mark.parametrize("seed", seeds(BATCHES, quick=2))
def test_a_sample_does_not_depend_on_batches_and_the_order_of_keys(seed: int) -> None:
    run_batch(seed, 3, partial(make_near, make=make_plain_trial), check_sample_again)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(1000, 1200))
def test_groups_agree_with_the_listed_matches_on_many_more(seed: int) -> None:
    run_batch(seed, QUERIES, make_group_trial, check_groups)
    run_batch(seed, QUERIES, make_best_trial, check_best)
    run_batch(seed, QUERIES, make_plain_trial, check_sample)
    for check in (check_sample, check_sample_again):
        run_batch(seed, QUERIES, partial(make_near, make=make_plain_trial), check)
    run_batch(seed, QUERIES, partial(make_near, make=make_best_trial), check_best)
