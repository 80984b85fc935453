"""How the events that recomputation holds are sorted for a search."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from eventide.match.windows import find_begins

if TYPE_CHECKING:
    from eventide.match.held_events import HeldEvents


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
