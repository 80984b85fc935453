"""Taking events out of event trees: one by one, with nodes that hold little merged, or a whole tree at once."""

from __future__ import annotations

from eventide.compilation import inner_kernel, kernel
from eventide.index.tree import (
    CAPACITY,
    FREE,
    FREE_NODES,
    NODE,
    NONE,
    PLACE,
    copy_entry,
    find_leaf,
    first_not_before,
    move_tail,
)
from eventide.index.zorder import compare


@inner_kernel
def free_node(forest, node):
    """Give a node back."""
    forest.following[node] = forest.meta[FREE]
    forest.meta[FREE] = node
    forest.meta[FREE_NODES] += 1


@inner_kernel
def close_gap(forest, node, place):
    """Take the entry at `place` out of a node."""
    base = node * forest.meta[CAPACITY]
    key, row, child = forest.key, forest.row, forest.child
    forest.size[node] -= 1
    for entry in range(base + place, base + forest.size[node]):
        copy_entry(key, row, child, entry, entry + 1)


@kernel
def delete(forest, tree, points, point, row):
    """Take a point with its row out of a tree; False when it is not there."""
    capacity = forest.meta[CAPACITY]
    if forest.root[tree] < 0:
        return False
    leaf, depth = find_leaf(forest, tree, points, point, row)
    end = leaf * capacity + forest.size[leaf]
    entry = first_not_before(forest.key, forest.row, leaf * capacity, end, points, point, row)
    if entry == end or forest.row[entry] != row or compare(forest.key, entry, points, point) != 0:
        return False
    close_gap(forest, leaf, entry - leaf * capacity)
    forest.events[tree] -= 1
    shrink(forest, tree, depth, leaf)
    return True


@inner_kernel
def unlink(forest, node):
    """Take a node out of the chain of its leaves and give it back."""
    if forest.level[node] == 0:
        if forest.previous[node] >= 0:
            forest.following[forest.previous[node]] = forest.following[node]
        if forest.following[node] >= 0:
            forest.previous[forest.following[node]] = forest.previous[node]
    free_node(forest, node)


@inner_kernel
def shrink(forest, tree, depth, node):
    """Merge nodes that hold little with a neighbour, from `node` up the `path`."""
    capacity = forest.meta[CAPACITY]
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
                copy_entry(forest.key, forest.row, forest.child, second * capacity, base + left + 1)
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
    capacity = forest.meta[CAPACITY]
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
