"""Z-regions: runs of neighbours in Z order, and what their corners say about all their pairs (Kammoun 2019, 3.7.3).

A corner has the lowest or the highest value of every coordinate and need not be an event, so PARTIAL means: look at the pairs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from benchmarks.recompute.compiling import kernel
from benchmarks.recompute.published_joins.sides import holds
from eventide.index.encoding import HIGHEST, LOWEST
from eventide.index.zorder import BITS, ZERO, shared_bits
from eventide.match.recompute.bit_rows.bits import has_bit
from eventide.match.recompute.bit_rows.comparisons import EQUAL, GREATER, GREATER_EQUAL, LESS, LESS_EQUAL, lanes_where

NONE = 0
PARTIAL = 1
FULL = 2
ANY_SIZE = int(np.iinfo(np.int64).max)


class Regions(NamedTuple):
    """Regions of events in Z order: region r is [start[r], start[r + 1]); corners have one line for each coordinate."""

    start: npt.NDArray[np.int64]
    low: npt.NDArray[np.uint64]
    high: npt.NDArray[np.uint64]


@kernel
def cluster(points, groups, most):
    """Return where regions of points in Z order start, and the number of points behind the last.

    Neighbours stay together while they share the first `groups` groups of d bits, the cells of that level, and are at most
    `most`.
    """
    count, dimensions = points.shape
    starts = np.empty(count + 1, np.int64)
    regions = 0
    for index in range(count):
        if (
            index == 0
            or index - starts[regions - 1] == most
            or shared_bits(points, index - 1, points, index) < groups * dimensions
        ):
            starts[regions] = index
            regions += 1
    starts[regions] = count
    return starts[: regions + 1].copy()


@kernel
def groups_for(points, wanted):
    """Return the smallest number of groups that cuts points in Z order into at least so many regions, or 64."""
    count, dimensions = points.shape
    cuts = np.zeros(BITS + 1, np.int64)
    for index in range(1, count):
        cuts[shared_bits(points, index - 1, points, index) // dimensions] += 1
    regions = 1
    for groups in range(BITS):
        if regions >= wanted:
            return groups
        regions += cuts[groups]
    return BITS


@kernel
def regions_of(starts, value, usable):
    """Return regions with their corners over the usable events; one without any has its corners crossed and joins nothing."""
    regions = starts.shape[0] - 1
    low = np.full((value.shape[0], regions), HIGHEST, np.uint64)
    high = np.full((value.shape[0], regions), LOWEST, np.uint64)
    for region in range(regions):
        for index in range(starts[region], starts[region + 1]):
            if has_bit(usable, 0, index):
                for line in range(value.shape[0]):
                    low[line, region] = min(low[line, region], value[line, index])
                    high[line, region] = max(high[line, region], value[line, index])
    return Regions(starts, low, high)


@kernel
def dominance(operators, outer, one, inner, other):
    """Return how two regions join whose line p of coordinates compares by operator p (Lemmas 1 and 2, Theorem 1).

    FULL: all pairs join; NONE: no pair does; PARTIAL: some may. Equality, which the lemmas leave out, is full when all four
    corners coincide and none when the ranges are disjoint.
    """
    answer = FULL
    for line in range(operators.shape[0]):
        operator = operators[line]
        outer_low, outer_high = outer.low[line, one], outer.high[line, one]
        inner_low, inner_high = inner.low[line, other], inner.high[line, other]
        if operator == LESS or operator == LESS_EQUAL:
            full = holds(operator, outer_high, inner_low)
            some = holds(operator, outer_low, inner_high)
        elif operator == GREATER or operator == GREATER_EQUAL:
            full = holds(operator, outer_low, inner_high)
            some = holds(operator, outer_high, inner_low)
        else:
            full = outer_low == outer_high and inner_low == inner_high and outer_low == inner_low
            some = outer_low <= inner_high and inner_low <= outer_high
        if not some:
            return NONE
        if not full:
            answer = PARTIAL
    return answer


@kernel
def lanes_by_dominance(operators, outer, one, low_blocks, high_blocks, word, wanted):
    """Return which of 64 inner regions, whose corners lie in blocks, an outer region joins fully, and which at least in part."""
    full = wanted
    some = wanted
    for line in range(operators.shape[0]):
        operator = operators[line]
        low, high = outer.low[line, one], outer.high[line, one]
        if operator == LESS or operator == LESS_EQUAL:
            some &= lanes_where(operator, low, high_blocks, line, word)
            full &= lanes_where(operator, high, low_blocks, line, word)
        elif operator == GREATER or operator == GREATER_EQUAL:
            some &= lanes_where(operator, high, low_blocks, line, word)
            full &= lanes_where(operator, low, high_blocks, line, word)
        else:
            some &= lanes_where(LESS_EQUAL, low, high_blocks, line, word)
            some &= lanes_where(GREATER_EQUAL, high, low_blocks, line, word)
            full &= lanes_where(EQUAL, low, low_blocks, line, word)
            full &= lanes_where(EQUAL, high, high_blocks, line, word)
            if low != high:
                full = ZERO
        if some == ZERO:
            break
    return full & some, some
