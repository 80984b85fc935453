"""The reorder buffer: events wait until no earlier one can come (K-slack, Li 2010, 4.5.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from eventide.records import record
from eventide.runtime.stage.ordering import to_ordered

if TYPE_CHECKING:
    from collections.abc import Sequence


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
        return np.lexsort([column.to_numpy() for column, _ in reversed(columns)])
    names = [f"c{number}" for number in range(len(columns))]
    order = [(name, "descending" if falls else "ascending") for name, (_, falls) in zip(names, columns, strict=True)]
    table = pa.table([column for column, _ in columns], names=names)
    return np.asarray(pc.sort_indices(table, sort_keys=order)).astype(np.int64)


class ReorderBuffer:
    """Events that are not yet behind the watermark, in the order of their arrival."""

    def __init__(self, clock: str, order: Sequence[OrderKey]) -> None:
        self._clock = clock
        self._order = tuple(order)
        self.waiting: pa.Table | None = None

    def release(self, fresh: pa.Table, watermark: int) -> pa.Table:
        """Take events and return those below the watermark in their order; one equal to it may still get an equal before it."""
        both = fresh if self.waiting is None else pa.concat_tables([self.waiting, fresh])
        ready = both.column(self._clock).to_numpy() < watermark
        if ready.all():
            self.waiting = both.slice(0, 0)
            return self.ordered(both)
        self.waiting = both.filter(pa.array(~ready)).combine_chunks()
        return self.ordered(both.filter(pa.array(ready)))

    def ordered(self, table: pa.Table) -> pa.Table:
        """Return a table in the order of its events."""
        table = table.combine_chunks()
        return table.take(pa.array(sorted_rows(table, self._order))) if table.num_rows > 1 else table
