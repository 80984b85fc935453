"""Doubles as integers in the same order, so that what compares integers compares doubles as well."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def to_ordered(doubles: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Return integers in the order of doubles: both zeros are one, NaN is above all.

    >>> np.argsort(to_ordered(np.array([np.nan, 1.0, -2.0, 0.5]))).tolist()
    [2, 3, 1, 0]
    """
    return _flipped(np.where(np.isnan(doubles), np.nan, doubles + 0.0).view(np.int64))


def from_ordered(integers: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Return the doubles that integers of `to_ordered` stand for.

    >>> from_ordered(to_ordered(np.array([-1.5, 2.0]))).tolist()
    [-1.5, 2.0]
    """
    return _flipped(integers).view(np.float64)


def _flipped(bits: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    # Negative doubles count down in their bits.
    return np.where(bits < 0, bits ^ np.int64(0x7FFF_FFFF_FFFF_FFFF), bits)
