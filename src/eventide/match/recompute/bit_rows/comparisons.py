"""Comparisons between an outer (earlier) and an inner (later) event, and the box that they leave for one of the two.

A predicate is `outer coordinate, operator, inner coordinate`. A coordinate that is null joins nothing.

One value is compared with 64 others at a time, whose coordinates are laid out in blocks of 64, one word of the answer each. The
fixed length of the innermost loop is what lets the compiler use vector instructions: about 0.1 ns a pair, twenty times less
than a loop that sets bits one by one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from eventide.compilation import inner_kernel, kernel
from eventide.index.encoding import HIGHEST, LOWEST
from eventide.index.zorder import HIGH, LOW, ONE, ZERO

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eventide.index.encoding import Coordinates

LESS = 0
LESS_EQUAL = 1
GREATER = 2
GREATER_EQUAL = 3
EQUAL = 4
SWAPPED = (GREATER, GREATER_EQUAL, LESS, LESS_EQUAL, EQUAL)
"""The operator that holds for (y, x) when the one at this place holds for (x, y)."""
OWN, OTHER, OPERATOR, DIMENSION = 0, 1, 2, 3
"""The places of a term of a shape: its own column, the other one, the operator, the dimension of the tree."""


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
    """Return predicates as arrays.

    >>> predicates_of([(0, LESS, 1)]).inner.tolist()
    [1]
    """
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
def lanes_where(operator, bound, blocks, line, word):
    """Return the lanes of a block whose values y have `bound operator y`."""
    lanes = ZERO
    if operator == LESS:
        for lane in range(64):
            lanes |= np.uint64(bound < blocks[line, word, lane]) << np.uint64(lane)
    elif operator == LESS_EQUAL:
        for lane in range(64):
            lanes |= np.uint64(bound <= blocks[line, word, lane]) << np.uint64(lane)
    elif operator == GREATER:
        for lane in range(64):
            lanes |= np.uint64(bound > blocks[line, word, lane]) << np.uint64(lane)
    elif operator == GREATER_EQUAL:
        for lane in range(64):
            lanes |= np.uint64(bound >= blocks[line, word, lane]) << np.uint64(lane)
    elif operator == EQUAL:
        for lane in range(64):
            lanes |= np.uint64(bound == blocks[line, word, lane]) << np.uint64(lane)
    return lanes


@inner_kernel
def lanes_that_join(operators, bounds, index, blocks, word, wanted):
    """Return those of the wanted lanes that satisfy all comparisons with the outer event at `index` of `bounds`."""
    for line in range(operators.shape[0]):
        wanted &= lanes_where(operators[line], bounds[line, index], blocks, line, word)
        if wanted == ZERO:
            break
    return wanted
