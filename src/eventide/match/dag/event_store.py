"""The events that matches may still name, by row: what was kept of earlier batches, then the batch at hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from eventide.match.dag.enumeration import Store
from eventide.match.dag.kernel import DagEvents

if TYPE_CHECKING:
    from eventide.match.protocol import EventBatch
    from eventide.match.transitions import SymbolTable

Scalar = TypeVar("Scalar", bound=np.generic)


class EventStore:
    """The columns of the events in the two forms that kernels read. There is room behind the first `count` rows of each."""

    def __init__(self, columns: int, forbidden_bits: tuple[int, ...]) -> None:
        self._forbidden_bits = forbidden_bits
        absences = len(forbidden_bits)
        self.count = 0
        self.events = DagEvents(
            np.empty(0, np.int32),
            np.empty(0, np.uint8),
            np.empty(0, np.int32),
            np.empty(0, np.int64),
            np.empty(0, np.int64),
            np.empty(0, np.uint8),
            np.empty((absences, 0), np.uint8),
        )
        self.store = _store(
            self.events,
            np.empty((columns, 0), np.int64),
            np.empty((columns, 0), np.uint8),
            np.empty((absences, 0), np.int32),
        )

    def append(self, batch: EventBatch, symbols: SymbolTable) -> None:
        """Put a batch behind the kept rows. Everything is copied: the caller may reuse its arrays."""
        begin, end = self.count, self.count + len(batch)
        if end > len(self.events.slot):
            # Half of what is there besides: so small batches do not copy all of it each time.
            self._move(np.arange(begin), end + begin // 2)
        events, store = self.events, self.store
        events.slot[begin:end] = 0 if batch.key is None else batch.key
        events.restart[begin:end] = 0 if batch.restart is None else batch.restart
        events.symbol[begin:end] = symbols.symbols(batch.mask)
        events.clock[begin:end] = batch.clock
        events.low[begin:end] = batch.window_start
        events.home[begin:end] = 1 if batch.reports is None else batch.reports
        for absence, bit in enumerate(self._forbidden_bits):
            events.forbids[absence, begin:end] = (batch.mask >> bit) & 1
        store.values[:, begin:end] = 0 if batch.values is None else batch.values
        store.valid[:, begin:end] = 0 if batch.valid is None else batch.valid
        store.previous[:, begin:end] = -1
        self.count = end

    def keep(self, kept: npt.NDArray[np.int64]) -> None:
        """Forget all rows but these, which are numbered anew in their order."""
        self._move(kept, len(kept))

    def _move(self, rows: npt.NDArray[np.int64], room: int) -> None:
        """Put rows into columns of their own with that much room."""
        columns: list[npt.NDArray[Any]] = [_moved(column, rows, room) for column in self.events]
        self.events = DagEvents(*columns)
        store = self.store
        self.store = _store(
            self.events,
            _moved(store.values, rows, room),
            _moved(store.valid, rows, room),
            _moved(store.previous, rows, room),
        )
        self.count = len(rows)

    def dump(self) -> dict[str, npt.NDArray[Any]]:
        """Return all columns by name."""
        arrays = {f"event_{name}": column[..., : self.count] for name, column in self.events._asdict().items()}
        return arrays | {name: getattr(self.store, name)[..., : self.count] for name in ("values", "valid", "previous")}

    def load(self, arrays: dict[str, npt.NDArray[Any]]) -> None:
        """Take the columns of a dump back."""
        self.events = DagEvents(*(np.ascontiguousarray(arrays[f"event_{name}"]) for name in DagEvents._fields))
        self.store = _store(self.events, arrays["values"], arrays["valid"], arrays["previous"])
        self.count = len(self.events.slot)


def _store(
    events: DagEvents, values: npt.NDArray[np.int64], valid: npt.NDArray[np.uint8], previous: npt.NDArray[np.int32]
) -> Store:
    values = np.ascontiguousarray(values)
    return Store(
        events.clock,
        events.low,
        values,
        values.view(np.float64),
        np.ascontiguousarray(valid),
        np.ascontiguousarray(previous),
    )


def _moved(column: npt.NDArray[Scalar], rows: npt.NDArray[np.int64], room: int) -> npt.NDArray[Scalar]:
    moved = np.empty((*column.shape[:-1], room), column.dtype)
    np.take(column, rows, axis=-1, out=moved[..., : len(rows)], mode="clip")
    return moved
