"""Maximal matches of a chain of different events, each single or repeated, and how their parts are cut up (Abella 2022, A.2).

A match of such a chain is maximal when no event can be added: every group of a repeated step holds all its events between its
neighbours, the first reaches back as far as the window lets it, the last as far forward. All other matches are parts of these
that leave no group empty. Work is cut by *configurations*, the sizes of the groups; all parts with one configuration are made in
one place, where a trie keeps what two maximal matches share from coming out twice.
"""

from __future__ import annotations

import heapq
from itertools import product
from math import comb, prod
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from eventide.compilation import kernel
from eventide.match.budget import Account, Budget

if TYPE_CHECKING:
    from collections.abc import Sequence

NUMBER, EVENTS, EARLIEST, END, STEP = range(5)


class Maximal(NamedTuple):
    """Maximal matches: the events of match m are `row[offset[m]:offset[m + 1]]`, `size[m]` says how many are in each group."""

    offset: npt.NDArray[np.int64]
    row: npt.NDArray[np.int32]
    size: npt.NDArray[np.int32]
    """[match, step]"""


class MaximalSearch(NamedTuple):
    """Where a search for maximal matches is: the end at hand, and the last and first event of each group."""

    state: npt.NDArray[np.int64]
    """[(NUMBER, EVENTS, EARLIEST, END, STEP)]; step -1 between two ends."""
    lasts: npt.NDArray[np.int64]
    firsts: npt.NDArray[np.int64]
    base: npt.NDArray[np.int64]
    limit: npt.NDArray[np.int64]


def new_search(steps: int) -> MaximalSearch:
    """Return a search that has not begun."""
    return MaximalSearch(np.array([0, 0, -1, 0, -1], np.int64), *(np.empty(steps, np.int64) for _ in range(4)))


@kernel
def link_steps(step_of, begins, following):
    """Fill `following[step, row]`: the next row of the same key that takes the step, or -1."""
    steps, rows = following.shape
    for step in range(steps):
        following[step, :] = -1
    ahead = np.full(steps, -1, np.int32)
    for row in range(rows - 1, -1, -1):
        for step in range(steps):
            following[step, row] = ahead[step]
        if step_of[row] >= 0:
            ahead[step_of[row]] = row
        if begins[row]:
            ahead[:] = -1


@kernel
def find_maximal(step_of, begins, repeats, clock, low, following, offset, row_of, size_of, writes, most, search, steps):
    """Find the maximal matches from where the search is; returns whether it is through. Only counts them unless `writes`.

    A match is fixed by the last event of each group. The end is chosen first, because its window says where a repeated first
    step begins; the other groups are chosen in order, group `step` from `base[step]` up to but without `limit[step]`. Stops
    behind `most` matches.
    """
    last = repeats.shape[0] - 1
    state, lasts, firsts, base, limit = search.state, search.lasts, search.firsts, search.base, search.limit
    number, events, earliest, step = state[NUMBER], state[EVENTS], state[EARLIEST], state[STEP]
    for end in range(state[END], step_of.shape[0]):
        if step < 0:
            if steps[0] <= 0:
                state[NUMBER], state[EVENTS], state[EARLIEST], state[END], state[STEP] = number, events, earliest, end, step
                return False
            steps[0] -= 1
            if begins[end]:
                earliest = np.int64(-1)
            if earliest < 0 and step_of[end] == 0:
                earliest = np.int64(end)
            if step_of[end] != last:
                continue
            while earliest >= 0 and clock[earliest] < low[end]:
                earliest = np.int64(following[0, earliest])
            if earliest < 0 or earliest > end:
                continue
            step = np.int64(0)
            base[0], limit[0], lasts[0] = earliest, end, earliest
        later = following[last, end]
        while step >= 0:
            if steps[0] <= 0:
                state[NUMBER], state[EVENTS], state[EARLIEST], state[END], state[STEP] = number, events, earliest, end, step
                return False
            steps[0] -= 1
            if last > 0:
                at = lasts[step]
                if at < 0 or at >= limit[step]:
                    step -= 1
                    if step >= 0:
                        lasts[step] = following[step, lasts[step]]
                    continue
                firsts[step] = base[step] if repeats[step] else at
                if step < last - 1:
                    step += 1
                    base[step] = lasts[step] = following[step, at]
                    limit[step] = end
                    blocking = following[step - 1, at]
                    # A repeated group would take one more event that comes before the next group begins.
                    if repeats[step - 1] and blocking >= 0:
                        if not repeats[step]:
                            limit[step] = min(np.int64(end), np.int64(blocking))
                        elif blocking < base[step]:
                            limit[step] = -1
                    continue
                firsts[last] = following[last, at] if repeats[last] else end
                blocking = following[step, at]
                maximal = not (repeats[step] and blocking >= 0 and blocking < firsts[last])
            else:
                firsts[last] = earliest if repeats[last] else end
                maximal = True
            lasts[last] = end
            if repeats[last] and later >= 0 and clock[firsts[0]] >= low[later]:
                maximal = False
            if maximal:
                if number == most:
                    state[NUMBER] = number + 1
                    return True
                for group in range(last + 1):
                    count = 0
                    row = firsts[group]
                    while row >= 0 and row <= lasts[group]:
                        if writes:
                            row_of[events] = row
                        events += 1
                        steps[0] -= 1
                        count += 1
                        row = np.int64(following[group, row])
                    if writes:
                        size_of[number, group] = count
                number += 1
                if writes:
                    offset[number] = events
            if last == 0:
                step = np.int64(-1)
            else:
                lasts[step] = following[step, lasts[step]]
    state[NUMBER], state[EVENTS] = number, events
    return True


def maximal_matches(
    step_of: npt.NDArray[np.int8],
    begins: npt.NDArray[np.uint8],
    repeats: npt.NDArray[np.uint8],
    clock: npt.NDArray[np.int64],
    low: npt.NDArray[np.int64],
    most: int,
) -> Maximal | None:
    """Return the maximal matches of all keys, or None when there are more than `most`.

    `step_of` says which step an event takes (-1 for none), `begins` where a key begins, `repeats` which steps are repeated.
    """
    following = np.empty((len(repeats), len(step_of)), np.int32)
    link_steps(step_of, begins, following)
    nothing = (np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros((0, len(repeats)), np.int32))
    account, given = Account(Budget()), (step_of, begins, repeats, clock, low, following)
    search = new_search(len(repeats))
    while not find_maximal(*given, *nothing, False, most, search, account.slice()):
        pass
    number, events = int(search.state[NUMBER]), int(search.state[EVENTS])
    if number > most:
        return None
    found = Maximal(np.zeros(number + 1, np.int64), np.empty(events, np.int32), np.empty((number, len(repeats)), np.int32))
    search = new_search(len(repeats))
    while not find_maximal(*given, *found, True, most, search, account.slice()):
        pass
    return found


def configurations(sizes: Sequence[int]) -> list[tuple[int, ...]]:
    """Return all ways to choose how many events of each group a part has (Abella 2022, A.2, erratum all-configurations).

    >>> configurations([1, 2])
    [(1, 1), (1, 2)]
    """
    return list(product(*(range(1, size + 1) for size in sizes)))


def parts(sizes: Sequence[int], configuration: Sequence[int]) -> int:
    """Return how many parts of a maximal match with groups of these sizes have the configuration.

    >>> parts([1, 2, 3], (1, 1, 2))
    6
    """
    return prod(comb(size, chosen) for size, chosen in zip(sizes, configuration, strict=True))


def configuration_count(found: Maximal) -> int:
    """Return how many configurations the maximal matches have, at most."""
    return prod(int(size) for size in found.size.max(axis=0, initial=0))


class Share(NamedTuple):
    """The parts that one worker makes together: a configuration and the maximal matches that have such parts."""

    configuration: tuple[int, ...]
    matches: npt.NDArray[np.int64]
    cost: float


def cut_by_configuration(found: Maximal) -> list[Share]:
    """Return the work of all configurations, the largest first."""
    widest = found.size.max(axis=0, initial=0)
    shared = []
    for configuration in configurations([int(size) for size in widest]):
        matches = np.flatnonzero((found.size >= configuration).all(axis=1))
        if len(matches):
            distinct, times = np.unique(found.size[matches], axis=0, return_counts=True)
            cost = sum(
                float(parts(sizes, configuration)) * float(time)
                for sizes, time in zip(distinct.tolist(), times.tolist(), strict=True)
            )
            shared.append(Share(configuration, matches, cost))
    return sorted(shared, key=lambda share: (-share.cost, share.configuration))


def hand_out(work: Sequence[Share], workers: int) -> list[int]:
    """Return the worker of each share, the largest shares first, always to the least loaded.

    >>> hand_out([Share((1,), np.zeros(1, np.int64), cost) for cost in (5.0, 3.0, 3.0)], 2)
    [0, 1, 1]
    """
    loads = [(0.0, worker) for worker in range(workers)]
    chosen = []
    for share in work:
        load, worker = heapq.heappop(loads)
        chosen.append(worker)
        heapq.heappush(loads, (load + share.cost, worker))
    return chosen
