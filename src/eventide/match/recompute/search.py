"""The search for the matches of one shape, as it is prepared once a batch and called until it is through."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from eventide.index.encoding import encode_doubles, encode_integers
from eventide.match.budget import SPENT
from eventide.match.dag.enumeration import Absences, MatchBatch, Store, new_accepts, new_walk
from eventide.match.recompute.bit_rows.bits import LANES, words_for
from eventide.match.recompute.bit_rows.row_trees import RowTrees, new_trees, with_wanted_tree
from eventide.match.recompute.bit_rows.table import BitRows, new_bit_rows
from eventide.match.recompute.frames import NUMBER, STEPS, Search, new_search
from eventide.match.recompute.search_kernel import WANTS_TREE, search_matches
from eventide.match.recompute.shape import RecomputeShape, Shape, Step, Value, lay_out
from eventide.match.recompute.window_events import Window, find_forbidden, find_populations, link_forbidden

if TYPE_CHECKING:
    from eventide.match.budget import Account
    from eventide.match.held_events import HeldEvents
    from eventide.match.programs.programs import Programs
    from eventide.match.protocol import MatcherSettings
    from eventide.match.recompute.sorting import SortedEvents

MOST_ROW_BYTES = 1 << 26
"""How large the tables of rows may become; beyond it rows are computed again when they are needed again."""


class LaidOut(NamedTuple):
    """A shape, and what kernels read of it."""

    steps: tuple[Step, ...]
    shape: Shape
    wanted: list[tuple[int, Value]]
    """The value columns to gather, each for the events of one step."""


def laid_out(shape: RecomputeShape) -> LaidOut:
    """Lay a shape out, once for all batches."""
    return LaidOut(shape.steps, *lay_out(shape))


class SearchedEvents(NamedTuple):
    """What the searches of all shapes read of a batch."""

    held: HeldEvents
    sorted: SortedEvents
    store: Store
    programs: Programs
    absences: Absences


def searched_events(settings: MatcherSettings, held: HeldEvents, by_key: SortedEvents) -> SearchedEvents:
    """Lay events out for searches."""
    bits = np.array(settings.forbidden_bits, np.int64)
    previous = np.full((len(bits), len(held.slot)), -1, np.int32)
    if len(bits):
        link_forbidden(by_key.key, by_key.row, by_key.mask, bits, previous)
    values = np.ascontiguousarray(held.values)
    store = Store(held.clock, held.low, values, values.view(np.float64), np.ascontiguousarray(held.valid), previous)
    absences = settings.labelled.absences()
    absences = absences._replace(decided=np.zeros_like(absences.decided))
    return SearchedEvents(held, by_key, store, settings.labelled.programs(), absences)


class ShapeSearch:
    """The search for the matches of one shape: give it triggers, then ask it for matches until it is finished."""

    def __init__(
        self, shape: LaidOut, events: SearchedEvents, ending: npt.NDArray[np.int64], account: Account
    ) -> None:
        self._events = events
        self._account = account
        self._shape = shape
        self._window = _window(shape, events)
        most = np.zeros(len(shape.steps), np.int64)
        self.triggers = self._among(ending)
        find_populations(self._window.begin, self._window.rank, self.triggers, most)
        self._rows, self._search = _rooms(shape.shape, most, new_trees(shape.shape, self._window, most))
        self._walk = new_walk(int(most.sum()) + len(most) + 1)
        self._accepts = new_accepts(1, len(events.store.previous))

    def start(self, ending: npt.NDArray[np.int64]) -> bool:
        """Take the next rows at which matches may end, of those it was made for; returns whether any can end one here."""
        self.triggers = self._among(ending)
        self._search.state[NUMBER] = 0
        return len(self.triggers) > 0

    def resume(self, taken: npt.NDArray[np.int64], quota: int, found: MatchBatch) -> tuple[int, int]:
        """Write matches until there is no room or none is left; returns (FULL or FINISHED, matches written)."""
        status, written = self._resume(taken, quota, found)
        while status in (WANTS_TREE, SPENT):
            if status == WANTS_TREE:
                self._rows = self._rows._replace(trees=with_wanted_tree(self._rows.trees, self._shape.shape, self._window))
            rest = MatchBatch(found.start[written:], found.end[written:], found.offset[written:], found.row, found.label)
            status, more = self._resume(taken, quota, rest)
            written += more
        return status, written

    def _resume(self, taken: npt.NDArray[np.int64], quota: int, found: MatchBatch) -> tuple[int, int]:
        events, steps = self._events, self._account.slice()
        self._search.state[STEPS] = steps[0]
        status, written = search_matches(
            self._shape.shape,
            self._window,
            self._rows,
            self._search,
            self.triggers,
            events.held.low,
            taken,
            quota,
            found,
            events.programs,
            events.absences,
            self._accepts,
            self._walk,
            events.store,
        )
        steps[0] = self._search.state[STEPS]
        return status, written

    def _among(self, ending: npt.NDArray[np.int64]) -> npt.NDArray[np.int32]:
        places: npt.NDArray[np.int32] = self._events.sorted.place[ending[ends_match(self._shape, self._events, ending)]]
        return places


def ends_match(shape: LaidOut, events: SearchedEvents, ending: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Return which of these rows can bind the last step of a shape."""
    able: npt.NDArray[np.bool_] = (events.held.mask[ending] >> shape.steps[-1].bit) & 1 == 1
    return able


def _window(shape: LaidOut, events: SearchedEvents) -> Window:
    steps, wanted = shape.steps, shape.wanted
    by_key, held = events.sorted, events.held
    size = len(by_key.row)
    rank = np.zeros((len(steps), size + 1), np.int32)
    candidates = []
    for number, step in enumerate(steps):
        has = (by_key.mask >> step.bit) & 1
        np.cumsum(has, out=rank[number, 1:])
        candidates.append(np.flatnonzero(has).astype(np.int32))
    first = np.concatenate([np.zeros(1, np.int64), np.cumsum([len(places) for places in candidates])])
    words = words_for(max(len(places) for places in candidates))
    values = np.zeros((len(wanted), words * LANES), np.uint64)
    valid = np.zeros((len(wanted), words * LANES), np.uint8)
    for number, (number_of_step, value) in enumerate(wanted):
        rows = by_key.row[candidates[number_of_step]]
        values[number, : len(rows)] = _coordinates(held.values[value.column][rows], value)
        valid[number, : len(rows)] = held.valid[value.column][rows]
    blocks = values.reshape(len(wanted), words, LANES)
    usable = np.packbits(valid, axis=1, bitorder="little").view(np.uint64)
    forbids = any(step.forbidden_before for step in steps)
    forbidden = np.full((len(steps), size if forbids else 0), -1, np.int32)
    for number, step in enumerate(steps):
        if step.forbidden_before:
            bits = np.int64(sum(1 << bit for bit in set(step.forbidden_before)))
            find_forbidden(by_key.key, by_key.mask, bits, number, forbidden)
    return Window(by_key.row, by_key.key, by_key.begin, rank, first, np.concatenate(candidates), blocks, usable, forbidden)


def _rooms(shape: Shape, most: npt.NDArray[np.int64], trees: RowTrees) -> tuple[BitRows, Search]:
    steps = len(most)
    widths, places = [], []
    for origin, target in zip(shape.family_from, shape.family_to, strict=True):
        own = int(target if origin < 0 else origin) % steps
        widths.append(int(most[int(target) % steps] + 1) // 64 + 2)
        places.append(1 << int(most[own] + 1).bit_length())
    while 8 * sum(width * count for width, count in zip(widths, places, strict=True)) > MOST_ROW_BYTES and max(places) > 1:
        largest = max(range(len(places)), key=lambda family: widths[family] * places[family])
        if places[largest] == 1:
            break
        places[largest] //= 2
    return new_bit_rows(widths, places, trees), new_search(steps, int(most.max()))


def _coordinates(values: npt.NDArray[np.int64], value: Value) -> npt.NDArray[np.uint64]:
    """Return what compares as the values do."""
    if value.widened:
        return encode_doubles(values.astype(np.float64))
    if value.is_double:
        return encode_doubles(np.ascontiguousarray(values).view(np.float64))
    return encode_integers(values)
