"""Event queries on streams against the oracle: random queries, random disorder within the bound, random micro-batches."""

from __future__ import annotations

import pytest

from harness.checking import run_batch
from harness.kinds.sequences.kind import Sequences
from harness.seeds import seeds
from harness.stream_ways import STREAMED, arrives

BATCHES = 36
CASES_OF_A_BATCH = 250
"""With four batches that are matched as they arrive: 10,000 cases, most of them in CI."""
FEWEST_MATCHES = 50
STREAMS = Sequences(streams=25, late=True)
ARRIVING = Sequences(streams=25, late=True, accepts=arrives)


def check_batch(kind: Sequences, seed: int) -> None:
    assert run_batch(kind, seed, STREAMED, cases=CASES_OF_A_BATCH).found > FEWEST_MATCHES


@pytest.mark.parametrize("seed", seeds(4, quick=1))
def test_streams_that_are_matched_as_they_arrive_agree_with_the_oracle(seed: int) -> None:
    check_batch(ARRIVING, seed)


@pytest.mark.parametrize("seed", seeds(BATCHES, quick=1))
def test_streams_agree_with_the_oracle(seed: int) -> None:
    check_batch(STREAMS, seed)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(1000, 1040))
def test_streams_agree_with_the_oracle_on_many_more(seed: int) -> None:
    check_batch(STREAMS if seed % 4 else ARRIVING, seed)
