"""Recomputation as a matcher."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from eventide.match.enumeration import COUNT_LIMIT, FINISHED, FULL, Found, Store, new_accepts, new_found, new_walk
from eventide.match.harvest import MatchLimit, larger_found, trimmed_found, without_duplicates
from eventide.match.packed import pack_arrays, unpack_arrays
from eventide.match.recompute.encoding import encode_doubles, encode_integers
from eventide.match.recompute.frames import Search, new_search
from eventide.match.recompute.rows import Rows, new_rows
from eventide.match.recompute.search import search_matches
from eventide.match.recompute.shape import RecomputeShape, Value, lay_out
from eventide.match.recompute.window import Window, find_begins, find_forbidden, find_populations, link_forbidden
from eventide.match.recompute.words import LANES, words_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eventide.match.protocol import EventBatch, MatcherSettings

CHUNK_MATCHES = 1 << 16
STATE_VERSION = 1
LOWEST = int(np.iinfo(np.int64).min)
MOST_ROW_BYTES = 1 << 26
"""How large the tables of rows may become; beyond it rows are computed again when they are needed again."""

COLUMNS = ("slot", "mask", "clock", "low", "values", "valid")


class RecomputeMatcher:
    """Matches searched among the events of the window whenever one can end (RCEP, kammoun.md 3).

    Between batches it holds events alone. Conditions that compare two events are bit rows: which events of a step fit an event
    of another. Cost: memory linear in the events of the windows; for every trigger the rows of the events that are bound, and
    work linear in the matches, beside what programs refuse. The errata that matter: E4 (strict order, the whole match in one
    window) and E9 (no chain twice); where the last step is a loop, the trigger is its last event.
    """

    name = "recompute"

    def __init__(self, settings: MatcherSettings, shape: RecomputeShape) -> None:
        self._settings = settings
        self.shape = shape
        self._shape, self._wanted = lay_out(shape)
        steps = shape.steps
        forbidden = {bit for step in steps for bit in step.forbidden_before} | set(settings.forbidden_bits)
        later = {step.bit for step in (steps if steps[-1].is_loop else steps[:-1])}
        self._needed_bits = sum(1 << bit for bit in forbidden | later)
        self._slot = np.empty(0, np.int32)
        self._mask = np.empty(0, np.int64)
        self._clock = np.empty(0, np.int64)
        self._low = np.empty(0, np.int64)
        self._values = np.empty((settings.columns, 0), np.int64)
        self._valid = np.empty((settings.columns, 0), np.uint8)
        self._slot_low = np.full(1, LOWEST, np.int64)
        self._taken = np.zeros(1, np.int64)
        self._current = 0
        self._matches = 0
        self._triggers = 0

    # The protocol -----------------------------------------------------------------------------------------------------

    def advance(self, batch: EventBatch) -> Iterator[Found]:
        """Take a batch and yield its matches."""
        begin = len(self._slot)
        self._append(batch)
        home = np.ones(len(batch), bool) if batch.home is None else batch.home.astype(bool)
        can_end = (self._mask[begin:] >> self.shape.steps[-1].bit) & 1 == 1
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
        held = (self._mask & self._needed_bits != 0) & (self._clock >= self._slot_low[self._slot])
        if self._current:
            # Sorted input: only the last key goes on, as slot 0 of the next batch.
            held &= self._slot == self._current
        kept = np.flatnonzero(held)
        self._slot = self._slot[kept] - np.int32(self._current)
        self._mask, self._clock, self._low = self._mask[kept], self._clock[kept], self._low[kept]
        self._values, self._valid = self._values[:, kept], self._valid[:, kept]
        if self._current:
            self._slot_low = self._slot_low[self._current :].copy()
            self._taken = self._taken[self._current :].copy()
            self._current = 0
        return kept

    def advance_time(self, low: int) -> Iterator[Found]:
        """Learn that the window of every event to come begins at `low` or later; no match waits for that."""
        np.maximum(self._slot_low, low, out=self._slot_low)
        yield from ()

    def live_slots(self) -> npt.NDArray[np.bool_]:
        """Return which slots hold anything that a match to come may need; to be asked right after `keep`."""
        live = np.zeros(len(self._slot_low), bool)
        live[self._slot] = True
        return live

    def compact_slots(self, kept: npt.NDArray[np.int64]) -> None:
        """Forget all slots but these (ascending), which are numbered anew; the others must not be live."""
        renumbered = np.full(len(self._slot_low), -1, np.int32)
        renumbered[kept] = np.arange(len(kept), dtype=np.int32)
        self._slot = renumbered[self._slot]
        self._slot_low = self._slot_low[kept] if len(kept) else np.full(1, LOWEST, np.int64)
        self._taken = self._taken[kept] if len(kept) else np.zeros(1, np.int64)

    def kept_values(self, column: int) -> npt.NDArray[np.int64]:
        """Return a value column of the events that are held."""
        values: npt.NDArray[np.int64] = self._values[column]
        return values

    def partial_matches(self) -> int:
        """Return 0: there are events and no partial matches."""
        return 0

    def finish(self) -> Iterator[Found]:
        """Yield nothing: every match is known when its last event comes."""
        yield from ()

    def dump(self) -> bytes:
        """Return the whole state between two batches: the events that are held."""
        arrays: dict[str, npt.NDArray[Any]] = {
            "version": np.array([STATE_VERSION]),
            "slot_low": self._slot_low,
            "taken": self._taken,
            "matches": np.array([self._matches]),
        }
        return pack_arrays(arrays | {name: getattr(self, f"_{name}") for name in COLUMNS})

    def load(self, state: bytes) -> None:
        """Go on from a dumped state."""
        arrays = unpack_arrays(state)
        if int(arrays["version"][0]) != STATE_VERSION:
            message = f"state of version {int(arrays['version'][0])} cannot be read, this is version {STATE_VERSION}"
            raise ValueError(message)
        self._slot_low, self._taken = arrays["slot_low"], arrays["taken"]
        self._matches = int(arrays["matches"][0])
        for name in COLUMNS:
            setattr(self, f"_{name}", arrays[name])

    # Taking a batch ---------------------------------------------------------------------------------------------------

    def _append(self, batch: EventBatch) -> None:
        size, columns = len(batch), self._settings.columns
        slot = np.zeros(size, np.int32) if batch.slot is None else batch.slot.astype(np.int32)
        if batch.restart is not None:
            # Every key of sorted input gets a slot of its own for as long as the batch lasts.
            slot = slot + np.cumsum(batch.restart, dtype=np.int32)
            self._current = int(slot[-1]) if size else 0
        self._slot = np.concatenate([self._slot, slot])
        self._mask = np.concatenate([self._mask, batch.mask])
        self._clock = np.concatenate([self._clock, batch.clock])
        self._low = np.concatenate([self._low, batch.low])
        empty = np.zeros((columns, size), np.int64)
        self._values = np.concatenate([self._values, empty if batch.values is None else batch.values], axis=1)
        valid = empty.astype(np.uint8) if batch.valid is None else batch.valid
        self._valid = np.concatenate([self._valid, valid], axis=1)
        slots = int(slot.max()) + 1 if size else 1
        if slots > len(self._slot_low):
            more = slots - len(self._slot_low)
            self._slot_low = np.append(self._slot_low, np.full(more, LOWEST, np.int64))
            self._taken = np.append(self._taken, np.zeros(more, np.int64))
        np.maximum.at(self._slot_low, slot, batch.low)

    def _search(self, ending: npt.NDArray[np.int64]) -> Iterator[Found]:
        settings, labelled = self._settings, self._settings.labelled
        order = np.argsort(self._slot, kind="stable").astype(np.int32)
        window = self._window(order)
        places = np.empty(len(order), np.int32)
        places[order] = np.arange(len(order), dtype=np.int32)
        triggers = places[ending]
        if settings.quota is None:
            # Key by key, so that the rows of one key are at hand; LIMIT wants to see the ends in the order of the stream.
            triggers = np.sort(triggers)
        most = np.zeros(len(self.shape.steps), np.int64)
        find_populations(window.begin, window.rank, triggers, most)
        rows, search = self._rooms(most)
        walk = new_walk(int(most.sum()) + len(most) + 1)
        absences = labelled.absences()
        absences = absences._replace(decided=np.zeros_like(absences.decided))
        accepts = new_accepts(1, len(settings.forbidden_bits))
        programs, store = labelled.programs(), self._store(window)
        quota = COUNT_LIMIT if settings.quota is None or not self.shape.distinct else settings.quota
        found, written, status = self._new_found(), 0, FULL
        while status != FINISHED:
            view = Found(found.start[written:], found.end[written:], found.offset[written:], found.row, found.label)
            status, number = search_matches(
                self._shape,
                window,
                rows,
                search,
                triggers,
                self._low,
                self._taken,
                quota,
                not self.shape.distinct,
                view,
                programs,
                absences,
                accepts,
                walk,
                store,
            )
            written += number
            self._count(number)
            if status == FULL and (not written or not self.shape.distinct):
                found = larger_found(found, written)
            elif written:
                yield self._result(found, written)
                found, written = self._new_found(), 0

    def _window(self, order: npt.NDArray[np.int32]) -> Window:
        steps = self.shape.steps
        key, mask = self._slot[order].astype(np.int64), self._mask[order]
        begin = np.empty(len(order), np.int32)
        find_begins(key, self._clock[order], self._low[order], begin)
        rank = np.zeros((len(steps), len(order) + 1), np.int32)
        candidates = []
        for number, step in enumerate(steps):
            has = (mask >> step.bit) & 1
            np.cumsum(has, out=rank[number, 1:])
            candidates.append(np.flatnonzero(has).astype(np.int32))
        first = np.concatenate([np.zeros(1, np.int64), np.cumsum([len(places) for places in candidates])])
        words = words_for(max(len(places) for places in candidates))
        values = np.zeros((len(self._wanted), words * LANES), np.uint64)
        valid = np.zeros((len(self._wanted), words * LANES), np.uint8)
        for number, (number_of_step, value) in enumerate(self._wanted):
            rows = order[candidates[number_of_step]]
            values[number, : len(rows)] = _coordinates(self._values[value.column][rows], value)
            valid[number, : len(rows)] = self._valid[value.column][rows]
        blocks = values.reshape(len(self._wanted), words, LANES)
        usable = np.packbits(valid, axis=1, bitorder="little").view(np.uint64)
        forbidden = np.full((len(steps), len(order) if self._shape.gap_forbids.any() else 0), -1, np.int32)
        for number, step in enumerate(steps):
            if step.forbidden_before:
                find_forbidden(key, mask, np.int64(sum(1 << bit for bit in step.forbidden_before)), number, forbidden)
        return Window(order, key, begin, rank, first, np.concatenate(candidates), blocks, usable, forbidden)

    def _rooms(self, most: npt.NDArray[np.int64]) -> tuple[Rows, Search]:
        steps = len(most)
        widths, places = [], []
        for origin, target in zip(self._shape.family_from, self._shape.family_to, strict=True):
            own = int(target if origin < 0 else origin) % steps
            widths.append(int(most[int(target) % steps] + 1) // 64 + 2)
            places.append(1 << int(most[own] + 1).bit_length())
        while 8 * sum(width * count for width, count in zip(widths, places, strict=True)) > MOST_ROW_BYTES and max(places) > 1:
            largest = max(range(len(places)), key=lambda family: widths[family] * places[family])
            if places[largest] == 1:
                break
            places[largest] //= 2
        return new_rows(widths, places), new_search(steps, int(most.max()))

    def _store(self, window: Window) -> Store:
        bits = np.array(self._settings.forbidden_bits, np.int64)
        previous = np.full((len(bits), len(self._slot)), -1, np.int32)
        if len(bits):
            link_forbidden(window.key, window.row, self._mask[window.row], bits, previous)
        values = np.ascontiguousarray(self._values)
        return Store(self._clock, self._low, values, values.view(np.float64), np.ascontiguousarray(self._valid), previous)

    def _new_found(self) -> Found:
        return new_found(CHUNK_MATCHES, 4 * CHUNK_MATCHES)

    def _count(self, number: int) -> None:
        self._matches += number
        limit = self._settings.max_matches
        if limit is not None and self._matches > limit:
            raise MatchLimit(limit)

    def _result(self, found: Found, written: int) -> Found:
        if self.shape.distinct:
            return trimmed_found(found, written)
        return without_duplicates(found, written, self._settings.labelled.visible(), np.ones(written, np.uint8))


def _coordinates(values: npt.NDArray[np.int64], value: Value) -> npt.NDArray[np.uint64]:
    """Return what compares as the values do."""
    if value.widened:
        return encode_doubles(values.astype(np.float64))
    if value.is_double:
        return encode_doubles(np.ascontiguousarray(values).view(np.float64))
    return encode_integers(values)
