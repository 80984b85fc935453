"""What all data sets are drawn with: times, Zipf weights, walks inside groups, and checks of the arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from eventide.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Tuesday, 2 January 2024, 14:30 UTC: the first bell of a trading year.
START_MICROSECONDS = 1_704_205_800_000_000
TIME_TYPE = pa.timestamp("us", tz="UTC")


def require_at_least(name: str, value: int, minimum: int) -> None:
    """Refuse an argument that is too small.

    >>> require_at_least("events", 0, 0)
    """
    if value < minimum:
        raise DataError("BAD_ARGUMENT", f"{name} is {value}.", hint=f"Give {minimum} or more.")


def require_share(name: str, value: float, *, open_interval: bool = False) -> None:
    """Refuse an argument that is not a share of one.

    >>> require_share("noise", 0.5)
    """
    inside = 0 < value < 1 if open_interval else 0 <= value <= 1
    if not inside:
        bounds = "a number above 0 and below 1" if open_interval else "a number from 0 to 1"
        raise DataError("BAD_ARGUMENT", f"{name} is {value}.", hint=f"Give {bounds}.")


def times(generator: np.random.Generator, events: int, mean_gap_milliseconds: int) -> NDArray[np.int64]:
    """Draw increasing event times in microseconds; gaps are whole milliseconds, so some events tie.

    >>> bool((np.diff(times(np.random.default_rng(1), 100, 10)) >= 0).all())
    True
    """
    gaps = generator.integers(0, 2 * mean_gap_milliseconds + 1, size=events, dtype=np.int64)
    return START_MICROSECONDS + np.cumsum(gaps, dtype=np.int64) * 1000


def time_column(microseconds: NDArray[np.int64]) -> pa.Array:
    """Return the times as an Arrow column.

    >>> str(time_column(np.array([0]))[0])
    '1970-01-01 00:00:00+00:00'
    """
    return pa.array(microseconds, type=pa.int64()).cast(TIME_TYPE)


def zipf_weights(count: int, skew: float) -> NDArray[np.float64]:
    """Return the weights of `count` choices, the i-th proportional to `1 / i ** skew`.

    >>> zipf_weights(2, 0.0).tolist()
    [0.5, 0.5]
    >>> zipf_weights(3, 1.0).round(3).tolist()
    [0.545, 0.273, 0.182]
    """
    if not 0 <= skew < float("inf"):
        raise DataError("BAD_ARGUMENT", f"skew is {skew}.", hint="Give 0 (all alike) or more (1 is already steep).")
    weights = np.arange(1, count + 1, dtype=np.float64) ** -skew
    return np.asarray(weights / weights.sum(), dtype=np.float64)


def draw(generator: np.random.Generator, count: int, skew: float, size: int) -> NDArray[np.int32]:
    """Draw `size` of `count` choices with Zipf weights; low numbers are the frequent ones.

    >>> draw(np.random.default_rng(1), 1, 0.0, 3).tolist()
    [0, 0, 0]
    """
    if skew == 0:
        return generator.integers(0, count, size=size, dtype=np.int32)
    edges = np.cumsum(zipf_weights(count, skew))
    found = np.searchsorted(edges, generator.random(size), side="right")
    return np.minimum(found, count - 1).astype(np.int32)


def running_sum_by_group(groups: NDArray[np.int32], steps: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return for each row the sum of the steps of its group up to and including it.

    >>> running_sum_by_group(np.array([0, 1, 0], np.int32), np.array([1.0, 5.0, 2.0])).tolist()
    [1.0, 5.0, 3.0]
    """
    order = np.argsort(groups, kind="stable")
    sums = np.cumsum(steps[order])
    first = np.flatnonzero(np.diff(groups[order], prepend=-1))
    before = np.concatenate(([0.0], sums))[first]
    lengths = np.diff(first, append=len(groups))
    result = np.empty_like(sums)
    result[order] = sums - np.repeat(before, lengths)
    return result


def dictionary_column(codes: NDArray[np.int32], names: list[str]) -> pa.Array:
    """Return a plain string column with the name of each code.

    >>> dictionary_column(np.array([1, 0], np.int32), ["A", "B"]).to_pylist()
    ['B', 'A']
    """
    return pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(names, type=pa.string())).cast(pa.string())
