"""Match: prepared Arrow batches in, rows of results out. The same stage runs embedded and inside Spark's Python workers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from eventide.runtime.relational.arrays import arrow_array
from eventide.runtime.relational.functions import take
from eventide.runtime.relational.held_rows import HeldRows

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from eventide.runtime.stage.keys import KeyTracker
    from eventide.runtime.stage.parts import Advance, Collector, Encoder, Holder

Batch = TypeVar("Batch")


class Stage(Generic[Batch]):
    """Keys tell rows apart, an encoder makes batches of them, what advances finds matches, a collector makes rows of these."""

    def __init__(
        self,
        keys: KeyTracker,
        encode: Encoder[Batch],
        advance: Advance[Batch],
        collect: Collector,
        holder: Holder | None = None,
    ) -> None:
        """Put the parts together; `holder` is what advances where it holds rows, None where all keys come whole."""
        self._keys = keys
        self._encode = encode
        self._advance = advance
        self._collect = collect
        self._holder = holder
        self._held = HeldRows()

    @property
    def held(self) -> pa.Table | None:
        """What was kept of the rows that results to come may name; None before the first row."""
        return self._held.table

    @held.setter
    def held(self, table: pa.Table | None) -> None:
        self._held.table = table

    def run(self, tables: Iterator[pa.Table]) -> Iterator[pa.RecordBatch]:
        """Turn all rows of a task into results."""
        for table in tables:
            # When more rows arrive, not after each batch: behind the last one there is nothing to make room for.
            self.forget()
            batch, payload = self._encoded(table)
            # A kernel may go over the rows for long; what it does not read need not be held meanwhile.
            del table
            yield from self._advanced(batch, payload)
            del batch, payload
        yield from self.end()

    def take(self, table: pa.Table) -> Iterator[pa.RecordBatch]:
        """Take the next rows and yield the results that are now certain; all rows are held until `forget`."""
        yield from self._advanced(*self._encoded(table))

    def collected(self, found: Iterator[Any]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of what was found among the events that are held."""
        if self.held is not None:
            for one in found:
                yield from self._collect.take(one, self.held)

    def end(self) -> Iterator[pa.RecordBatch]:
        """Yield what only the end of the rows makes certain."""
        if self._holder is not None:
            yield from self.collected(self._holder.finish())
        yield from self._collect.finish()

    def forget(self) -> None:
        """Let the rows go that no result to come names."""
        if self._holder is not None and self.held is not None:
            self.held = take(self.held, arrow_array(self._holder.keep()))

    def _encoded(self, table: pa.Table) -> tuple[Batch, pa.Table]:
        spans = self._keys.spans(table)
        fresh = self._collect.kept(table, spans)
        batch = self._encode.encode(table, spans)
        return batch, fresh.combine_chunks() if self._holder is None else self._held.add(fresh)

    def _advanced(self, batch: Batch, payload: pa.Table) -> Iterator[pa.RecordBatch]:
        for found in self._advance.advance(batch):
            yield from self._collect.take(found, payload)
