"""The events that matches to come can reach, held in place of partial matches.

Totals of partial matches are large, and taken modulo primes whose number is known only in the end. The events of a window are
small and say the same: totals of new ends go over the window once more, for the keys that have new events.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from eventide.match.packed import pack_arrays, unpack_arrays

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eventide.match.protocol import EventBatch

    Integers = npt.NDArray[np.int64]

STATE_VERSION = 1
EVENT_COLUMNS = ("slot", "mask", "clock", "low", "values", "valid")


@dataclass(frozen=True)
class Reached:
    """The keys that have new events, each with all events that its new ones can reach, in order.

    Those of key k are offsets[k] to offsets[k + 1]; `rows` are their numbers as matchers number rows.
    """

    rows: Integers
    offsets: Integers
    fresh: npt.NDArray[np.bool_]
    masks: Integers
    clocks: Integers
    lows: Integers
    values: Integers
    valid: npt.NDArray[np.uint8]


class HeldEvents:
    """Takes events and forgets them as a matcher does, and yields what totals of the new ends are computed of."""

    name = "held events"

    def __init__(self, columns: int) -> None:
        self._slot = np.empty(0, np.int32)
        self._mask = np.empty(0, np.int64)
        self._clock = np.empty(0, np.int64)
        self._low = np.empty(0, np.int64)
        self._values = np.empty((columns, 0), np.int64)
        self._valid = np.empty((columns, 0), np.uint8)
        # Where the window of the next event of a slot begins at the earliest.
        self._floor = np.empty(0, np.int64)

    def advance(self, batch: EventBatch) -> Iterator[Reached]:
        """Take a batch of numbered keys and yield those keys with what their new events can reach."""
        assert batch.slot is not None and batch.values is not None and batch.valid is not None
        held = len(self._slot)
        self._slot = np.concatenate([self._slot, batch.slot])
        self._mask = np.concatenate([self._mask, batch.mask])
        self._clock = np.concatenate([self._clock, batch.clock])
        self._low = np.concatenate([self._low, batch.low])
        self._values = np.concatenate([self._values, batch.values], axis=1)
        self._valid = np.concatenate([self._valid, batch.valid], axis=1)
        missing = int(self._slot.max(initial=-1)) + 1 - len(self._floor)
        self._floor = np.append(self._floor, np.full(max(0, missing), np.iinfo(np.int64).min, np.int64))
        if len(batch):
            yield self._reached(held)
        np.maximum.at(self._floor, batch.slot, batch.low)

    def _reached(self, held: int) -> Reached:
        # Windows begin later and later inside a key, so the first new event reaches farthest.
        farthest = np.full(len(self._floor), np.iinfo(np.int64).max, np.int64)
        active = np.zeros(len(self._floor), np.bool_)
        np.minimum.at(farthest, self._slot[held:], self._low[held:])
        active[self._slot[held:]] = True
        near = active[self._slot] & (self._clock >= farthest[self._slot])
        near[held:] = True
        rows = np.flatnonzero(near)
        rows = rows[np.argsort(self._slot[rows], kind="stable")]
        offsets = np.flatnonzero(np.append(True, np.diff(self._slot[rows]) != 0))
        return Reached(
            rows,
            np.append(offsets, len(rows)).astype(np.int64),
            rows >= held,
            self._mask[rows],
            self._clock[rows],
            self._low[rows],
            self._values[:, rows],
            self._valid[:, rows],
        )

    def keep(self) -> Integers:
        """Return the rows that events to come can reach, ascending; all other rows are forgotten."""
        kept = np.flatnonzero(self._clock >= self._floor[self._slot])
        for name in EVENT_COLUMNS:
            setattr(self, f"_{name}", getattr(self, f"_{name}")[..., kept])
        return kept

    def advance_time(self, low: int) -> Iterator[Reached]:
        """Learn that the window of every event to come begins at `low` or later; that completes no match."""
        np.maximum(self._floor, low, out=self._floor)
        yield from ()

    def finish(self) -> Iterator[Reached]:
        """Yield nothing: every match is known with its last event."""
        yield from ()

    def live_slots(self) -> npt.NDArray[np.bool_]:
        """Return which slots hold events; to be asked right after `keep`."""
        return np.bincount(self._slot, minlength=len(self._floor)) > 0

    def compact_slots(self, kept: Integers) -> None:
        """Forget all slots but these (ascending), which are numbered anew; the others must not be live."""
        renumbered = np.full(len(self._floor), -1, np.int32)
        renumbered[kept] = np.arange(len(kept), dtype=np.int32)
        self._slot = renumbered[self._slot]
        self._floor = self._floor[kept]

    def kept_values(self, column: int) -> Integers:
        """Return a value column of the events that are held."""
        values: Integers = self._values[column]
        return values

    def partial_matches(self) -> int:
        """Return how many partial matches are held: none, the events stand for them."""
        return 0

    def dump(self) -> bytes:
        """Return the whole state between two batches, as versioned, packed arrays."""
        return pack_arrays({"version": np.array([STATE_VERSION]), **self._columns()})

    def load(self, state: bytes) -> None:
        """Go on from a dumped state."""
        arrays = unpack_arrays(state)
        if int(arrays["version"][0]) != STATE_VERSION:
            message = f"held events of version {int(arrays['version'][0])} cannot be read, this is version {STATE_VERSION}"
            raise ValueError(message)
        for name in self._columns():
            setattr(self, f"_{name}", arrays[name])

    def _columns(self) -> dict[str, npt.NDArray[Any]]:
        return {name: getattr(self, f"_{name}") for name in (*EVENT_COLUMNS, "floor")}
