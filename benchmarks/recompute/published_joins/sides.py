"""What the joins have in common: two sides of events, the predicates between them, and the words of one row of bits.

A predicate is `outer coordinate, operator, inner coordinate`; the outer event is the earlier one. A coordinate that is null
joins nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from benchmarks.recompute.compiling import inner_kernel, kernel
from eventide.index.encoding import HIGHEST, LOWEST
from eventide.index.zorder import HIGH, LOW, ONE, ZERO, bits_from
from eventide.match.recompute.bit_rows.comparisons import GREATER, GREATER_EQUAL, LESS, LESS_EQUAL, lanes_where

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eventide.index.encoding import Coordinates


class Side(NamedTuple):
    """Events of one side of a join: their rows, their coordinates (one line of `value` each) and which of these are not null."""

    row: npt.NDArray[np.int64]
    value: Coordinates
    valid: npt.NDArray[np.uint8]


class Predicates(NamedTuple):
    """A conjunction; place p of each array says which outer coordinate compares how with which inner one."""

    outer: npt.NDArray[np.int64]
    operator: npt.NDArray[np.int64]
    inner: npt.NDArray[np.int64]


def predicates_of(triples: Sequence[tuple[int, int, int]]) -> Predicates:
    """Return predicates as arrays."""
    table = np.array(triples, np.int64).reshape(-1, 3)
    return Predicates(*(np.ascontiguousarray(table[:, place]) for place in range(3)))


@kernel
def holds(operator, left, right):
    """Return whether a comparison of two coordinates holds."""
    if operator == LESS:
        return left < right
    if operator == LESS_EQUAL:
        return left <= right
    if operator == GREATER:
        return left > right
    if operator == GREATER_EQUAL:
        return left >= right
    return left == right


@kernel
def joins(outer, one, inner, other, predicates):
    """Return whether an outer and an inner event join: the definition, one pair at a time."""
    if outer.row[one] >= inner.row[other]:
        return False
    for predicate in range(predicates.operator.shape[0]):
        left, right = predicates.outer[predicate], predicates.inner[predicate]
        if outer.valid[left, one] == 0 or inner.valid[right, other] == 0:
            return False
        if not holds(predicates.operator[predicate], outer.value[left, one], inner.value[right, other]):
            return False
    return True


@kernel
def narrow(box, dimension, operator, low, high):
    """Cut a box to the events whose coordinate x has `x operator y` for some y of [low, high]; False when nothing is left.

    The comparison itself is still to be made: the box is what could join, not what does (Kammoun 2019, 3.6.1).
    """
    if operator == LESS or operator == LESS_EQUAL:
        if operator == LESS:
            if high == LOWEST:
                return False
            high -= ONE
        box[HIGH, dimension] = min(box[HIGH, dimension], high)
    elif operator == GREATER or operator == GREATER_EQUAL:
        if operator == GREATER:
            if low == HIGHEST:
                return False
            low += ONE
        box[LOW, dimension] = max(box[LOW, dimension], low)
    else:
        box[LOW, dimension] = max(box[LOW, dimension], low)
        box[HIGH, dimension] = min(box[HIGH, dimension], high)
    return box[LOW, dimension] <= box[HIGH, dimension]


@inner_kernel
def bits_between(word, begin, end):
    """Return the bits of word number `word` that stand for places of [begin, end)."""
    first = max(begin - 64 * word, 0)
    last = min(end - 64 * word, 64)
    if first >= last:
        return ZERO
    return bits_from(first) & ~bits_from(last)


@inner_kernel
def set_bits(words, begin, end):
    """Set the bits of [begin, end)."""
    for word in range(begin // 64, (end + 63) // 64):
        words[word] |= bits_between(word, begin, end)


@inner_kernel
def usable_events(valid, lines):
    """Return the events none of whose coordinates is null, as words."""
    count = valid.shape[1]
    words = np.zeros((count + 63) // 64, np.uint64)
    for word in range(words.shape[0]):
        words[word] = bits_between(word, 0, count)
    for line in lines:
        for index in range(count):
            if valid[line, index] == 0:
                words[index // 64] &= ~(ONE << np.uint64(index % 64))
    return words


@kernel
def blocks_of(value, lines):
    """Return lines of coordinates in blocks of 64, the last padded with zeros."""
    count = value.shape[1]
    blocks = np.zeros((lines.shape[0], (count + 63) // 64, 64), np.uint64)
    for line in range(lines.shape[0]):
        for index in range(count):
            blocks[line, index // 64, index % 64] = value[lines[line], index]
    return blocks


@inner_kernel
def lanes_that_join(operators, bounds, index, blocks, word, wanted):
    """Return those of the wanted lanes that satisfy all comparisons with the outer event at `index` of `bounds`."""
    for line in range(operators.shape[0]):
        wanted &= lanes_where(operators[line], bounds[line, index], blocks, line, word)
        if wanted == ZERO:
            break
    return wanted
