"""Which worker refines which match: round robin, power of two choices, exact search (Abella 2022, 4.2.1).

Load is static: a running total of weights where matches are handed out; no worker is ever asked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from eventide.compilation import kernel
from eventide.match.dag.enumeration import MatchBatch

if TYPE_CHECKING:
    from collections.abc import Iterator

ROUND_ROBIN = "round_robin"
TWO_CHOICES = "two_choices"
LEAST_LOADED = "least_loaded"
STRATEGIES = (ROUND_ROBIN, TWO_CHOICES, LEAST_LOADED)
LONGEST = 1000
"""Runs of equal labels longer than this weigh no more, so that loads stay numbers."""


@kernel
def weigh(offset, label, weights):
    """Weigh matches: each run of n events that bind the same counts 2^n - 1, as many as it has non-empty parts."""
    for match in range(offset.shape[0] - 1):
        total = 0.0
        length = 0
        for at in range(offset[match], offset[match + 1]):
            if length > 0 and label[at] != label[at - 1]:
                total += 2.0 ** min(length, LONGEST) - 1.0
                length = 0
            length += 1
        if length > 0:
            total += 2.0 ** min(length, LONGEST) - 1.0
        weights[match] = total


@kernel
def give_to_lighter(weights, first, second, loads, workers):
    """Give each match to the less loaded of two workers, on a tie to the first."""
    for match in range(weights.shape[0]):
        chosen = first[match]
        if loads[second[match]] < loads[chosen]:
            chosen = second[match]
        loads[chosen] += weights[match]
        workers[match] = chosen


@kernel
def give_to_lightest(weights, loads, workers):
    """Give each match to the least loaded worker, on a tie to the first of them."""
    for match in range(weights.shape[0]):
        chosen = 0
        for worker in range(1, loads.shape[0]):
            if loads[worker] < loads[chosen]:
                chosen = worker
        loads[chosen] += weights[match]
        workers[match] = chosen


class Assigner:
    """Hands matches out to workers; it goes on from batch to batch.

    >>> found = MatchBatch(*(np.zeros(3, np.int32) for _ in range(2)), np.arange(4), *(np.zeros(3, np.int32) for _ in range(2)))
    >>> Assigner("round_robin", 2).assign(found).tolist()
    [0, 1, 0]
    """

    def __init__(self, strategy: str, workers: int, seed: int = 0) -> None:
        self._strategy = strategy
        self._next = 0
        self._random = np.random.default_rng(seed)
        self.loads = np.zeros(workers)

    def assign(self, found: MatchBatch) -> npt.NDArray[np.int32]:
        """Return the worker of each match."""
        size, count = len(found.start), len(self.loads)
        weights = np.empty(size)
        weigh(found.offset, found.label, weights)
        if self._strategy == ROUND_ROBIN:
            workers = ((self._next + np.arange(size)) % count).astype(np.int32)
            self._next = (self._next + size) % count
            self.loads += np.bincount(workers, weights, count)
            return workers
        workers = np.empty(size, np.int32)
        if self._strategy == TWO_CHOICES:
            # Drawn with replacement: both may be the same worker.
            first, second = self._random.integers(0, count, (2, size), np.int32)
            give_to_lighter(weights, first, second, self.loads, workers)
        else:
            give_to_lightest(weights, self.loads, workers)
        return workers


def shares(found: MatchBatch, workers: npt.NDArray[np.int32], count: int) -> Iterator[tuple[int, MatchBatch]]:
    """Yield each worker's matches, in their order."""
    for worker in range(count):
        mine = np.flatnonzero(workers == worker)
        if len(mine):
            yield worker, chosen_matches(found, mine)


def chosen_matches(found: MatchBatch, chosen: npt.NDArray[np.int64]) -> MatchBatch:
    """Return these matches alone."""
    lengths = (found.offset[1:] - found.offset[:-1])[chosen]
    offset = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    positions = np.repeat(found.offset[:-1][chosen] - offset[:-1], lengths) + np.arange(offset[-1])
    return MatchBatch(found.start[chosen], found.end[chosen], offset, found.row[positions], found.label[positions])
