"""Random streams: few types, few values, ties, nulls and NaN."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from harness.kinds.sequences.patterns import NOISE, TYPES, sample_types

if TYPE_CHECKING:
    from random import Random

    from eventide.pattern import Pattern

Row = dict[str, Any]
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("case_id", pa.int32()),
        ("time", pa.int64()),
        ("tie", pa.int32()),
        ("stream", pa.string()),
        ("type", pa.string()),
        ("k", pa.int64()),
        ("v", pa.int64()),
        ("w", pa.float64()),
        ("s", pa.string()),
        ("ok", pa.bool_()),
        ("m", pa.int64()),
        ("f", pa.float64()),
    ]
)


def make_stream(rng: Random, pattern: Pattern, case: int, first_id: int, longest: int) -> list[Row]:
    """Return the events of one stream, in the order of arrival; `m` and `f` never decrease in the order of time."""
    size = rng.randint(3, longest)
    if rng.random() < 0.6:
        types = sample_types(rng, pattern)[:size]
        while len(types) < size:
            types.insert(rng.randint(0, len(types)), rng.choice((*TYPES, NOISE)))
    else:
        types = [rng.choice((*TYPES, *TYPES, NOISE)) for _ in range(size)]
    now, measured = rng.randint(-3, 5), rng.randint(0, 3)
    plain = rng.random() < 0.4
    rows = []
    for number, kind in enumerate(types):
        now += rng.choice((0, 1, 1, 2, 3))
        measured += rng.choice((0, 1, 1, 2))
        rows.append(
            {
                "id": first_id + number,
                "case_id": case,
                "time": None if rng.random() < 0.01 else now,
                "tie": rng.choice((None, 0, 1, 2)),
                "stream": rng.choice(("S1", "S2")),
                "type": kind,
                "k": rng.choice((1, 1, 2)) if plain else rng.choice((1, 1, 2, None)),
                "v": rng.choice((0, 1, 2, 3)) if plain else rng.choice((0, 1, 1, 2, 2, 3, None)),
                "w": rng.choice((0.5, 1.0, 1.5, 2.0)) if plain else rng.choice((-0.0, 0.0, 1.0, 1.5, 2.5, math.nan, None)),
                "s": rng.choice(("p", "p", "q")) if plain else rng.choice(("p", "q", "", None)),
                "ok": rng.choice((True, True, False)) if plain else rng.choice((True, False, None)),
                "m": measured,
                "f": measured / 2,
            }
        )
    return rows


def in_time_order(rows: list[Row], *, tie_break: bool) -> list[Row]:
    """Return rows whose `m` and `f` never decrease in the order of the stream, whatever the order of ties is."""
    measures = sorted(((row["m"], row["f"]) for row in rows), key=lambda pair: pair[0])
    order = sorted(
        range(len(rows)),
        key=lambda index: (
            rows[index]["time"] is not None,
            rows[index]["time"] or 0,
            (rows[index]["tie"] is not None, rows[index]["tie"] or 0) if tie_break else (),
        ),
    )
    place = {index: rank for rank, index in enumerate(order)}
    return [{**row, "m": measures[place[index]][0], "f": measures[place[index]][1]} for index, row in enumerate(rows)]


def as_table(rows: list[Row], *, timestamps: bool) -> pa.Table:
    """Return the rows as an Arrow table; `timestamps` turns the times into seconds since the epoch."""
    table = pa.Table.from_pylist(rows, schema=SCHEMA)
    if timestamps:
        moments = [as_timestamp(row["time"]) for row in rows]
        place = table.schema.get_field_index("time")
        table = table.set_column(place, "time", pa.array(moments, pa.timestamp("us", "UTC")))
    return table


def as_timestamp(time: int | None) -> datetime | None:
    """Return a time as a timestamp."""
    return None if time is None else EPOCH + timedelta(seconds=time)


def make_events(
    rng: Random, pattern: Pattern, streams: int, longest: int, *, tie_break: bool, by_case: bool
) -> list[Row]:
    """Return the events of several streams, in random order of arrival."""
    rows: list[Row] = []
    for case in range(streams):
        stream = make_stream(rng, pattern, case, len(rows), longest + (0 if by_case else 2))
        rng.shuffle(stream)
        rows += in_time_order(stream, tie_break=tie_break)
    if by_case and rng.random() < 0.5:
        # Streams interleaved; inside a stream the order of arrival stays.
        order = sorted(range(len(rows)), key=lambda index: (rng.random(), index))
        cases = [rows[index]["case_id"] for index in order]
        waiting = {case: iter([row for row in rows if row["case_id"] == case]) for case in set(cases)}
        rows = [next(waiting[case]) for case in cases]
    return rows


def disordered(rng: Random, rows: list[Row], bound: int, *, tie_break: bool) -> list[Row]:
    """Return rows in an order of arrival in which none is later than the bound."""
    delayed = [(0 if row["time"] is None else row["time"] + rng.randint(0, bound), rng.random(), row) for row in rows]
    arrived = [row for _, _, row in sorted(delayed, key=lambda item: item[:2])]
    # The attributes that windows measure by must not decrease, also not between events of one time that changed places.
    for case in {row["case_id"] for row in rows}:
        places = [place for place, row in enumerate(arrived) if row["case_id"] == case]
        for place, row in zip(places, in_time_order([arrived[place] for place in places], tie_break=tie_break), strict=True):
            arrived[place] = row
    return arrived
