"""Random points, boxes and values that the tests of recomputation share, and the slow definitions that they are held to."""

from __future__ import annotations

import numpy as np

from benchmarks.recompute.published_joins.sides import Side, predicates_of
from eventide.index.zorder import BOX_ROWS, HIGH, LOW
from eventide.match.recompute.bit_rows.bits import words_for
from match.recompute.z_addresses import interleave

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


def random_side(rng, count, coordinates, *, ordered=True, nulls=0.1):
    """Draw events of a join: rows with gaps and repeats, few or many values, some of them null."""
    rows = rng.integers(0, max(2 * count, 1), count)
    most = rng.choice([2, 5, 40, FULL])
    value = rng.integers(0, most, (coordinates, count), np.uint64)
    valid = (rng.random((coordinates, count)) >= nulls).astype(np.uint8)
    return Side(np.sort(rows) if ordered else rows, value, valid)


def random_predicates(rng, coordinates, most=4):
    """Draw predicates, perhaps none."""
    return predicates_of([tuple(rng.integers(0, [coordinates, 5, coordinates])) for _ in range(rng.integers(0, most + 1))])


def joined(outer, inner, predicates):
    """Return which pairs join, by the definition, as a table of booleans."""
    table = outer.row[:, None] < inner.row[None, :]
    for left, operator, right in zip(*predicates, strict=True):
        compare = [np.less, np.less_equal, np.greater, np.greater_equal, np.equal][operator]
        table &= compare(outer.value[left][:, None], inner.value[right][None, :])
        table &= (outer.valid[left][:, None] & inner.valid[right][None, :]).astype(bool)
    return table


def unpacked(bits, count):
    """Return rows of bits as a table of booleans, and assert that no bit is set behind the last event."""
    table = np.unpackbits(np.ascontiguousarray(bits).view(np.uint8), axis=1, bitorder="little").astype(bool)
    assert not table[:, count:].any()
    return table[:, :count]


def dirty_bits(outer, inner):
    """Return room for the answer of a join, full of what an earlier join may have left."""
    return np.full((len(outer.row), words_for(len(inner.row))), 0xDEADBEEF12345678, np.uint64)
