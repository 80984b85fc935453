"""Both window methods answer alike; one holds live events, the other two windows at most."""

from __future__ import annotations

import numpy as np
import pytest

from eventide.index.moving_window import CPU_FRIENDLY, MEMORY_FRIENDLY, SlidingTrees
from eventide.index.tree import FREE_NODES
from match.recompute.points import inside, random_box

METHODS = [MEMORY_FRIENDLY, CPU_FRIENDLY]


def random_stream(rng, count, dimensions):
    """Draw events in the order of time, with gaps and equal times."""
    points = rng.integers(0, int(rng.choice([4, 200])), (count, dimensions), np.uint64)
    points[:, 0] = np.cumsum(rng.choice([0, 1, 1, 2, 30], count, p=[0.3, 0.3, 0.2, 0.18, 0.02])) + 2**40
    return points


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("slide", [0, 1, 7, 25, 60])
def test_queries_see_the_live_events_of_their_slot(method, slide):
    rng = np.random.default_rng(slide)
    size = 25
    for _ in range(20):
        dimensions = int(rng.integers(1, 4))
        points = random_stream(rng, 250, dimensions)
        slots = rng.integers(0, 3, 250)
        trees = SlidingTrees(3, dimensions, size, slide, method)
        for now in range(0, 250, 5):
            batch = slice(now, now + 5)
            trees.insert(slots[batch], points[batch], np.arange(now, now + 5))
            time = int(points[now + 4, 0])
            box = random_box(rng, points[: now + 5])
            live = inside(points[: now + 5], box) & (points[: now + 5, 0] >= time - size)
            for slot in range(3):
                assert sorted(trees.query(slot, time, box)) == np.flatnonzero(live & (slots[: now + 5] == slot)).tolist()


def test_deleting_holds_nothing_but_what_is_live_and_one_slide():
    trees = SlidingTrees(1, 1, size=50, slide=5, method=MEMORY_FRIENDLY)
    for time in range(1_000, 2_000):
        trees.insert(np.zeros(1, np.int64), np.array([[time]], np.uint64), np.array([time]))
        assert trees.held(0) <= 51 + 6


@pytest.mark.parametrize("slide", [0, 5, 50, 200])
def test_two_trees_in_turn_hold_two_windows_and_a_slide_at_most(slide):
    trees = SlidingTrees(1, 1, size=50, slide=slide, method=CPU_FRIENDLY)
    most = 0
    for time in range(1_000, 3_000):
        trees.insert(np.zeros(1, np.int64), np.array([[time]], np.uint64), np.array([time]))
        most = max(most, trees.held(0))
    assert most <= 2 * max(51, slide) + 2
    assert trees.forest.meta[FREE_NODES] > 0


def test_a_tree_that_is_alive_is_never_filled_anew():
    # The slide is far shorter than the window, so the second tree is covered long before the first expires (erratum live-trees).
    trees = SlidingTrees(1, 1, size=100, slide=1, method=CPU_FRIENDLY)
    filled = []
    for time in range(600):
        trees.insert(np.zeros(1, np.int64), np.array([[time]], np.uint64), np.array([time]))
        filled.append(int(trees.windows.filled[0]))
    turns = np.flatnonzero(np.diff(filled)) + 1
    assert turns.tolist() == [2, 102, 202, 302, 402, 502]
