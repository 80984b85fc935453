"""IEJoin (Khayyat et al. 2017): sorted lists, permutations, offsets, a bit array for two inequalities; further predicates filter.

Outer and inner events are sorted by the first two compared coordinates. Outer events are visited in the order of the second;
inner ones that satisfy it are marked in a bit array in the order of the first, where those that satisfy the first as well are
the marked ones behind an offset. Inner events are numbered by the first coordinate.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from benchmarks.recompute.compiling import kernel
from benchmarks.recompute.published_joins.sides import bits_between, blocks_of, holds, lanes_that_join
from eventide.index.zorder import ONE, ZERO
from eventide.match.recompute.bit_rows.bits import lowest_bit
from eventide.match.recompute.bit_rows.comparisons import GREATER, GREATER_EQUAL, LESS, LESS_EQUAL


class Lists(NamedTuple):
    """The sorted lists: orders of both sides by both coordinates, and for each outer event where its partners begin in each."""

    outer_second: np.ndarray
    inner_first: np.ndarray
    inner_second: np.ndarray
    place_first: np.ndarray
    offset_first: np.ndarray
    offset_second: np.ndarray


def sorted_lists(outer, inner, predicates) -> Lists:
    """Sort both sides so that the partners of an outer event by one predicate are a tail of the inner list."""
    tails = []
    for line in (0, 1):
        operator = predicates.operator[line]
        if operator not in {LESS, LESS_EQUAL, GREATER, GREATER_EQUAL}:
            raise ValueError("IEJoin takes inequalities for its first two predicates")
        bound, value = outer.value[predicates.outer[line]], inner.value[predicates.inner[line]]
        if operator in {GREATER, GREATER_EQUAL}:
            bound, value = ~bound, ~value
        order = np.argsort(value, kind="stable")
        side = "right" if operator in {LESS, GREATER} else "left"
        tails.append((order, np.searchsorted(value[order], bound, side), bound))
    (first, offset_first, _), (second, offset_second, bound) = tails
    place = np.empty(len(first), np.int64)
    place[first] = np.arange(len(first))
    return Lists(np.argsort(bound, kind="stable")[::-1].copy(), first, second, place, offset_first, offset_second)


@kernel
def ie_join(outer, inner, predicates, lists, begin, end, marked, by_words, bits):
    """Join the outer events at places [begin, end) of the second list, line by line; `marked` is kept between calls.

    Partners come one by one, as the algorithm is published, or with `by_words` as whole words, filtered 64 at a time.
    """
    count = inner.row.shape[0]
    operators = predicates.operator[2:]
    blocks = np.zeros((0, 0, 64), np.uint64)
    bounds = np.zeros((0, 0), np.uint64)
    if by_words:
        bounds = np.empty((operators.shape[0], outer.row.shape[0]), np.uint64)
        value = np.empty((operators.shape[0], count), np.uint64)
        for line in range(operators.shape[0]):
            for index in range(outer.row.shape[0]):
                bounds[line, index] = outer.value[predicates.outer[2 + line], index]
            for index in range(count):
                value[line, index] = inner.value[predicates.inner[2 + line], lists.inner_first[index]]
        blocks = blocks_of(value, np.arange(operators.shape[0]))
    done = count if begin == 0 else lists.offset_second[lists.outer_second[begin - 1]]
    for line in range(end - begin):
        index = lists.outer_second[begin + line]
        while done > lists.offset_second[index]:
            done -= 1
            place = lists.place_first[lists.inner_second[done]]
            marked[place // 64] |= ONE << np.uint64(place % 64)
        first = lists.offset_first[index]
        for word in range(bits.shape[1]):
            bits[line, word] = ZERO
        for word in range(first // 64, bits.shape[1]):
            rest = marked[word] & bits_between(word, first, count)
            if by_words:
                bits[line, word] = lanes_that_join(operators, bounds, index, blocks, word, rest)
                continue
            while rest != ZERO:
                place = 64 * word + lowest_bit(rest)
                rest &= rest - ONE
                partner = lists.inner_first[place]
                found = True
                for further in range(2, predicates.operator.shape[0]):
                    left = outer.value[predicates.outer[further], index]
                    right = inner.value[predicates.inner[further], partner]
                    if not holds(predicates.operator[further], left, right):
                        found = False
                        break
                if found:
                    bits[line, word] |= ONE << np.uint64(place % 64)
