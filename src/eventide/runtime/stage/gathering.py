"""How prepared batches are put together, so that a kernel call has enough to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from eventide.records import record
from eventide.runtime.stage.keys import changes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

CHUNK_ROWS = 1 << 18


@record
class Cuts:
    """Where the rows of a task are cut into kernel calls: behind so many of them, or where the next key begins."""

    rows: int = CHUNK_ROWS

    def chunks(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
        """Gather small batches."""
        held: list[pa.RecordBatch] = []
        rows = 0
        for batch in batches:
            if batch.num_rows:
                held.append(batch)
                rows += batch.num_rows
            if rows >= self.rows:
                rows = 0
                yield _joined(held)
        if held:
            yield _joined(held)

    def whole_keys(self, batches: Iterator[pa.RecordBatch], keys: Sequence[str]) -> Iterator[pa.Table]:
        """Gather batches that are sorted by keys to tables in which every key is complete."""
        held: list[pa.RecordBatch] = []
        rows = 0
        border: tuple[int, int] | None = None
        for batch in batches:
            if not batch.num_rows:
                continue
            held.append(batch)
            rows += batch.num_rows
            border = _last_border(held, keys) or border
            if rows >= self.rows and border is not None:
                number, row = border
                done = [*held[:number], held[number].slice(0, row)]
                held = [held[number].slice(row), *held[number + 1 :]]
                rows = sum(part.num_rows for part in held)
                border = None
                yield _joined(done)
        if held:
            yield _joined(held)


def _joined(parts: list[pa.RecordBatch]) -> pa.Table:
    table = pa.Table.from_batches(parts)
    # The caller's list would keep the rows alive.
    parts.clear()
    return table


def _last_border(held: list[pa.RecordBatch], keys: Sequence[str]) -> tuple[int, int] | None:
    """Return (batch, row) where the last key begins if that is in the newest batch, else None."""
    if not keys:
        return None
    newest = pa.Table.from_batches([held[-1]]).select(list(keys))
    borders = np.flatnonzero(changes(newest)) + 1
    if len(borders):
        return len(held) - 1, int(borders[-1])
    if len(held) > 1:
        last = held[-2].slice(held[-2].num_rows - 1, 1)
        if changes(pa.concat_tables([pa.Table.from_batches([last]).select(list(keys)), newest.slice(0, 1)])).any():
            return len(held) - 1, 0
    return None
