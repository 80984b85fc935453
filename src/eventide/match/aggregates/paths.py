"""Single matches out of all of them, by walking back from their end through what was propagated: the best ones, or the n-th one.

Both walks need the partial matches of every state after every event of the window: their number, or the weight of the best.
"""

from __future__ import annotations

import heapq
from bisect import bisect_right
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from eventide.match.aggregates.semiring import BEST, NO_MATCH, SUM, Weights
from eventide.match.aggregates.sliding import NO_WINDOW, unfold
from eventide.match.counting import SAFE_BITS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from eventide.match.aggregates.exact import Aggregator, Kept

NOTHING = Weights(SUM, 0, 1, np.zeros((0, 0), np.int64), np.zeros((0, 0), np.uint8))


class Step(NamedTuple):
    """One way to come to a state: from `state` (0 begins the match) by binding the event with `label` (0 binds nothing)."""

    state: int
    label: int


class Match(NamedTuple):
    """A match in places of the events: the first, the last, and those that are bound with their labels, in order."""

    start: int
    end: int
    bound: tuple[tuple[int, int], ...]


@dataclass
class Backward:
    """The moves of the automaton, read from their targets."""

    aggregator: Aggregator
    _into: dict[int, list[list[Step]]] = field(default_factory=dict)
    _ending: dict[int, list[Step]] = field(default_factory=dict)

    def into(self, symbol: int, state: int) -> list[Step]:
        """Return all ways to come to a state by an event with the symbol."""
        known = self._into.get(symbol)
        if known is None:
            known = self._into[symbol] = self._read(symbol)
        return known[state]

    def ending(self, symbol: int) -> list[Step]:
        """Return all ways to complete a match by an event with the symbol."""
        if symbol not in self._ending:
            self.into(symbol, 0)
        return self._ending[symbol]

    def _read(self, symbol: int) -> list[list[Step]]:
        tables = self.aggregator.symbols.tables
        states = self.aggregator.symbols.close()
        into: list[list[Step]] = [[] for _ in range(states)]
        ending = self._ending[symbol] = []
        for state in range(states):
            first = int(tables.first[state, symbol])
            for move in range(first, first + int(tables.moves[state, symbol])):
                step = Step(state, int(tables.label[move]))
                if tables.target[move] >= 0:
                    into[int(tables.target[move])].append(step)
                if tables.accepting[move]:
                    ending.append(step)
            if tables.unmarked[state, symbol] >= 0:
                into[int(tables.unmarked[state, symbol])].append(Step(state, 0))
            if tables.unmarked_accepting[state, symbol]:
                ending.append(Step(state, 0))
        return into


class Windows:
    """The events of keys, and where the window of an end begins."""

    def __init__(self, kept: Kept) -> None:
        self.kept = kept
        self.symbols = kept.symbols.tolist()

    def first(self, end: int) -> int:
        """Return the first event that a match which ends there may begin at."""
        key = int(np.searchsorted(self.kept.offsets, end, side="right")) - 1
        begin = int(self.kept.offsets[key])
        if self.kept.lows[end] == NO_WINDOW:
            return begin
        return begin + int(np.searchsorted(self.kept.clocks[begin : end + 1], self.kept.lows[end]))


class Numbered:
    """All matches of some ends, numbered; gives the one that has a number."""

    def __init__(self, aggregator: Aggregator, kept: Kept, matches: list[int]) -> None:
        self._aggregator = aggregator
        self._backward = Backward(aggregator)
        self._windows = Windows(kept)
        self._matches = matches
        self._until = list(accumulate(matches))
        self._held: tuple[int, int, Any] = (-1, -1, None)

    def total(self, begin: int, end: int) -> int:
        """Return how many matches end at the events begin..end."""
        before = self._until[begin - 1] if begin else 0
        return (self._until[end - 1] if end else 0) - before

    def match(self, begin: int, number: int) -> Match:
        """Return the match with this number among those that end at `begin` or later."""
        number += self._until[begin - 1] if begin else 0
        end = bisect_right(self._until, number)
        number -= self._until[end - 1] if end else 0
        first = self._windows.first(end)
        before = self._counts(first, end)
        step, number = self._chosen(self._backward.ending(self._windows.symbols[end]), before, first, end, number)
        bound = [(end, step.label)] if step.label else []
        event = end
        while step.state:
            event -= 1
            steps = self._backward.into(self._windows.symbols[event], step.state)
            step, number = self._chosen(steps, before, first, event, number)
            if step.label:
                bound.append((event, step.label))
        return Match(event, end, tuple(reversed(bound)))

    def _chosen(self, steps: list[Step], before: Any, first: int, event: int, number: int) -> tuple[Step, int]:
        for step in steps:
            count = 1 if step.state == 0 else before[event - 1 - first][step.state] if event > first else 0
            if number < count:
                return step, number
            number -= count
        raise AssertionError("a number beyond the matches of an end")

    def _counts(self, first: int, end: int) -> Any:
        """Return how many partial matches each state has after each of the events first..end, begun at one of them."""
        held_first, held_end, held = self._held
        if held_first == first and end <= held_end:
            return held
        symbols = self._aggregator.symbols
        states = symbols.close()
        # A table of the whole key serves all of its ends where no window tells them apart.
        last = self._last(first, end)
        # Partial matches that never end may outnumber the matches: at most every event doubles them, by each of its moves.
        if (last - first) * np.log2(int(symbols.tables.moves.max(initial=0)) + 1) < SAFE_BITS:
            rows = np.zeros((last - first) * states, np.int64)
            unfold(symbols.tables, self._windows.kept.symbols, first, last, rows, states, NOTHING)
            table: Any = rows.reshape(-1, states).tolist()
        else:
            table = self._large_counts(first, last, states)
        self._held = (first, last, table)
        return table

    def _last(self, first: int, end: int) -> int:
        kept = self._windows.kept
        if kept.lows[end] != NO_WINDOW:
            return end
        return int(kept.offsets[int(np.searchsorted(kept.offsets, first, side="right"))])

    def _large_counts(self, first: int, last: int, states: int) -> list[list[int]]:
        table: list[list[int]] = []
        row = [0] * states
        for event in range(first, last):
            symbol = self._windows.symbols[event]
            row = [
                sum(1 if step.state == 0 else row[step.state] for step in self._backward.into(symbol, state))
                for state in range(states)
            ]
            table.append(row)
        return table


class Ranked:
    """The heaviest matches of all, one after the other.

    Only ends whose best match is among the first can have one of the first matches. From these the walk goes back by the
    heaviest step and leaves the others in a queue, with the weight that the best match through them has.
    """

    def __init__(self, aggregator: Aggregator, kept: Kept, values: npt.NDArray[np.float64], binds: npt.NDArray[np.uint8]) -> None:
        self._aggregator = aggregator
        self._backward = Backward(aggregator)
        self._windows = Windows(kept)
        bits = np.ascontiguousarray(values).view(np.int64)
        self._weights = Weights(BEST, 0, 1, bits, np.ascontiguousarray(binds))
        self._weigh = _weigher(values, binds)
        self._tables: dict[int, tuple[int, Any]] = {}

    def first(self, count: int, order: npt.NDArray[np.int64]) -> Iterator[tuple[float, Match]]:
        """Yield the `count` heaviest matches with their weights; of equals those whose end comes first in `order`."""
        best = self._aggregator.propagate(self._windows.kept, self._weights)[:, 0]
        ends = np.flatnonzero(best != NO_MATCH)
        heaviest = best[ends].view(np.float64)
        chosen = ends[np.lexsort((order[ends], -heaviest))[:count]]
        queue: list[tuple[float, int, int, int, int, int, float, tuple[Any, ...] | None]] = []
        pushed = 0
        for end in chosen.tolist():
            weight = float(best[end : end + 1].view(np.float64)[0])
            # State -1: the end itself is still to be chosen.
            heapq.heappush(queue, (-weight, int(order[end]), pushed, end, end, -1, 0.0, None))
            pushed += 1
        while queue and count > 0:
            negative, rank, _, end, event, state, gained, bound = heapq.heappop(queue)
            while state:
                (_, step, gained), *others = self._options(end, event, state, gained)
                for weight, other, gained_there in others:
                    bound_there = ((event, other.label), bound) if other.label else bound
                    place = event - 1 if other.state else event
                    heapq.heappush(queue, (-weight, rank, pushed, end, place, other.state, gained_there, bound_there))
                    pushed += 1
                bound = ((event, step.label), bound) if step.label else bound
                state = step.state
                # State 0 is before the first event: the match begins here.
                event = event - 1 if state else event
            yield -negative, Match(event, end, _unwound(bound))
            count -= 1

    def _options(self, end: int, event: int, state: int, gained: float) -> list[tuple[float, Step, float]]:
        first, before = self._table(end)
        symbol = self._windows.symbols[event]
        steps = self._backward.ending(symbol) if state < 0 else self._backward.into(symbol, state)
        options = []
        for step in steps:
            there = gained + (self._weigh(event, step.label) if step.label else 0.0)
            if step.state == 0:
                options.append((there, step, there))
            elif event > first:
                weight = before[event - 1 - first][step.state]
                if weight is not None:
                    options.append((weight + there, step, there))
        options.sort(key=lambda option: -option[0])
        return options

    def _table(self, end: int) -> tuple[int, Any]:
        known = self._tables.get(end)
        if known is None:
            first = self._windows.first(end)
            states = self._aggregator.symbols.close()
            rows = np.empty((end - first) * states, np.int64)
            unfold(
                self._aggregator.symbols.tables, self._windows.kept.symbols, first, end, rows, states, self._weights
            )
            weights = rows.view(np.float64).astype(object)
            weights[rows == NO_MATCH] = None
            known = self._tables[end] = (first, weights.reshape(-1, states).tolist())
        return known


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
