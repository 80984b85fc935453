"""The shared-DAG automaton as a matcher."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from eventide.match.dag.enumeration import new_found
from eventide.match.dag.kernel import (
    CONSUME_NONE,
    advance,
    advance_confirming,
    gather_roots,
    new_lists,
    renumber_lists,
)
from eventide.match.dag.matching.arena import DagArena

if TYPE_CHECKING:
    from eventide.match.protocol import MatcherSettings

FIRST_STATES = 8
FIRST_WIDTH = 6


class DagMatcher(DagArena):
    """All matches from a shared DAG (Abella 2022, 5): partial matches are never written out one by one.

    Cost: constant work per event for a given pattern, whatever the window; enumeration in time linear in the output; memory
    linear in the events inside the window. Conditions between events are judged during enumeration, from the last event back.
    """

    name = "shared-DAG automaton"

    def __init__(self, settings: MatcherSettings) -> None:
        super().__init__(settings)
        self._lists = new_lists(1, FIRST_STATES, FIRST_WIDTH, self._absence_count)
        self._witness = new_found(2, 1 << 12)

    def _take(self, begin: int, end: int) -> tuple[int, int]:
        settings = self._settings
        shared = (
            self._symbols.tables,
            self._nodes,
            self._lists,
            self._rows.events,
            self._rows.store.previous,
            self._accepts,
            self._counters,
            settings.consume,
        )
        if settings.checked and settings.consume != CONSUME_NONE:
            return advance_confirming(  # type: ignore[no-any-return]
                *shared,
                begin,
                end,
                self._walk,
                self._witness,
                np.zeros_like(self._taken),
                settings.labelled.programs(),
                settings.labelled.absences(),
                self._rows.store,
                self._account.slice(),
            )
        return advance(*shared, False, begin, end, self._account.slice())  # type: ignore[no-any-return]

    def _ensure_slots(self, slots: int) -> None:
        if slots > self._lists.active.shape[0]:
            _, states, width = self._lists.node.shape
            self._resize(max(slots, 2 * self._lists.active.shape[0]), states, width)

    def _grow_lists(self) -> None:
        slots, states, width = self._lists.node.shape
        self._account.allow_bytes(4 * self._lists.node.nbytes)
        self._resize(slots, 2 * states, 2 * width)

    def _resize(self, slots: int, states: int, width: int) -> None:
        old, new = self._lists, new_lists(slots, states, width, self._absence_count)
        old_slots, old_states, old_width = old.node.shape
        for name in ("active", "low", "epoch", "last"):
            getattr(new, name)[:old_slots] = getattr(old, name)
        new.state[:old_slots, :old_states] = old.state
        new.length[:old_slots, :old_states] = old.length
        new.node[:old_slots, :old_states, :old_width] = old.node
        self._lists = new

    def _roots(self) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
        room = int((self._lists.active.astype(np.int64)).sum()) * self._lists.node.shape[2]
        roots, lows = np.empty(room, np.int32), np.empty(room, np.int64)
        number = gather_roots(self._lists, self._lists.active.shape[0], roots, lows)
        return roots[:number], lows[:number]

    def _renumber(self, marked: npt.NDArray[np.uint8], moved: npt.NDArray[np.int32]) -> None:
        renumber_lists(self._lists, self._lists.active.shape[0], marked, moved)

    def _slot_state(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
        return self._lists.low, self._lists.last

    def _active(self) -> npt.NDArray[np.int32]:
        return self._lists.active

    def _keep_slots(self, kept: npt.NDArray[np.int64]) -> None:
        old = self._lists
        _, states, width = old.node.shape
        new = new_lists(max(1, len(kept)), states, width, self._absence_count)
        for name, column in new._asdict().items():
            column[: len(kept)] = getattr(old, name)[kept]
        self._lists = new

    def _state_arrays(self) -> dict[str, npt.NDArray[np.generic]]:
        # Only the filled places of the lists: there may be many slots, and most of their room is empty.
        lists = self._lists
        positions, places = _filled(lists.active, lists.length, lists.node.shape[2])
        return {
            "active": lists.active,
            "low": lists.low,
            "epoch": lists.epoch,
            "last": lists.last,
            "shape": np.array(lists.node.shape),
            "state": lists.state[positions],
            "length": lists.length[positions],
            "node": lists.node[places],
        }

    def _restore(self, arrays: dict[str, npt.NDArray[np.generic]]) -> None:
        slots, states, width = (int(size) for size in arrays["shape"])
        lists = new_lists(slots, states, width, self._absence_count)
        for name in ("active", "low", "epoch", "last"):
            getattr(lists, name)[:] = arrays[name]
        positions, _ = _filled(lists.active, lists.length, width)
        lists.state[positions] = arrays["state"]
        lists.length[positions] = arrays["length"]
        _, places = _filled(lists.active, lists.length, width)
        lists.node[places] = arrays["node"]
        self._lists = lists


def _filled(
    active: npt.NDArray[np.int32], length: npt.NDArray[np.int32], width: int
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Return which positions of the lists, and which places in them, are filled."""
    positions = np.arange(length.shape[1]) < active[:, None]
    return positions, positions[..., None] & (np.arange(width) < length[..., None])
