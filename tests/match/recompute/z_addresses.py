"""Z addresses as they are defined, and the cursor of the paper that goes by splitting: what the kernels of Z order are held to."""

from __future__ import annotations

import numpy as np

from eventide.compilation import kernel
from eventide.index import zorder
from eventide.index.encoding import encode_integer
from eventide.index.zorder import BITS, BOX_ROWS, FOUND, HIGH, LOW, ONE, ZERO, bits_from, compare, deciding_dimension, top_bit


def interleave(point, bits=BITS):
    """Return the Z address of a point, an integer of `len(point) * bits` bits.

    >>> bin(interleave([0b10, 0b11], bits=2))
    '0b1101'
    """
    address = 0
    for place in range(bits - 1, -1, -1):
        for coordinate in point:
            address = address << 1 | int(coordinate) >> place & 1
    return address


def deinterleave(address, dimensions, bits=BITS):
    """Return the point of a Z address.

    >>> deinterleave(0b1101, 2, bits=2)
    [2, 3]
    """
    lengths = range(dimensions * bits, dimensions * (bits - 1), -1)
    return [extract(address & (1 << length) - 1, length, take=1, skip=dimensions - 1) for length in lengths]


def extract(address, length, take, skip):
    """Return what is left when `take` bits are taken and `skip` skipped in turn, from the highest of `length` bits on.

    It is the g of the paper, whose two numbers swap their places between chapters (E10).

    >>> bin(extract(0b110011, 6, take=1, skip=2))
    '0b10'
    """
    taken = 0
    for index in range(length):
        if index % (take + skip) < take:
            taken = taken << 1 | address >> length - 1 - index & 1
    return taken


def whole_space(dimensions):
    """Return the box that holds every point.

    >>> whole_space(1)[:2].tolist() == [[0], [2**64 - 1]]
    True
    """
    box = np.zeros((BOX_ROWS, dimensions), np.uint64)
    box[HIGH] = np.iinfo(np.uint64).max
    return box


@kernel
def split_box(box, low, high, last_out, first_in):
    """Cut the box of corners `low` and `high` where its highest Z bit flips, as rows of one array; False when it is one point.

    Points of the box up to the cut lie in [low, last_out], all others in [first_in, high], and none between (E15).
    """
    dimension = deciding_dimension(box, low, box, high)
    if dimension < 0:
        return False
    place = top_bit(box[low, dimension] ^ box[high, dimension])
    for other in range(box.shape[1]):
        box[last_out, other] = box[high, other]
        box[first_in, other] = box[low, other]
    kept = box[high, dimension] & bits_from(place + 1)
    bit = ONE << np.uint64(place)
    box[first_in, dimension] = kept | bit
    box[last_out, dimension] = kept | (bit - ONE)
    return True


@kernel
def next_in_by_splitting(keys, key, box):
    """Write the first point of the box behind a key to FOUND; False when there is none. The paper's cursor, one split a step."""
    low, high, last_out, first_in, best = 0, 1, 2, 3, 4
    corners = np.empty((5, box.shape[1]), np.uint64)
    for dimension in range(box.shape[1]):
        corners[low, dimension] = box[LOW, dimension]
        corners[high, dimension] = box[HIGH, dimension]
    known = False
    while True:
        if compare(keys, key, corners, low) < 0:
            best = low
            known = True
            break
        if compare(keys, key, corners, high) >= 0:
            break
        split_box(corners, low, high, last_out, first_in)
        if compare(keys, key, corners, first_in) < 0:
            known = True
            for dimension in range(box.shape[1]):
                corners[best, dimension] = corners[first_in, dimension]
                corners[high, dimension] = corners[last_out, dimension]
        else:
            for dimension in range(box.shape[1]):
                corners[low, dimension] = corners[first_in, dimension]
    for dimension in range(box.shape[1]):
        box[FOUND, dimension] = corners[best, dimension] if known else ZERO
    return known


# Ways in from Python to what only kernels call -------------------------------------------------------------------------


@kernel
def compared(left, one, right, other):
    return compare(left, one, right, other)


@kernel
def shared_bits(left, one, right, other):
    return zorder.shared_bits(left, one, right, other)


@kernel
def highest_bit(value):
    return top_bit(value)


@kernel
def next_in(keys, key, box):
    return zorder.next_in(keys, key, box)


@kernel
def encoded(values, index):
    return encode_integer(values, index)
