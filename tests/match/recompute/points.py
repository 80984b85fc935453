"""Random points, boxes and values that the tests of recomputation share, and the slow definitions that they are held to."""

from __future__ import annotations

import numpy as np

from eventide.match.recompute.zorder import BOX_ROWS, HIGH, LOW, interleave

FULL = np.iinfo(np.uint64).max


def random_points(rng, count, dimensions, bits):
    """Draw points; few bits give duplicates, and some sets share their high bits or use the highest ones only."""
    points = rng.integers(0, FULL, (count, dimensions), np.uint64, endpoint=True) >> np.uint64(64 - bits)
    kind = rng.integers(0, 4)
    if kind == 1:
        points = points << np.uint64(64 - bits)
    elif kind == 2:
        points = points | (rng.integers(0, FULL, dimensions, np.uint64) << np.uint64(bits) if bits < 64 else np.uint64(0))
    elif kind == 3:
        points = points >> rng.integers(0, bits, dimensions).astype(np.uint64)
    return np.ascontiguousarray(points)


def random_box(rng, points):
    """Draw a box between the coordinates of points, some sides open."""
    dimensions = points.shape[1]
    box = np.zeros((BOX_ROWS, dimensions), np.uint64)
    for dimension in range(dimensions):
        ends = np.sort(rng.choice(points[:, dimension], 2)) if len(points) else np.array([0, FULL], np.uint64)
        box[LOW, dimension] = ends[0] if rng.random() < 0.8 else 0
        box[HIGH, dimension] = ends[1] if rng.random() < 0.8 else FULL
    return box


def inside(points, box):
    """Return which points lie in the box."""
    return np.all((points >= box[LOW]) & (points <= box[HIGH]), axis=1)


def address(point):
    """Return the true Z address of a point."""
    return interleave([int(coordinate) for coordinate in point])
