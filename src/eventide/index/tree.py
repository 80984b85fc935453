"""The event tree: a B+tree over virtual Z addresses in flat arrays (Kammoun 2019, 3.6.1 and 3.7.2).

One arena holds many trees, so that every partition key has its own. An entry is a point and the row of its event; entries are
in Z order, equal points by row. An inner node keeps the lowest entry that each child may hold; that of its first child is not
read. A full leaf is cut where the highest bit in which its entries differ flips, between the neighbours that share the fewest
leading bits (erratum split-point), so a leaf tends to be a Z-region.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from eventide.compilation import inner_kernel, kernel
from eventide.index.zorder import ONE, ZERO, compare, deciding_dimension, top_bit

if TYPE_CHECKING:
    from eventide.index.encoding import Coordinates

FREE = 0
FREE_NODES = 1
TOUCHED = 2
CAPACITY = 3
LEAF_ENTRIES = 32
DEEPEST = 40
NODE = 0
PLACE = 1
NONE = -1


class Forest(NamedTuple):
    """Trees in one arena: entry `place` of node n is at n * capacity + place; free nodes are chained by `following`."""

    key: Coordinates
    row: npt.NDArray[np.int64]
    child: npt.NDArray[np.int32]
    size: npt.NDArray[np.int32]
    level: npt.NDArray[np.int32]
    following: npt.NDArray[np.int32]
    previous: npt.NDArray[np.int32]
    root: npt.NDArray[np.int32]
    events: npt.NDArray[np.int64]
    path: npt.NDArray[np.int32]
    meta: npt.NDArray[np.int64]


def new_forest(trees: int, dimensions: int, nodes: int = 16, capacity: int = LEAF_ENTRIES) -> Forest:
    """Return empty trees over points of some dimensions; a node holds `capacity` entries.

    >>> new_forest(3, 2).root.tolist()
    [-1, -1, -1]
    """
    if capacity < 4:
        raise ValueError("a node needs room for four entries, so that both halves of a split have two")
    empty = Forest(
        np.empty((0, dimensions), np.uint64),
        np.empty(0, np.int64),
        np.empty(0, np.int32),
        np.empty(0, np.int32),
        np.empty(0, np.int32),
        np.empty(0, np.int32),
        np.empty(0, np.int32),
        np.full(trees, NONE, np.int32),
        np.zeros(trees, np.int64),
        np.empty((2, DEEPEST), np.int32),
        np.array([NONE, 0, 0, capacity], np.int64),
    )
    return with_nodes(empty, nodes)


def with_nodes(forest: Forest, nodes: int) -> Forest:
    """Return the forest with so many more free nodes; the old one must not be used any longer.

    >>> int(with_nodes(new_forest(1, 2, nodes=4), 6).meta[FREE_NODES])
    10
    """
    before = len(forest.size)
    entries = int(forest.meta[CAPACITY])
    grown = forest._replace(
        key=np.concatenate([forest.key, np.zeros((nodes * entries, forest.key.shape[1]), np.uint64)]),
        row=np.concatenate([forest.row, np.zeros(nodes * entries, np.int64)]),
        child=np.concatenate([forest.child, np.zeros(nodes * entries, np.int32)]),
        size=np.concatenate([forest.size, np.zeros(nodes, np.int32)]),
        level=np.concatenate([forest.level, np.zeros(nodes, np.int32)]),
        following=np.concatenate([forest.following, np.arange(before + 1, before + nodes + 1, dtype=np.int32)]),
        previous=np.concatenate([forest.previous, np.zeros(nodes, np.int32)]),
    )
    grown.following[-1] = forest.meta[FREE]
    grown.meta[FREE] = before
    grown.meta[FREE_NODES] += nodes
    return grown


def with_trees(forest: Forest, trees: int) -> Forest:
    """Return the forest with so many more empty trees.

    >>> with_trees(new_forest(1, 2), 2).root.tolist()
    [-1, -1, -1]
    """
    return forest._replace(
        root=np.concatenate([forest.root, np.full(trees, NONE, np.int32)]),
        events=np.concatenate([forest.events, np.zeros(trees, np.int64)]),
    )


def insert_all(forest: Forest, trees: npt.NDArray[np.int64], points: Coordinates, rows: npt.NDArray[np.int64]) -> Forest:
    """Insert point i with row i into tree i for all i, and return the forest, grown where it was too small.

    >>> forest = insert_all(new_forest(1, 2), np.zeros(3, np.int64), np.array([[1, 1], [0, 3], [0, 1]], np.uint64), np.arange(3))
    >>> int(forest.events[0])
    3
    """
    done = insert_some(forest, trees, points, rows, 0)
    while done < len(rows):
        forest = with_nodes(forest, len(forest.size))
        done = insert_some(forest, trees, points, rows, done)
    return forest


@kernel
def insert_some(forest, trees, points, rows, begin):
    """Insert events from `begin` on; returns the first that found no room, or their number."""
    for index in range(begin, rows.shape[0]):
        if not insert(forest, trees[index], points, index, rows[index]):
            return index
    return rows.shape[0]


@inner_kernel
def new_node(forest, level):
    """Take a node from the free list, which the caller has seen to."""
    node = forest.meta[FREE]
    forest.meta[FREE] = forest.following[node]
    forest.meta[FREE_NODES] -= 1
    forest.size[node] = 0
    forest.level[node] = level
    forest.following[node] = NONE
    forest.previous[node] = NONE
    return node


@inner_kernel
def copy_entry(key, row, child, target, source):
    """Copy an entry within the arena."""
    for dimension in range(key.shape[1]):
        key[target, dimension] = key[source, dimension]
    row[target] = row[source]
    child[target] = child[source]


@inner_kernel
def first_not_before(key, rows, low, high, points, point, row):
    """Return the first entry of [low, high) that does not come before a point of a row.

    The comparison is `zorder.compare`, written out: a call would take longer than what it does.
    """
    while low < high:
        middle = (low + high) // 2
        deciding = -1
        highest = ZERO
        for dimension in range(key.shape[1]):
            difference = key[middle, dimension] ^ points[point, dimension]
            if highest < difference and highest < (highest ^ difference):
                highest = difference
                deciding = dimension
        if deciding < 0:
            before = rows[middle] < row
        else:
            before = key[middle, deciding] < points[point, deciding]
        if before:
            low = middle + 1
        else:
            high = middle
    return low


@inner_kernel
def find_leaf(forest, tree, points, point, row):
    """Go down to the leaf where a point of a row belongs, leaving the way in `path`; returns (leaf, depth)."""
    key, rows, child, size, level, path = forest.key, forest.row, forest.child, forest.size, forest.level, forest.path
    capacity = forest.meta[CAPACITY]
    node = forest.root[tree]
    depth = 0
    while level[node] > 0:
        base = node * capacity
        end = base + size[node]
        entry = first_not_before(key, rows, base + 1, end, points, point, row)
        # A separator that is equal belongs to the child behind it.
        if entry == end or rows[entry] != row or compare(key, entry, points, point) != 0:
            entry -= 1
        path[NODE, depth] = node
        path[PLACE, depth] = entry - base
        depth += 1
        node = child[entry]
    return node, depth


@inner_kernel
def shift_up(key, row, child, begin, end):
    """Move the entries of [begin, end) by one.

    What runs for every event takes single arrays and calls nothing: a call with a whole forest costs more than its work.
    """
    for entry in range(end, begin, -1):
        for dimension in range(key.shape[1]):
            key[entry, dimension] = key[entry - 1, dimension]
        row[entry] = row[entry - 1]
        child[entry] = child[entry - 1]


@inner_kernel
def open_gap(forest, node, place):
    """Move the entries of a node from `place` on by one."""
    base = node * forest.meta[CAPACITY]
    shift_up(forest.key, forest.row, forest.child, base + place, base + forest.size[node])
    forest.size[node] += 1


@inner_kernel
def move_tail(forest, node, place, target):
    """Append the entries of a node from `place` on to another."""
    capacity = forest.meta[CAPACITY]
    for index in range(place, forest.size[node]):
        copy_entry(forest.key, forest.row, forest.child, target * capacity + forest.size[target], node * capacity + index)
        forest.size[target] += 1
    forest.size[node] = place


@inner_kernel
def write_entry(forest, entry, points, point, row):
    """Write a point and its row."""
    for dimension in range(forest.key.shape[1]):
        forest.key[entry, dimension] = points[point, dimension]
    forest.row[entry] = row


@inner_kernel
def split_place(forest, leaf, place, points, point):
    """Return (how many entries of a full leaf stay left, whether the new point, due at `place`, does too)."""
    capacity = forest.size[leaf]
    base = leaf * capacity
    if place == 0:
        dimension = deciding_dimension(points, point, forest.key, base + capacity - 1)
    elif place == capacity:
        dimension = deciding_dimension(forest.key, base, points, point)
    else:
        dimension = deciding_dimension(forest.key, base, forest.key, base + capacity - 1)
    if dimension < 0:
        return capacity // 2, place <= capacity // 2
    lowest = points[point, dimension] if place == 0 else forest.key[base, dimension]
    highest = points[point, dimension] if place == capacity else forest.key[base + capacity - 1, dimension]
    bit = ONE << np.uint64(top_bit(lowest ^ highest))
    low = 0
    high = capacity
    while low < high:
        middle = (low + high) // 2
        if forest.key[base + middle, dimension] & bit == ZERO:
            low = middle + 1
        else:
            high = middle
    return low, points[point, dimension] & bit == ZERO


@inner_kernel
def insert(forest, tree, points, point, row):
    """Insert a point with its row into a tree; False, with nothing changed, when there may be too few free nodes."""
    capacity = forest.meta[CAPACITY]
    if forest.root[tree] < 0:
        if forest.meta[FREE_NODES] < 1:
            return False
        forest.root[tree] = new_node(forest, 0)
    if forest.meta[FREE_NODES] < forest.level[forest.root[tree]] + 2:
        return False
    key, rows, child = forest.key, forest.row, forest.child
    leaf, depth = find_leaf(forest, tree, points, point, row)
    base = leaf * capacity
    end = base + forest.size[leaf]
    entry = first_not_before(key, rows, base, end, points, point, row)
    forest.events[tree] += 1
    if end < base + capacity:
        shift_up(key, rows, child, entry, end)
        for dimension in range(key.shape[1]):
            key[entry, dimension] = points[point, dimension]
        rows[entry] = row
        forest.size[leaf] += 1
        return True
    place = entry - base
    stay, left = split_place(forest, leaf, place, points, point)
    right = new_node(forest, 0)
    behind = forest.following[leaf]
    forest.following[right] = behind
    forest.previous[right] = leaf
    forest.following[leaf] = right
    if behind >= 0:
        forest.previous[behind] = right
    move_tail(forest, leaf, stay, right)
    target, at = (leaf, place) if left else (right, place - stay)
    open_gap(forest, target, at)
    write_entry(forest, target * capacity + at, points, point, row)
    add_child(forest, tree, depth, leaf, right)
    return True


@inner_kernel
def add_child(forest, tree, depth, left, right):
    """Put a new node behind its left neighbour into the parents on `path`, splitting those that are full."""
    capacity = forest.meta[CAPACITY]
    while depth > 0:
        depth -= 1
        parent = forest.path[NODE, depth]
        place = forest.path[PLACE, depth] + 1
        target = parent
        sibling = NONE
        if forest.size[parent] == capacity:
            half = capacity // 2
            sibling = new_node(forest, forest.level[parent])
            move_tail(forest, parent, half, sibling)
            if place > half:
                target = sibling
                place -= half
        open_gap(forest, target, place)
        copy_entry(forest.key, forest.row, forest.child, target * capacity + place, right * capacity)
        forest.child[target * capacity + place] = right
        if sibling < 0:
            return
        left, right = parent, sibling
    root = new_node(forest, forest.level[left] + 1)
    copy_entry(forest.key, forest.row, forest.child, root * capacity, left * capacity)
    copy_entry(forest.key, forest.row, forest.child, root * capacity + 1, right * capacity)
    forest.child[root * capacity] = left
    forest.child[root * capacity + 1] = right
    forest.size[root] = 2
    forest.root[tree] = root
