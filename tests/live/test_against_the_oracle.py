"""Open streams against the oracle: random queries under random cuts and disorder, dumped and resumed on the way.

Row patterns run in this way too, beside the engine of one bucket (stream/test_row_engine.py).
"""

from __future__ import annotations

import pytest

from harness.checking import run_batch
from harness.kinds.sequences.kind import Sequences
from harness.seeds import seeds
from harness.stream_ways import OPENED

FEWEST_MATCHES = 20
CASES_OF_A_BATCH = 120
STREAMS = Sequences(streams=6, shared_streams=4, late=True)


def check_batch(seed: int) -> None:
    assert run_batch(STREAMS, seed, (OPENED,), cases=CASES_OF_A_BATCH).found > FEWEST_MATCHES


@pytest.mark.parametrize("seed", seeds(9, quick=1))
def test_an_open_stream_agrees_with_the_oracle(seed: int) -> None:
    check_batch(seed)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(1000, 1085))
def test_an_open_stream_agrees_with_the_oracle_on_many_more(seed: int) -> None:
    check_batch(seed)
