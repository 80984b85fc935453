"""A file as an endless or finite sequence of rows in the order of their arrival; equal settings give equal rows."""

from __future__ import annotations

import hashlib
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eventide.errors import DataError, did_you_mean
from eventide.sources.disorder import disordered
from eventide.sources.files import parse_times, read_table
from eventide.sources.plain_types import plain_table
from eventide.sources.settings import FOREVER, FORMAT_OPTION, ReplaySettings, distance

if TYPE_CHECKING:
    from numpy.typing import NDArray

MICROSECONDS_A_DAY = 86_400_000_000


class Recording:
    """The rows of a file in the order of their arrival, by number, over all rounds and with the end marker."""

    def __init__(self, settings: ReplaySettings) -> None:
        self.settings = settings
        self.table = _read(settings)
        self.rows_a_round: int = self.table.num_rows
        self._order = lru_cache(maxsize=4)(self._order_of_round)
        if settings.time is not None:
            self._read_times(settings.time)
        # What cannot be given is refused before the first row, not in the middle of a stream.
        self._order(0)

    def _read_times(self, column: str) -> None:
        kind = self.table.schema.field(column).type
        if not (pa.types.is_timestamp(kind) or pa.types.is_date32(kind) or pa.types.is_integer(kind)):
            raise DataError(
                "BAD_TIME_COLUMN",
                f"The time column {column} of {self.settings.path} is {kind}.",
                hint="Use a timestamp, a date or whole numbers.",
            )
        numbers = self._numbers(self.table)
        self._timed = np.asarray(pc.is_valid(numbers))
        self._times: NDArray[np.int64] = np.asarray(pc.fill_null(numbers, 0), dtype=np.int64)
        known = self._times[self._timed]
        self._whole_numbers = pa.types.is_integer(kind)
        self._unit = MICROSECONDS_A_DAY if pa.types.is_date32(kind) else 1
        self._last = int(known.max()) if len(known) else 0
        span = self._last - int(known.min()) if len(known) else 0
        # The next round goes on where an event is to be expected, so that rounds look like one long file.
        self._period = span + max(1, round(span / max(1, len(known) - 1)))

    def _distance(self, name: str, text: str) -> int:
        return max(1, distance(name, text, whole_numbers=self._whole_numbers) // self._unit)

    @property
    def total(self) -> int | None:
        """The number of rows, or None when there is no end."""
        if self.settings.repeat == FOREVER and self.rows_a_round:
            return None
        return self.rows_a_round * self.settings.repeat + (self.settings.end_marker is not None)

    def rows(self, start: int, end: int) -> pa.Table:
        """Return the rows from one number up to, not including, another."""
        last = self.rows_a_round * (self.settings.repeat or end)
        parts = [self._marker()] if start <= last < end and self.settings.end_marker is not None else []
        stop = min(end, last)
        pieces = []
        while start < stop:
            round_number, place = divmod(start, self.rows_a_round)
            count = min(stop - start, self.rows_a_round - place)
            pieces.append(self._shifted(self.table.take(self._order(round_number)[place : place + count]), round_number))
            start += count
        return pa.concat_tables([self.table.slice(0, 0), *pieces, *parts])

    def _order_of_round(self, round_number: int) -> NDArray[np.int64]:
        if self.settings.time is None:
            return np.arange(self.rows_a_round)
        settings = self.settings
        timed = np.flatnonzero(self._timed)
        bound = 1 if settings.bound is None else self._distance("bound", settings.bound)
        arrivals = timed[disordered(self._times[timed], settings.disorder / 100, bound, [settings.seed, round_number])]
        if len(timed) == self.rows_a_round:
            return arrivals
        # A row without a time comes right behind the one that it follows in the file.
        rank = np.empty(self.rows_a_round, dtype=np.int64)
        rank[arrivals] = np.arange(len(arrivals))
        followed = np.maximum.accumulate(np.where(self._timed, np.arange(self.rows_a_round), -1))
        rank[~self._timed] = np.where(followed[~self._timed] < 0, -1, rank[followed[~self._timed]])
        return np.lexsort((np.arange(self.rows_a_round), ~self._timed, rank))

    def _shifted(self, table: pa.Table, round_number: int) -> pa.Table:
        if self.settings.time is None or round_number == 0:
            return table
        return self._with_times(table, pc.add(self._numbers(table), pa.scalar(round_number * self._period, pa.int64())))

    def _marker(self) -> pa.Table:
        assert self.settings.end_marker is not None
        end = self._last + (self.settings.repeat - 1) * self._period + self._distance("end_marker", self.settings.end_marker)
        empty = pa.table({field.name: pa.nulls(1, field.type) for field in self.table.schema})
        return self._with_times(empty, pa.chunked_array([pa.array([end], pa.int64())]))

    def _numbers(self, table: pa.Table) -> pa.ChunkedArray:
        column = table[self.settings.time]
        return (column.cast(pa.int32()) if pa.types.is_date32(column.type) else column).cast(pa.int64())

    def _with_times(self, table: pa.Table, numbers: pa.ChunkedArray) -> pa.Table:
        place = table.column_names.index(self.settings.time)
        field = table.schema.field(place)
        times = (numbers.cast(pa.int32()) if pa.types.is_date32(field.type) else numbers).cast(field.type)
        return table.set_column(place, field, times)

    @cached_property
    def fingerprint(self) -> str:
        """A name for these rows in this order: a stream that goes on must go on with the same."""
        settings = self.settings
        place = Path(settings.path)
        digest = hashlib.sha256(repr((settings.time, settings.disorder, settings.bound, settings.seed)).encode())
        for file in sorted(place.rglob("*")) if place.is_dir() else [place]:
            if file.is_file():
                with file.open("rb") as content:
                    digest.update(hashlib.file_digest(content, "sha256").digest())
        return digest.hexdigest()[:16]


def _read(settings: ReplaySettings) -> pa.Table:
    table = read_table(settings.path, settings.file_format, FORMAT_OPTION)
    if settings.time is None:
        return plain_table(table, settings.path)
    if settings.time not in table.column_names:
        raise DataError(
            "MISSING_COLUMN",
            f"{settings.path} has no column {settings.time} for the time.",
            hint=did_you_mean(settings.time, table.column_names),
        )
    return parse_times(plain_table(table, settings.path), settings.time, settings.path)
