"""Slices of the enumeration: disjoint, complete, even under windows (Abella 2022, 5.4, errata slice-guard and live-slices).

The *live* paths below an accepted node, those inside the window, are laid out one behind the other; a path's position is the
number of those to its left. A slice is a set of stretches of positions. Counts are doubles: exact up to 2^53 paths, and beyond
that a path has the same position in every task, whatever was rounded on the way, so that each is in one slice and no more.
(Conditions may leave few matches of so many paths.)

Where values must agree (`agreement.py`), the paths of each value are counted apart, so that slices are even in what agrees.
Stretches are many where there is enough to do, because other conditions may favour some of the paths.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from eventide.compilation import copy_start, inner_kernel
from eventide.match.dag.agreement import ANY_VALUE
from eventide.match.dag.nodes import BOTTOM, UNION

MOST_STRETCHES = 16
SMALLEST_STRETCH = 1024
EXACT = 2.0**53
ROUNDING = 1e-10
"""More than what rounding adds up to over some hundred thousand events of a path."""
MOST_PATHS = 1e300
NEVER_COUNTED = np.iinfo(np.int64).max
MOST_COUNTS = 1 << 24
"""With more counts than this, values are not counted apart."""


@inner_kernel
def live_paths(nodes, root, low, bit, possible, counts, counted):
    """Count the live paths that may agree on `bit` below every node that they reach from the root.

    `counted` says for which bound of the window a count was made; a count for the same bound stays true.
    """
    stack = np.empty(256, np.int32)
    stack[0] = root
    size = 1
    while size > 0:
        node = stack[size - 1]
        if counted[node] == low:
            size -= 1
            continue
        label = nodes.label[node]
        left = nodes.left[node]
        if label == BOTTOM or (label != UNION and left < 0):
            counts[node] = 1.0
            counted[node] = low
            size -= 1
            continue
        pending = -1
        go_left = bit == ANY_VALUE or possible[left] & bit != 0
        if go_left and counted[left] != low:
            pending = left
        go_right = False
        right = -1
        if label == UNION:
            right = nodes.right[node]
            go_right = nodes.start[right] >= low and (bit == ANY_VALUE or possible[right] & bit != 0)
            if pending < 0 and go_right and counted[right] != low:
                pending = right
        if pending >= 0:
            if size == stack.shape[0]:
                larger = np.empty(2 * size, np.int32)
                copy_start(larger, stack, size)
                stack = larger
            stack[size] = pending
            size += 1
            continue
        total = counts[left] if go_left else 0.0
        if go_right:
            total += counts[right]
        counts[node] = min(total, MOST_PATHS)
        counted[node] = low
        size -= 1


@inner_kernel
def rounding(total):
    """Return how far the positions of paths may be off, given the number of all."""
    return 0.0 if total < EXACT else total * ROUNDING


@inner_kernel
def counted_paths(root, bits, possible, counts):
    """Return how many paths were counted below a root, of all values."""
    total = 0.0
    for value in range(bits.shape[0]):
        if bits[value] == ANY_VALUE or possible[root] & bits[value] != 0:
            total += counts[value, root]
    return min(total, MOST_PATHS)


@inner_kernel
def push_slice(nodes, root, low, bits, possible, counts, counted, slice_index, slices, walk):
    """Put the stretches of a slice on the empty stack of a walk; returns (stack size, how far rounding may have moved paths)."""
    for value in range(bits.shape[0]):
        if bits[value] == ANY_VALUE or possible[root] & bits[value] != 0:
            live_paths(nodes, root, low, bits[value], possible, counts[value], counted[value])
    total = counted_paths(root, bits, possible, counts)
    stretches = int(min(float(MOST_STRETCHES), max(1.0, total / (slices * SMALLEST_STRETCH))))
    width = max(1.0, np.ceil(total / (slices * stretches)))
    slack = rounding(total)
    size = 0
    for stretch in range(stretches - 1, -1, -1):
        begin = (stretch * slices + slice_index) * width
        end = begin + width
        if stretch == stretches - 1 and slice_index == slices - 1:
            end = np.inf
        position = 0.0
        for value in range(bits.shape[0]):
            if bits[value] == ANY_VALUE or possible[root] & bits[value] != 0:
                count = counts[value, root]
                if position < end and position + count + slack > begin:
                    walk.node[size] = root
                    walk.depth[size] = 0
                    walk.position[size] = position
                    walk.begin[size] = begin
                    walk.end[size] = end
                    walk.value[size] = value
                    size += 1
                position += count
    return size, slack


def counted_values(possible: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the bits whose paths are counted apart: all that occur where one group must agree, else one that stands for all."""
    together = np.array([ANY_VALUE])
    if len(possible) != 1:
        return together
    # Events of no group, and nodes above them, may agree on anything.
    some = possible[0][possible[0] != ANY_VALUE]
    present = int(np.bitwise_or.reduce(some, initial=0)) & ((1 << 64) - 1)
    bits = np.array([1 << bit for bit in range(64) if present >> bit & 1], np.uint64).view(np.int64)
    return bits if 0 < len(bits) and len(bits) * possible.shape[1] <= MOST_COUNTS else together
