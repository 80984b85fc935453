"""What is propagated through the automaton instead of matches, as vectors with a sum and a product.

A vector stands for a set of partial matches. Under SUM, channel 0 is how many they are and channel c the total, over all of
them, of what their events weigh; putting matches end to end multiplies the counts and mixes the totals. Under LEAST, channel c is
the least value that any event in any of them has; both the sum and the product are then the minimum. ROUGH is channel 0 of SUM
alone, as a double in the bits of the integer. BEST is the largest weight of any of them, a double too: the sum is the maximum,
the product the sum.

Vectors lie one after the other in flat arrays and are named by where they begin: numba takes far longer to compile slices.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from eventide.compilation import inner_kernel

SUM = 0
LEAST = 1
ROUGH = 2
BEST = 3
NO_MATCH = np.iinfo(np.int64).max
NO_VALUE = NO_MATCH - 1
"""What a match without a value has under LEAST; above all values, below there being no match."""


class Weights(NamedTuple):
    """What events bring into vectors: `values[channel, event]`, if `binds[channel, label]`; channel 0 of SUM takes none."""

    kind: int
    modulus: int
    """Counts and totals are taken modulo this prime; 0 leaves them to wrap around."""
    channels: int
    values: npt.NDArray[np.int64]
    binds: npt.NDArray[np.uint8]


NOTHING = Weights(SUM, 0, 1, np.zeros((0, 0), np.int64), np.zeros((0, 0), np.uint8))
"""Counts alone."""


@inner_kernel
def clear(vectors, begin, end, weights):
    """Make the vectors between two places stand for no partial match."""
    empty = NO_MATCH if weights.kind == LEAST or weights.kind == BEST else 0
    for at in range(begin, end):
        vectors[at] = empty


@inner_kernel
def make_one(vectors, at, weights):
    """Make a vector stand for the match without events."""
    for channel in range(weights.channels):
        vectors[at + channel] = NO_VALUE if weights.kind == LEAST else 0
    if weights.kind == SUM:
        vectors[at] = 1
    elif weights.kind == ROUGH:
        vectors.view(np.float64)[at] = 1.0
    elif weights.kind == BEST:
        vectors.view(np.float64)[at] = 0.0


@inner_kernel
def is_empty(vectors, at, weights):
    """Return whether a vector adds nothing; modulo a prime a count of 0 does not say so of the totals."""
    if weights.kind == LEAST or weights.kind == BEST:
        return vectors[at] == NO_MATCH
    for channel in range(weights.channels):
        if vectors[at + channel] != 0:
            return False
    return True


@inner_kernel
def improve(target, to, weight, weights):
    """Let a target of BEST hold a weight if it is the largest so far."""
    best = target.view(np.float64)
    if is_empty(target, to, weights) or best[to] < weight:
        best[to] = weight


@inner_kernel
def add(target, to, vectors, at, weights):
    """Add the partial matches of a vector to the target."""
    if weights.kind == ROUGH:
        target.view(np.float64)[to] += vectors.view(np.float64)[at]
        return
    if weights.kind == BEST:
        improve(target, to, vectors.view(np.float64)[at], weights)
        return
    for channel in range(weights.channels):
        value = vectors[at + channel]
        if weights.kind == LEAST:
            target[to + channel] = min(target[to + channel], value)
        elif weights.modulus > 0:
            target[to + channel] = (target[to + channel] + value) % weights.modulus
        else:
            target[to + channel] += value


@inner_kernel
def add_product(target, to, left, one, right, other, weights):
    """Add all matches of the right vector put behind all of the left one to the target."""
    # Nothing times a count beyond the doubles is nothing.
    if is_empty(left, one, weights) or is_empty(right, other, weights):
        return
    if weights.kind == ROUGH:
        target.view(np.float64)[to] += left.view(np.float64)[one] * right.view(np.float64)[other]
        return
    if weights.kind == BEST:
        improve(target, to, left.view(np.float64)[one] + right.view(np.float64)[other], weights)
        return
    modulus = weights.modulus
    for channel in range(weights.channels):
        if weights.kind == LEAST:
            target[to + channel] = min(target[to + channel], left[one + channel], right[other + channel])
            continue
        mixed = left[one] * right[other + channel]
        if channel > 0:
            back = left[one + channel] * right[other]
            mixed = mixed % modulus + back % modulus if modulus > 0 else mixed + back
        target[to + channel] += mixed
        if modulus > 0:
            target[to + channel] %= modulus


@inner_kernel
def add_extended(target, to, vectors, at, event, label, weights):
    """Add the partial matches of a vector, each with the event bound by the label behind (or before) it, to the target."""
    if weights.kind == ROUGH:
        target.view(np.float64)[to] += vectors.view(np.float64)[at]
        return
    if weights.kind == BEST:
        weight = vectors.view(np.float64)[at]
        for term in range(weights.binds.shape[0]):
            if weights.binds[term, label]:
                weight += weights.values.view(np.float64)[term, event]
        improve(target, to, weight, weights)
        return
    modulus = weights.modulus
    for channel in range(weights.channels):
        value = vectors[at + channel]
        if weights.kind == LEAST:
            if weights.binds[channel, label] and value != NO_MATCH:
                value = min(value, weights.values[channel, event])
            target[to + channel] = min(target[to + channel], value)
            continue
        if channel > 0 and weights.binds[channel - 1, label]:
            gained = vectors[at] * weights.values[channel - 1, event]
            value += gained % modulus if modulus > 0 else gained
        target[to + channel] += value
        if modulus > 0:
            target[to + channel] %= modulus
