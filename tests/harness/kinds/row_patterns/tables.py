"""Random tables: few values, ties, nulls, and walks in which neighbouring rows compare."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    from random import Random

Row = dict[str, Any]
EPOCH = datetime(2024, 1, 1, tzinfo=UTC)

SCHEMA = pa.schema(
    [
        ("case_id", pa.int32()),
        ("id", pa.int64()),
        ("k", pa.int32()),
        ("g", pa.string()),
        ("t", pa.int64()),
        ("u", pa.int16()),
        ("ts", pa.timestamp("us", "UTC")),
        ("day", pa.date32()),
        ("v", pa.int64()),
        ("w", pa.float64()),
        ("d", pa.decimal128(8, 2)),
        ("s", pa.string()),
        ("ok", pa.bool_()),
    ]
)
COLUMNS = SCHEMA.names


def make_rows(rng: Random, case: int, longest: int) -> list[Row]:
    """Return the rows of one table in the order of arrival."""
    chance = rng.random()
    size = rng.choice((0, 1, 2)) if chance < 0.06 else rng.randint(2, longest if chance < 0.2 else min(longest, 9))
    plain = rng.random() < 0.4
    keys = rng.choice(((1,), (1,), (1, 2), (1, None), (None, 1, 2)))
    groups = rng.choice((("x",), ("x", "y"), ("x", None)))
    doubles = (-1.5, -0.5, 0.0, 0.5, 1.0, 1.5, 2.5) if rng.random() < 0.85 else (-0.0, 0.0, 1.0, math.nan)
    walks = rng.random() < 0.5
    time, value, seconds = rng.randint(0, 3), rng.randint(0, 4), 0
    rows: list[Row] = []
    for number in range(size):
        time += rng.choice((0, 1, 1, 2)) if plain else rng.choice((-2, 0, 0, 1, 2))
        seconds += rng.choice((0, 1, 1, 2, 3)) if plain else rng.choice((-1, 0, 1, 2, 3))
        value = max(0, value + rng.choice((-1, -1, 0, 1, 1))) if walks else rng.choice((0, 1, 2, 3, 4))
        missing = not plain and rng.random() < 0.3
        rows.append(
            {
                "case_id": case,
                "id": number,
                "k": rng.choice(keys),
                "g": rng.choice(groups),
                "t": None if missing and rng.random() < 0.2 else time,
                "u": None if missing and rng.random() < 0.3 else rng.randint(-1, 3),
                "ts": None if missing and rng.random() < 0.2 else EPOCH + timedelta(seconds=seconds),
                "day": None if missing and rng.random() < 0.2 else (EPOCH + timedelta(days=seconds)).date(),
                "v": None if missing and rng.random() < 0.5 else value,
                "w": None if missing and rng.random() < 0.5 else rng.choice(doubles),
                "d": None if missing and rng.random() < 0.5 else Decimal(rng.choice(("-1.50", "0.00", "0.50", "1.00", "2.25"))),
                "s": None
                if missing and rng.random() < 0.5
                else rng.choice(("p", "q", "q", "", "A", "Bb", "é", "\U0001f600", "\uffee")),
                "ok": None if missing and rng.random() < 0.5 else rng.random() < 0.6,
            }
        )
    return rows


def interleaved(rng: Random, tables: list[list[Row]]) -> list[Row]:
    """Return the rows of all tables in one, mixed; inside a table the order of arrival stays."""
    order = [number for number, rows in enumerate(tables) for _ in rows]
    rng.shuffle(order)
    waiting = [iter(rows) for rows in tables]
    return [next(waiting[number]) for number in order]


def as_table(rows: list[Row]) -> pa.Table:
    """Return rows as an Arrow table."""
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def late_rows(rng: Random, tables: int, longest: int, *, days: bool) -> tuple[list[Row], int]:
    """Return the rows of several tables in the order of arrival, and by how many microseconds they may be late."""
    slack = rng.choice((0, 0, 1, 2, 4, 8))
    arrivals: list[tuple[float, int, Row]] = []
    for case in range(tables):
        shift = rng.randint(0, 20)
        previous = 0
        for row in make_rows(rng, case, longest):
            seconds = previous if row["ts"] is None else int((row["ts"] - EPOCH).total_seconds()) + shift
            previous = seconds
            timed = {**row, "ts": EPOCH + timedelta(seconds=seconds), "day": (EPOCH + timedelta(days=seconds)).date()}
            arrivals.append((seconds + rng.random() * slack, len(arrivals), timed))
    ordered = [row for _, _, row in sorted(arrivals, key=lambda item: item[:2])]
    return ordered, slack * (86_400_000_000 if days else 1_000_000)
