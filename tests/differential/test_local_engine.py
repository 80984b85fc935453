"""The embedded engine against the oracle: random queries over random streams, random clauses over random tables."""

from __future__ import annotations

import pytest

from harness.checking import run_batch
from harness.kinds.row_patterns.kind import RowPatterns
from harness.kinds.sequences.kind import Sequences
from harness.seeds import seeds
from harness.ways import ROW_PATTERNS, SEQUENCES

KINDS = {"sequences": (Sequences(), SEQUENCES, 50), "row_patterns": (RowPatterns(), ROW_PATTERNS, 200)}
"""With the fewest matches of a batch: fewer would say that the generator no longer makes queries that find something."""
BATCHES = 40
CASES_OF_A_BATCH = 500


def check_batch(kind: str, seed: int) -> None:
    generator, ways, fewest = KINDS[kind]
    assert run_batch(generator, seed, ways, cases=CASES_OF_A_BATCH).found > fewest


@pytest.mark.parametrize("seed", seeds(BATCHES, quick=3))
@pytest.mark.parametrize("kind", KINDS)
def test_the_embedded_engine_agrees_with_the_oracle(kind: str, seed: int) -> None:
    check_batch(kind, seed)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(1000, 1400))
@pytest.mark.parametrize("kind", KINDS)
def test_the_embedded_engine_agrees_with_the_oracle_on_many_more(kind: str, seed: int) -> None:
    check_batch(kind, seed)
