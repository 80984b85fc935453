"""Which numbers buckets and their slices have on Spark, so that its tasks share them evenly.

Spark sends a number to the task that a hash of it names. Small numbers hashed as they are leave tasks idle: of 16 buckets and 8
tasks one gets none and another twice its share. So places are given numbers whose hashes follow each other one by one. The number
of a bucket depends on nothing else: so its state is always found, and can be refused when it was made for other settings.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt

PLACES = 14_400
"""Hashes follow each other modulo this, and so modulo all of its divisors: most numbers of tasks that people choose."""
CANDIDATES = 1 << 18
_SEED = 42


@cache
def place_numbers(buckets: int, sliced: tuple[int, ...], slices: int) -> dict[tuple[int, int], int]:
    """Return a number for every bucket and slice of it: one slice, or `slices` of some of the buckets.

    >>> sorted(place_numbers(2, (1,), 3))
    [(0, 0), (1, 0), (1, 1), (1, 2)]
    """
    # The buckets come first, so that each has the same number whatever there is beside it.
    wanted = [(bucket, 0) for bucket in range(buckets)] + [(bucket, part) for part in range(1, slices) for bucket in sliced]
    remainders = np.array([bucket + part for bucket, part in wanted], np.int64) % PLACES
    turns = _turns(remainders)
    room = CANDIDATES
    while True:
        candidates = np.arange(room)
        hashes = spark_hash(candidates) % PLACES
        order = np.argsort(hashes, kind="stable")
        begins = np.searchsorted(hashes[order], np.arange(PLACES + 1))
        # Several places may ask for the same remainder; each takes the next number that has it.
        if (begins[remainders] + turns < begins[remainders + 1]).all():
            return dict(zip(wanted, candidates[order[begins[remainders] + turns]].tolist(), strict=True))
        room *= 2


def _turns(values: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return for each value how many equal ones stand before it."""
    seen: dict[int, int] = {}
    turns = []
    for value in values.tolist():
        turns.append(seen.get(value, 0))
        seen[value] = turns[-1] + 1
    return np.array(turns, np.int64)


def spark_hash(numbers: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return what Spark's `hash` says of integers; partitions are its remainders.

    >>> spark_hash(np.array([0, 1])).tolist()
    [933211791, -559580957]
    """
    with np.errstate(over="ignore"):
        mixed = numbers.astype(np.uint32) * np.uint32(0xCC9E2D51)
        mixed = _rotated(mixed, 15) * np.uint32(0x1B873593)
        mixed = _rotated(mixed ^ np.uint32(_SEED), 13) * np.uint32(5) + np.uint32(0xE6546B64)
        mixed ^= np.uint32(4)
        mixed = (mixed ^ (mixed >> np.uint32(16))) * np.uint32(0x85EBCA6B)
        mixed = (mixed ^ (mixed >> np.uint32(13))) * np.uint32(0xC2B2AE35)
        mixed ^= mixed >> np.uint32(16)
    return mixed.view(np.int32).astype(np.int64)


def _rotated(values: npt.NDArray[np.uint32], bits: int) -> npt.NDArray[np.uint32]:
    return (values << np.uint32(bits)) | (values >> np.uint32(32 - bits))
