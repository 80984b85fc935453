"""The local engine against the oracle on random MATCH_RECOGNIZE clauses and random tables."""

from __future__ import annotations

from random import Random

import pytest

from row_differential.checking import Tally, Way, check
from row_differential.queries import make_trial
from seeds import seeds

BATCHES = 40
CASES_OF_A_BATCH = 500
TABLES_OF_A_CLAUSE = 25
FEWEST_ROWS = 200
"""A batch with fewer would say that the generator no longer makes clauses that find something."""


def ways_of(rng: Random) -> list[Way]:
    """Return how a clause is run: as users do or just below, and sometimes again with little room."""
    ways = [Way(public=rng.random() < 0.25)]
    if rng.random() < 0.4:
        ways.append(Way(room=1 << rng.randrange(4), block=rng.randint(1, 7)))
    return ways


def run_batch(seed: int, cases: int) -> Tally:
    """Check random clauses until that many cases are done, a case being one clause on one table."""
    rng = Random(seed)
    tally = Tally()
    while tally.cases < cases:
        check(rng, make_trial(rng), TABLES_OF_A_CLAUSE, ways_of(rng), tally)
    assert tally.skipped <= 0.05 * tally.cases
    return tally


@pytest.mark.parametrize("seed", seeds(BATCHES, quick=10))
def test_the_local_engine_agrees_with_the_oracle(seed: int) -> None:
    assert run_batch(seed, CASES_OF_A_BATCH).rows > FEWEST_ROWS


@pytest.mark.long
@pytest.mark.parametrize("seed", range(1000, 1400))
def test_the_local_engine_agrees_with_the_oracle_on_many_more(seed: int) -> None:
    assert run_batch(seed, CASES_OF_A_BATCH).rows > FEWEST_ROWS
