"""The events that recomputation holds between batches, and how it sorts them for a search."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from eventide.match.recompute.window import find_begins

if TYPE_CHECKING:
    from eventide.match.protocol import EventBatch


class HeldEvents(NamedTuple):
    """Events by row, in the order of their arrival."""

    slot: npt.NDArray[np.int32]
    mask: npt.NDArray[np.int64]
    clock: npt.NDArray[np.int64]
    low: npt.NDArray[np.int64]
    values: npt.NDArray[np.int64]
    """[column, row]"""
    valid: npt.NDArray[np.uint8]

    def with_batch(self, batch: EventBatch, slot: npt.NDArray[np.int32]) -> HeldEvents:
        """Return these events and those of a batch behind them."""
        nothing = np.zeros((len(self.values), len(batch)), np.int64)
        values = nothing if batch.values is None else batch.values
        valid = nothing.astype(np.uint8) if batch.valid is None else batch.valid
        return HeldEvents(
            np.concatenate([self.slot, slot]),
            np.concatenate([self.mask, batch.mask]),
            np.concatenate([self.clock, batch.clock]),
            np.concatenate([self.low, batch.low]),
            np.concatenate([self.values, values], axis=1),
            np.concatenate([self.valid, valid], axis=1),
        )

    def at(self, rows: npt.NDArray[np.int64]) -> HeldEvents:
        """Return the events of some rows."""
        return HeldEvents(
            self.slot[rows],
            self.mask[rows],
            self.clock[rows],
            self.low[rows],
            self.values[:, rows],
            self.valid[:, rows],
        )


def no_events(columns: int) -> HeldEvents:
    """Return no events, with that many columns of values."""
    return HeldEvents(
        np.empty(0, np.int32),
        np.empty(0, np.int64),
        np.empty(0, np.int64),
        np.empty(0, np.int64),
        np.empty((columns, 0), np.int64),
        np.empty((columns, 0), np.uint8),
    )


class SortedEvents(NamedTuple):
    """The same events, those of a key together; an index into them is a *place*."""

    row: npt.NDArray[np.int32]
    """[place]: the row of the event."""
    place: npt.NDArray[np.int32]
    """[row]: the place of the event."""
    key: npt.NDArray[np.int64]
    mask: npt.NDArray[np.int64]
    begin: npt.NDArray[np.int32]
    """[place]: the first place inside the window that ends there, or a later one when there is none."""


def sort_events(events: HeldEvents) -> SortedEvents:
    """Sort events by key."""
    row = np.argsort(events.slot, kind="stable").astype(np.int32)
    place = np.empty(len(row), np.int32)
    place[row] = np.arange(len(row), dtype=np.int32)
    key = events.slot[row].astype(np.int64)
    begin = np.empty(len(row), np.int32)
    find_begins(key, events.clock[row], events.low[row], begin)
    return SortedEvents(row, place, key, events.mask[row], begin)
