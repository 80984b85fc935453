"""Event trees under a window that moves on (Kammoun 2019, 3.7.4, both methods; erratum live-trees).

The first coordinate of a point is its time. Queries ask for live times in their box, so both methods give the same answers
whenever expired events go: MEMORY_FRIENDLY deletes them one by one, CPU_FRIENDLY fills two trees in turn and drops one as a
whole when its newest event has expired. It turns to the other tree only when that one has been dropped, so up to two windows of
events are held.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from eventide.compilation import inner_kernel, kernel
from eventide.index.box_query import scan_box
from eventide.index.encoding import HIGHEST, LOWEST
from eventide.index.tree import Forest, insert, new_forest, with_nodes
from eventide.index.tree_deletion import delete, drop
from eventide.index.zorder import BOX_ROWS, HIGH, LOW, ONE

MEMORY_FRIENDLY = 0
CPU_FRIENDLY = 1


class Windows(NamedTuple):
    """The oldest and newest time of the two trees of each slot, 2 * slot and 2 * slot + 1, and which of the two is filled."""

    oldest: npt.NDArray[np.uint64]
    newest: npt.NDArray[np.uint64]
    filled: npt.NDArray[np.int64]


def new_windows(slots: int) -> Windows:
    """Return the windows of so many slots, all empty.

    >>> new_windows(2).filled.tolist()
    [0, 0]
    """
    return Windows(np.zeros(2 * slots, np.uint64), np.zeros(2 * slots, np.uint64), np.zeros(slots, np.int64))


@inner_kernel
def expire(forest, windows, slot, method, low, slide):
    """Forget events of a slot before the time `low`, at the latest when more than `slide` before it; returns how many."""
    first = 2 * slot
    if method == CPU_FRIENDLY:
        gone = 0
        for tree in range(first, first + 2):
            if forest.root[tree] >= 0 and windows.newest[tree] < low:
                gone += forest.events[tree]
                drop(forest, tree)
        return gone
    if forest.root[first] < 0 or low <= windows.oldest[first] or low - windows.oldest[first] <= slide:
        return 0
    dimensions = forest.key.shape[1]
    box = np.empty((BOX_ROWS, dimensions), np.uint64)
    for dimension in range(dimensions):
        box[LOW, dimension] = LOWEST
        box[HIGH, dimension] = HIGHEST
    box[HIGH, 0] = low - ONE
    entries = np.empty(forest.events[first], np.int64)
    found = scan_box(forest, first, box, entries, 0, True)
    points = np.empty((found, dimensions), np.uint64)
    rows = np.empty(found, np.int64)
    for index in range(found):
        rows[index] = forest.row[entries[index]]
        for dimension in range(dimensions):
            points[index, dimension] = forest.key[entries[index], dimension]
    for index in range(found):
        delete(forest, first, points, index, rows[index])
    windows.oldest[first] = low
    return found


@inner_kernel
def keep(forest, windows, slot, method, low, slide, points, point, row):
    """Take an event into the window of a slot whose live times begin at `low`; False when there may be too few free nodes."""
    expire(forest, windows, slot, method, low, slide)
    time = points[point, 0]
    tree = 2 * slot
    if method == CPU_FRIENDLY:
        tree += windows.filled[slot]
        other = 4 * slot + 1 - tree
        covered = forest.root[tree] >= 0 and time > windows.oldest[tree] and time - windows.oldest[tree] > slide
        if covered and forest.root[other] < 0:
            windows.filled[slot] = 1 - windows.filled[slot]
            tree = other
    fresh = forest.root[tree] < 0
    if not insert(forest, tree, points, point, row):
        return False
    windows.oldest[tree] = time if fresh else min(windows.oldest[tree], time)
    windows.newest[tree] = time if fresh else max(windows.newest[tree], time)
    return True


@kernel
def scan_window(forest, slot, low, box, rows, keep_rows):
    """Find the events of a slot in a box from the time `low` on; returns their number, and with `keep_rows` writes their rows."""
    before = box[LOW, 0]
    box[LOW, 0] = max(before, low)
    found = 0
    if box[LOW, 0] <= box[HIGH, 0]:
        for tree in range(2 * slot, 2 * slot + 2):
            found += scan_box(forest, tree, box, rows, found, keep_rows)
        if keep_rows:
            for index in range(found):
                rows[index] = forest.row[rows[index]]
    box[LOW, 0] = before
    return found


@kernel
def keep_some(forest, windows, slots, method, lows, slide, points, rows, begin):
    """Take events into their windows from `begin` on; returns the first that found no room, or their number."""
    for index in range(begin, rows.shape[0]):
        if not keep(forest, windows, slots[index], method, lows[index], slide, points, index, rows[index]):
            return index
    return rows.shape[0]


class SlidingTrees:
    """Event trees of many slots under a window of `size`, cleaned by one of the two methods at every `slide`.

    >>> trees = SlidingTrees(slots=1, dimensions=1, size=10, slide=2, method=CPU_FRIENDLY)
    >>> trees.insert(np.zeros(3, np.int64), np.array([[0], [5], [12]], np.uint64), np.arange(3))
    >>> sorted(trees.query(0, 12, np.array([[0], [99], [0]], np.uint64)).tolist())
    [1, 2]
    """

    def __init__(self, slots: int, dimensions: int, size: int, slide: int, method: int) -> None:
        self.size, self.slide, self.method = np.uint64(size), np.uint64(slide), method
        self.forest: Forest = new_forest(2 * slots, dimensions)
        self.windows = new_windows(slots)

    def lows(self, times: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
        """Return the first live time at each of the times.

        >>> SlidingTrees(1, 1, 10, 2, MEMORY_FRIENDLY).lows(np.array([3, 12], np.uint64)).tolist()
        [0, 2]
        """
        return np.maximum(times, self.size) - self.size

    def insert(self, slots: npt.NDArray[np.int64], points: npt.NDArray[np.uint64], rows: npt.NDArray[np.int64]) -> None:
        """Take events in the order of time."""
        lows = self.lows(points[:, 0])
        begin = 0
        while begin < len(rows):
            begin = keep_some(self.forest, self.windows, slots, self.method, lows, self.slide, points, rows, begin)
            if begin < len(rows):
                self.forest = with_nodes(self.forest, len(self.forest.size))

    def held(self, slot: int) -> int:
        """Return how many events of a slot are held, live or expired."""
        return int(self.forest.events[2 * slot] + self.forest.events[2 * slot + 1])

    def query(self, slot: int, now: int, box: npt.NDArray[np.uint64]) -> npt.NDArray[np.int64]:
        """Return the rows of the live events of a slot in a box."""
        rows = np.empty(self.held(slot), np.int64)
        low = self.lows(np.array([now], np.uint64))[0]
        return rows[: scan_window(self.forest, slot, low, box, rows, True)]
