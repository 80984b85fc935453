"""Recomputation as a matcher."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from eventide.match.budget import Account
from eventide.match.dag.enumeration import COUNT_LIMIT, FINISHED, FULL, MatchBatch
from eventide.match.held_events import EventHolder, HeldEvents
from eventide.match.recompute.merged_matches import Blocks, Gathered, within_quota
from eventide.match.recompute.search import ShapeSearch, ends_match, laid_out, searched_events
from eventide.match.recompute.sorting import sort_events
from eventide.match.state_bytes import pack_arrays, unpack_arrays

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eventide.match.protocol import EventBatch, MatcherSettings
    from eventide.match.recompute.shape import RecomputeShape

STATE_VERSION = 2
FIRST_VERSION = 1
"""It lacks the number of triggers, which matters to slices alone; no state of a slice was ever kept."""


class RecomputeMatcher(EventHolder):
    """Matches searched among the events of the window whenever one can end (RCEP, Kammoun 2019, 3).

    A pattern is one or several shapes, which differ in the parts that a match has; each is searched by itself. `distinct` says
    that no two matches show the same.

    Between batches it holds events alone. Conditions that compare two events are bit rows: which events of a step fit an event
    of another. Cost: memory linear in the events of the windows; for every trigger the rows of the events that are bound, and
    work linear in the matches, beside what programs refuse. Strict order, the whole match in one window: erratum one-window; no
    chain twice: erratum chains-once. Where the last step is a loop, the trigger is its last event.
    """

    name = "recompute"

    def __init__(self, settings: MatcherSettings, shapes: tuple[RecomputeShape, ...], *, distinct: bool) -> None:
        super().__init__(settings.columns)
        self._settings = settings
        self._shapes = [laid_out(shape) for shape in shapes]
        self._distinct = distinct
        ends = {shape.steps[-1].bit for shape in shapes}
        later = {step.bit for shape in shapes for step in (*shape.steps[:-1], *(s for s in shape.steps[-1:] if s.is_loop))}
        forbidden = {bit for shape in shapes for step in shape.steps for bit in step.forbidden_before}
        self._ending_bits = _as_mask(ends)
        self._needed_bits = _as_mask(later | forbidden | set(settings.forbidden_bits))
        self._taken = np.zeros(1, np.int64)
        self._current = 0
        self._account = Account(settings.budget)
        self._triggers = 0

    # The protocol -----------------------------------------------------------------------------------------------------

    def advance(self, batch: EventBatch) -> Iterator[MatchBatch]:
        """Take a batch and yield its matches."""
        begin = len(self._events.slot)
        self._account.begin(len(batch))
        self._take(batch)
        home = np.ones(len(batch), bool) if batch.reports is None else batch.reports.astype(bool)
        can_end = self._events.mask[begin:] & self._ending_bits != 0
        ending = np.flatnonzero(can_end & home) + begin
        if self._settings.slices > 1:
            # Each slice takes its share of the triggers.
            numbers = self._triggers + np.arange(len(ending))
            self._triggers += len(ending)
            ending = ending[numbers % self._settings.slices == self._settings.slice_index]
        if len(ending):
            yield from self._search(ending)

    def keep(self) -> npt.NDArray[np.int64]:
        """Return the rows that later matches may still name, ascending; all other rows are forgotten."""
        events = self._events
        held = (events.mask & self._needed_bits != 0) & (events.clock >= self._slot_low[events.slot])
        if self._current:
            # Sorted input: only the last key goes on, as slot 0 of the next batch.
            held &= events.slot == self._current
        kept = np.flatnonzero(held)
        events = events.at(kept)
        self._events = events._replace(slot=events.slot - np.int32(self._current))
        if self._current:
            self._slot_low = self._slot_low[self._current :].copy()
            self._taken = self._taken[self._current :].copy()
            self._current = 0
        return kept

    def compact_keys(self, kept: npt.NDArray[np.int64]) -> None:
        """Forget all slots but these (ascending), which are numbered anew; the others must not be live."""
        super().compact_keys(kept)
        self._taken = self._taken[kept] if len(kept) else np.zeros(1, np.int64)

    def dump(self) -> bytes:
        """Return the whole state between two batches: the events that are held."""
        arrays: dict[str, npt.NDArray[Any]] = {
            "version": np.array([STATE_VERSION]),
            "slot_low": self._slot_low,
            "taken": self._taken,
            "matches": np.array([self._account.matches]),
            "triggers": np.array([self._triggers]),
        }
        return pack_arrays(arrays | self._events._asdict())

    def load(self, state: bytes) -> None:
        """Go on from a dumped state."""
        arrays = unpack_arrays(state)
        version = int(arrays["version"][0])
        if version not in (FIRST_VERSION, STATE_VERSION):
            raise ValueError(f"state of version {version} cannot be read, this is version {STATE_VERSION}")
        self._slot_low, self._taken = arrays["slot_low"], arrays["taken"]
        self._account.matches = int(arrays["matches"][0])
        self._triggers = 0 if version == FIRST_VERSION else int(arrays["triggers"][0])
        self._events = HeldEvents(*(arrays[name] for name in HeldEvents._fields))

    # Taking a batch ---------------------------------------------------------------------------------------------------

    def _take(self, batch: EventBatch) -> None:
        slot = np.zeros(len(batch), np.int32) if batch.key is None else batch.key.astype(np.int32)
        if batch.restart is not None:
            # Every key of sorted input gets a slot of its own for as long as the batch lasts.
            slot = slot + np.cumsum(batch.restart, dtype=np.int32)
            self._current = int(slot[-1]) if len(batch) else 0
        self._append(batch, slot)
        self._taken = np.append(self._taken, np.zeros(len(self._slot_low) - len(self._taken), np.int64))
        np.maximum.at(self._slot_low, slot, batch.window_start)

    def _search(self, ending: npt.NDArray[np.int64]) -> Iterator[MatchBatch]:
        by_key = sort_events(self._events)
        events = searched_events(self._settings, self._events, by_key)
        limited = self._settings.quota is not None
        if not limited:
            # Key by key, so that the rows of one key are at hand; LIMIT wants to see the ends in the order of the stream.
            ending = by_key.row[np.sort(by_key.place[ending])].astype(np.int64)
        shapes = [shape for shape in self._shapes if ends_match(shape, events, ending).any()]
        searches = [ShapeSearch(shape, events, ending, self._account) for shape in shapes]
        if self._distinct and (len(searches) == 1 or not limited):
            for search in searches:
                yield from self._written_out(search)
        else:
            yield from self._gathered(searches, ending)

    def _written_out(self, search: ShapeSearch) -> Iterator[MatchBatch]:
        """Yield the matches of a search as they come."""
        quota = COUNT_LIMIT if self._settings.quota is None else self._settings.quota
        gathered, status = Gathered(None), FULL
        while status != FINISHED:
            status, number = search.resume(self._taken, quota, gathered.room())
            gathered.written += number
            self._account.take_matches(number)
            if gathered.written:
                yield gathered.take()
            elif status == FULL:
                gathered.more_room()

    def _gathered(self, searches: list[ShapeSearch], ending: npt.NDArray[np.int64]) -> Iterator[MatchBatch]:
        """Yield the matches of all searches that end at the same events together."""
        gathered = Gathered(None if self._distinct else self._settings.labelled.visible())
        quota, slot = self._settings.quota, self._events.slot
        blocks = Blocks(ending)
        for block in blocks:
            wanted = block if quota is None else block[self._taken[slot[block]] < quota]
            before = gathered.written
            for search in searches:
                if search.start(wanted):
                    self._gather(search, gathered)
            blocks.learn(gathered.written - before)
            if quota is not None and gathered.written:
                yield self._counted(within_quota(gathered.take(), slot, self._taken, quota))
            elif gathered.half_full:
                yield self._counted(gathered.take())
        if gathered.written:
            yield self._counted(gathered.take())

    def _gather(self, search: ShapeSearch, gathered: Gathered) -> None:
        # The matches of other searches may end before these, so each may fill the quota by itself; equal ones fill it once.
        quota = self._settings.quota
        taken = self._taken if quota is None else self._taken.copy()
        most = COUNT_LIMIT if quota is None or not self._distinct else quota
        status = FULL
        while status != FINISHED:
            status, number = search.resume(taken, most, gathered.room())
            gathered.written += number
            if status == FULL:
                self._account.allow_room(2 * gathered.size)
                gathered.more_room()
                if quota is None:
                    self._account.allow_matches(self._account.matches + gathered.written)

    def _counted(self, found: MatchBatch) -> MatchBatch:
        self._account.take_matches(len(found.start))
        return found


def _as_mask(bits: set[int]) -> int:
    return sum(1 << bit for bit in bits)
