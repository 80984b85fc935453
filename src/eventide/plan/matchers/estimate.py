"""What a query is expected to cost under the shared DAG and under recomputation, from a sample of its events.

The DAG walks from every end event back through all events that can be the step before, and from those that fit further back.
Recomputation knows as bits which events fit, so that it looks at few others, but sets up a search for every end event and takes
longer to write a match. The figures were measured with `python -m benchmarks choice`, in microseconds; only their ratios matter.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from eventide.records import record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eventide.plan.compiled import CompiledQuery
    from eventide.plan.matchers.sample import Sample
    from eventide.plan.recompute.searched_sequences import SearchedSequence

SMALL_WINDOW = 6
"""Loops over windows with fewer events are left to the DAG, which is faster there (docs/design/0010)."""

_DAG_EVENT = 0.6
_DAG_VISIT = 0.17
_SEARCH_EVENT = 2.0
_SEARCH_MATCH = 1.4
_SEARCH_WORD = 0.1
_WORD = 64
_MOST_DOUBLINGS = 900


@record
class _WayBack:
    """For each event: how many others are looked at on the way back, how many partial matches and matches there are."""

    visits: float
    partial_matches: float
    matches: float


def enumeration_work(query: CompiledQuery, sample: Sample, searched: Sequence[SearchedSequence]) -> float:
    """Return the microseconds that the shared DAG takes for an event."""
    if any(sequence.looped for sequence in searched):
        # Each event of a window can double the ways through a loop.
        return _DAG_VISIT * math.pow(2.0, min(sample.largest_window, _MOST_DOUBLINGS))
    return _DAG_EVENT + _DAG_VISIT * sum(_way_back(query, sample, sequence).visits for sequence in searched)


def search_work(query: CompiledQuery, sample: Sample, searched: Sequence[SearchedSequence]) -> float:
    """Return the microseconds that recomputation takes for an event."""
    if any(sequence.looped for sequence in searched):
        return _DAG_VISIT * math.pow(2.0, SMALL_WINDOW - 0.5)
    work = 0.0
    for sequence in searched:
        way = _way_back(query, sample, sequence)
        words = len(sequence.parts) * (1 + sample.mean_window / _WORD)
        work += _SEARCH_EVENT + _SEARCH_MATCH * way.matches + _SEARCH_WORD * words * way.partial_matches
    return work


def _way_back(query: CompiledQuery, sample: Sample, sequence: SearchedSequence) -> _WayBack:
    """Estimate the way back from the last step of a sequence of single events to the first."""
    shares = [sample.shares[query.bound.occurrences[part.occurrence].bit] for part in sequence.parts]
    reached, visits, partial_matches = shares[-1], 0.0, 0.0
    for back, step in enumerate(range(len(shares) - 2, -1, -1), 1):
        # Before an event that is drawn at random lie half of the events of its window, before an earlier one a third.
        looked_at = reached * sample.mean_window * shares[step] / back
        partial_matches += reached
        visits += looked_at
        reached = looked_at
        for steps, fits in zip(sequence.placed.steps, sample.fits, strict=True):
            if min(steps, default=-1) == step:
                reached *= fits
    return _WayBack(visits, partial_matches, reached)
