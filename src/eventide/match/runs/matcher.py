"""Runs as a matcher."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from eventide.match.dag.enumeration import new_found
from eventide.match.dag.kernel import CONSUME_NONE
from eventide.match.dag.matching.arena import DagArena
from eventide.match.runs.kernel import (
    USED,
    Runs,
    advance_runs,
    advance_runs_confirming,
    count_runs,
    gather_run_roots,
    new_runs,
    renumber_runs,
)

if TYPE_CHECKING:
    from eventide.match.protocol import MatcherSettings

FIRST_RUNS = 1 << 10


class RunsMatcher(DagArena):
    """Partial matches one by one (Körber 2021, Table 4.1), conditions judged as events arrive.

    It knows what each partial match could take, which skip-till-next asks for. Cost: work and memory linear in the partial
    matches inside the window, at most a few per starting event under *strict* and *next*, exponentially many under *any*.
    """

    name = "runs"
    judges_on_arrival = True

    def __init__(self, settings: MatcherSettings) -> None:
        super().__init__(settings)
        self._runs = new_runs(1, FIRST_RUNS, self._absence_count)
        self._witness = new_found(2, 1 << 12)

    def _take(self, begin: int, end: int) -> tuple[int, int]:
        settings = self._settings
        labelled = settings.labelled
        programs = labelled.programs()
        shared = (
            self._symbols.tables,
            self._nodes,
            self._runs,
            self._rows.events,
            self._rows.store.previous,
            self._accepts,
            self._counters,
            settings.consume,
        )
        if settings.checked and settings.consume != CONSUME_NONE:
            return advance_runs_confirming(  # type: ignore[no-any-return]
                *shared,
                begin,
                end,
                programs,
                self._rows.store,
                self._walk,
                self._witness,
                np.zeros_like(self._taken),
                labelled.closing_programs(),
                labelled.absences(),
                self._account.slice(),
            )
        steps = self._account.slice()
        return advance_runs(*shared, False, begin, end, programs, self._rows.store, steps)  # type: ignore[no-any-return]

    def _ensure_slots(self, slots: int) -> None:
        if slots > self._runs.head.shape[0]:
            self._resize(max(slots, 2 * self._runs.head.shape[0]), self._runs.state.shape[0])

    def _grow_lists(self) -> None:
        self._account.allow_bytes(2 * sum(column.nbytes for column in self._runs))
        self._resize(self._runs.head.shape[0], 2 * self._runs.state.shape[0])

    def _resize(self, slots: int, capacity: int) -> None:
        old, new = self._runs, new_runs(slots, capacity, self._absence_count)
        for name in ("head", "low", "epoch", "last"):
            getattr(new, name)[: len(old.head)] = getattr(old, name)
        for name in ("state", "node", "following"):
            getattr(new, name)[: len(old.state)] = getattr(old, name)
        new.meta[:] = old.meta
        self._runs = new

    def _roots(self) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
        room = int(self._runs.meta[USED])
        roots, lows = np.empty(room, np.int32), np.empty(room, np.int64)
        number = gather_run_roots(self._runs, roots, lows)
        return roots[:number], lows[:number]

    def _renumber(self, marked: npt.NDArray[np.uint8], moved: npt.NDArray[np.int32]) -> None:
        renumber_runs(self._runs, marked, moved)

    def _slot_state(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
        return self._runs.low, self._runs.last

    def _active(self) -> npt.NDArray[np.int32]:
        return count_runs(self._runs)  # type: ignore[no-any-return]

    def _keep_slots(self, kept: npt.NDArray[np.int64]) -> None:
        old = self._runs
        new = new_runs(max(1, len(kept)), 1, self._absence_count)
        for name in ("head", "low", "epoch", "last"):
            getattr(new, name)[: len(kept)] = getattr(old, name)[kept]
        self._runs = old._replace(head=new.head, low=new.low, epoch=new.epoch, last=new.last)

    def _state_arrays(self) -> dict[str, npt.NDArray[np.generic]]:
        used = int(self._runs.meta[USED])
        filled = {name: getattr(self._runs, name)[:used] for name in ("state", "node", "following")}
        return self._runs._asdict() | filled

    def _restore(self, arrays: dict[str, npt.NDArray[np.generic]]) -> None:
        self._runs = Runs(**arrays)  # type: ignore[arg-type]
        self._resize(len(self._runs.head), max(FIRST_RUNS, 2 * len(self._runs.state)))
