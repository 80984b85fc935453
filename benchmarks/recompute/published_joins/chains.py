"""Chains of events, each of which joins the next: the bindings of a Kleene variable (Kammoun 2019, 3.6.2).

A chain is a path through the rows of bits of a self-join. Walking paths from their first event gives every chain once, where
subsets of maximal chains come more than once (erratum chains-once). Chains go straight to the output, which may fill up: the walk
is only the current path and goes on where it stopped. Nodes that reach no allowed end are left out first, so no step is in vain.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from benchmarks.recompute.compiling import inner_kernel, kernel
from benchmarks.recompute.published_joins.hybrid_join import hybrid_join
from eventide.index.zorder import ONE, ZERO, bits_from
from eventide.match.recompute.bit_rows.bits import has_bit, lowest_bit

DEPTH = 0
STATE = 1

FRESH = 0
ARRIVED = 1
"""The path ends in a node that is not reported yet."""
LEAVING = 2
"""The path has been reported, what follows it has not."""
FINISHED = 3


class Walk(NamedTuple):
    """Where an enumeration of chains stands: the nodes of the current path, its length and what is to be done with it."""

    path: npt.NDArray[np.int64]
    meta: npt.NDArray[np.int64]


def new_walk(nodes: int) -> Walk:
    """Return a walk that has not begun, over so many nodes."""
    return Walk(np.zeros(nodes, np.int64), np.zeros(2, np.int64))


@kernel
def begin_walk(walk):
    """Let a walk begin anew."""
    walk.meta[DEPTH] = 0
    walk.meta[STATE] = FRESH


@kernel
def self_join(side, predicates, steps, counters):
    """Write which later events may follow each event of a chain: row u, bit v. Events are in the order of their rows."""
    hybrid_join(side, side, predicates, steps, counters)


@kernel
def keep_reaching(steps, allowed, ends, live):
    """Write to `live` the allowed nodes from which a chain of allowed nodes comes to one of the ends; nodes are in time order."""
    words = allowed.shape[0]
    idle = True
    for word in range(words):
        live[word] = allowed[word] & ends[word]
        if live[word] != allowed[word]:
            idle = False
    if idle:
        return
    for node in range(steps.shape[0] - 1, -1, -1):
        if has_bit(allowed, 0, node) and not has_bit(live, 0, node):
            for word in range(node // 64, words):
                if steps[node, word] & live[word] != ZERO:
                    live[node // 64] |= ONE << np.uint64(node % 64)
                    break


@inner_kernel
def next_both(line, index, live, begin):
    """Return the first place from `begin` on that is set in line `index` and in `live`, or -1."""
    word = begin // 64
    if word >= live.shape[0]:
        return -1
    rest = line[index, word] & live[word] & bits_from(begin % 64)
    while rest == ZERO:
        word += 1
        if word == live.shape[0]:
            return -1
        rest = line[index, word] & live[word]
    return 64 * word + lowest_bit(rest)


@kernel
def walk_chains(walk, steps, starts, live, ends, items, offsets):
    """Write chains until the walk is finished or the next does not fit; returns how many were written.

    Chain k is `items[offsets[k]:offsets[k + 1]]`. A chain begins in `starts` (line 0 of two-dimensional words), stays in
    `live`, as `keep_reaching` gave it, and ends in `ends`. A walk that is not FINISHED goes on with the next call, with `items`
    emptied; one that wrote nothing needs more room than `items` has.
    """
    path = walk.path
    depth = walk.meta[DEPTH]
    state = walk.meta[STATE]
    written = 0
    offsets[0] = 0
    used = 0
    if state == FRESH:
        node = next_both(starts, 0, live, 0)
        if node < 0:
            state = FINISHED
        else:
            path[0] = node
            depth = 1
            state = ARRIVED
    while state != FINISHED:
        if state == ARRIVED:
            if has_bit(ends, 0, path[depth - 1]):
                if written + 1 == offsets.shape[0] or used + depth > items.shape[0]:
                    break
                for place in range(depth):
                    items[used + place] = path[place]
                used += depth
                written += 1
                offsets[written] = used
            state = LEAVING
        node = next_both(steps, path[depth - 1], live, path[depth - 1] + 1)
        if node >= 0:
            path[depth] = node
            depth += 1
            state = ARRIVED
            continue
        while state == LEAVING:
            last = path[depth - 1]
            node = next_both(starts, 0, live, last + 1) if depth == 1 else next_both(steps, path[depth - 2], live, last + 1)
            if node >= 0:
                path[depth - 1] = node
                state = ARRIVED
            else:
                depth -= 1
                if depth == 0:
                    state = FINISHED
    walk.meta[DEPTH] = depth
    walk.meta[STATE] = state
    return written
