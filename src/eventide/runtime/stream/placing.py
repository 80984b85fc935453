"""Where the slices of a bucket go: to different tasks of Spark, as far as there are enough.

Spark sends a bucket to the task that a hash of its number names. A bucket keeps its own number, whatever slices there are: so its
state is always found, and can be refused when it was made for another number of them. The other slices are given numbers whose
hashes follow that of the bucket one by one.
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
def slice_numbers(buckets: int, sliced: tuple[int, ...], slices: int) -> dict[tuple[int, int], int]:
    """Return a number for every slice but the first of some of the buckets, which have the numbers below `buckets`.

    >>> sorted(slice_numbers(16, (3,), 3))
    [(3, 1), (3, 2)]
    """
    wanted = [(bucket, number) for bucket in sliced for number in range(1, slices)]
    first = spark_hash(np.array([bucket for bucket, _ in wanted], np.int64))
    behind = (first + np.array([number for _, number in wanted], np.int64)) % PLACES
    room = CANDIDATES
    while True:
        candidates = np.arange(buckets, buckets + room)
        remainders = spark_hash(candidates) % PLACES
        order = np.argsort(remainders, kind="stable")
        begins = np.searchsorted(remainders[order], np.arange(PLACES + 1))
        # Several slices may ask for the same remainder; each takes the next number that has it.
        turn = _turns(behind)
        if (begins[behind] + turn < begins[behind + 1]).all():
            return dict(zip(wanted, candidates[order[begins[behind] + turn]].tolist(), strict=True))
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
