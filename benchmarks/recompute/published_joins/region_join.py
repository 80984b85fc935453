"""The Z-region join: compare regions, and events only where these overlap (Kammoun 2019, 3.7.3, erratum region-pointers).

Both sides come in Z order and are numbered so. The corners of 64 inner regions are compared at once; what an outer region fully
dominates becomes one mask that is copied to the row of each of its events.
"""

from __future__ import annotations

import numpy as np

from benchmarks.recompute.compiling import inner_kernel, kernel
from benchmarks.recompute.published_joins.hybrid_join import BLOCKS, COMPARED, REUSED, reach
from benchmarks.recompute.published_joins.regions import lanes_by_dominance, regions_of
from benchmarks.recompute.published_joins.sides import bits_between, blocks_of, lanes_that_join, set_bits, usable_events
from eventide.index.encoding import encode_integer
from eventide.index.zorder import ONE, ZERO
from eventide.match.recompute.bit_rows.bits import has_bit, lowest_bit, ones_of
from eventide.match.recompute.bit_rows.comparisons import LESS


@inner_kernel
def lines_of(side, coordinates):
    """Return the compared coordinates of a side, a line for each predicate, and its rows: time order is one predicate more."""
    lines = np.empty((coordinates.shape[0] + 1, side.row.shape[0]), np.uint64)
    for line in range(coordinates.shape[0]):
        for index in range(side.row.shape[0]):
            lines[line, index] = side.value[coordinates[line], index]
    for index in range(side.row.shape[0]):
        lines[coordinates.shape[0], index] = encode_integer(side.row, index)
    return lines


@kernel
def region_join(outer, inner, outer_starts, inner_starts, predicates, begin, end, bits, counters):
    """Join outer regions [begin, end) with all inner ones; line 0 of `bits` is the first event of the first of them."""
    several = predicates.operator.shape[0]
    operators = np.full(several + 1, LESS, np.int64)
    for line in range(several):
        operators[line] = predicates.operator[line]
    bounds = lines_of(outer, predicates.outer)
    inner_lines = lines_of(inner, predicates.inner)
    all_lines = np.arange(several + 1)
    blocks = blocks_of(inner_lines, all_lines)
    outer_usable = usable_events(outer.valid, predicates.outer)
    inner_usable = usable_events(inner.valid, predicates.inner)
    outer_regions = regions_of(outer_starts, bounds, outer_usable)
    inner_regions = regions_of(inner_starts, inner_lines, inner_usable)
    low_blocks = blocks_of(inner_regions.low, all_lines)
    high_blocks = blocks_of(inner_regions.high, all_lines)
    full = np.empty(bits.shape[1], np.uint64)
    undecided = np.empty(bits.shape[1], np.uint64)
    open_words = np.empty(bits.shape[1], np.int64)
    for region in range(begin, end):
        mark_regions(operators, outer_regions, region, inner_starts, low_blocks, high_blocks, full, undecided)
        opened = 0
        for word in range(bits.shape[1]):
            full[word] &= inner_usable[word]
            undecided[word] &= inner_usable[word]
            if undecided[word] != ZERO:
                open_words[opened] = word
                opened += 1
        source = -1
        for index in range(outer_starts[region + 1] - 1, outer_starts[region] - 1, -1):
            line = index - outer_starts[begin]
            if not has_bit(outer_usable, 0, index):
                for word in range(bits.shape[1]):
                    bits[line, word] = ZERO
                continue
            for word in range(bits.shape[1]):
                bits[line, word] = full[word]
            more, less = False, False
            if source >= 0:
                more, less = reach(operators, bounds, index, source)
            for place in range(opened):
                word = open_words[place]
                wanted = undecided[word]
                if more or less:
                    set_before = bits[source - outer_starts[begin], word]
                    if more:
                        bits[line, word] |= wanted & set_before
                        wanted &= ~set_before
                    if less:
                        wanted &= set_before
                    counters[REUSED] += ones_of(undecided[word]) - ones_of(wanted)
                if wanted != ZERO:
                    counters[COMPARED] += ones_of(wanted)
                    bits[line, word] |= lanes_that_join(operators, bounds, index, blocks, word, wanted)
            source = index
        for word in range(bits.shape[1]):
            counters[BLOCKS] += ones_of(full[word]) * (outer_starts[region + 1] - outer_starts[region])


@inner_kernel
def mark_regions(operators, outer_regions, region, inner_starts, low_blocks, high_blocks, full, undecided):
    """Mark the inner events that an outer region fully joins, and those of regions that it may join in part."""
    for word in range(full.shape[0]):
        full[word] = ZERO
        undecided[word] = ZERO
    inner_count = inner_starts.shape[0] - 1
    for block in range(low_blocks.shape[1]):
        wanted = bits_between(block, 0, inner_count)
        all_pairs, some_pairs = lanes_by_dominance(operators, outer_regions, region, low_blocks, high_blocks, block, wanted)
        while some_pairs != ZERO:
            other = 64 * block + lowest_bit(some_pairs)
            first, last = inner_starts[other], inner_starts[other + 1]
            if (all_pairs >> np.uint64(other % 64)) & ONE == ONE:
                set_bits(full, first, last)
            else:
                set_bits(undecided, first, last)
            some_pairs &= some_pairs - ONE
