"""Trellises where every condition looks at one event: a node is a state of the automaton after an event."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from eventide.match.totals.counting import SAFE_BITS
from eventide.match.totals.semiring import NO_MATCH, NOTHING
from eventide.match.totals.sliding import unfold
from eventide.match.totals.trellis import BEGIN, Span, Steps, window_of

if TYPE_CHECKING:
    from eventide.match.totals.exact import KeptEvents
    from eventide.match.totals.semiring import Weights
    from eventide.match.transitions import SymbolTable


class Move(NamedTuple):
    """One way to come to a state: from `state` (0 begins the match) by binding the event with `label` (0 binds nothing)."""

    state: int
    label: int


class Backward:
    """The moves of the automaton, read from their targets."""

    def __init__(self, symbols: SymbolTable) -> None:
        self._symbols = symbols
        self._into: dict[int, list[list[Move]]] = {}

    def into(self, symbol: int, state: int) -> list[Move]:
        """Return all ways to come to a state by an event with the symbol; behind the last state, to complete a match."""
        known = self._into.get(symbol)
        if known is None:
            known = self._into[symbol] = self._read(symbol)
        return known[state]

    def _read(self, symbol: int) -> list[list[Move]]:
        tables = self._symbols.tables
        states = self._symbols.close()
        into: list[list[Move]] = [[] for _ in range(states + 1)]
        for state in range(states):
            first = int(tables.first[state, symbol])
            for number in range(first, first + int(tables.moves[state, symbol])):
                move = Move(state, int(tables.label[number]))
                if tables.target[number] >= 0:
                    into[int(tables.target[number])].append(move)
                if tables.accepting[number]:
                    into[states].append(move)
            if tables.unmarked[state, symbol] >= 0:
                into[int(tables.unmarked[state, symbol])].append(Move(state, 0))
            if tables.unmarked_accepting[state, symbol]:
                into[states].append(Move(state, 0))
        return into


class StateTrellis:
    """Nodes are numbered by event, then by state; the one behind the last state stands for the matches that end there."""

    def __init__(self, backward: Backward, symbols: list[int], first: int, states: int, amounts: list[Any], one: Any) -> None:
        self._backward = backward
        self._symbols = symbols
        self._first = first
        self._states = states
        self._amounts = amounts
        self._one = one

    def ending(self, end: int) -> int:
        """Return the node of the matches that end at an event."""
        return (end - self._first + 1) * (self._states + 1) - 1

    def event(self, node: int) -> int:
        """Return the event that the steps to a node take."""
        return self._first + node // (self._states + 1)

    def steps(self, node: int) -> Steps:
        """Return the steps that lead to a node."""
        width = self._states + 1
        place, state = divmod(node, width)
        steps = Steps([], [], [])
        for move in self._backward.into(self._symbols[self._first + place], state):
            if move.state == 0:
                amount, origin = self._one, BEGIN
            else:
                amount = self._amounts[place - 1][move.state] if place else None
                origin = (place - 1) * width + move.state
            if amount is not None:
                steps.nodes.append(origin)
                steps.labels.append(move.label)
                steps.amounts.append(amount)
        return steps


class StatePaths:
    """Makes trellises of automaton states."""

    def __init__(self, symbols: SymbolTable, kept: KeptEvents) -> None:
        self._states = symbols.close()
        self._tables = symbols.tables
        self._backward = Backward(symbols)
        self._kept = kept
        self._symbols = kept.symbols.tolist()

    def expect(self, ends: npt.NDArray[np.int64]) -> None:
        """Say from which ends walks will begin; it makes no difference here."""

    def span(self, end: int) -> Span:
        """Return the events of the trellis that an end belongs to."""
        return window_of(self._kept, end, shared=True)

    def counts(self, span: Span) -> StateTrellis:
        """Return how many partial matches there are, exactly."""
        # Partial matches that never end may outnumber the matches: at most every event doubles them, by each of its moves.
        if (span.last - span.first) * np.log2(int(self._tables.moves.max(initial=0)) + 1) < SAFE_BITS:
            amounts: list[Any] = self._unfolded(span, NOTHING).reshape(-1, self._states).tolist()
        else:
            amounts = self._large_counts(span)
        return StateTrellis(self._backward, self._symbols, span.first, self._states, amounts, 1)

    def weights(self, span: Span, weights: Weights) -> StateTrellis:
        """Return the weights of the best partial matches."""
        rows = self._unfolded(span, weights)
        amounts = rows.view(np.float64).astype(object)
        amounts[rows == NO_MATCH] = None
        return StateTrellis(
            self._backward, self._symbols, span.first, self._states, amounts.reshape(-1, self._states).tolist(), 0.0
        )

    def _unfolded(self, span: Span, weights: Weights) -> Any:
        rows = np.zeros((span.last - span.first) * self._states, np.int64)
        unfold(self._tables, self._kept.symbols, span.first, span.last, rows, self._states, weights)
        return rows

    def _large_counts(self, span: Span) -> list[list[int]]:
        amounts: list[list[int]] = []
        row = [0] * self._states
        for event in range(span.first, span.last):
            symbol = self._symbols[event]
            row = [
                sum(1 if move.state == 0 else row[move.state] for move in self._backward.into(symbol, state))
                for state in range(self._states)
            ]
            amounts.append(row)
        return amounts
