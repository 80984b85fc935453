"""Prepared events as a few rows of bytes, so that a broadcast or a shuffle carries them as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from eventide.errors import LimitError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ROWS_OF_A_PACK = 1 << 16
MOST_BYTES = 1 << 30
"""Above this the events of a query are not sent to every task."""


def gathered(batches: Iterable[pa.RecordBatch]) -> pa.Table | None:
    """Return the events of a task as one table, or None where there are none."""
    filled = []
    size = 0
    for batch in batches:
        if batch.num_rows:
            filled.append(batch)
            size += batch.nbytes
        if size > MOST_BYTES:
            raise LimitError(
                "TOO_LARGE_TO_SEND",
                f"The prepared events have more than {MOST_BYTES >> 20} MiB, too much to give all of them to every task.",
                hint='Use distribution="shuffled_slices", or "plain".',
            )
    return pa.Table.from_batches(filled).combine_chunks() if filled else None


def pack_events(table: pa.Table) -> Iterator[bytes]:
    """Yield the events as Arrow streams of a limited number of rows."""
    for begin in range(0, table.num_rows, ROWS_OF_A_PACK):
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table.slice(begin, ROWS_OF_A_PACK))
        yield sink.getvalue().to_pybytes()


def unpack_events(packs: Iterable[bytes]) -> Iterator[pa.RecordBatch]:
    """Yield the events of packs."""
    for pack in packs:
        with pa.ipc.open_stream(pack) as reader:
            yield from reader
