"""Values as unsigned 64-bit coordinates that compare as the values do (Kammoun 2019, 3.7.1 asks for it and leaves open how).

Doubles follow Spark: NaN is the largest value and equal to itself, -0.0 equals 0.0. Strings compare by their code points, which
is the order of their UTF-8 bytes.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from eventide.compilation import inner_kernel

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Coordinates = npt.NDArray[np.uint64]

SIGN = np.uint64(1 << 63)
LOWEST = np.uint64(0)
HIGHEST = np.uint64((1 << 64) - 1)
NAN = np.float64(np.nan)


def encode_integers(values: npt.NDArray[np.int64]) -> Coordinates:
    """Return coordinates of integers or times.

    >>> encode_integers(np.array([-1, 0, 1])).tolist() == [2**63 - 1, 2**63, 2**63 + 1]
    True
    """
    return np.ascontiguousarray(values, np.int64).view(np.uint64) ^ SIGN


def decode_integers(coordinates: Coordinates) -> npt.NDArray[np.int64]:
    """Return the integers of `encode_integers`.

    >>> decode_integers(encode_integers(np.array([-5, 7]))).tolist()
    [-5, 7]
    """
    return (coordinates ^ SIGN).view(np.int64)


def encode_doubles(values: npt.NDArray[np.float64]) -> Coordinates:
    """Return coordinates of doubles.

    >>> codes = encode_doubles(np.array([-np.inf, -1.5, -0.0, 0.0, np.inf, np.nan]))
    >>> bool(codes[2] == codes[3]), (np.diff(codes[[0, 1, 2, 4, 5]].astype(object)) > 0).tolist()
    (True, [True, True, True, True])
    """
    unordered = np.isnan(values)
    # Adding zero makes -0.0 the positive one; the sign and payload of a NaN mean nothing to Spark.
    bits = np.where(unordered, NAN, np.where(unordered, 0.0, values) + 0.0).view(np.uint64)
    return np.where(bits & SIGN != 0, ~bits, bits ^ SIGN)


def decode_doubles(coordinates: Coordinates) -> npt.NDArray[np.float64]:
    """Return the doubles of `encode_doubles`.

    >>> decode_doubles(encode_doubles(np.array([-2.5, 0.25]))).tolist()
    [-2.5, 0.25]
    """
    bits = np.where(coordinates & SIGN != 0, coordinates ^ SIGN, ~coordinates)
    return np.ascontiguousarray(bits).view(np.float64)


@inner_kernel
def encode_integer(values, index):
    """Return the coordinate of one integer of an array."""
    return values.view(np.uint64)[index] ^ SIGN


@dataclass(frozen=True)
class StringDictionary:
    """Distinct strings in order; the coordinate of a string is its place.

    >>> dictionary = StringDictionary.of(["pear", "apple", "pear"])
    >>> dictionary.encode(["pear", "apple"]).tolist(), dictionary.decode(np.array([1]))
    ([1, 0], ['pear'])
    """

    values: tuple[str, ...]

    @classmethod
    def of(cls, values: Iterable[str]) -> StringDictionary:
        """Return the dictionary of the strings.

        >>> StringDictionary.of("cabbage").values
        ('a', 'b', 'c', 'e', 'g')
        """
        return cls(tuple(sorted(set(values))))

    def encode(self, values: Sequence[str]) -> Coordinates:
        """Return the coordinates of strings that the dictionary holds; a KeyError names one that it does not hold.

        >>> StringDictionary.of("ab").encode("ba").tolist()
        [1, 0]
        """
        places = {value: place for place, value in enumerate(self.values)}
        return np.array([places[value] for value in values], np.uint64)

    def decode(self, coordinates: Coordinates) -> list[str]:
        """Return the strings at the coordinates.

        >>> StringDictionary.of("ab").decode(np.array([0, 0], np.uint64))
        ['a', 'a']
        """
        return [self.values[place] for place in coordinates]

    def between(self, value: str) -> tuple[int, int]:
        """Return how many strings are below a string, held or not, and how many are at most it.

        >>> StringDictionary.of("bd").between("c"), StringDictionary.of("bd").between("d")
        ((1, 1), (1, 2))
        """
        return bisect_left(self.values, value), bisect_right(self.values, value)

    def extended(self, values: Iterable[str]) -> tuple[StringDictionary, Coordinates]:
        """Return a dictionary that holds further strings, and the new coordinate of each old one.

        >>> larger, moved = StringDictionary.of("bd").extended("ac")
        >>> larger.values, moved.tolist()
        (('a', 'b', 'c', 'd'), [1, 3])
        """
        larger = StringDictionary.of([*self.values, *values])
        return larger, larger.encode(self.values)
