"""Single matches out of all of them, by walking back from their end through what was propagated: the best ones, or the n-th one.

Both walks need what is known of the partial matches after every event of the window: their number, or the weight of the best. How
these are told apart is the matter of a trellis.
"""

from __future__ import annotations

import heapq
from bisect import bisect_right
from itertools import accumulate, count
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from eventide.match.totals.neighbour_paths import NeighbourPaths
from eventide.match.totals.neighbouring import Neighbouring
from eventide.match.totals.semiring import BEST, NO_MATCH, Weights
from eventide.match.totals.state_paths import StatePaths
from eventide.match.totals.trellis import BEGIN, Steps

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from eventide.match.totals.exact import Aggregator, KeptEvents
    from eventide.match.totals.trellis import Paths, Span, Trellis

MOST_REMEMBERED = 1 << 18
"""Steps that are remembered: an event has many neighbours, and the walks from an end pass the same nodes."""
_END = -2
"""The node of a walk that has not begun."""


class Match(NamedTuple):
    """A match in places of the events: the first, the last, and those that are bound with their labels, in order."""

    start: int
    end: int
    bound: tuple[tuple[int, int], ...]


def paths_of(aggregator: Aggregator, kept: KeptEvents) -> Paths:
    """Return what makes the trellises of some events, as their vectors are carried."""
    if isinstance(aggregator.propagation, Neighbouring):
        return NeighbourPaths(aggregator.propagation, aggregator.symbols, kept)
    return StatePaths(aggregator.symbols, kept)


class _Remembered:
    """Steps by their node, all forgotten when they become too many."""

    def __init__(self) -> None:
        self._known: dict[Any, Steps] = {}
        self._size = 0

    def get(self, node: Any) -> Steps | None:
        return self._known.get(node)

    def put(self, node: Any, steps: Steps) -> Steps:
        self._size += len(steps.nodes)
        if self._size > MOST_REMEMBERED:
            self._known, self._size = {}, len(steps.nodes)
        self._known[node] = steps
        return steps


class Numbered:
    """All matches of some ends, numbered; gives the one that has a number."""

    def __init__(self, aggregator: Aggregator, kept: KeptEvents, matches: list[int]) -> None:
        self._paths = paths_of(aggregator, kept)
        self._until = list(accumulate(matches))
        self._held: tuple[Span, Trellis] | None = None
        self._known = _Remembered()

    def total(self, begin: int, end: int) -> int:
        """Return how many matches end at the events begin..end."""
        before = self._until[begin - 1] if begin else 0
        return (self._until[end - 1] if end else 0) - before

    def matches(self, numbers: list[tuple[int, int]]) -> list[Match]:
        """Return the matches with these numbers, each given with the event `begin` at which or behind which it ends.

        Numbers in ascending order meet the trellis of an end once.
        """
        found = [self._end(begin, number) for begin, number in numbers]
        self._paths.expect(np.array([end for end, _ in found], np.int64))
        return [self._walk(end, number) for end, number in found]

    def _end(self, begin: int, number: int) -> tuple[int, int]:
        """Return the end of a match, and its number among those that end there."""
        number += self._until[begin - 1] if begin else 0
        end = bisect_right(self._until, number)
        return end, number - (self._until[end - 1] if end else 0)

    def _walk(self, end: int, number: int) -> Match:
        trellis = self._trellis(end)
        node, event, bound = trellis.ending(end), end, []
        while node != BEGIN:
            steps = self._known.get(node) or self._summed(trellis, node)
            at = bisect_right(steps.amounts, number)
            assert at < len(steps.nodes), "a number beyond the matches of an end"
            number -= steps.amounts[at - 1] if at else 0
            event = trellis.event(node)
            if steps.labels[at]:
                bound.append((event, steps.labels[at]))
            node = steps.nodes[at]
        return Match(event, end, tuple(reversed(bound)))

    def _trellis(self, end: int) -> Trellis:
        span = self._paths.span(end)
        if self._held is None or self._held[0] != span:
            self._held = (span, self._paths.counts(span))
            self._known = _Remembered()
        return self._held[1]

    def _summed(self, trellis: Trellis, node: int) -> Steps:
        """Return the steps to a node, each with how many partial matches it and those before it stand for."""
        steps = trellis.steps(node)
        return self._known.put(node, steps._replace(amounts=list(accumulate(steps.amounts))))


class Ranked:
    """The heaviest matches of all, one after the other.

    Only ends whose best match is among the first can have one of the first matches. From these the walk goes back by the
    heaviest step and leaves the next heaviest in a queue, with the weight that the best match through it has.
    """

    def __init__(
        self, aggregator: Aggregator, kept: KeptEvents, values: npt.NDArray[np.float64], binds: npt.NDArray[np.uint8]
    ) -> None:
        self._aggregator = aggregator
        self._kept = kept
        self._paths = paths_of(aggregator, kept)
        bits = np.ascontiguousarray(values).view(np.int64)
        self._weights = Weights(BEST, 0, 1, bits, np.ascontiguousarray(binds))
        self._weigh = _weigher(values, binds)
        self._trellises: dict[Span, Trellis] = {}
        self._known = _Remembered()

    def first(self, wanted: int, order: npt.NDArray[np.int64]) -> Iterator[tuple[float, Match]]:
        """Yield the `wanted` heaviest matches with their weights; of equals those whose end comes first in `order`."""
        best = self._aggregator.propagate(self._kept, self._weights)[:, 0]
        ends = np.flatnonzero(best != NO_MATCH)
        heaviest = best[ends].view(np.float64)
        chosen = ends[np.lexsort((order[ends], -heaviest))[:wanted]]
        weights = best[chosen].view(np.float64).tolist()
        self._paths.expect(chosen)
        fresh = count()
        queue: list[tuple[float, int, int, int, int, int, float, tuple[Any, ...] | None]] = [
            (-weight, int(order[end]), next(fresh), end, _END, 0, 0.0, None)
            for weight, end in zip(weights, chosen.tolist(), strict=True)
        ]
        heapq.heapify(queue)
        for _ in range(wanted):
            if not queue:
                return
            negative, rank, _, end, node, at, gained, bound = heapq.heappop(queue)
            span, trellis = self._trellis(end)
            node, event = trellis.ending(end) if node == _END else node, end
            while node != BEGIN:
                event = trellis.event(node)
                steps = self._known.get((span, node)) or self._known.put((span, node), self._heaviest(trellis, node, wanted))
                if at + 1 < len(steps.nodes):
                    other = (-(gained + steps.amounts[at + 1]), rank, next(fresh), end, node, at + 1, gained, bound)
                    heapq.heappush(queue, other)
                label = steps.labels[at]
                if label:
                    gained += self._weigh(event, label)
                    bound = ((event, label), bound)
                node, at = steps.nodes[at], 0
            yield -negative, Match(event, end, _unwound(bound))

    def _heaviest(self, trellis: Trellis, node: int, wanted: int) -> Steps:
        """Return the steps to a node with the weights of the best matches up to it, the heaviest first, as many as can matter."""
        steps, event = trellis.steps(node), trellis.event(node)
        gained = {label: self._weigh(event, label) if label else 0.0 for label in set(steps.labels)}
        weights = [amount + gained[label] for amount, label in zip(steps.amounts, steps.labels, strict=True)]
        places = sorted(range(len(weights)), key=weights.__getitem__, reverse=True)[:wanted]
        return Steps(*([column[place] for place in places] for column in (steps.nodes, steps.labels, weights)))

    def _trellis(self, end: int) -> tuple[Span, Trellis]:
        span = self._paths.span(end)
        known = self._trellises.get(span)
        if known is None:
            known = self._trellises[span] = self._paths.weights(span, self._weights)
        return span, known


def _weigher(values: npt.NDArray[np.float64], binds: npt.NDArray[np.uint8]) -> Callable[[int, int], float]:
    terms = [np.flatnonzero(binds[:, label]).tolist() for label in range(binds.shape[1])]

    def weigh(event: int, label: int) -> float:
        return float(sum(values[term, event] for term in terms[label]))

    return weigh


def _unwound(bound: tuple[Any, ...] | None) -> tuple[tuple[int, int], ...]:
    found = []
    while bound is not None:
        pair, bound = bound
        found.append(pair)
    return tuple(found)
