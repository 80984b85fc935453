"""Joins of time-ordered events into rows of bits: bit v of row u says that outer event u joins inner event v.

An outer event must come strictly before the inner one. The nested loop is for small inputs; the hybrid join (Kammoun
2019, 3.6.2, erratum hybrid-join-bounds) goes from the last outer event to the first and reuses the bits of the one before it in
that order.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from benchmarks.recompute.compiling import inner_kernel, kernel
from benchmarks.recompute.published_joins.sides import bits_between, blocks_of, lanes_that_join, usable_events
from eventide.index.zorder import ZERO
from eventide.match.recompute.bit_rows.bits import has_bit, ones_of
from eventide.match.recompute.bit_rows.comparisons import EQUAL, GREATER, GREATER_EQUAL, LESS, LESS_EQUAL

COMPARED = 0
"""Counter: pairs that were compared."""
REUSED = 1
"""Counter: pairs known from the bits of another event."""
BLOCKS = 2
"""Counter: pairs settled by two regions at once."""
COUNTERS = 3


def new_counters() -> npt.NDArray[np.int64]:
    """Return counters of a join, all zero."""
    return np.zeros(COUNTERS, np.int64)


@inner_kernel
def gather(value, lines):
    """Return copies of lines of coordinates."""
    gathered = np.empty((lines.shape[0], value.shape[1]), np.uint64)
    for line in range(lines.shape[0]):
        for index in range(value.shape[1]):
            gathered[line, index] = value[lines[line], index]
    return gathered


@kernel
def nested_loop_join(outer, inner, predicates, bits, counters):
    """Compare every outer event with every later inner one, 64 at a time. Both sides are in the order of their rows."""
    blocks = blocks_of(inner.value, predicates.inner)
    bounds = gather(outer.value, predicates.outer)
    inner_usable = usable_events(inner.valid, predicates.inner)
    outer_usable = usable_events(outer.valid, predicates.outer)
    count = inner.row.shape[0]
    first = 0
    for index in range(outer.row.shape[0]):
        while first < count and inner.row[first] <= outer.row[index]:
            first += 1
        for word in range(first // 64):
            bits[index, word] = ZERO
        for word in range(first // 64, bits.shape[1]):
            wanted = inner_usable[word] & bits_between(word, first, count)
            if has_bit(outer_usable, 0, index) and wanted != ZERO:
                counters[COMPARED] += ones_of(wanted)
                bits[index, word] = lanes_that_join(predicates.operator, bounds, index, blocks, word, wanted)
            else:
                bits[index, word] = ZERO


@kernel
def reach(operators, bounds, one, other):
    """Say how the inner events that two outer ones join compare, their time aside: (`one` joins all of `other`, the reverse).

    Weak comparisons suffice where Kammoun 2019, 3.6.2 asks for the predicate itself: x <= x' and x' < y give x < y.
    """
    more = True
    less = True
    for line in range(operators.shape[0]):
        left, right = bounds[line, one], bounds[line, other]
        if operators[line] == EQUAL:
            more = more and left == right
            less = less and left == right
        elif operators[line] == LESS or operators[line] == LESS_EQUAL:
            more = more and left <= right
            less = less and left >= right
        elif operators[line] == GREATER or operators[line] == GREATER_EQUAL:
            more = more and left >= right
            less = less and left <= right
    return more, less


@kernel
def hybrid_join(outer, inner, predicates, bits, counters):
    """Join from the last outer event to the first. Both sides are in the order of their rows.

    An event that dominates the one behind it keeps that one's set bits and compares the unset ones only; one that is dominated
    keeps the unset bits and compares the set ones, which Kammoun 2019 does not do. Inner events between the two in time are
    compared.
    """
    blocks = blocks_of(inner.value, predicates.inner)
    bounds = gather(outer.value, predicates.outer)
    inner_usable = usable_events(inner.valid, predicates.inner)
    outer_usable = usable_events(outer.valid, predicates.outer)
    count = inner.row.shape[0]
    source = -1
    first = count
    seen_from = count
    for index in range(outer.row.shape[0] - 1, -1, -1):
        while first > 0 and inner.row[first - 1] > outer.row[index]:
            first -= 1
        for word in range(bits.shape[1]):
            bits[index, word] = ZERO
        if not has_bit(outer_usable, 0, index):
            continue
        more, less = False, False
        if source >= 0:
            more, less = reach(predicates.operator, bounds, index, source)
        for word in range(first // 64, bits.shape[1]):
            wanted = inner_usable[word] & bits_between(word, first, count)
            known = ZERO
            undecided = wanted
            if more or less:
                seen = bits_between(word, seen_from, count)
                set_before = bits[source, word]
                if more:
                    known = set_before
                    undecided &= ~set_before
                if less:
                    undecided &= set_before | ~seen
                counters[REUSED] += ones_of(wanted) - ones_of(undecided)
            if undecided != ZERO:
                counters[COMPARED] += ones_of(undecided)
                known |= lanes_that_join(predicates.operator, bounds, index, blocks, word, undecided)
            bits[index, word] = known
        source = index
        seen_from = first
