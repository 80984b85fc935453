"""The rows that partitions hold, in the order of their partitions, without moving all of them whenever some come and go."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from eventide.records import record
from eventide.runtime.relational.arrays import arrow_array, numpy_values
from eventide.runtime.relational.functions import take
from eventide.runtime.relational.held_rows import HeldRows

if TYPE_CHECKING:
    import numpy.typing as npt
    import pyarrow as pa

MOST_DEAD = 4_096
"""Rows that nobody asks for any more may be so many, or as many as there are others."""


@record
class PlacedRows:
    """Rows, by the places that they have in a table."""

    table: pa.Table
    places: npt.NDArray[np.int64]

    def taken(self, rows: npt.NDArray[np.int64]) -> pa.Table:
        """Return some of the rows."""
        return take(self.table, arrow_array(self.places[rows]))

    def numbers(self, name: str, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return a column of whole numbers of some rows."""
        numbers: npt.NDArray[np.int64] = numpy_values(self.table.column(name))[self.places[rows]]
        return numbers


class RowHolder:
    """Holds rows: new ones go behind all others, and what is let go leaves the table only now and then."""

    def __init__(self) -> None:
        self._held = HeldRows()
        self._places = np.zeros(0, np.int64)

    def __len__(self) -> int:
        return len(self._places)

    def with_behind(self, fresh: pa.Table) -> PlacedRows:
        """Return what is held with rows behind it; they are held themselves once they are kept."""
        before = 0 if self._held.table is None else self._held.table.num_rows
        table = self._held.add(fresh)
        return PlacedRows(table, np.concatenate([self._places, np.arange(before, table.num_rows)]))

    def keep(self, rows: PlacedRows, kept: npt.NDArray[np.int64] | None = None) -> None:
        """Hold these rows, or some of them in another order, and let all others go."""
        self._places = rows.places if kept is None else rows.places[kept]
        table = self._held.table
        if table is not None and table.num_rows > 2 * len(self._places) + MOST_DEAD:
            self.table = self.table

    @property
    def table(self) -> pa.Table | None:
        """What is held, in its order; None before the first row."""
        return None if self._held.table is None else take(self._held.table, arrow_array(self._places))

    @table.setter
    def table(self, table: pa.Table | None) -> None:
        self._held.table = table
        self._places = np.arange(0 if table is None else table.num_rows)
