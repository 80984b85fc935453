"""Results over all matches against the listed matches, on random queries and random streams."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from differential.results import check_groups, make_group_trial
from eventide.plan.ways import Cost

BATCHES = 20
QUERIES = 40
STREAMS_OF_A_TABLE = 20


def run_group_batch(seed: int, queries: int) -> Counter[Cost]:
    """Check random queries with GROUP BY; returns which ways they took."""
    rng = Random(seed)
    taken: Counter[Cost] = Counter()
    for _ in range(queries):
        trial = make_group_trial(rng)
        streams = 1 if not trial.by_case else 4 if trial.is_shared else STREAMS_OF_A_TABLE
        taken[check_groups(rng, trial, streams)] += 1
    return taken


@pytest.mark.parametrize("seed", range(BATCHES))
def test_groups_agree_with_the_listed_matches(seed: int) -> None:
    taken = run_group_batch(seed, QUERIES)
    # A batch that takes one way alone would say that the generator no longer makes queries for the others.
    assert min(taken[cost] for cost in (Cost.LINEAR, Cost.ENUMERATION)) > 0


@pytest.mark.long
@pytest.mark.parametrize("seed", range(1000, 1200))
def test_groups_agree_with_the_listed_matches_on_many_more(seed: int) -> None:
    run_group_batch(seed, QUERIES)
