"""The event tree: a B+tree over virtual Z addresses in flat arrays (kammoun.md 3.2 and 3.3).

One arena holds many trees, so that every partition key has its own. An entry is a point and the row of its event; entries are
in Z order, equal points by row. An inner node keeps the lowest entry that each child may hold; that of its first child is not
read. A full leaf is cut where the highest bit in which its entries differ flips, between the neighbours that share the fewest
leading bits (E11), so a leaf tends to be a Z-region.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from eventide.match.jit import kernel
from eventide.match.recompute.zorder import FOUND, HIGH, LOW, ONE, ZERO, compare, deciding_dimension, next_in, top_bit

if TYPE_CHECKING:
    from eventide.match.recompute.encoding import Coordinates

FREE = 0
FREE_NODES = 1
TOUCHED = 2
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
        np.array([NONE, 0, 0], np.int64),
    )
    return with_nodes(empty, nodes, capacity)


def with_nodes(forest: Forest, nodes: int, capacity: int | None = None) -> Forest:
    """Return the forest with so many more free nodes; the old one must not be used any longer.

    >>> int(with_nodes(new_forest(1, 2, nodes=4), 6).meta[FREE_NODES])
    10
    """
    before = len(forest.size)
    entries = capacity or len(forest.row) // before
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


@kernel
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


@kernel
def free_node(forest, node):
    """Give a node back."""
    forest.following[node] = forest.meta[FREE]
    forest.meta[FREE] = node
    forest.meta[FREE_NODES] += 1


@kernel
def copy_entry(forest, target, source):
    """Copy an entry within the arena."""
    for dimension in range(forest.key.shape[1]):
        forest.key[target, dimension] = forest.key[source, dimension]
    forest.row[target] = forest.row[source]
    forest.child[target] = forest.child[source]


@kernel
def before(forest, entry, points, point, row):
    """Return whether an entry comes before a point of a row."""
    order = compare(forest.key, entry, points, point)
    return order < 0 or (order == 0 and forest.row[entry] < row)


@kernel
def place_of(forest, node, first, points, point, row):
    """Return the first place from `first` on in a node whose entry does not come before a point of a row."""
    base = node * (forest.row.shape[0] // forest.size.shape[0])
    low = first
    high = forest.size[node]
    while low < high:
        middle = (low + high) // 2
        if before(forest, base + middle, points, point, row):
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def find_leaf(forest, tree, points, point, row):
    """Go down to the leaf where a point of a row belongs, leaving the way in `path`; returns (leaf, depth)."""
    capacity = forest.row.shape[0] // forest.size.shape[0]
    node = forest.root[tree]
    depth = 0
    while forest.level[node] > 0:
        place = place_of(forest, node, 1, points, point, row)
        # A separator that is equal belongs to the child behind it.
        exact = place < forest.size[node] and forest.row[node * capacity + place] == row
        if not exact or compare(forest.key, node * capacity + place, points, point) != 0:
            place -= 1
        forest.path[NODE, depth] = node
        forest.path[PLACE, depth] = place
        depth += 1
        node = forest.child[node * capacity + place]
    return node, depth


@kernel
def open_gap(forest, node, place):
    """Move the entries of a node from `place` on by one."""
    base = node * (forest.row.shape[0] // forest.size.shape[0])
    for index in range(forest.size[node], place, -1):
        copy_entry(forest, base + index, base + index - 1)
    forest.size[node] += 1


@kernel
def close_gap(forest, node, place):
    """Take the entry at `place` out of a node."""
    base = node * (forest.row.shape[0] // forest.size.shape[0])
    forest.size[node] -= 1
    for index in range(place, forest.size[node]):
        copy_entry(forest, base + index, base + index + 1)


@kernel
def move_tail(forest, node, place, target):
    """Append the entries of a node from `place` on to another."""
    capacity = forest.row.shape[0] // forest.size.shape[0]
    for index in range(place, forest.size[node]):
        copy_entry(forest, target * capacity + forest.size[target], node * capacity + index)
        forest.size[target] += 1
    forest.size[node] = place


@kernel
def write_entry(forest, entry, points, point, row):
    """Write a point and its row."""
    for dimension in range(forest.key.shape[1]):
        forest.key[entry, dimension] = points[point, dimension]
    forest.row[entry] = row


@kernel
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


@kernel
def insert(forest, tree, points, point, row):
    """Insert a point with its row into a tree; False, with nothing changed, when there may be too few free nodes."""
    capacity = forest.row.shape[0] // forest.size.shape[0]
    if forest.root[tree] < 0:
        if forest.meta[FREE_NODES] < 1:
            return False
        forest.root[tree] = new_node(forest, 0)
    if forest.meta[FREE_NODES] < forest.level[forest.root[tree]] + 2:
        return False
    leaf, depth = find_leaf(forest, tree, points, point, row)
    place = place_of(forest, leaf, 0, points, point, row)
    forest.events[tree] += 1
    if forest.size[leaf] < capacity:
        open_gap(forest, leaf, place)
        write_entry(forest, leaf * capacity + place, points, point, row)
        return True
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


@kernel
def add_child(forest, tree, depth, left, right):
    """Put a new node behind its left neighbour into the parents on `path`, splitting those that are full."""
    capacity = forest.row.shape[0] // forest.size.shape[0]
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
        copy_entry(forest, target * capacity + place, right * capacity)
        forest.child[target * capacity + place] = right
        if sibling < 0:
            return
        left, right = parent, sibling
    root = new_node(forest, forest.level[left] + 1)
    copy_entry(forest, root * capacity, left * capacity)
    copy_entry(forest, root * capacity + 1, right * capacity)
    forest.child[root * capacity] = left
    forest.child[root * capacity + 1] = right
    forest.size[root] = 2
    forest.root[tree] = root


@kernel
def delete(forest, tree, points, point, row):
    """Take a point with its row out of a tree; False when it is not there."""
    capacity = forest.row.shape[0] // forest.size.shape[0]
    if forest.root[tree] < 0:
        return False
    leaf, depth = find_leaf(forest, tree, points, point, row)
    place = place_of(forest, leaf, 0, points, point, row)
    entry = leaf * capacity + place
    if place == forest.size[leaf] or forest.row[entry] != row or compare(forest.key, entry, points, point) != 0:
        return False
    close_gap(forest, leaf, place)
    forest.events[tree] -= 1
    shrink(forest, tree, depth, leaf)
    return True


@kernel
def unlink(forest, node):
    """Take a node out of the chain of its leaves and give it back."""
    if forest.level[node] == 0:
        if forest.previous[node] >= 0:
            forest.following[forest.previous[node]] = forest.following[node]
        if forest.following[node] >= 0:
            forest.previous[forest.following[node]] = forest.previous[node]
    free_node(forest, node)


@kernel
def shrink(forest, tree, depth, node):
    """Merge nodes that hold little with a neighbour, from `node` up the `path`."""
    capacity = forest.row.shape[0] // forest.size.shape[0]
    while depth > 0 and forest.size[node] <= capacity // 4:
        depth -= 1
        parent = forest.path[NODE, depth]
        place = forest.path[PLACE, depth]
        base = parent * capacity
        if forest.size[node] == 0:
            unlink(forest, node)
            close_gap(forest, parent, place)
        else:
            left = place - 1 if place + 1 == forest.size[parent] else place
            if left < 0:
                return
            first = forest.child[base + left]
            second = forest.child[base + left + 1]
            if forest.size[first] + forest.size[second] > capacity // 2:
                return
            if forest.level[node] > 0:
                child = forest.child[second * capacity]
                copy_entry(forest, second * capacity, base + left + 1)
                forest.child[second * capacity] = child
            move_tail(forest, second, 0, first)
            unlink(forest, second)
            close_gap(forest, parent, left + 1)
        node = parent
    root = forest.root[tree]
    while forest.level[root] > 0 and forest.size[root] == 1:
        child = forest.child[root * capacity]
        free_node(forest, root)
        root = child
    if forest.size[root] == 0:
        unlink(forest, root)
        root = NONE
    forest.root[tree] = root


@kernel
def drop(forest, tree):
    """Empty a tree, giving all its nodes back."""
    capacity = forest.row.shape[0] // forest.size.shape[0]
    node = forest.root[tree]
    depth = 0
    while node >= 0:
        if forest.level[node] > 0 and forest.size[node] > 0:
            forest.size[node] -= 1
            forest.path[NODE, depth] = node
            depth += 1
            node = forest.child[node * capacity + forest.size[node]]
        else:
            free_node(forest, node)
            depth -= 1
            node = forest.path[NODE, depth] if depth >= 0 else NONE
    forest.root[tree] = NONE
    forest.events[tree] = 0


@kernel
def in_box(keys, key, box):
    """Return whether a point lies in a box."""
    for dimension in range(keys.shape[1]):
        if keys[key, dimension] < box[LOW, dimension] or keys[key, dimension] > box[HIGH, dimension]:
            return False
    return True


@kernel
def scan_box(forest, tree, box, entries, begin, keep):
    """Find the events of a tree in a box, in Z order, jumping over what lies outside; returns their number.

    With `keep` their places in the arena are written to `entries` from `begin` on, which must have room for them.
    """
    capacity = forest.row.shape[0] // forest.size.shape[0]
    found = 0
    if forest.root[tree] < 0:
        return found
    lowest = np.int64(np.iinfo(np.int64).min)
    leaf, _ = find_leaf(forest, tree, box, LOW, lowest)
    place = place_of(forest, leaf, 0, box, LOW, lowest)
    while leaf >= 0:
        if place >= forest.size[leaf]:
            leaf = forest.following[leaf]
            place = 0
            continue
        entry = leaf * capacity + place
        forest.meta[TOUCHED] += 1
        if in_box(forest.key, entry, box):
            if keep:
                entries[begin + found] = entry
            found += 1
            place += 1
            continue
        if not next_in(forest.key, entry, box):
            break
        last = leaf * capacity + forest.size[leaf] - 1
        if before(forest, last, box, FOUND, lowest):
            leaf, _ = find_leaf(forest, tree, box, FOUND, lowest)
            place = 0
        place = place_of(forest, leaf, place, box, FOUND, lowest)
    return found


@kernel
def rows_in_box(forest, tree, box, rows):
    """Write the rows of the events in a box, in Z order, and return their number; `rows` must have room for them."""
    found = scan_box(forest, tree, box, rows, 0, True)
    for index in range(found):
        rows[index] = forest.row[rows[index]]
    return found


@kernel
def count_in_box(forest, tree, box):
    """Return the exact number of events in a box."""
    return scan_box(forest, tree, box, forest.row, 0, False)
