"""The local engine against the oracle on random queries and random streams."""

from __future__ import annotations

from random import Random

import pytest

from differential.checking import check
from differential.queries import make_trial
from seeds import seeds

BATCHES = 40
CASES_OF_A_BATCH = 500
STREAMS_OF_A_TABLE = 40
SHARED_STREAMS = 4
FEWEST_MATCHES = 50
"""A batch with fewer would say that the generator no longer makes queries that find something."""


def run_batch(seed: int, cases: int) -> int:
    """Check random queries until that many cases are done, a case being one query on one stream; returns the matches seen."""
    rng = Random(seed)
    done = matches = 0
    while done < cases:
        trial = make_trial(rng)
        if trial.is_shared:
            # The result of such a table depends on all of its streams: it is one case.
            matches += check(rng, trial, SHARED_STREAMS if trial.by_case else 1)
            done += 1
        else:
            matches += check(rng, trial, STREAMS_OF_A_TABLE)
            done += STREAMS_OF_A_TABLE
    return matches


@pytest.mark.parametrize("seed", seeds(BATCHES, quick=10))
def test_the_local_engine_agrees_with_the_oracle(seed: int) -> None:
    assert run_batch(seed, CASES_OF_A_BATCH) > FEWEST_MATCHES


@pytest.mark.long
@pytest.mark.parametrize("seed", range(1000, 1400))
def test_the_local_engine_agrees_with_the_oracle_on_many_more(seed: int) -> None:
    assert run_batch(seed, CASES_OF_A_BATCH) > FEWEST_MATCHES
