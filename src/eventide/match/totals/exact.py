"""Exact totals of groups of matches, however large: wrapping integers where they fit, else the Chinese remainder theorem."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from eventide.match.budget import Account, Budget
from eventide.match.totals.counting import PRIME_BITS, SAFE_BITS, primes
from eventide.match.totals.semiring import LEAST, NO_VALUE, NOTHING, ROUGH, SUM, Weights
from eventide.match.totals.sliding import NO_WINDOW, sum_keys
from eventide.match.transitions import SymbolTable
from eventide.records import record

if TYPE_CHECKING:
    from eventide.match.transitions import TransitionSource

    Integers = npt.NDArray[np.int64]


@record
class EventColumns:
    """The events of whole keys; those of key k are offsets[k] to offsets[k + 1]. `group` is that of matches which end there."""

    masks: Integers
    clocks: Integers
    lows: Integers
    offsets: Integers
    group: Integers
    groups: int
    values: Integers
    """[column, event]: what conditions between events read."""
    valid: npt.NDArray[np.uint8]


@record
class Number:
    """A column of numbers, exactly: `mantissa * 2**shift` of each event, to be scaled by the caller. What adds nothing is 0."""

    mantissa: Integers
    shift: Integers

    def taken(self, rows: npt.NDArray[Any]) -> Number:
        """Return the numbers of some events."""
        return Number(self.mantissa[rows], self.shift[rows])

    def bits(self) -> npt.NDArray[np.float64]:
        """Return how many binary digits each number has at most."""
        return np.where(self.mantissa == 0, 0.0, np.log2(np.abs(self.mantissa.astype(np.float64)) + 1) + 1 + self.shift)

    def modulo(self, modulus: int) -> Integers:
        """Return the numbers as kernels take them: modulo a prime, or whole where there is none."""
        if modulus == 0:
            return self.mantissa << self.shift
        powers = np.array([pow(2, power, modulus) for power in range(int(self.shift.max(initial=0)) + 1)], np.int64)
        return self.mantissa % modulus * powers[self.shift] % modulus


@record
class Totals:
    """The totals of each group: matches, the sum columns, and the least values (NO_VALUE where there is none)."""

    matches: list[int]
    sums: list[list[int]]
    least: Integers


class Propagation(Protocol):
    """How vectors are carried from event to event."""

    def run(self, symbols: SymbolTable, events: KeptEvents, weights: Weights, ends: Integers) -> None:
        """Write the vector of the matches that end at each event to `ends`."""
        ...


@dataclass(frozen=True, eq=False)
class KeptEvents:
    """The events that can change a partial match; `row` is their place in the batch.

    Of some keys alone, `part_of` says of which events these are a part, and which of them they are.
    """

    row: Integers
    symbols: npt.NDArray[np.int32]
    clocks: Integers
    lows: Integers
    offsets: Integers
    group: Integers
    values: Integers
    valid: npt.NDArray[np.uint8]
    part_of: tuple[KeptEvents, Integers] | None = None

    def of_keys(self, keys: npt.NDArray[Any]) -> tuple[KeptEvents, Integers]:
        """Return the events of some keys alone, and which of these events they are."""
        begins, ends = self.offsets[keys], self.offsets[keys + 1]
        lengths = ends - begins
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        places = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths) + np.repeat(begins, lengths)
        kept = KeptEvents(
            self.row[places],
            self.symbols[places],
            self.clocks[places],
            self.lows[places],
            offsets,
            self.group[places],
            self.values[:, places],
            self.valid[:, places],
            (self, places),
        )
        return kept, places


class Sliding:
    """Every condition looks at one event: two stacks of products over automaton states."""

    def run(self, symbols: SymbolTable, events: KeptEvents, weights: Weights, ends: Integers) -> None:
        """Write the vector of the matches that end at each event to `ends`."""
        states = symbols.close()
        given = (symbols.tables, events.symbols, events.clocks, events.lows, events.offsets)
        account, key = Account(Budget()), 0
        while key < len(events.offsets) - 1:
            key = sum_keys(*given, weights, ends, states, key, account.slice())


class Aggregator:
    """Computes totals over all matches of groups, without enumerating them."""

    def __init__(self, source: TransitionSource, bits: int, propagation: Propagation | None = None) -> None:
        self.symbols = SymbolTable(source, bits)
        self.propagation: Propagation = propagation or Sliding()

    def totals(
        self,
        events: EventColumns,
        sums: list[Number],
        sum_binds: npt.NDArray[np.uint8],
        least: Integers,
        least_binds: npt.NDArray[np.uint8],
    ) -> Totals:
        """Return the totals of each group. `sum_binds[column, label]` says which labels bind an event to a column's variable."""
        kept = self.kept(events)
        rough = np.zeros(events.groups)
        with np.errstate(over="ignore"):
            np.add.at(rough, kept.group, self.rough(kept))
        matches = [0] * events.groups
        totals = [[0] * events.groups for _ in sums]
        numbers = [number.taken(kept.row) for number in sums]
        self._add_exact(kept, rough, numbers, sum_binds, matches, totals)
        return Totals(matches, totals, self._least(kept, events.groups, least, least_binds))

    def _add_exact(
        self,
        kept: KeptEvents,
        rough: npt.NDArray[np.float64],
        numbers: list[Number],
        sum_binds: npt.NDArray[np.uint8],
        matches: list[int],
        totals: list[list[int]],
    ) -> None:
        needed = self._bits_needed(kept, rough, numbers)
        small = np.flatnonzero(needed < SAFE_BITS)
        if len(small):
            self._add_small(kept, small, numbers, sum_binds, matches, totals)
        large = np.flatnonzero(needed >= SAFE_BITS)
        if len(large):
            self._add_large(kept, large, needed[large], numbers, sum_binds, matches, totals)

    def label_count(self, events: EventColumns) -> int:
        """Return how many labels the automaton needs for these events."""
        self.symbols.symbols(events.masks)
        self.symbols.close()
        return int(self.symbols.tables.label.max(initial=0)) + 1

    def kept(self, events: EventColumns) -> KeptEvents:
        """Leave out the events that change nothing."""
        symbols = self.symbols.symbols(events.masks)
        self.symbols.close()
        relevant = self.symbols.tables.idle[symbols] == 0
        before = np.concatenate([np.zeros(1, np.int64), np.cumsum(relevant)])
        row = np.flatnonzero(relevant)
        return KeptEvents(
            row,
            symbols[row],
            events.clocks[row],
            events.lows[row],
            before[events.offsets],
            events.group[row],
            events.values[:, row],
            events.valid[:, row],
        )

    def rough(self, kept: KeptEvents) -> npt.NDArray[np.float64]:
        """Return about how many matches end at each event; above 0 exactly where there are some."""
        return self.propagate(kept, NOTHING._replace(kind=ROUGH)).view(np.float64)[:, 0]

    def matches_of_ends(self, kept: KeptEvents) -> list[int]:
        """Return exactly how many matches end at each event."""
        places = np.arange(len(kept.row), dtype=np.int64)
        # As a part, so that what was judged of the events holds for it.
        alone = replace(kept, group=places, part_of=(kept, places))
        matches = [0] * len(kept.row)
        self._add_exact(alone, self.rough(kept), [], np.zeros((0, 1), np.uint8), matches, [])
        return matches

    def propagate(self, kept: KeptEvents, weights: Weights) -> Integers:
        """Return the vector of the matches that end at each event."""
        ends = np.empty(len(kept.row) * weights.channels, np.int64)
        self.propagation.run(self.symbols, kept, weights, ends)
        return ends.reshape(-1, weights.channels)

    def _bits_needed(
        self, kept: KeptEvents, rough: npt.NDArray[np.float64], numbers: list[Number]
    ) -> npt.NDArray[np.float64]:
        """Return for each key how many bits its largest total has at most."""
        keys = len(kept.offsets) - 1
        key_of = np.repeat(np.arange(keys), np.diff(kept.offsets))
        bits = np.zeros(keys)
        with np.errstate(divide="ignore"):
            np.maximum.at(bits, key_of, np.log2(rough[kept.group]))
        for key in np.flatnonzero(~np.isfinite(bits)):
            # Several keys may share a group.
            bits[key] = self._most_bits(kept, int(kept.offsets[key]), int(kept.offsets[key + 1])) + math.log2(keys)
        heaviest = np.zeros(keys)
        for number in numbers:
            np.maximum.at(heaviest, key_of, number.bits())
        # A match has at most as many events as its key.
        longest = np.log2(np.maximum(1, np.diff(kept.offsets)))
        return bits + np.where(heaviest > 0, heaviest + longest, 0.0) + 2

    def _most_bits(self, kept: KeptEvents, begin: int, end: int) -> float:
        """Return a bound on the matches of a key: an event can at most multiply the partial matches of a window by its moves."""
        moves = self.symbols.tables.moves.max(axis=0) + 1
        grown = np.concatenate([np.zeros(1), np.cumsum(np.log2(moves[kept.symbols[begin:end]].astype(np.float64)))])
        lows, clocks = kept.lows[begin:end], kept.clocks[begin:end]
        first = np.zeros(end - begin, np.int64)
        if (lows != NO_WINDOW).any():
            first = np.searchsorted(clocks, lows)
        widest = float((grown[1:] - grown[np.minimum(first, np.arange(end - begin))]).max(initial=0.0))
        return widest + 2 * math.log2(max(2, end - begin)) + 2

    def _add_small(
        self,
        kept: KeptEvents,
        keys: npt.NDArray[Any],
        numbers: list[Number],
        binds: npt.NDArray[np.uint8],
        matches: list[int],
        totals: list[list[int]],
    ) -> None:
        part, places = kept.of_keys(keys)
        ends = self._ends(part, [number.taken(places) for number in numbers], binds, 0)
        groups, inverse = np.unique(part.group, return_inverse=True)
        summed = np.zeros((len(groups), ends.shape[1]), np.int64)
        np.add.at(summed, inverse.reshape(-1), ends)
        for place, group in enumerate(groups.tolist()):
            matches[group] += int(summed[place, 0])
            for column, total in enumerate(totals):
                total[group] += int(summed[place, column + 1])

    def _add_large(
        self,
        kept: KeptEvents,
        keys: npt.NDArray[Any],
        bits: npt.NDArray[np.float64],
        numbers: list[Number],
        binds: npt.NDArray[np.uint8],
        matches: list[int],
        totals: list[list[int]],
    ) -> None:
        """Compute modulo as many primes as each key needs; keys that need as many as each other are put together at once."""
        needed = np.ceil(bits / (PRIME_BITS - 1)).astype(np.int64) + 1
        moduli = primes(int(needed.max()))
        known = Remainders(moduli)
        for count in np.unique(needed).tolist():
            part, places = kept.of_keys(keys[needed == count])
            taken = [column.taken(places) for column in numbers]
            groups, inverse = np.unique(part.group, return_inverse=True)
            remainders = np.zeros((count, len(groups), len(totals) + 1), np.int64)
            for number, prime in enumerate(moduli[:count]):
                np.add.at(remainders[number], inverse.reshape(-1), self._ends(part, taken, binds, prime))
                remainders[number] %= prime
            for group, rows in zip(groups.tolist(), remainders.transpose(1, 2, 0).tolist(), strict=True):
                matches[group] += known.number(rows[0])
                for column, total in enumerate(totals):
                    total[group] += known.number(rows[column + 1])

    def _ends(self, part: KeptEvents, numbers: list[Number], binds: npt.NDArray[np.uint8], modulus: int) -> Integers:
        values = np.empty((len(numbers), len(part.row)), np.int64)
        for channel, number in enumerate(numbers):
            values[channel] = number.modulo(modulus)
        return self.propagate(part, Weights(SUM, modulus, len(numbers) + 1, values, binds))

    def _least(self, kept: KeptEvents, groups: int, least: Integers, binds: npt.NDArray[np.uint8]) -> Integers:
        result = np.full((len(least), groups), NO_VALUE, np.int64)
        if len(least):
            ends = self.propagate(kept, Weights(LEAST, 0, len(least), np.ascontiguousarray(least[:, kept.row]), binds))
            for column in range(len(least)):
                np.minimum.at(result[column], kept.group, ends[:, column])
        return result


class Remainders:
    """Puts numbers together from their remainders by primes; the result may be negative.

    >>> Remainders([101, 103]).number([99, 101])
    -2
    """

    def __init__(self, moduli: list[int]) -> None:
        self._moduli = moduli
        self._products = [1]
        self._inverses = []
        for modulus in moduli:
            self._inverses.append(pow(self._products[-1] % modulus, -1, modulus) if self._products[-1] > 1 else 1)
            self._products.append(self._products[-1] * modulus)

    def number(self, remainders: list[int]) -> int:
        """Return the number of least absolute value that has these remainders by the first primes."""
        result = 0
        for place, remainder in enumerate(remainders):
            modulus = self._moduli[place]
            result += self._products[place] * ((remainder - result) * self._inverses[place] % modulus)
        whole = self._products[len(remainders)]
        return result - whole if 2 * result >= whole else result


