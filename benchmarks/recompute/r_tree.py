"""An R-tree over points, as in the textbook: least enlargement on the way down, linear split."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from benchmarks.recompute.compiling import kernel

SIZE = 32
DEEPEST = 40
USED = 0
ROOT = 1


class RTree(NamedTuple):
    """Nodes in flat arrays: entry `place` of node n is at n * SIZE + place; `item` is a child or, in a leaf, a row."""

    low: np.ndarray
    high: np.ndarray
    item: np.ndarray
    size: np.ndarray
    level: np.ndarray
    path: np.ndarray
    meta: np.ndarray


def new_r_tree(nodes: int, dimensions: int) -> RTree:
    """Return an empty tree with room for so many nodes."""
    return RTree(
        np.zeros((nodes * SIZE, dimensions), np.uint64),
        np.zeros((nodes * SIZE, dimensions), np.uint64),
        np.zeros(nodes * SIZE, np.int64),
        np.zeros(nodes, np.int64),
        np.zeros(nodes, np.int64),
        np.zeros((2, DEEPEST), np.int64),
        np.array([1, 0]),
    )


@kernel
def volume(tree, entry, points, point):
    """Return the volume of an entry's box, grown by a point unless that is negative."""
    product = 1.0
    for dimension in range(tree.low.shape[1]):
        low, high = tree.low[entry, dimension], tree.high[entry, dimension]
        if point >= 0:
            low, high = min(low, points[point, dimension]), max(high, points[point, dimension])
        product *= float(high - low) + 1.0
    return product


@kernel
def copy_box(tree, target, source):
    for dimension in range(tree.low.shape[1]):
        tree.low[target, dimension] = tree.low[source, dimension]
        tree.high[target, dimension] = tree.high[source, dimension]
    tree.item[target] = tree.item[source]


@kernel
def cover(tree, entry, node):
    """Make the box of an entry that of all entries of a node."""
    tree.item[entry] = node
    for dimension in range(tree.low.shape[1]):
        low, high = tree.low[node * SIZE, dimension], tree.high[node * SIZE, dimension]
        for other in range(node * SIZE + 1, node * SIZE + tree.size[node]):
            low, high = min(low, tree.low[other, dimension]), max(high, tree.high[other, dimension])
        tree.low[entry, dimension] = low
        tree.high[entry, dimension] = high


@kernel
def split(tree, node):
    """Move half of a full node to a new one, along the dimension in which its entries are spread most; returns the new node."""
    base = node * SIZE
    widest = -1.0
    along = 0
    for dimension in range(tree.low.shape[1]):
        low, high = tree.low[base, dimension], tree.low[base, dimension]
        for entry in range(base, base + SIZE):
            low, high = min(low, tree.low[entry, dimension]), max(high, tree.low[entry, dimension])
        if float(high - low) > widest:
            widest, along = float(high - low), dimension
    order = np.argsort(tree.low[base : base + SIZE, along])
    fresh = tree.meta[USED]
    tree.meta[USED] += 1
    tree.level[fresh] = tree.level[node]
    low_box = tree.low[base : base + SIZE].copy()
    high_box = tree.high[base : base + SIZE].copy()
    items = tree.item[base : base + SIZE].copy()
    for place in range(SIZE):
        target = base + place if place < SIZE // 2 else fresh * SIZE + place - SIZE // 2
        for dimension in range(tree.low.shape[1]):
            tree.low[target, dimension] = low_box[order[place], dimension]
            tree.high[target, dimension] = high_box[order[place], dimension]
        tree.item[target] = items[order[place]]
    tree.size[node] = SIZE // 2
    tree.size[fresh] = SIZE - SIZE // 2
    return fresh


@kernel
def r_insert(tree, points, point, row):
    """Insert a point."""
    node = tree.meta[ROOT]
    depth = 0
    while tree.level[node] > 0:
        chosen = node * SIZE
        least = np.inf
        smallest = np.inf
        for entry in range(node * SIZE, node * SIZE + tree.size[node]):
            before = volume(tree, entry, points, -1)
            growth = volume(tree, entry, points, point) - before
            if growth < least or (growth == least and before < smallest):
                chosen, least, smallest = entry, growth, before
        for dimension in range(tree.low.shape[1]):
            tree.low[chosen, dimension] = min(tree.low[chosen, dimension], points[point, dimension])
            tree.high[chosen, dimension] = max(tree.high[chosen, dimension], points[point, dimension])
        tree.path[0, depth] = chosen
        depth += 1
        node = tree.item[chosen]
    entry = node * SIZE + tree.size[node]
    for dimension in range(tree.low.shape[1]):
        tree.low[entry, dimension] = points[point, dimension]
        tree.high[entry, dimension] = points[point, dimension]
    tree.item[entry] = row
    tree.size[node] += 1
    while tree.size[node] == SIZE:
        fresh = split(tree, node)
        if depth == 0:
            root = tree.meta[USED]
            tree.meta[USED] += 1
            tree.level[root] = tree.level[node] + 1
            tree.size[root] = 2
            cover(tree, root * SIZE, node)
            cover(tree, root * SIZE + 1, fresh)
            tree.meta[ROOT] = root
            return
        depth -= 1
        chosen = tree.path[0, depth]
        cover(tree, chosen, node)
        node = chosen // SIZE
        cover(tree, node * SIZE + tree.size[node], fresh)
        tree.size[node] += 1


@kernel
def r_query(tree, box, rows):
    """Write the rows of the points in a box (lowest corner, highest corner) and return their number."""
    stack = np.empty(SIZE * DEEPEST, np.int64)
    stack[0] = tree.meta[ROOT]
    depth = 1
    found = 0
    while depth > 0:
        depth -= 1
        node = stack[depth]
        for entry in range(node * SIZE, node * SIZE + tree.size[node]):
            meets = True
            for dimension in range(tree.low.shape[1]):
                if tree.low[entry, dimension] > box[1, dimension] or tree.high[entry, dimension] < box[0, dimension]:
                    meets = False
                    break
            if meets and tree.level[node] > 0:
                stack[depth] = tree.item[entry]
                depth += 1
            elif meets:
                rows[found] = tree.item[entry]
                found += 1
    return found
