"""Streams of events that are little more than a type: A, B, C and noise.

`s1`, `s2` and `s3` have the shapes that the CORE experiments use: each ends in one C that completes all matches at once.
"""

from __future__ import annotations

from string import ascii_uppercase
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from eventide.datasets.drawing import (
    START_MICROSECONDS,
    dictionary_column,
    draw,
    require_at_least,
    require_share,
    time_column,
    times,
    zipf_weights,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

TYPES_THAT_MATTER = 3


def abc(
    events: int,
    keys: int = 1,
    seed: int = 0,
    *,
    types: int = 16,
    noise: float | None = None,
    type_skew: float = 0.0,
    key_skew: float = 0.0,
    mean_gap_ms: int = 10,
) -> pa.Table:
    """Generate events of `types` types, of which A, B and C matter and the others are noise.

    `noise` is the share of events that are neither A, B nor C; without it all types are drawn by their Zipf weights (`type_skew`
    0 makes them equally frequent). `key_skew` above 0 gives a few hot keys.

    >>> table = abc(1000, keys=5, types=16, noise=0.9, seed=1)
    >>> table.column_names
    ['ts', 'seq', 'kind', 'key', 'value']
    """
    require_at_least("events", events, 0)
    require_at_least("keys", keys, 1)
    require_at_least("types", types, TYPES_THAT_MATTER)
    require_at_least("mean_gap_ms", mean_gap_ms, 0)
    generator = np.random.default_rng(seed)
    event_times = times(generator, events, mean_gap_ms)
    edges = np.cumsum(_type_weights(types, noise, type_skew))
    kind = np.minimum(np.searchsorted(edges, generator.random(events), side="right"), types - 1).astype(np.int32)
    return pa.table(
        {
            "ts": time_column(event_times),
            "seq": pa.array(np.arange(events, dtype=np.int64)),
            "kind": dictionary_column(kind, [_type_name(number) for number in range(types)]),
            "key": pa.array(draw(generator, keys, key_skew, events).astype(np.int64)),
            "value": pa.array(generator.integers(0, 1000, size=events, dtype=np.int64)),
        }
    )


def _type_weights(types: int, noise: float | None, skew: float) -> NDArray[np.float64]:
    if noise is None:
        return zipf_weights(types, skew)
    require_share("noise", noise)
    if types == TYPES_THAT_MATTER:
        return zipf_weights(types, skew)
    matter = zipf_weights(TYPES_THAT_MATTER, skew) * (1 - noise)
    return np.concatenate((matter, zipf_weights(types - TYPES_THAT_MATTER, skew) * noise))


def _type_name(number: int) -> str:
    return ascii_uppercase[number] if number < len(ascii_uppercase) else f"T{number}"


def s1(n: int, seed: int = 0) -> pa.Table:
    """Generate n times A, then n times B, then C.

    >>> "".join(s1(3)["kind"].to_pylist())
    'AAABBBC'
    """
    require_at_least("n", n, 0)
    return _shape(np.repeat(np.array([0, 1, 2], dtype=np.int32), [n, n, 1]), seed)


def s2(n: int, seed: int = 0) -> pa.Table:
    """Generate A, then n times B, then C.

    >>> "".join(s2(3)["kind"].to_pylist())
    'ABBBC'
    """
    require_at_least("n", n, 0)
    return _shape(np.repeat(np.array([0, 1, 2], dtype=np.int32), [1, n, 1]), seed)


def s3(n: int, seed: int = 0) -> pa.Table:
    """Generate n pairs of A and B, then C.

    >>> "".join(s3(3)["kind"].to_pylist())
    'ABABABC'
    """
    require_at_least("n", n, 0)
    return _shape(np.append(np.tile(np.array([0, 1], dtype=np.int32), n), np.int32(2)), seed)


def _shape(kind: NDArray[np.int32], seed: int) -> pa.Table:
    events = len(kind)
    positions = np.arange(events, dtype=np.int64)
    return pa.table(
        {
            "ts": time_column(START_MICROSECONDS + positions * 1_000_000),
            "seq": pa.array(positions),
            "kind": dictionary_column(kind, ["A", "B", "C"]),
            "id": pa.array(np.random.default_rng(seed).integers(1, 4, size=events, dtype=np.int64)),
        }
    )
