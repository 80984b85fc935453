"""The chains of a loop, walked from their last event back.

What is left of the candidates of a loop when all single events are bound holds all its chains. Events from which no possible
first event can be reached, or not by as many events as the minimum asks for, are left out before, so that the walk has no dead
ends but those that programs and a maximum make.
"""

from __future__ import annotations

import numpy as np

from eventide.compilation import inner_kernel
from eventide.match.budget import SPENT
from eventide.match.recompute.bit_rows.bits import (
    add_bit,
    clear_bits,
    copy_bits,
    fill_bits,
    first_common,
    first_of,
    has_bit,
    keep_bits,
    remove_bits,
)
from eventide.match.recompute.bit_rows.row_trees import MADE
from eventide.match.recompute.bit_rows.table import ask_tree, row_of
from eventide.match.recompute.frames import (
    ALL_HEADS,
    ALLOWED,
    CLIMBING,
    EVERYTHING,
    FRAMES,
    HEADS,
    MOST_LAYERS,
    REACHING,
    STEPS,
    TAILS,
    bind,
    inner_at,
    place_of,
    set_at,
)
from eventide.match.recompute.residual_conditions import event_holds, residuals_hold


@inner_kernel
def begin_loop(shape, window, search, frame, step):
    """Gather the events that the chain of a loop may take, those it may begin and those it may end with."""
    steps = search.base.shape[0]
    low, high = search.low[frame, step], search.high[frame, step]
    everything = inner_at(search, step, EVERYTHING)
    owner = search.owner[frame, step]
    if owner >= 0:
        copy_bits(search.inner, everything, search.sets, set_at(search, np.int64(owner), step), low, high)
    else:
        fill_bits(search.inner, everything, low, high)
    heads = inner_at(search, step, ALL_HEADS)
    copy_bits(search.inner, heads, search.inner, everything, low, high)
    owner = search.owner[frame, steps + step]
    if owner >= 0:
        keep_bits(search.inner, heads, search.sets, set_at(search, np.int64(owner), steps + step), low, high)
    if shape.gap_forbids[step] and (search.bound[frame] >> (step - 1)) & 1:
        before = place_of(window, step - 1, search.chosen[step - 1, 0])
        head = first_of(search.inner, heads, low, high)
        while head >= 0:
            # Behind the first forbidden event all later ones have it in their gap.
            if window.forbidden[step, place_of(window, step, head)] > before:
                remove_bits(search.inner, heads, head, high)
                break
            head = first_of(search.inner, heads, head + 1, high)
    tails = inner_at(search, step, TAILS)
    if step == steps - 1:
        clear_bits(search.inner, tails, low, high)
        if high > low:
            add_bit(search.inner, tails, high - 1)
            keep_bits(search.inner, tails, search.inner, everything, low, high)
        return
    copy_bits(search.inner, tails, search.inner, everything, low, high)
    owner = search.owner[frame, 2 * steps + step]
    if owner >= 0:
        keep_bits(search.inner, tails, search.sets, set_at(search, np.int64(owner), 2 * steps + step), low, high)
    if shape.gap_forbids[step + 1]:
        after = place_of(window, step + 1, search.chosen[step + 1, search.depth[step + 1]])
        barrier = window.forbidden[step + 1, after]
        if barrier >= 0:
            remove_bits(search.inner, tails, low, min(high, np.int64(window.rank[step, barrier])))


@inner_kernel
def begin_chain(shape, window, rows, search, frame, step, low, head):
    """Find from which events the first event of a chain can be reached, and by how many events; `head` -1 leaves it open."""
    high = search.high[frame, step]
    allowed, heads = inner_at(search, step, ALLOWED), inner_at(search, step, HEADS)
    copy_bits(search.inner, allowed, search.inner, inner_at(search, step, EVERYTHING), low, high)
    copy_bits(search.inner, heads, search.inner, inner_at(search, step, ALL_HEADS), low, high)
    if head >= 0:
        family = np.int64(shape.from_first[step])
        if head + 1 < high:
            at = row_of(shape, rows, window, family, head, head + 1, high)
            # The row begins behind the head, in a word that may hold both.
            for word in range((head + 1) >> 6, ((high - 1) >> 6) + 1):
                search.inner[allowed + word] &= rows.words[at + word]
            if (head + 1) >> 6 != head >> 6:
                clear_bits(search.inner, allowed, head, head + 1)
        add_bit(search.inner, allowed, head)
        clear_bits(search.inner, heads, low, high)
        add_bit(search.inner, heads, head)
    layers = min(max(shape.minimum[step], np.int64(1)), np.int64(MOST_LAYERS))
    reach = inner_at(search, step, REACHING)
    copy_bits(search.inner, reach, search.inner, heads, low, high)
    chain = np.int64(shape.chain[step])
    restricted = head >= 0 or search.owner[frame, search.base.shape[0] + step] >= 0 or shape.gap_forbids[step]
    if restricted:
        event = first_of(search.inner, allowed, low, high)
        while event >= 0:
            if not has_bit(search.inner, reach, event):
                if earlier_reaches(shape, window, rows, search, step, chain, reach, low, event):
                    add_bit(search.inner, reach, event)
            event = first_of(search.inner, allowed, event + 1, high)
    for layer in range(1, layers):
        before = inner_at(search, step, REACHING + layer - 1)
        now = inner_at(search, step, REACHING + layer)
        clear_bits(search.inner, now, low, high)
        event = first_of(search.inner, allowed, low, high)
        while event >= 0:
            if earlier_reaches(shape, window, rows, search, step, chain, before, low, event):
                add_bit(search.inner, now, event)
            event = first_of(search.inner, allowed, event + 1, high)
    search.depth[step] = -1


@inner_kernel
def earlier_reaches(shape, window, rows, search, step, chain, reach, low, event):
    """Return whether an event of a set may stand just before an event."""
    return earlier_event(shape, window, rows, search, step, chain, reach, low, event) >= 0


@inner_kernel
def earlier_event(shape, window, rows, search, step, chain, among, begin, event):
    """Return the first event from begin on that is in a set and may stand just before an event, or -1."""
    if chain < 0:
        return first_of(search.inner, among, begin, event)
    if begin >= event:
        return np.int64(-1)
    at = row_of(shape, rows, window, chain, event, min(begin, search.low[0, step]), event)
    return first_common(search.inner, among, rows.words, at, begin, event)


@inner_kernel
def next_in_chain(shape, window, rows, search, frame, step, depth, begin):
    """Return the first event from begin on that the chain can take at a depth, or -1."""
    needed = max(np.int64(1), shape.minimum[step] - depth)
    among = inner_at(search, step, REACHING + min(needed, np.int64(MOST_LAYERS)) - 1)
    if depth == 0:
        return first_common(search.inner, inner_at(search, step, TAILS), search.inner, among, begin, search.high[frame, step])
    return earlier_event(
        shape, window, rows, search, step, np.int64(shape.chain[step]), among, begin, search.chosen[step, depth - 1]
    )


@inner_kernel
def walk_chain(shape, window, rows, search, frame, step, programs, walk, store, scratch, judges):
    """Go on to the next chain of a loop; returns 1 when there is one that can be completed, 0 when there is none, or SPENT."""
    low = search.head[step] if search.head[step] >= 0 else search.low[frame, step]
    chain = np.int64(shape.chain[step])
    asking = chain >= 0 and rows.trees.asked[chain, MADE] > 0
    descend = search.state[CLIMBING] == 0
    search.state[CLIMBING] = 0
    while True:
        if search.state[STEPS] <= 0:
            search.state[CLIMBING] = 0 if descend else 1
            return SPENT
        search.state[STEPS] -= search.width[0]
        depth = search.depth[step]
        event = np.int64(-1)
        if descend and depth + 1 < shape.maximum[step]:
            event = next_in_chain(shape, window, rows, search, frame, step, depth + 1, low)
        if event >= 0:
            depth += 1
        else:
            while depth >= 0:
                event = next_in_chain(shape, window, rows, search, frame, step, depth, search.chosen[step, depth] + 1)
                if event >= 0:
                    break
                depth -= 1
            if depth < 0:
                search.depth[step] = -1
                return 0
        search.depth[step] = depth
        search.chosen[step, depth] = event
        descend = not judges or event_holds(shape, window, search, frame, step, programs, walk, store, scratch)
        if asking and descend and search.low[0, step] < event:
            ask_tree(shape, rows, window, chain, event, search.low[0, step], event)
        if not descend or depth + 1 < shape.minimum[step] or not has_bit(search.inner, inner_at(search, step, HEADS), event):
            continue
        earliest = place_of(window, step, event)
        latest = place_of(window, step, search.chosen[step, 0])
        last = frame + 1 == search.state[FRAMES]
        if (last or bind(shape, window, rows, search, frame, step, earliest, latest)) and (
            not judges or residuals_hold(shape, window, search, frame, step, programs, walk, store, scratch)
        ):
            return 1
