"""Running engines in little pieces and little room, so that everything has to stop, grow and go on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import cycle
from typing import Any
from unittest import mock

import pyarrow as pa

from eventide.records import record
from eventide.runtime.stage.gathering import Cuts


def pieces(items: Any, cuts: tuple[int, ...]) -> Iterator[Any]:
    """Yield slices of the sizes that the cuts say, in turn; without cuts, everything.

    >>> list(pieces([1, 2, 3, 4], (1, 2)))
    [[1], [2, 3], [4]]
    """
    sizes = cycle(cuts or (len(items),))
    begin = 0
    while begin < len(items):
        size = next(sizes)
        yield items[begin : begin + size]
        begin += size


@record
class SmallPieces(Cuts):
    """Cuts prepared events into small pieces."""

    rows: int = 1
    sizes: tuple[int, ...] = ()

    def chunks(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
        """Yield the pieces, one or two at once."""
        return super().chunks(self._pieces(batches))

    def whole_keys(self, batches: Iterator[pa.RecordBatch], keys: Sequence[str]) -> Iterator[pa.Table]:
        """Yield as few keys at once as the pieces allow."""
        return super().whole_keys(self._pieces(batches), keys)

    def _pieces(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return (batch.slice(part.start, len(part)) for batch in batches for part in pieces(range(batch.num_rows), self.sizes))


@contextmanager
def little_room(size: int, block: int | None = None) -> Iterator[None]:
    """Let the matcher of row patterns begin with room for a few rows, and batches hold a few rows as well."""
    with ExitStack() as rooms:
        for name in ("ROOM_ROWS", "ROOM_MATCHES", "ROOM_DEPTH"):
            rooms.enter_context(mock.patch(f"eventide.match.row_pattern.matcher.{name}", size))
        # A table of hashes needs a free place.
        rooms.enter_context(mock.patch("eventide.match.row_pattern.matcher.SMALLEST_MEMORY", max(2, size)))
        if block is not None:
            rooms.enter_context(mock.patch("eventide.runtime.relational.duckdb.PREPARED_ROWS", block))
        yield
