"""The identity of a match: 128 bits made of its events and variables, the same in every process."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_SEEDS = np.array([[0x9E3779B97F4A7C15], [0xC2B2AE3D27D4EB4F]], np.uint64)
"""One for each half of an identity."""


def text_code(texts: Iterable[str]) -> np.uint64:
    """Return 64 bits that stand for some texts."""
    return np.uint64(int.from_bytes(blake2b("\0".join(texts).encode(), digest_size=8).digest(), "little"))


def mixed(values: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Scatter the bits of numbers over all of their 64 bits; arrays wrap around without a warning."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def combined(columns: Sequence[npt.NDArray[np.int64]]) -> npt.NDArray[np.int64]:
    """Return one number for the numbers of each row, whose order counts."""
    total = np.zeros(len(columns[0]), np.uint64)
    for column in columns:
        total = mixed(total * np.uint64(31) + column.view(np.uint64) + _SEEDS[0])
    return total.view(np.int64)


def identities(
    fixed: Iterable[npt.NDArray[np.int64]],
    offset: npt.NDArray[np.int64],
    members: npt.NDArray[np.int64],
    codes: npt.NDArray[np.uint64],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return two numbers for each match, of columns that it has one of and of its members with their codes.

    Members with the code 0 do not count. They may come in any order.
    """
    terms = mixed(mixed(members.view(np.uint64) + _SEEDS) ^ codes)
    terms[:, codes == 0] = 0
    sums = np.zeros((len(_SEEDS), len(members) + 1), np.uint64)
    np.cumsum(terms, axis=1, out=sums[:, 1:])
    total = sums[:, offset[1:]] - sums[:, offset[:-1]] + _SEEDS
    for column in fixed:
        total = mixed(total + mixed(column.astype(np.int64).view(np.uint64) ^ _SEEDS))
    high, low = total.view(np.int64)
    return high, low


def hashed_bytes(offsets: npt.NDArray[np.int64], data: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint64]:
    """Return 64 bits for each text, given where the bytes of each begin and end.

    >>> one, other, same = hashed_bytes(np.array([0, 2, 4, 6]), np.frombuffer(b"abbaab", np.uint8))
    >>> bool(one == same), bool(one == other)
    (True, False)
    """
    lengths = np.diff(offsets)
    place = np.arange(len(data)) - np.repeat(offsets[:-1] - offsets[0], lengths)
    # A byte counts by its place, so that the sum tells texts of the same bytes apart.
    terms = mixed((place.astype(np.uint64) << np.uint64(8)) + data.astype(np.uint64) + _SEEDS[0])
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(terms, dtype=np.uint64)])
    ends = np.cumsum(lengths)
    return mixed(sums[ends] - sums[ends - lengths] + mixed(lengths.astype(np.uint64) + _SEEDS[1]))


def hex_digits(high: npt.NDArray[np.int64], low: npt.NDArray[np.int64]) -> bytes:
    """Return 128 bits each as 32 hexadecimal digits, one behind the other.

    >>> hex_digits(np.array([1, -1]), np.array([2, 3]))[:32]
    b'00000000000000010000000000000002'
    """
    return np.stack([high, low], axis=1).astype(">i8").tobytes().hex().encode()
