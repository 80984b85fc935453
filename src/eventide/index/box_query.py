"""Exact range queries on event trees: what a box holds and nothing else (Kammoun 2019, B.4.2, NJI and NJO as a cursor)."""

from __future__ import annotations

import numpy as np

from eventide.compilation import inner_kernel, kernel
from eventide.index.tree import CAPACITY, TOUCHED, first_not_before
from eventide.index.zorder import FOUND, HIGH, LOW, compare, next_in


@inner_kernel
def in_box(keys, key, box):
    """Return whether a point lies in a box."""
    for dimension in range(keys.shape[1]):
        if keys[key, dimension] < box[LOW, dimension] or keys[key, dimension] > box[HIGH, dimension]:
            return False
    return True


@inner_kernel
def find_entry(key, rows, child, size, level, capacity, node, points, point):
    """Return the leaf below a node where the entries from a point on begin, and the first of them, which may be its end."""
    lowest = np.int64(np.iinfo(np.int64).min)
    while level[node] > 0:
        base = node * capacity
        node = child[first_not_before(key, rows, base + 1, base + size[node], points, point, lowest) - 1]
    base = node * capacity
    return node, first_not_before(key, rows, base, base + size[node], points, point, lowest)


@inner_kernel
def scan_box(forest, tree, box, entries, begin, keep):
    """Find the events of a tree in a box, in Z order, jumping over what lies outside; returns their number.

    With `keep` their places in the arena are written to `entries` from `begin` on, which must have room for them. Jumps go from
    leaf to leaf: within one, looking at the next key costs less than working out where the box goes on.
    """
    found = 0
    root = forest.root[tree]
    if root < 0:
        return found
    key, rows, child, size, level, following = forest.key, forest.row, forest.child, forest.size, forest.level, forest.following
    capacity = forest.meta[CAPACITY]
    touched = 0
    leaf, entry = find_entry(key, rows, child, size, level, capacity, root, box, LOW)
    while leaf >= 0:
        end = leaf * capacity + size[leaf]
        if entry == end:
            leaf = following[leaf]
            entry = leaf * capacity
            continue
        if not in_box(key, entry, box):
            touched += 1
            if not next_in(key, entry, box):
                break
            if compare(key, end - 1, box, FOUND) < 0:
                leaf, entry = find_entry(key, rows, child, size, level, capacity, root, box, FOUND)
                continue
            entry += 1
        touched += end - entry
        for other in range(entry, end):
            if in_box(key, other, box):
                if keep:
                    entries[begin + found] = other
                found += 1
        leaf = following[leaf]
        entry = leaf * capacity
    forest.meta[TOUCHED] += touched
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
