"""Open streams against the oracle and against tables: random queries, cuts, disorder within the lateness, dumps on the way.

`make test` runs the same few each time. CI runs a thousand streams of another seed each time, which pytest prints; EVENTIDE_SEED
repeats it. `make test-long` runs ten thousand.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import pytest

from harness.checking import run_batch
from harness.kind import Kind
from harness.kinds.row_patterns.kind import RowPatterns
from harness.kinds.row_patterns.queries import make_stream_trial
from harness.kinds.sequences.kind import Sequences
from harness.kinds.sequences.totals import make_timeout_trial
from harness.seeds import moving_seed, seeds
from harness.stream_ways import OPENED, OPENED_ROWS, OPENED_TIMEOUTS, streamable
from harness.ways import EMBEDDED, Way


class Batch(NamedTuple):
    """What one test of a kind of stream goes over."""

    kind: Kind
    way: Way
    cases: int


BATCHES = {
    "events": Batch(Sequences(streams=6, shared_streams=4, late=True), OPENED, 100),
    "rows": Batch(RowPatterns(make_stream_trial, tables=10, late=True, accepts=streamable), replace(OPENED_ROWS, share=1.0), 60),
    "time-outs": Batch(Sequences(make_timeout_trial, streams=8, late=True), OPENED_TIMEOUTS, 40),
}
FEWEST_MATCHES = 20
MOST_SKIPPED = 0.5
"""One clause that is too much for the oracle is a sixth of a small batch; further cases take the place of those it gives up."""


def check_batch(name: str, seed: int, fewest: int = 0) -> None:
    batch = BATCHES[name]
    tally = run_batch(batch.kind, seed, (batch.way, EMBEDDED), cases=batch.cases, most_skipped=MOST_SKIPPED)
    assert tally.found > fewest


@pytest.mark.parametrize("seed", seeds(3, quick=1))
@pytest.mark.parametrize("name", BATCHES)
def test_an_open_stream_agrees_with_the_oracle_and_with_a_table(name: str, seed: int) -> None:
    check_batch(name, seed, FEWEST_MATCHES)


@pytest.mark.ci
@pytest.mark.parametrize("number", range(5))
@pytest.mark.parametrize("name", BATCHES)
def test_an_open_stream_agrees_with_the_oracle_whatever_the_day(name: str, number: int) -> None:
    check_batch(name, moving_seed() + number)


@pytest.mark.long
@pytest.mark.parametrize("number", range(50))
@pytest.mark.parametrize("name", BATCHES)
def test_an_open_stream_agrees_with_the_oracle_on_many_more(name: str, number: int) -> None:
    check_batch(name, moving_seed() + 1_000 + number)
