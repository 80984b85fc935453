"""Long rows, answered by an event tree instead of being computed 64 candidates at a time (Kammoun 2019, 3.6.1 and 3.7.2).

The tree of a family holds the candidates that its rows are about. A point is the number of a candidate and its ranks in the
columns that the family compares; candidates are numbered by key and then by time, so a range of numbers is the window of a key.
What fits an event is a box.

A batch is known when it is searched, so these trees never change and need no nodes: their leaves lie one behind the other in
Z order, and a binary search finds what inner nodes would lead to. That is why they are not made of `index.tree`, which takes
events in and out: its nodes would cost time and room for nothing. A tree is made when the rows of its family have cost as much
as it will, and asked as long as that costs less than computing rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from eventide.compilation import inner_kernel
from eventide.index.encoding import HIGHEST, LOWEST
from eventide.index.zorder import BOX_ROWS, FOUND, HIGH, LOW, ONE, ZERO, compare, next_in, z_order
from eventide.match.recompute.bit_rows.comparisons import (
    DIMENSION,
    EQUAL,
    GREATER,
    GREATER_EQUAL,
    LESS,
    LESS_EQUAL,
    OPERATOR,
    OTHER,
    OWN,
)

if TYPE_CHECKING:
    from eventide.match.recompute.shape import Shape
    from eventide.match.recompute.window_events import Window

LONG_ROW = 128
"""How many words must be missing of a row before a tree is asked for them, or thought of."""
TREE_WORDS = 8
"""How many words of rows cost as much as a candidate does that is put into a tree."""
MOST_ENTRIES = 16
"""How many entries of a tree a query may look at for each word that it saves."""
LONGEST_PAUSE = 1023
LEAF = 32
JUMP = 64
"""How many entries can be looked at in the time of a jump."""
GAVE_UP = -1

SPENT, PRICE, LONG, MOST, MADE, BEGIN, END, RANK_SHIFT, BLOCK, TOP, PAUSE, PAUSES = range(12)
WANTED = 0
"""In the line behind those of the families: the family whose tree is wanted, and one; 0 for none. MADE counts the trees there."""


class RowTrees(NamedTuple):
    """The trees of the families, as far as they have been made."""

    points: npt.NDArray[np.uint64]
    """The points of all trees, those of a tree in Z order."""
    values: npt.NDArray[np.uint64]
    """The coordinates that occur in each column, in order; how many lie before a coordinate is its rank."""
    first: npt.NDArray[np.int64]
    """[column + 1]: where the coordinates of a column begin."""
    asked: npt.NDArray[np.int64]
    """[family + 1, ...]: what rows have cost, and where the tree lies."""


def new_trees(shape: Shape, window: Window, most: npt.NDArray[np.int64]) -> RowTrees:
    """Return the trees of a batch before any is made; windows hold at most so many candidates of each step."""
    step = shape.family_to % len(shape.minimum)
    dimensions = 1 + int(shape.terms[:, DIMENSION].max(initial=0))
    asked = np.zeros((len(step) + 1, 12), np.int64)
    asked[:, LONG], asked[:, MOST] = LONG_ROW, MOST_ENTRIES
    candidates = np.diff(window.first)[step]
    asked[:-1, PRICE] = TREE_WORDS * candidates
    for family, (count, longest) in enumerate(zip(candidates.tolist(), most[step].tolist(), strict=True)):
        bits = max(6, count.bit_length())
        # Rows ask for most of a window, so within blocks of that size a number tells less than any value: those bits come last.
        block = min(longest.bit_length(), bits - 1)
        asked[family, RANK_SHIFT], asked[family, BLOCK], asked[family, TOP] = 64 - bits, block, 64 - (bits - block)
    first = np.zeros(len(window.blocks) + 1, np.int64)
    return RowTrees(np.empty((0, dimensions), np.uint64), np.empty(0, np.uint64), first, asked)


def with_wanted_tree(trees: RowTrees, shape: Shape, window: Window) -> RowTrees:
    """Return the trees with the one that was asked for."""
    asked = trees.asked
    family = int(asked[-1, WANTED]) - 1
    step = int(shape.family_to[family]) % len(shape.minimum)
    count = int(window.first[step + 1] - window.first[step])
    terms = shape.terms[shape.term_first[family] : shape.term_first[family + 1]]
    columns = {int(term[DIMENSION]): int(term[OTHER]) for term in terms}
    numbers = np.flatnonzero(np.logical_and.reduce([_usable(window, column, count) for column in columns.values()]))
    points = np.zeros((len(numbers), trees.points.shape[1]), np.uint64)
    block, top, shift = (np.uint64(asked[family, what]) for what in (BLOCK, TOP, RANK_SHIFT))
    whole = numbers.astype(np.uint64)
    points[:, 0] = ((whole >> block) << top) | (whole & ((ONE << block) - ONE))
    known = [trees.values[begin:end] for begin, end in zip(trees.first, trees.first[1:], strict=False)]
    for dimension, column in columns.items():
        ranks, known[column] = _ranks(window, column, count)
        points[:, dimension] = ranks[numbers] << shift
    asked[-1, WANTED] = 0
    asked[family, MADE] = 1
    asked[-1, MADE] += 1
    asked[family, BEGIN], asked[family, END] = len(trees.points), len(trees.points) + len(points)
    return RowTrees(
        np.concatenate([trees.points, points[z_order(points)]]),
        np.concatenate(known),
        np.concatenate([np.zeros(1, np.int64), np.cumsum([len(values) for values in known])]),
        asked,
    )


def _usable(window: Window, column: int, count: int) -> npt.NDArray[np.uint8]:
    """Return which candidates have a value that is not null."""
    return np.unpackbits(window.usable[column].view(np.uint8), bitorder="little")[:count]


def _ranks(window: Window, column: int, count: int) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
    """Return how many coordinates of a column are below that of each candidate, and the coordinates in order; null has none."""
    numbers = np.flatnonzero(_usable(window, column, count))
    values = window.blocks[column].reshape(-1)[numbers]
    order = np.argsort(values)
    ordered = values[order]
    ranks = np.zeros(count, np.uint64)
    ranks[numbers[order]] = np.searchsorted(ordered, ordered)
    return ranks, ordered


@inner_kernel
def rank_of(values, begin, end, bound, behind):
    """Return how many of the values from begin to end are below a bound, or with `behind` how many are not above it."""
    low, high = begin, end
    while low < high:
        middle = (low + high) // 2
        if values[middle] < bound or (behind and values[middle] == bound):
            low = middle + 1
        else:
            high = middle
    return low - begin


@inner_kernel
def write_box(shape, window, trees, family, event, first, last, box):
    """Write the box of the candidates in words first to last that fit an event; returns whether there can be any."""
    asked = trees.asked
    shift = np.uint64(asked[family, RANK_SHIFT])
    block, top = np.uint64(asked[family, BLOCK]), np.uint64(asked[family, TOP])
    inside = (ONE << block) - ONE
    low_number, high_number = np.uint64(64 * first), np.uint64(64 * last - 1)
    for dimension in range(box.shape[1]):
        box[LOW, dimension] = LOWEST
        box[HIGH, dimension] = HIGHEST
    box[LOW, 0] = ((low_number >> block) << top) | (low_number & inside)
    box[HIGH, 0] = ((high_number >> block) << top) | (high_number & inside)
    for term in range(shape.term_first[family], shape.term_first[family + 1]):
        own, other, operator = shape.terms[term, OWN], shape.terms[term, OTHER], shape.terms[term, OPERATOR]
        if (window.usable[own, event >> 6] >> np.uint64(event & 63)) & ONE == ZERO:
            return False
        bound = window.blocks[own, event >> 6, event & 63]
        begin, end = trees.first[other], trees.first[other + 1]
        low, high = np.int64(0), end - begin
        if operator == LESS or operator == LESS_EQUAL or operator == EQUAL:
            low = rank_of(trees.values, begin, end, bound, operator == LESS)
        if operator == GREATER or operator == GREATER_EQUAL or operator == EQUAL:
            high = rank_of(trees.values, begin, end, bound, operator != GREATER)
        if low >= high:
            return False
        dimension = shape.terms[term, DIMENSION]
        box[LOW, dimension] = max(box[LOW, dimension], np.uint64(low) << shift)
        box[HIGH, dimension] = min(box[HIGH, dimension], np.uint64(high - 1) << shift)
        if box[LOW, dimension] > box[HIGH, dimension]:
            return False
    return True


@inner_kernel
def first_from(points, low, high, box, corner):
    """Return the first point of [low, high) that does not lie before a corner of a box in Z order."""
    while low < high:
        middle = (low + high) // 2
        if compare(points, middle, box, corner) < 0:
            low = middle + 1
        else:
            high = middle
    return low


@inner_kernel
def scan_leaves(points, begin, end, box, entries, most):
    """Write which points of a tree lie in a box and return their number, or GAVE_UP after `most` entries and jumps for entries.

    `entries` has room for as many and for a leaf.
    """
    found = 0
    spent = 0
    at = first_from(points, begin, end, box, LOW)
    while at < end:
        if spent > most:
            return GAVE_UP
        behind = min(at + LEAF, end)
        spent += behind - at
        for entry in range(at, behind):
            inside = True
            for dimension in range(points.shape[1]):
                value = points[entry, dimension]
                if value < box[LOW, dimension] or value > box[HIGH, dimension]:
                    inside = False
                    break
            if inside:
                entries[found] = entry
                found += 1
        if behind == end:
            break
        if found == 0 or entries[found - 1] != behind - 1:
            # The last point lies outside, so the box may go on far behind it.
            if not next_in(points, behind - 1, box):
                break
            if compare(points, behind, box, FOUND) < 0:
                spent += JUMP
                step = LEAF
                while behind + step < end and compare(points, behind + step, box, FOUND) < 0:
                    behind += step
                    step *= 2
                behind = first_from(points, behind, min(behind + step, end), box, FOUND)
        at = behind
    return found


@inner_kernel
def filled_from_tree(shape, window, trees, words, at, family, event, first, last):
    """Write words first to last of a row as the tree of its family has them; False when they are to be computed instead."""
    asked = trees.asked
    if asked[family, PAUSE] > 0:
        asked[family, PAUSE] -= 1
        return False
    most = asked[family, MOST] * (last - first)
    entries = np.empty(most + 2 * LEAF, np.int64)
    box = np.empty((BOX_ROWS, trees.points.shape[1]), np.uint64)
    found = 0
    if write_box(shape, window, trees, family, event, first, last, box):
        found = scan_leaves(trees.points, asked[family, BEGIN], asked[family, END], box, entries, most)
        if found == GAVE_UP:
            # A family whose queries fail is asked more and more seldom.
            asked[family, PAUSES] = min(2 * asked[family, PAUSES] + 1, LONGEST_PAUSE)
            asked[family, PAUSE] = asked[family, PAUSES]
            return False
        asked[family, PAUSES] //= 2
    for word in range(first, last):
        words[at + word] = ZERO
    block, top = np.uint64(asked[family, BLOCK]), np.uint64(asked[family, TOP])
    for place in range(found):
        coordinate = trees.points[entries[place], 0]
        number = np.int64(((coordinate >> top) << block) | (coordinate & ((ONE << block) - ONE)))
        words[at + (number >> 6)] |= ONE << np.uint64(number & 63)
    return True
