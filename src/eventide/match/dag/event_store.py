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
    """The columns of the events in the two forms that kernels read."""

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
        size, old = len(batch), self.events
        absences, columns = len(self._forbidden_bits), self.store.values.shape[0]
        forbids = np.empty((absences, size), np.uint8)
        for absence, bit in enumerate(self._forbidden_bits):
            forbids[absence] = (batch.mask >> bit) & 1
        self.events = DagEvents(
            _join(old.slot, np.zeros(size) if batch.key is None else batch.key),
            _join(old.restart, np.zeros(size) if batch.restart is None else batch.restart),
            _join(old.symbol, symbols.symbols(batch.mask)),
            _join(old.clock, batch.clock),
            _join(old.low, batch.window_start),
            _join(old.home, np.ones(size) if batch.reports is None else batch.reports),
            _join(old.forbids, forbids),
        )
        self.store = _store(
            self.events,
            _join(self.store.values, np.zeros((columns, size)) if batch.values is None else batch.values),
            _join(self.store.valid, np.zeros((columns, size)) if batch.valid is None else batch.valid),
            _join(self.store.previous, np.full((absences, size), -1)),
        )
        self.count += size

    def keep(self, kept: npt.NDArray[np.int64]) -> None:
        """Forget all rows but these, which are numbered anew in their order."""
        columns: list[npt.NDArray[Any]] = [np.ascontiguousarray(column[..., kept]) for column in self.events]
        self.events = DagEvents(*columns)
        store = self.store
        self.store = _store(self.events, store.values[:, kept], store.valid[:, kept], store.previous[:, kept])
        self.count = len(kept)

    def dump(self) -> dict[str, npt.NDArray[Any]]:
        """Return all columns by name."""
        arrays = {f"event_{name}": column for name, column in self.events._asdict().items()}
        return arrays | {name: getattr(self.store, name) for name in ("values", "valid", "previous")}

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


def _join(kept: npt.NDArray[Scalar], fresh: npt.NDArray[Any]) -> npt.NDArray[Scalar]:
    """Return kept and fresh columns in one array of the kept ones' type."""
    joined = np.empty((*kept.shape[:-1], kept.shape[-1] + fresh.shape[-1]), kept.dtype)
    joined[..., : kept.shape[-1]] = kept
    joined[..., kept.shape[-1] :] = fresh
    return joined
