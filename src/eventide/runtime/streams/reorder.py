"""The reorder buffer: events wait until no earlier one can come (K-slack, Li 2010, 4.5.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from eventide.records import record
from eventide.runtime.relational.arrays import arrow_array, numpy_values
from eventide.runtime.relational.functions import take
from eventide.runtime.stage.ordering import to_ordered

if TYPE_CHECKING:
    from collections.abc import Sequence

MOST_RUNS = 64
"""More of them are joined."""


@record
class OrderKey:
    """A column to sort by."""

    name: str
    descending: bool = False
    nulls_first: bool = True


def sorted_rows(table: pa.Table, keys: Sequence[OrderKey]) -> npt.NDArray[np.int64]:
    """Return the rows of a table in order; doubles sort as in Spark, NaN above all.

    >>> sorted_rows(pa.table({"t": [3, 1, None]}), [OrderKey("t")]).tolist()
    [2, 1, 0]
    """
    columns: list[tuple[pa.Array, bool]] = []
    for key in keys:
        column = table.column(key.name).combine_chunks()
        if column.null_count:
            columns.append((pc.is_null(column).cast(pa.int8()), key.nulls_first))
        if pa.types.is_floating(column.type):
            doubles = column.cast(pa.float64()).fill_null(0.0).to_numpy(zero_copy_only=False)
            column = pa.array(to_ordered(doubles))
        columns.append((column, key.descending))
    if all(pa.types.is_integer(column.type) and not column.null_count and not falls for column, falls in columns):
        return np.lexsort([numpy_values(column) for column, _ in reversed(columns)])
    names = [f"c{number}" for number in range(len(columns))]
    order = [(name, "descending" if falls else "ascending") for name, (_, falls) in zip(names, columns, strict=True)]
    table = pa.table([column for column, _ in columns], names=names)
    return np.asarray(pc.sort_indices(table, sort_keys=order)).astype(np.int64)


class _Run(NamedTuple):
    """Events that came together in the order of their times."""

    rows: pa.Table
    clock: npt.NDArray[np.int64]
    begin: int


class ReorderBuffer:
    """Events that are not yet behind the watermark, in runs that rise with time: what leaves a run is its beginning."""

    def __init__(self, clock: str, order: Sequence[OrderKey]) -> None:
        self._clock = clock
        self._order = tuple(order)
        self._runs: list[_Run] = []
        self._empty: pa.Table | None = None

    @property
    def waiting(self) -> pa.Table | None:
        """All events that wait; None before the first ones."""
        if not self._runs:
            return self._empty
        if len(self._runs) > 1:
            self._runs = self._joined(self._runs)
        return self._runs[0].rows

    @waiting.setter
    def waiting(self, rows: pa.Table | None) -> None:
        self._empty = None if rows is None else rows.slice(0, 0)
        self._runs = [self._run(rows)] if rows is not None and rows.num_rows else []

    def release(self, fresh: pa.Table, watermark: int) -> pa.Table:
        """Take events and return those below the watermark in their order; one equal to it may still get an equal before it."""
        if self._empty is None:
            self._empty = fresh.slice(0, 0)
        if fresh.num_rows:
            self._runs.append(self._run(fresh))
        ready, waiting = [], []
        for run in self._runs:
            if run.begin >= watermark:
                waiting.append(run)
                continue
            passed = int(run.clock.searchsorted(watermark))
            ready.append(run.rows.slice(0, passed))
            if passed < len(run.clock):
                waiting.append(_Run(run.rows.slice(passed), run.clock[passed:], int(run.clock[passed])))
        self._runs = waiting if len(waiting) <= MOST_RUNS else self._joined(waiting)
        return self.ordered(pa.concat_tables(ready)) if ready else self._empty

    def _joined(self, runs: list[_Run]) -> list[_Run]:
        return [self._run(pa.concat_tables([run.rows for run in runs]))]

    def _run(self, rows: pa.Table) -> _Run:
        rows = rows.combine_chunks()
        clock = numpy_values(rows.column(self._clock))
        if (clock[1:] < clock[:-1]).any():
            places = np.argsort(clock, kind="stable")
            rows, clock = take(rows, arrow_array(places)), clock[places]
        return _Run(rows, clock, int(clock[0]))

    def ordered(self, table: pa.Table) -> pa.Table:
        """Return a table in the order of its events."""
        table = table.combine_chunks()
        if table.num_rows < 2:
            return table
        places = sorted_rows(table, self._order)
        return table if (places[1:] > places[:-1]).all() else take(table, arrow_array(places))
