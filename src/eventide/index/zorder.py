"""Z order without Z addresses (Kammoun 2019, B.3 and B.4, Algorithms 7 and 8).

The Z address of a point interleaves the bits of its coordinates, highest first, the first dimension first in each group. Kernels
never make it: d coordinates of 64 bits are compared as they are. Tests hold them to the addresses.

Points are rows of two-dimensional arrays, passed as (array, row) so that no slice is made. A box is an array with the lowest
corner in row LOW, the highest in row HIGH, and room for a result in row FOUND.
"""

from __future__ import annotations

import numpy as np

from eventide.compilation import inner_kernel, kernel

BITS = 64
LOW = 0
HIGH = 1
FOUND = 2
BOX_ROWS = 3

ZERO = np.uint64(0)
ONE = np.uint64(1)


@inner_kernel
def top_bit(value):
    """Return the place of the highest bit of a value that is not zero."""
    place = 0
    if value >> np.uint64(32):
        value >>= np.uint64(32)
        place += 32
    if value >> np.uint64(16):
        value >>= np.uint64(16)
        place += 16
    if value >> np.uint64(8):
        value >>= np.uint64(8)
        place += 8
    if value >> np.uint64(4):
        value >>= np.uint64(4)
        place += 4
    if value >> np.uint64(2):
        value >>= np.uint64(2)
        place += 2
    if value >> ONE:
        place += 1
    return place


@inner_kernel
def bits_from(place):
    """Return a mask of the bits at a place and above it; none at 64."""
    if place >= 64:
        return ZERO
    return ~((ONE << np.uint64(place)) - ONE)


@inner_kernel
def deciding_dimension(left, one, right, other):
    """Return the dimension that owns the highest Z bit in which two points differ, or -1 when they are equal.

    A later dimension wins only by a strictly higher bit: within a group of bits the earlier dimension comes first.
    """
    found = -1
    highest = ZERO
    for dimension in range(left.shape[1]):
        difference = left[one, dimension] ^ right[other, dimension]
        # For difference > highest this says that its top bit is higher (erratum equal-addresses).
        if highest < difference and highest < (highest ^ difference):
            highest = difference
            found = dimension
    return found


@inner_kernel
def compare(left, one, right, other):
    """Return -1, 0 or 1 as the first point lies before, at or behind the second in Z order."""
    dimension = deciding_dimension(left, one, right, other)
    if dimension < 0:
        return 0
    return -1 if left[one, dimension] < right[other, dimension] else 1


@inner_kernel
def shared_bits(left, one, right, other):
    """Return how many leading bits the Z addresses of two points share (Dis of Kammoun 2019, 3.7.2)."""
    dimensions = left.shape[1]
    dimension = deciding_dimension(left, one, right, other)
    if dimension < 0:
        return 64 * dimensions
    return (63 - top_bit(left[one, dimension] ^ right[other, dimension])) * dimensions + dimension


@inner_kernel
def next_in(keys, key, box):
    """Write the first point of the box behind a key to FOUND; False when there is none. Costs O(d), whatever the bits.

    The answer shares a prefix with the key, has a one where the key has a zero, and is the lowest corner of what the box has
    below that prefix. The longest prefix whose cell meets the box ends where the first coordinate leaves the box, so bits tell
    it.
    """
    dimensions = keys.shape[1]
    exit_place = -1
    exit_dimension = dimensions - 1
    below = False
    for dimension in range(dimensions):
        value = keys[key, dimension]
        if value < box[LOW, dimension]:
            place = top_bit(value ^ box[LOW, dimension])
            if place > exit_place:
                exit_place, exit_dimension, below = place, dimension, True
        elif value > box[HIGH, dimension]:
            place = top_bit(value ^ box[HIGH, dimension])
            if place > exit_place:
                exit_place, exit_dimension, below = place, dimension, False
    flip_place = exit_place
    flip_dimension = exit_dimension
    if not below:
        # The cell of the prefix lies behind the box: go back to the last zero that may become a one inside it.
        flip_place = 64
        for dimension in range(dimensions):
            value = keys[key, dimension]
            if value >= box[HIGH, dimension]:
                continue
            limit = exit_place if dimension < exit_dimension and exit_place >= 0 else exit_place + 1
            zeros = ~value & bits_from(limit)
            if zeros == ZERO:
                continue
            place = top_bit(zeros & (~zeros + ONE))
            if place <= flip_place and place <= top_bit(value ^ box[HIGH, dimension]):
                flip_place, flip_dimension = place, dimension
        if flip_place == 64:
            return False
    for dimension in range(dimensions):
        kept = keys[key, dimension] & bits_from(flip_place if dimension < flip_dimension else flip_place + 1)
        if dimension == flip_dimension:
            kept |= ONE << np.uint64(flip_place)
        box[FOUND, dimension] = max(kept, box[LOW, dimension])
    return True


@kernel
def z_order(points):
    """Return the indices of points in Z order, equal points as they were: a merge sort that compares and never interleaves."""
    count = points.shape[0]
    order = np.arange(count)
    merged = np.empty(count, np.int64)
    width = 1
    while width < count:
        for begin in range(0, count, 2 * width):
            left, middle, end = begin, min(begin + width, count), min(begin + 2 * width, count)
            right = middle
            for place in range(begin, end):
                take_left = left < middle
                if take_left and right < end:
                    take_left = compare(points, order[left], points, order[right]) <= 0
                if take_left:
                    merged[place] = order[left]
                    left += 1
                else:
                    merged[place] = order[right]
                    right += 1
        order, merged = merged, order
        width *= 2
    return order
