"""The state of a search in arrays, and how a bound event leaves less to the other steps."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from eventide.compilation import inner_kernel
from eventide.match.recompute.bit_rows.bits import copy_bits, count_of, keep_bits
from eventide.match.recompute.bit_rows.table import ask_tree, row_of

ENTER, NEXT, NEXT_HEAD, EMIT, TRIGGER = 0, 1, 2, 3, 4
MODE, FRAME, FRAMES, NUMBER, CURRENT, PENDING, CLIMBING, STEPS = 0, 1, 2, 3, 4, 5, 6, 7

EVERYTHING, ALL_HEADS, ALLOWED, HEADS, TAILS, REACHING = 0, 1, 2, 3, 4, 5
MOST_LAYERS = 16
"""How many events ahead the walk of a chain knows that its minimum can be reached."""


class Search(NamedTuple):
    """The suspended state of a search. Level n holds what the first n bound steps leave."""

    state: npt.NDArray[np.int64]
    """MODE to STEPS; the last are the steps that are left of the slice."""
    frame_step: npt.NDArray[np.int32]
    """[frame]: the step that is bound there."""
    bound: npt.NDArray[np.int64]
    """[level]: the bound steps, as bits."""
    low: npt.NDArray[np.int64]
    """[level, step]: the first candidate that can still be taken."""
    high: npt.NDArray[np.int64]
    owner: npt.NDArray[np.int32]
    """[level, target]: the level whose set holds here, -1 when all candidates between low and high do."""
    sets: npt.NDArray[np.uint64]
    """The sets of all levels and targets, `width` words each."""
    inner: npt.NDArray[np.uint64]
    """The sets of the walks of loops, `width` words each."""
    base: npt.NDArray[np.int64]
    """[step]: the word of the first candidate in the window of the trigger."""
    chosen: npt.NDArray[np.int64]
    """[step, depth]: the bound candidates, the latest first."""
    depth: npt.NDArray[np.int64]
    head: npt.NDArray[np.int64]
    """[step]: the first event of the chain where it is chosen before the others, otherwise -1."""
    chain_at: npt.NDArray[np.int64]
    """[step, number in the window]: where the rows of a loop's chain lie."""
    chain_for: npt.NDArray[np.int64]
    """[step]: the trigger whose window these are for."""
    width: npt.NDArray[np.int64]


def new_search(steps: int, most: int) -> Search:
    """Return room to search windows with at most that many candidates of a step."""
    width = (most + 1) // 64 + 2
    return Search(
        np.array([TRIGGER, 0, 0, 0, 0, 0, 0, 0], np.int64),
        np.zeros(steps + 1, np.int32),
        np.zeros(steps + 2, np.int64),
        np.zeros((steps + 2, steps), np.int64),
        np.zeros((steps + 2, steps), np.int64),
        np.full((steps + 2, 3 * steps), -1, np.int32),
        np.zeros((steps + 2) * 3 * steps * width, np.uint64),
        np.zeros(steps * (REACHING + MOST_LAYERS) * width, np.uint64),
        np.zeros(steps, np.int64),
        np.zeros((steps, most + 2), np.int64),
        np.full(steps, -1, np.int64),
        np.full(steps, -1, np.int64),
        np.zeros((steps, most + 2), np.int64),
        np.full(steps, -1, np.int64),
        np.array([width], np.int64),
    )


@inner_kernel
def place_of(window, step, candidate):
    """Return the place of a candidate."""
    return np.int64(window.place[window.first[step] + candidate])


@inner_kernel
def set_at(search, level, target):
    """Return where the set of a target at a level lies."""
    steps = search.base.shape[0]
    return (level * 3 * steps + target) * search.width[0] - search.base[target % steps]


@inner_kernel
def inner_at(search, step, which):
    """Return where a set of the walk of a loop lies."""
    return (step * (REACHING + MOST_LAYERS) + which) * search.width[0] - search.base[step]


@inner_kernel
def restrict(shape, window, rows, search, level, family, event):
    """Leave of a target's candidates those that fit an event."""
    steps = search.base.shape[0]
    target = shape.family_to[family]
    step = target % steps
    low, high = search.low[level, step], search.high[level, step]
    if low >= high:
        return
    own = shape.family_from[family] % steps
    begin = search.low[0, step] if step < own else np.int64(window.rank[step, place_of(window, own, event) + 1])
    at = row_of(shape, rows, window, family, event, min(begin, low), high)
    mine = set_at(search, level, target)
    owner = search.owner[level, target]
    if owner == level:
        keep_bits(search.sets, mine, rows.words, at, low, high)
        return
    copy_bits(search.sets, mine, rows.words, at, low, high)
    if owner >= 0:
        keep_bits(search.sets, mine, search.sets, set_at(search, np.int64(owner), target), low, high)
    search.owner[level, target] = level


@inner_kernel
def restrict_all(shape, window, rows, search, level, target, event):
    """Leave of all unbound steps the candidates that fit an event bound as this target."""
    steps = search.base.shape[0]
    for at in range(shape.bound_first[target], shape.bound_first[target + 1]):
        family = shape.bound_family[at]
        if not (search.bound[level] >> (shape.family_to[family] % steps)) & 1:
            restrict(shape, window, rows, search, level, np.int64(family), event)


@inner_kernel
def ask_trees(shape, window, rows, search, level, step, event):
    """Let trees fill the long rows that binding an event to a step will ask for.

    Callers look whether there is a tree: in small windows the call would cost more than what it does.
    """
    steps = search.base.shape[0]
    place = place_of(window, step, event)
    for target in range(step, 3 * steps, steps):
        for at in range(shape.bound_first[target], shape.bound_first[target + 1]):
            family = np.int64(shape.bound_family[at])
            other = shape.family_to[family] % steps
            if (search.bound[level] >> other) & 1:
                continue
            if other < step:
                begin, end = search.low[0, other], np.int64(window.rank[other, place])
            else:
                begin, end = np.int64(window.rank[other, place + 1]), search.high[level, other]
            if begin < end:
                ask_tree(shape, rows, window, family, event, begin, end)


@inner_kernel
def feasible(shape, search, level):
    """Return whether every unbound step has as many candidates as it needs."""
    for step in range(search.base.shape[0]):
        if (search.bound[level] >> step) & 1:
            continue
        low, high = search.low[level, step], search.high[level, step]
        needed = shape.minimum[step]
        if high - low < needed:
            return False
        owner = search.owner[level, step]
        if owner >= 0:
            if count_of(search.sets, set_at(search, np.int64(owner), np.int64(step)), low, high, needed) < needed:
                return False
    return True


@inner_kernel
def bind(shape, window, rows, search, frame, step, earliest, latest):
    """Make the level behind a frame whose step now has events between two places; returns whether the rest can be completed."""
    steps = search.base.shape[0]
    level = frame + 1
    search.bound[level] = search.bound[frame] | (np.int64(1) << step)
    for other in range(steps):
        search.low[level, other] = search.low[frame, other]
        search.high[level, other] = search.high[frame, other]
        if other < step:
            search.high[level, other] = min(search.high[level, other], np.int64(window.rank[other, earliest]))
        elif other > step:
            search.low[level, other] = max(search.low[level, other], np.int64(window.rank[other, latest + 1]))
    for target in range(3 * steps):
        search.owner[level, target] = search.owner[frame, target]
    for index in range(search.depth[step] + 1):
        restrict_all(shape, window, rows, search, level, np.int64(step), search.chosen[step, index])
    if shape.loop[step]:
        restrict_all(shape, window, rows, search, level, np.int64(steps + step), search.chosen[step, search.depth[step]])
        restrict_all(shape, window, rows, search, level, np.int64(2 * steps + step), search.chosen[step, 0])
    return feasible(shape, search, level)


@inner_kernel
def candidates_of(search, level, step):
    """Return how many candidates are left to a step."""
    low, high = search.low[level, step], search.high[level, step]
    owner = search.owner[level, step]
    if owner < 0:
        return high - low
    return count_of(search.sets, set_at(search, np.int64(owner), step), low, high, high - low)
