"""Queries whose candidates explode and whose results are small, against the oracle, which lists all candidates."""

from __future__ import annotations

import pytest

from harness.checking import run_batch
from harness.kinds.sequences.judged import (
    make_extremum_trial,
    make_judged_group_trial,
    make_judged_timeout_trial,
    make_judged_trial,
)
from harness.kinds.sequences.kind import Sequences
from harness.seeds import seeds
from harness.ways import COUNT, CUT, EMBEDDED

BATCHES = 20
QUERIES = 40


@pytest.fixture(autouse=True)
def _every_end_is_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a handful of candidates be many; the streams that the oracle can take have no more."""
    for name in ("MANY_CANDIDATES", "MANY_TO_LIST"):
        monkeypatch.setattr(f"eventide.match.dag.matching.enumerator.{name}", 0)
    monkeypatch.setattr("eventide.match.dag.judged.judging.FIRST_ROOM", 4)


@pytest.mark.parametrize("seed", seeds(BATCHES, quick=3))
def test_extrema_judged_for_each_event_are_extrema(seed: int) -> None:
    run_batch(Sequences(make_extremum_trial, streams=10), seed, (EMBEDDED,), queries=QUERIES)


@pytest.mark.parametrize("seed", seeds(BATCHES, quick=5))
def test_what_is_judged_on_the_way_is_what_is_judged_on_whole_matches(seed: int) -> None:
    run_batch(Sequences(make_judged_trial, streams=10), seed, (EMBEDDED, CUT, COUNT), queries=QUERIES)


@pytest.mark.parametrize("seed", seeds(BATCHES, quick=2))
def test_groups_are_counted_on_the_way(seed: int) -> None:
    run_batch(Sequences(make_judged_group_trial, streams=10), seed, (EMBEDDED,), queries=QUERIES)


@pytest.mark.parametrize("seed", seeds(BATCHES, quick=2))
def test_time_outs_are_judged_on_the_way(seed: int) -> None:
    run_batch(Sequences(make_judged_timeout_trial, streams=10), seed, (EMBEDDED,), queries=QUERIES // 4)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(1000, 1250))
def test_what_is_judged_on_the_way_agrees_on_many_more(seed: int) -> None:
    run_batch(Sequences(make_judged_trial, streams=20), seed, (EMBEDDED, CUT, COUNT), queries=2 * QUERIES)
