"""Small random tables: a partition key, a row number, a time, and values that often repeat and are sometimes null.

Those of the harness have ties, NaN, decimals and missing times, on which peers need not agree.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from random import Random
from typing import Any

import pyarrow as pa

COLUMNS = (("k", "bigint"), ("id", "bigint"), ("ts", "timestamp"), ("x", "bigint"), ("y", "bigint"), ("d", "double"), ("s", "string"))
ARROW_TYPES = {"bigint": pa.int64(), "double": pa.float64(), "string": pa.string(), "timestamp": pa.timestamp("us")}
BEGIN = datetime(2024, 1, 1)  # noqa: DTZ001 - no engine is asked about time zones here

Row = dict[str, Any]


def make_rows(rng: Random, partitions: int, longest: int, *, nulls: float = 0.1) -> list[Row]:
    """Make the rows of a table, in random order; no two rows of a partition have the same time."""
    rows = []
    number = 0
    for key in range(partitions):
        time, letter = BEGIN, rng.choice("abc")
        for _ in range(rng.randint(1, longest)):
            time += timedelta(seconds=rng.randint(1, 3))
            number += 1
            # Half of the rows go on in the alphabet, so that sequences of letters are found.
            letter = "bca"["abc".index(letter)] if rng.random() < 0.5 else rng.choice("abc")
            x = None if rng.random() < nulls else rng.randint(0, 5)
            row = {"k": key, "id": number, "ts": time, "x": x, "y": rng.randint(0, 3), "d": rng.randint(0, 8) / 2, "s": letter}
            rows.append(row)
    rng.shuffle(rows)
    return rows


def as_json(rows: list[Row]) -> list[list[Any]]:
    """Return rows as the peers read them."""
    return [[value.isoformat(sep=" ") if isinstance(value, datetime) else value for value in row.values()] for row in rows]


def as_table(rows: list[Row]) -> pa.Table:
    """Return rows as our engine reads them."""
    return pa.table({name: pa.array([row[name] for row in rows], ARROW_TYPES[kind]) for name, kind in COLUMNS})
