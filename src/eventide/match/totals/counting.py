"""Counting matches without enumerating them: path counts of the automaton over a sliding window, exact at any size.

Each event is a sparse matrix over automaton states. The number of matches that end at an event is a sum of matrix products over
the starts inside the window; two stacks of partial products slide the window in a constant number of products per event.
Counts larger than 64 bits are computed modulo several primes and put together by the Chinese remainder theorem.

`aggregates/` carries vectors of sums in the same way and could count as well; with a number instead of a vector the kernels are
four to seven times as fast, which is why plain counts have their own.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from eventide.compilation import copy_start, inner_kernel, kernel
from eventide.match.budget import Account, Budget
from eventide.match.transitions import SymbolTable

if TYPE_CHECKING:
    from eventide.match.transitions import TransitionSource

NO_WINDOW = np.iinfo(np.int64).min
SAFE_BITS = 61
PRIME_BITS = 31


@inner_kernel
def step_row(tables, symbol, row, result, modulus):
    """Multiply a row vector by the matrix of a symbol."""
    for state in range(row.shape[0]):
        result[state] = 0
    for state in range(1, row.shape[0]):
        value = row[state]
        if value == 0:
            continue
        first = tables.first[state, symbol]
        for move in range(first, first + tables.moves[state, symbol]):
            target = tables.target[move]
            if target >= 0:
                result[target] += value
        target = tables.unmarked[state, symbol]
        if target >= 0:
            result[target] += value
    if modulus > 0:
        for state in range(row.shape[0]):
            result[state] %= modulus


@inner_kernel
def add_starts(tables, symbol, row):
    """Add the matches that begin at an event with the symbol."""
    first = tables.first[0, symbol]
    for move in range(first, first + tables.moves[0, symbol]):
        if tables.target[move] >= 0:
            row[tables.target[move]] += 1
    if tables.unmarked[0, symbol] >= 0:
        row[tables.unmarked[0, symbol]] += 1


@inner_kernel
def accepted(tables, symbol, row):
    """Return how many matches end at an event with the symbol, given the partial matches before it."""
    total = row[0] * 0
    for state in range(1, row.shape[0]):
        if row[state] == 0:
            continue
        first = tables.first[state, symbol]
        for move in range(first, first + tables.moves[state, symbol]):
            if tables.accepting[move]:
                total += row[state]
        if tables.unmarked_accepting[state, symbol]:
            total += row[state]
    first = tables.first[0, symbol]
    for move in range(first, first + tables.moves[0, symbol]):
        if tables.accepting[move]:
            total += 1
    if tables.unmarked_accepting[0, symbol]:
        total += 1
    return total


@inner_kernel
def clear_row(row):
    """Set all of a row to 0; a loop, because numba takes far longer to compile slices."""
    for index in range(row.shape[0]):
        row[index] = 0


@inner_kernel
def clear_rows(rows):
    """Set all of a matrix to 0."""
    for row in range(rows.shape[0]):
        for column in range(rows.shape[1]):
            rows[row, column] = 0


@inner_kernel
def flip(tables, symbols, front_begin, back_end, fronts, states, modulus, zero):
    """Turn the events front_begin..back_end into the front stack: `fronts[i]` holds all starts from i on, carried to the end."""
    suffix = np.zeros((states, states), zero.dtype)
    for state in range(states):
        suffix[state, state] = 1
    start = np.zeros(states, zero.dtype)
    product = np.zeros((states, states), zero.dtype)
    unit = np.zeros(states, zero.dtype)
    carried = np.zeros(states, zero.dtype)
    for index in range(back_end - 1, front_begin - 1, -1):
        clear_row(start)
        add_starts(tables, symbols[index], start)
        for state in range(states):
            if start[state] != 0:
                for target in range(states):
                    carried[target] += start[state] * suffix[state, target]
        if modulus > 0:
            for state in range(states):
                carried[state] %= modulus
        copy_start(fronts[index], carried, states)
        clear_rows(product)
        for state in range(1, states):
            clear_row(unit)
            unit[state] = 1
            step_row(tables, symbols[index], unit, start, 0)
            for middle in range(states):
                if start[middle] != 0:
                    for target in range(states):
                        product[state, target] += start[middle] * suffix[middle, target]
        if modulus > 0:
            for state in range(states):
                for target in range(states):
                    product[state, target] %= modulus
        for state in range(states):
            copy_start(suffix[state], product[state], states)


@inner_kernel
def count_key(tables, symbols, clocks, lows, states, modulus, zero):
    """Count the matches of one key. `zero` gives the number type: int64 (wrapping or modulo) or double."""
    events = symbols.shape[0]
    total = zero[0]
    row = np.zeros(states, zero.dtype)
    other = np.zeros(states, zero.dtype)
    windowed = False
    for index in range(events):
        if lows[index] != NO_WINDOW:
            windowed = True
            break
    if not windowed:
        for index in range(events):
            total += accepted(tables, symbols[index], row)
            if modulus > 0:
                total %= modulus
            step_row(tables, symbols[index], row, other, modulus)
            copy_start(row, other, states)
            add_starts(tables, symbols[index], row)
        return total
    fronts = np.zeros((events, states), zero.dtype)
    product = np.zeros((states, states), zero.dtype)
    back = np.zeros(states, zero.dtype)
    front_begin = 0
    front_end = 0
    for state in range(states):
        product[state, state] = 1
    for index in range(events):
        low = lows[index]
        while front_begin < index and clocks[front_begin] < low:
            if front_begin >= front_end:
                flip(tables, symbols, front_begin, index, fronts, states, modulus, zero)
                front_end = index
                clear_rows(product)
                for state in range(states):
                    product[state, state] = 1
                clear_row(back)
            front_begin += 1
        copy_start(row, back, states)
        if front_begin < front_end:
            for state in range(states):
                value = fronts[front_begin, state]
                if value != 0:
                    for target in range(states):
                        row[target] += value * product[state, target]
        if modulus > 0:
            for state in range(states):
                row[state] %= modulus
        total += accepted(tables, symbols[index], row)
        if modulus > 0:
            total %= modulus
        if front_begin < front_end:
            for state in range(1, states):
                step_row(tables, symbols[index], product[state], other, modulus)
                copy_start(product[state], other, states)
        step_row(tables, symbols[index], back, other, modulus)
        copy_start(back, other, states)
        add_starts(tables, symbols[index], back)
    return total


@kernel
def count_keys(tables, symbols, clocks, lows, offsets, states, modulus, zero, totals, key, steps):
    """Count the matches of many keys in one call, from a key on; returns the key to go on with."""
    while key < offsets.shape[0] - 1 and steps[0] > 0:
        begin, end = offsets[key], offsets[key + 1]
        steps[0] -= (end - begin + 1) * states
        totals[key] = count_key(tables, symbols[begin:end], clocks[begin:end], lows[begin:end], states, modulus, zero)
        key += 1
    return key


class MatchCounter:
    """Counts the matches of whole keys."""

    def __init__(self, source: TransitionSource, bits: int) -> None:
        self._symbols = SymbolTable(source, bits)
        self._account = Account(Budget())

    def count(
        self,
        masks: npt.NDArray[np.int64],
        clocks: npt.NDArray[np.int64],
        lows: npt.NDArray[np.int64],
        offsets: npt.NDArray[np.int64],
    ) -> list[int]:
        """Return the number of matches of each key; the events of key k are rows offsets[k] to offsets[k + 1]."""
        symbols = self._symbols.symbols(masks)
        states = self._symbols.close()
        relevant = self._symbols.tables.idle[symbols] == 0
        kept_before = np.concatenate([np.zeros(1, np.int64), np.cumsum(relevant)])
        offsets = kept_before[offsets]
        symbols, clocks, lows = symbols[relevant], clocks[relevant], lows[relevant]
        rough = self._run(symbols, clocks, lows, offsets, states, 0, np.float64)
        exact = self._run(symbols, clocks, lows, offsets, states, 0, np.int64)
        result = [int(value) for value in exact]
        for key in np.flatnonzero(~(rough < 2.0**SAFE_BITS)):
            span = slice(int(offsets[key]), int(offsets[key + 1]))
            result[key] = self._large(symbols[span], clocks[span], lows[span], states, float(rough[key]))
        return result

    def _run(
        self,
        symbols: npt.NDArray[np.int32],
        clocks: npt.NDArray[np.int64],
        lows: npt.NDArray[np.int64],
        offsets: npt.NDArray[np.int64],
        states: int,
        modulus: int,
        number: type[np.generic],
    ) -> npt.NDArray[Any]:
        totals = np.zeros(len(offsets) - 1, number)
        with np.errstate(over="ignore", invalid="ignore"):
            tables, zero, key = self._symbols.tables, np.zeros(1, number), 0
            while key < len(totals):
                steps = self._account.slice()
                key = count_keys(tables, symbols, clocks, lows, offsets, states, modulus, zero, totals, key, steps)
        return totals

    def _large(
        self,
        symbols: npt.NDArray[np.int32],
        clocks: npt.NDArray[np.int64],
        lows: npt.NDArray[np.int64],
        states: int,
        rough: float,
    ) -> int:
        """Count modulo enough primes to know the number."""
        bits = math.log2(rough) + 2 if math.isfinite(rough) else self._most_bits(symbols)
        offsets = np.array([0, len(symbols)], np.int64)
        result, product = 0, 1
        for prime in primes(math.ceil(bits / (PRIME_BITS - 1)) + 1):
            remainder = int(self._run(symbols, clocks, lows, offsets, states, prime, np.int64)[0]) % prime
            result += product * ((remainder - result) * pow(product, -1, prime) % prime)
            product *= prime
        return result

    def _most_bits(self, symbols: npt.NDArray[np.int32]) -> float:
        """Return a bound on the size of the count: each event can at most multiply the partial matches by its moves."""
        tables = self._symbols.tables
        moves = tables.moves.max(axis=0) + 1
        return float(np.log2(moves[symbols].astype(np.float64)).sum() + math.log2(max(2, len(symbols))) + 2)


def primes(number: int) -> list[int]:
    """Return the largest primes below 2^31.

    >>> primes(2)
    [2147483647, 2147483629]
    """
    found: list[int] = []
    candidate = (1 << PRIME_BITS) - 1
    while len(found) < number:
        if _is_prime(candidate):
            found.append(candidate)
        candidate -= 2
    return found


def _is_prime(number: int) -> bool:
    # These witnesses decide primality for all numbers below 3.2e9.
    odd = number - 1
    twos = (odd & -odd).bit_length() - 1
    odd >>= twos
    for witness in (2, 3, 5, 7):
        power = pow(witness, odd, number)
        if power in (1, number - 1):
            continue
        for _ in range(twos - 1):
            power = power * power % number
            if power == number - 1:
                break
        else:
            return False
    return True


