"""Dense transition tables that kernels read, filled lazily from the automaton."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from eventide.match.budget import Resource, Spent

UNKNOWN = -2
MOST_MOVES = 10
"""Eligible moves are a set of bits; more alternatives for one event than this are refused."""


class TransitionLike(Protocol):
    """A marked move."""

    @property
    def label(self) -> int:
        """The variables that take the event."""
        ...

    @property
    def target(self) -> int:
        """The next state, or -1."""
        ...

    @property
    def accepting(self) -> bool:
        """Whether matches end here."""
        ...


class ExpansionLike(Protocol):
    """All moves of one state on one combination of bits."""

    @property
    def marked(self) -> tuple[TransitionLike, ...]:
        """The moves that bind the event."""
        ...

    @property
    def unmarked(self) -> int:
        """The state without binding it, or -1."""
        ...

    @property
    def unmarked_accepting(self) -> bool:
        """Whether matches end here without binding it."""
        ...


class TransitionSource(Protocol):
    """What the tables ask of an automaton."""

    def expand(self, state: int, bits: int) -> ExpansionLike:
        """Return the moves of a state on an event with these bits."""
        ...

    def skip(self, state: int, bits: int, eligible: frozenset[int]) -> int:
        """Return the state after skipping an event that only these labels could take, or -1."""
        ...


class Tables(NamedTuple):
    """`first` and `moves` give the marked moves of (state, symbol) in `label`, `target`, `accepting`."""

    first: npt.NDArray[np.int32]
    moves: npt.NDArray[np.int32]
    unmarked: npt.NDArray[np.int32]
    unmarked_accepting: npt.NDArray[np.uint8]
    label: npt.NDArray[np.int32]
    target: npt.NDArray[np.int32]
    accepting: npt.NDArray[np.uint8]
    idle: npt.NDArray[np.uint8]
    """1 for symbols that change no known state and start nothing."""
    skip_first: npt.NDArray[np.int32]
    skip: npt.NDArray[np.int32]
    """`skip[skip_first[state, symbol] + eligible]`: the state after skipping, by the set of moves that could be taken."""


class SymbolTable:
    """Numbers the combinations of predicate bits that occur, and holds the transition tables over these symbols."""

    LOOKUP_BITS = 16

    def __init__(self, source: TransitionSource, bits: int, *, with_skips: bool = False) -> None:
        self._source = source
        self._with_skips = with_skips
        self._skips = 0
        self._history: list[tuple[int, int]] = []
        self._bits = bits
        self._symbol_of: dict[int, int] = {}
        self._masks: list[int] = []
        self._lookup = np.full(1 << bits, -1, np.int32) if bits <= self.LOOKUP_BITS else None
        self._states = 1
        self.tables = self._empty(8, 16)
        self._moves = 0

    @staticmethod
    def _empty(states: int, symbols: int) -> Tables:
        shape = (states, symbols)
        return Tables(
            np.full(shape, UNKNOWN, np.int32),
            np.zeros(shape, np.int32),
            np.full(shape, -1, np.int32),
            np.zeros(shape, np.uint8),
            np.zeros(64, np.int32),
            np.zeros(64, np.int32),
            np.zeros(64, np.uint8),
            np.zeros(symbols, np.uint8),
            np.zeros(shape, np.int32),
            np.zeros(64, np.int32),
        )

    def history(self) -> npt.NDArray[np.int64]:
        """Return the (state, bits) in the order in which they were filled."""
        return np.array(self._history, np.int64).reshape(-1, 2)

    def replay(self, history: npt.NDArray[np.int64]) -> None:
        """Fill the tables in a recorded order, which gives all states and labels the numbers they had."""
        for state, mask in history.tolist():
            symbol = self._add(mask)
            if self._lookup is not None:
                self._lookup[mask] = symbol
            self.fill(state, symbol)
        self._settle()

    def symbols(self, masks: npt.NDArray[np.int64]) -> npt.NDArray[np.int32]:
        """Return the symbol of each combination of bits, numbering new ones."""
        if self._lookup is not None:
            found = self._lookup[masks]
            if masks.size and found.min() < 0:
                # Not np.unique, which imports numpy.ma.
                for mask in np.flatnonzero(np.bincount(masks[found < 0])).tolist():
                    self._lookup[mask] = self._add(mask)
                self._settle()
                found = self._lookup[masks]
            return found
        distinct, inverse = np.unique(masks, return_inverse=True)
        numbers = np.fromiter((self._add(int(mask)) for mask in distinct), np.int32, distinct.size)
        self._settle()
        return numbers[inverse].astype(np.int32, copy=False)

    def _add(self, mask: int) -> int:
        symbol = self._symbol_of.get(mask)
        if symbol is None:
            symbol = self._symbol_of[mask] = len(self._masks)
            self._masks.append(mask)
            if symbol >= self.tables.first.shape[1]:
                self._resize(self.tables.first.shape[0], 2 * self.tables.first.shape[1])
        return symbol

    def fill(self, state: int, symbol: int) -> None:
        """Ask the automaton for the moves of one state on one symbol and write them into the tables."""
        expansion = self._source.expand(state, self._masks[symbol])
        self._history.append((state, self._masks[symbol]))
        needed = max([state, expansion.unmarked, *(move.target for move in expansion.marked)]) + 1
        while needed > self.tables.first.shape[0]:
            self._resize(2 * self.tables.first.shape[0], self.tables.first.shape[1])
        while self._moves + len(expansion.marked) > self.tables.label.shape[0]:
            self._grow_moves()
        tables = self.tables
        tables.first[state, symbol] = self._moves
        tables.moves[state, symbol] = len(expansion.marked)
        tables.unmarked[state, symbol] = expansion.unmarked
        tables.unmarked_accepting[state, symbol] = expansion.unmarked_accepting
        for move in expansion.marked:
            tables.label[self._moves] = move.label
            tables.target[self._moves] = move.target
            tables.accepting[self._moves] = move.accepting
            self._moves += 1
        self._states = max(self._states, needed)
        if self._with_skips:
            self._fill_skips(state, symbol, expansion)

    def _fill_skips(self, state: int, symbol: int, expansion: ExpansionLike) -> None:
        labels = [move.label for move in expansion.marked]
        if len(labels) > MOST_MOVES:
            raise Spent(Resource.ALTERNATIVES, len(labels))
        targets = []
        for eligible in range(1 << len(labels)):
            chosen = frozenset(label for number, label in enumerate(labels) if eligible >> number & 1)
            targets.append(self._source.skip(state, self._masks[symbol], chosen) if state else -1)
        while max(targets) >= self.tables.first.shape[0]:
            self._resize(2 * self.tables.first.shape[0], self.tables.first.shape[1])
        self._states = max(self._states, max(targets) + 1)
        if self._skips + len(targets) > len(self.tables.skip):
            self.tables = self.tables._replace(skip=np.resize(self.tables.skip, 2 * (self._skips + len(targets))))
        self.tables.skip_first[state, symbol] = self._skips
        self.tables.skip[self._skips : self._skips + len(targets)] = targets
        self._skips += len(targets)

    def complete(self, state: int, symbol: int) -> None:
        """Fill the entry at which a kernel stopped."""
        self.fill(state, symbol)
        self._settle()

    def symbol_count(self) -> int:
        """Return how many combinations of bits have a number."""
        return len(self._masks)

    def close(self) -> int:
        """Fill the tables for all states that the known symbols can reach; returns the number of states."""
        self._settle(limit=1 << 30)
        return self._states

    def _settle(self, limit: int = 64) -> None:
        """Fill the entries of all states known so far while they are few, and find the symbols that concern nobody."""
        done = False
        while not done and self._states <= limit:
            done = True
            for state in range(self._states):
                for symbol in range(len(self._masks)):
                    if self.tables.first[state, symbol] == UNKNOWN:
                        self.fill(state, symbol)
                        done = False
        tables, known, symbols = self.tables, slice(0, self._states), slice(0, len(self._masks))
        silent = (tables.moves[known, symbols] == 0) & (tables.unmarked_accepting[known, symbols] == 0)
        silent &= tables.first[known, symbols] != UNKNOWN
        stays = np.arange(self._states)
        stays[0] = -1
        silent &= tables.unmarked[known, symbols] == stays[:, None]
        tables.idle[symbols] = silent.all(axis=0)

    def _resize(self, states: int, symbols: int) -> None:
        old = self.tables
        new = self._empty(states, symbols)
        rows, columns = old.first.shape
        for name in ("first", "moves", "unmarked", "unmarked_accepting", "skip_first"):
            getattr(new, name)[:rows, :columns] = getattr(old, name)
        new.idle[:columns] = old.idle
        self.tables = new._replace(label=old.label, target=old.target, accepting=old.accepting, skip=old.skip)

    def _grow_moves(self) -> None:
        old = self.tables
        self.tables = old._replace(
            label=np.concatenate([old.label, np.zeros_like(old.label)]),
            target=np.concatenate([old.target, np.zeros_like(old.target)]),
            accepting=np.concatenate([old.accepting, np.zeros_like(old.accepting)]),
        )
