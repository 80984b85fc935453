"""The innermost loop: all chains of the last unbound loop, written out without a detour.

It does what `loops.walk_chain` does where no program judges. Everything is a plain array here, because passing tuples of arrays
to a function costs more than a step of the walk.
"""

from __future__ import annotations

import numpy as np

from eventide.compilation import inner_kernel
from eventide.match.budget import SPENT
from eventide.match.dag.enumeration import FINISHED, FULL
from eventide.match.recompute.bit_rows.bits import first_common, first_of, has_bit
from eventide.match.recompute.bit_rows.row_trees import LONG
from eventide.match.recompute.bit_rows.table import PLACES, row_of
from eventide.match.recompute.frames import CURRENT, HEADS, MOST_LAYERS, PENDING, REACHING, STEPS, TAILS, inner_at


@inner_kernel
def chain_rows(shape, window, rows, search, step):
    """Find the rows of all candidates of a loop in the window, once a trigger; returns whether that is done.

    It is not where the table cannot hold them all, nor in windows so large that trees are asked for the few rows that matter.
    """
    family = np.int64(shape.chain[step])
    if family < 0:
        return True
    low, high = search.low[0, step], search.high[0, step]
    if rows.layout[family, PLACES] < high - low or high - low >= 64 * rows.trees.asked[family, LONG]:
        return False
    if search.chain_for[step] != search.state[CURRENT]:
        search.chain_for[step] = search.state[CURRENT]
        for event in range(low + 1, high):
            search.chain_at[step, event - low] = row_of(shape, rows, window, family, event, low, event)
    return True


@inner_kernel
def write_chains(shape, window, rows, search, frame, step, found, number, left):
    """Write the matches of all chains of the last unbound loop, at most `left`; returns (status, written)."""
    inner, chosen, words, chain_at = search.inner, search.chosen, rows.words, search.chain_at
    starts, ends, offsets, out_row, out_label = found.start, found.end, found.offset, found.row, found.label
    row_at, place_at, first_place = window.row, window.place, window.first[step]
    steps = search.base.shape[0]
    width = search.width[0]
    minimum, maximum = shape.minimum[step], shape.maximum[step]
    origin = search.low[0, step]
    low = search.head[step] if search.head[step] >= 0 else search.low[frame, step]
    high = search.high[frame, step]
    chained = shape.chain[step] >= 0
    tails, heads = inner_at(search, step, TAILS), inner_at(search, step, HEADS)
    reach = inner_at(search, step, REACHING)
    around = 0
    for other in range(steps):
        if other != step:
            around += search.depth[other] + 1
    around_row, around_label = np.empty(around, np.int32), np.empty(around, np.int32)
    before = 0
    at = 0
    for other in range(steps):
        if other == step:
            before = at
            continue
        for index in range(search.depth[other], -1, -1):
            around_row[at] = row_at[place_at[window.first[other] + chosen[other, index]]]
            around_label[at] = shape.label[other, 0 if index == search.depth[other] else 1]
            at += 1
    first_label, label = shape.label[step, 0], shape.label[step, 1]
    end = row_at[search.state[CURRENT]]
    room, limit = out_row.shape[0], starts.shape[0]
    depth = search.depth[step]
    pending = search.state[PENDING] == 1
    search.state[PENDING] = 0
    written = np.int64(0)
    offset = offsets[number]
    # Steps are what leads to no match and, bounded as the room is, the positions of matches.
    left_steps = search.state[STEPS]
    first_offset, most_offset = offset, min(np.int64(room), offset + left_steps)
    while True:
        event = np.int64(-1)
        if pending:
            event = chosen[step, depth]
            pending = False
        else:
            trying = depth + 1
            begin = low
            if trying >= maximum:
                trying = depth
                begin = chosen[step, depth] + 1
            while True:
                among = reach + (min(max(np.int64(1), minimum - trying), np.int64(MOST_LAYERS)) - 1) * width
                if trying == 0:
                    event = first_common(inner, tails, inner, among, begin, high)
                elif chained:
                    later = chosen[step, trying - 1]
                    if begin < later:
                        event = first_common(inner, among, words, chain_at[step, later - origin], begin, later)
                else:
                    event = first_of(inner, among, begin, chosen[step, trying - 1])
                if event >= 0 or trying == 0:
                    break
                trying -= 1
                begin = chosen[step, trying] + 1
            if event < 0:
                search.depth[step] = -1
                search.state[STEPS] = left_steps - (offset - first_offset) - 1
                return FINISHED, written
            depth = trying
            chosen[step, depth] = event
        if depth + 1 < minimum or not has_bit(inner, heads, event):
            left_steps -= 1
            if left_steps <= 0:
                search.depth[step] = depth
                search.state[STEPS] = left_steps
                return SPENT, written
            continue
        if written == left:
            search.depth[step] = -1
            search.state[STEPS] = left_steps - (offset - first_offset)
            return FINISHED, written
        behind = offset + around + depth + 1
        if number == limit or (behind > most_offset and (written > 0 or behind > room)):
            search.depth[step] = depth
            search.state[PENDING] = 1
            search.state[STEPS] = left_steps - (offset - first_offset)
            return FULL if number == limit or behind > room else SPENT, written
        for index in range(before):
            out_row[offset + index] = around_row[index]
            out_label[offset + index] = around_label[index]
        offset += before
        out_row[offset] = row_at[place_at[first_place + event]]
        out_label[offset] = first_label
        for index in range(depth - 1, -1, -1):
            offset += 1
            out_row[offset] = row_at[place_at[first_place + chosen[step, index]]]
            out_label[offset] = label
        offset += 1
        for index in range(before, around):
            out_row[offset] = around_row[index]
            out_label[offset] = around_label[index]
            offset += 1
        starts[number] = around_row[0] if step > 0 else row_at[place_at[first_place + event]]
        ends[number] = end
        number += 1
        offsets[number] = offset
        written += 1
