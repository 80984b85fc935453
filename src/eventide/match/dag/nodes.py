"""tECS, the timed enumerable compact set, in flat arrays (Abella 2022, 5.1 and 5.2).

A node is a row of arrays: *output* nodes carry a label and an event row and one child, *union* nodes two children, *bottom* nodes
the row of the first event of a match that binds nothing there. `start` is the largest clock of a first event
below the node (`max` of the papers). An output node without a child begins the match at its own event.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from eventide.compilation import copy_start, inner_kernel, kernel

UNION = -1
BOTTOM = -2
NONE = -1


class Nodes(NamedTuple):
    """The arena of nodes; children always have smaller numbers than their parents."""

    label: npt.NDArray[np.int32]
    row: npt.NDArray[np.int32]
    left: npt.NDArray[np.int32]
    right: npt.NDArray[np.int32]
    start: npt.NDArray[np.int64]


def new_nodes(capacity: int) -> Nodes:
    """Return an empty arena."""
    return Nodes(
        np.empty(capacity, np.int32),
        np.empty(capacity, np.int32),
        np.empty(capacity, np.int32),
        np.empty(capacity, np.int32),
        np.empty(capacity, np.int64),
    )


@inner_kernel
def make_union(label, left_of, right_of, start, top, left, right):
    """Write a union node at `top`; the caller has put the later start on the left."""
    label[top] = UNION
    left_of[top] = left
    right_of[top] = right
    start[top] = start[left]
    return top


@inner_kernel
def unite(label, left_of, right_of, start, top, first, second):
    """Unite two safe nodes with equal `start`; returns (node, new top)."""
    if label[first] != UNION:
        return make_union(label, left_of, right_of, start, top, first, second), top + 1
    if label[second] != UNION:
        return make_union(label, left_of, right_of, start, top, second, first), top + 1
    right_first, right_second = right_of[first], right_of[second]
    if start[right_first] >= start[right_second]:
        lowest = make_union(label, left_of, right_of, start, top, right_first, right_second)
    else:
        lowest = make_union(label, left_of, right_of, start, top, right_second, right_first)
    middle = make_union(label, left_of, right_of, start, top + 1, left_of[second], lowest)
    return make_union(label, left_of, right_of, start, top + 2, left_of[first], middle), top + 3


@inner_kernel
def insert(label, left_of, right_of, start, top, lists, position, length, node):
    """Insert a node into the union-list `lists[position]`; returns (new length, new top), or length -1 when it is full."""
    own = start[node]
    place = 1
    while place < length and start[lists[position, place]] > own:
        place += 1
    if place < length and start[lists[position, place]] == own:
        lists[position, place], top = unite(label, left_of, right_of, start, top, lists[position, place], node)
        return length, top
    if length == lists.shape[1]:
        return -1, top
    for index in range(length, place, -1):
        lists[position, index] = lists[position, index - 1]
    lists[position, place] = node
    return length + 1, top


@inner_kernel
def merge(label, left_of, right_of, start, top, lists, slot, position, length):
    """Return the safe node that stands for the union-list `lists[slot, position]`, and the new top."""
    node = lists[slot, position, length - 1]
    for index in range(length - 2, -1, -1):
        node = make_union(label, left_of, right_of, start, top, lists[slot, position, index], node)
        top += 1
    return node, top


@kernel
def mark_live(nodes, roots, lows, marked):
    """Mark what can be reached from the roots without passing a start below the root's `low`.

    A union whose right side has expired is marked 2: compaction replaces it by its left side.
    """
    stack = np.empty(1024, np.int32)
    for index in range(roots.shape[0]):
        low = lows[index]
        if nodes.start[roots[index]] < low:
            continue
        size = 1
        stack[0] = roots[index]
        while size > 0:
            size -= 1
            node = stack[size]
            # Chains of single children are the common case; follow them without the stack.
            while node >= 0 and marked[node] == 0:
                if nodes.label[node] == UNION:
                    right = nodes.right[node]
                    if nodes.start[right] < low:
                        marked[node] = 2
                    else:
                        marked[node] = 1
                        if marked[right] == 0:
                            if size == stack.shape[0]:
                                larger = np.empty(2 * size, np.int32)
                                copy_start(larger, stack, size)
                                stack = larger
                            stack[size] = right
                            size += 1
                    node = nodes.left[node]
                elif nodes.label[node] == BOTTOM:
                    marked[node] = 1
                    break
                else:
                    marked[node] = 1
                    node = nodes.left[node]


@kernel
def compact(nodes, top, marked, moved):
    """Slide marked nodes down in place; `moved` gets the new number of each. Returns the new top."""
    free = 0
    for node in range(top):
        mark = marked[node]
        if mark == 0:
            continue
        if mark == 2:
            moved[node] = moved[nodes.left[node]]
            continue
        moved[node] = free
        label = nodes.label[node]
        nodes.label[free] = label
        nodes.row[free] = nodes.row[node]
        nodes.start[free] = nodes.start[node]
        left = nodes.left[node]
        nodes.left[free] = moved[left] if left >= 0 and label != BOTTOM else NONE
        nodes.right[free] = moved[nodes.right[node]] if label == UNION else NONE
        free += 1
    return free
