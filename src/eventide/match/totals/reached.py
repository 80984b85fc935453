"""The events that matches to come can reach, held in place of partial matches.

Totals of partial matches are large, and taken modulo primes whose number is known only in the end. The events of a window are
small and say the same: totals of new ends go over the window once more, for the keys that have new events.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from eventide.match.held_events import EventHolder, HeldEvents
from eventide.match.state_bytes import pack_arrays, unpack_arrays
from eventide.records import record

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eventide.match.protocol import EventBatch

    Integers = npt.NDArray[np.int64]

STATE_VERSION = 1


@record
class ReachableBatch:
    """The keys that have new events, each with all events that its new ones can reach, in order.

    Those of key k are offsets[k] to offsets[k + 1]; `rows` are their numbers as matchers number rows.
    """

    rows: Integers
    offsets: Integers
    fresh: npt.NDArray[np.bool_]
    events: HeldEvents


class ReachableEvents(EventHolder):
    """Takes events and forgets them as a matcher does, and yields what totals of the new ends are computed of."""

    name = "reachable events"

    def advance(self, batch: EventBatch) -> Iterator[ReachableBatch]:
        """Take a batch of numbered keys and yield those keys with what their new events can reach."""
        assert batch.key is not None
        held = len(self._events.slot)
        self._append(batch, batch.key)
        if len(batch):
            yield self._reached(held)
        np.maximum.at(self._slot_low, batch.key, batch.window_start)

    def _reached(self, held: int) -> ReachableBatch:
        # Windows begin later and later inside a key, so the first new event reaches farthest.
        slot, low = self._events.slot, self._events.low
        farthest = np.full(len(self._slot_low), np.iinfo(np.int64).max, np.int64)
        active = np.zeros(len(self._slot_low), np.bool_)
        np.minimum.at(farthest, slot[held:], low[held:])
        active[slot[held:]] = True
        near = active[slot] & (self._events.clock >= farthest[slot])
        near[held:] = True
        rows = np.flatnonzero(near)
        rows = rows[np.argsort(slot[rows], kind="stable")]
        offsets = np.flatnonzero(np.append(True, np.diff(slot[rows]) != 0))
        return ReachableBatch(rows, np.append(offsets, len(rows)).astype(np.int64), rows >= held, self._events.at(rows))

    def keep(self) -> Integers:
        """Return the rows that events to come can reach, ascending; all other rows are forgotten."""
        kept = np.flatnonzero(self._events.clock >= self._slot_low[self._events.slot])
        self._events = self._events.at(kept)
        return kept

    def dump(self) -> bytes:
        """Return the whole state between two batches, as versioned, packed arrays."""
        return pack_arrays({"version": np.array([STATE_VERSION]), "slot_low": self._slot_low, **self._events._asdict()})

    def load(self, state: bytes) -> None:
        """Go on from a dumped state."""
        arrays = unpack_arrays(state)
        if int(arrays["version"][0]) != STATE_VERSION:
            message = f"reachable events of version {int(arrays['version'][0])} cannot be read, this is version {STATE_VERSION}"
            raise ValueError(message)
        self._slot_low = arrays["slot_low"]
        self._events = HeldEvents(*(arrays[name] for name in HeldEvents._fields))
