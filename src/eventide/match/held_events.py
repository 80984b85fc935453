"""Events held in place of partial matches: what recomputation and totals of groups keep between two batches."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Never

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eventide.match.protocol import EventBatch

    Integers = npt.NDArray[np.int64]

LOWEST = int(np.iinfo(np.int64).min)


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
            np.concatenate([self.low, batch.window_start]),
            np.concatenate([self.values, values], axis=1),
            np.concatenate([self.valid, valid], axis=1),
        )

    def at(self, rows: Integers) -> HeldEvents:
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


class EventHolder:
    """What is the same in all that hold events alone: no match waits for time, and only slots with events are live."""

    def __init__(self, columns: int) -> None:
        self._events = no_events(columns)
        # Where the window of the next event of a slot begins at the earliest.
        self._slot_low = np.full(1, LOWEST, np.int64)

    def _append(self, batch: EventBatch, slot: npt.NDArray[np.int32]) -> None:
        self._events = self._events.with_batch(batch, slot)
        missing = int(slot.max(initial=0)) + 1 - len(self._slot_low)
        self._slot_low = np.append(self._slot_low, np.full(max(0, missing), LOWEST, np.int64))

    def advance_time(self, low: int) -> Iterator[Never]:
        """Learn that the window of every event to come begins at `low` or later; no match waits for that."""
        self.shed(low)
        yield from ()

    def shed(self, before: int) -> None:
        """Let no window begin before a time."""
        np.maximum(self._slot_low, before, out=self._slot_low)

    def live_keys(self) -> npt.NDArray[np.bool_]:
        """Return which slots hold anything that a match to come may need; to be asked right after `keep`."""
        live = np.zeros(len(self._slot_low), bool)
        live[self._events.slot] = True
        return live

    def compact_keys(self, kept: Integers) -> None:
        """Forget all slots but these (ascending), which are numbered anew; the others must not be live."""
        renumbered = np.full(len(self._slot_low), -1, np.int32)
        renumbered[kept] = np.arange(len(kept), dtype=np.int32)
        self._events = self._events._replace(slot=renumbered[self._events.slot])
        self._slot_low = self._slot_low[kept] if len(kept) else np.full(1, LOWEST, np.int64)

    def kept_values(self, column: int) -> Integers:
        """Return a value column of the events that are held."""
        values: Integers = self._events.values[column]
        return values

    def partial_matches(self) -> int:
        """Return 0: there are events and no partial matches."""
        return 0

    def finish(self) -> Iterator[Never]:
        """Yield nothing: every match is known when its last event comes."""
        yield from ()


class NothingHeld:
    """What is the same in all that hold nothing from one batch to the next."""

    def advance_time(self, low: int) -> Iterator[Never]:  # noqa: ARG002 - nothing waits
        """Yield nothing."""
        yield from ()

    def keep(self) -> Integers:
        """Return no row."""
        return np.zeros(0, np.int64)

    def live_keys(self) -> npt.NDArray[np.bool_]:
        """Return no key."""
        return np.zeros(0, np.bool_)

    def compact_keys(self, kept: Integers) -> None:
        """Forget nothing: no key is known."""

    def shed(self, before: int) -> None:
        """Give up nothing."""

    def kept_values(self, column: int) -> Integers:  # noqa: ARG002 - it has no events
        """Return nothing."""
        return np.zeros(0, np.int64)

    def partial_matches(self) -> int:
        """Return 0."""
        return 0

    def finish(self) -> Iterator[Never]:
        """Yield nothing."""
        yield from ()

    def dump(self) -> bytes:
        """Return nothing."""
        return b""

    def load(self, state: bytes) -> None:
        """Take nothing of a dump."""
