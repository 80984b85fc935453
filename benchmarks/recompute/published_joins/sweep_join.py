"""A join that marks instead of comparing: one sweep over sorted values for each predicate, rows of bits made by AND.

The bit array of IEJoin (Khayyat et al. 2017), turned: inner events are marked in the order of time as an outer value passes
theirs, so the marks at that moment are the answer of one predicate for the outer event, as whole words. Any number of predicates
is one AND each, whatever the distribution, where regions need data that clusters and nested loops compare all pairs. Kammoun 2019
has no such join.
"""

from __future__ import annotations

import numpy as np

from benchmarks.recompute.compiling import inner_kernel, kernel
from benchmarks.recompute.published_joins.hybrid_join import BLOCKS
from benchmarks.recompute.published_joins.sides import bits_between, usable_events
from eventide.index.zorder import ONE, ZERO
from eventide.match.recompute.bit_rows.bits import has_bit
from eventide.match.recompute.bit_rows.comparisons import EQUAL, GREATER, LESS, LESS_EQUAL


@kernel
def sorted_orders(side, coordinates):
    """Return, for each of the compared coordinates of a side, its events in the order of their values."""
    orders = np.empty((coordinates.shape[0], side.row.shape[0]), np.int64)
    for line in range(coordinates.shape[0]):
        order = np.argsort(side.value[coordinates[line]])
        for index in range(order.shape[0]):
            orders[line, index] = order[index]
    return orders


@inner_kernel
def begin_rows(outer, inner, predicates, firsts, bits):
    """Fill the rows with all later inner events that have no null, and note where these begin for each outer event."""
    inner_usable = usable_events(inner.valid, predicates.inner)
    outer_usable = usable_events(outer.valid, predicates.outer)
    count = inner.row.shape[0]
    first = 0
    for index in range(outer.row.shape[0]):
        while first < count and inner.row[first] <= outer.row[index]:
            first += 1
        firsts[index] = first if has_bit(outer_usable, 0, index) else count
        for word in range(bits.shape[1]):
            bits[index, word] = ZERO
        for word in range(firsts[index] // 64, bits.shape[1]):
            bits[index, word] = inner_usable[word]
        if firsts[index] < count:
            bits[index, first // 64] &= bits_between(first // 64, first, count)
        elif count % 64:
            bits[index, count // 64] = ZERO


@kernel
def sweep_join(outer, inner, predicates, inner_orders, bits, counters):
    """Join by one sweep for each predicate. Both sides are in the order of their rows; `sorted_orders` gives `inner_orders`."""
    count = inner.row.shape[0]
    firsts = np.empty(outer.row.shape[0], np.int64)
    begin_rows(outer, inner, predicates, firsts, bits)
    outer_orders = sorted_orders(outer, predicates.outer)
    marked = np.empty(bits.shape[1], np.uint64)
    for line in range(predicates.operator.shape[0]):
        operator = predicates.operator[line]
        bound, value = outer.value[predicates.outer[line]], inner.value[predicates.inner[line]]
        for word in range(bits.shape[1]):
            marked[word] = ZERO
        # Where a greater inner value joins, the sweep comes from above.
        downwards = operator == LESS or operator == LESS_EQUAL
        passed = 0
        dropped = 0
        for step in range(outer.row.shape[0]):
            index = outer_orders[line, outer.row.shape[0] - 1 - step if downwards else step]
            if firsts[index] == count:
                continue
            while passed < count:
                other = inner_orders[line, count - 1 - passed if downwards else passed]
                if operator == LESS:
                    reached = bound[index] < value[other]
                elif operator == GREATER:
                    reached = bound[index] > value[other]
                elif operator == LESS_EQUAL:
                    reached = bound[index] <= value[other]
                else:
                    reached = bound[index] >= value[other]
                if not reached:
                    break
                marked[other // 64] |= ONE << np.uint64(other % 64)
                passed += 1
            if operator == EQUAL:
                while dropped < passed:
                    other = inner_orders[line, dropped]
                    if value[other] == bound[index]:
                        break
                    marked[other // 64] &= ~(ONE << np.uint64(other % 64))
                    dropped += 1
            for word in range(firsts[index] // 64, bits.shape[1]):
                bits[index, word] &= marked[word]
    for index in range(outer.row.shape[0]):
        counters[BLOCKS] += (count - firsts[index]) * predicates.operator.shape[0]
