"""The disorder-native operator as a matcher over batches in the order of arrival."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from eventide.match.budget import SPENT, Account
from eventide.match.dag.enumeration import FINISHED, FULL, MatchBatch, new_found
from eventide.match.disorder.holding import release
from eventide.match.disorder.kernel import NEED_HOLDING, NEED_INSTANCES, advance
from eventide.match.disorder.stacks import purge_all
from eventide.match.disorder.state import (
    EARLIEST,
    FREE,
    HELD_FREE,
    HELD_LIVE,
    HELD_TOP,
    HIGHEST,
    LIVE,
    LOWEST,
    NONE,
    REPORTED,
    SEQUENCE,
    TIE,
    TIME,
    TOP,
    WATERMARK,
    ArrivedEvents,
    Holding,
    Pool,
    Sequence,
    Stacks,
    new_counters,
    new_holding,
    new_partial,
    new_pool,
    new_stacks,
    no_arrived_events,
)
from eventide.match.state_bytes import pack_arrays, unpack_arrays

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eventide.match.dag.enumeration import Absences
    from eventide.match.disorder.settings import ArrivalBatch, DisorderSettings
    from eventide.match.programs.programs import Programs

FIRST_INSTANCES = 1 << 8
FIRST_HOLDING = 1 << 6
CHUNK_MATCHES = 1 << 14
STATE_VERSION = 1
INSTANCE_LINKS = {"link", "before"}


class DisorderMatcher:
    """Sequences from sorted stacks, in the order of arrival and without a reorder buffer (Li 2010, 4.5).

    A match without NOT is given out when the last of its events arrives, whichever that is; one with NOT as soon as the watermark
    says that no late event can forbid it. Each match comes once. Cost: an insertion walks over the events that overtook it; state
    is what lies within a window and the slack. Rows are numbered as in `Matcher`; `advance_time` and `finish` name rows of
    the last numbering.

    Departures: the divider of optimization 4.3 is the window of the event at hand and not that of CLOCK (erratum
    late-for-the-clock); AIS-CLOCK is kept for each key. Negation: errata open-negation, release-at-deadline, trailing-negation.
    """

    name = "disorder-native stacks"

    def __init__(self, settings: DisorderSettings) -> None:
        self._settings = settings
        self._query = _sequence(settings)
        self._lists = len(settings.bits) + len(settings.forbidden)
        columns = 1 + max(self._query.column, default=-1)
        self._pool = new_pool(FIRST_INSTANCES, columns)
        self._stacks = new_stacks(1, self._lists)
        self._holding = new_holding(FIRST_HOLDING, len(settings.bits))
        self._rows = no_arrived_events(settings.columns)
        self._partial = new_partial(len(settings.bits), self._query.label)
        self._counters = new_counters()
        self._found = self._new_found()
        self._account = Account(settings.budget)

    # The protocol -----------------------------------------------------------------------------------------------------

    def advance(self, batch: ArrivalBatch) -> Iterator[MatchBatch]:
        """Take a batch and yield the matches that are now certain; events below the watermark are left out and counted."""
        begin = len(self._rows.order)
        self._account.begin(len(batch))
        self._append(batch)
        slots = np.zeros(len(batch), np.int32) if batch.key is None else np.asarray(batch.key, np.int32)
        self._ensure_slots(int(slots.max()) + 1 if len(slots) else 0)
        programs, absences = self._conditions()
        masks = np.array(batch.mask, np.int64)
        row, end = begin, len(self._rows.order)
        while row < end:
            status, row, number = advance(
                self._query,
                absences,
                programs,
                self._pool,
                self._stacks,
                self._holding,
                self._counters,
                masks,
                slots,
                begin,
                row,
                end,
                self._partial,
                self._rows,
                self._found,
                self._account.slice(),
            )
            if number:
                yield self._written(number)
            if status == NEED_INSTANCES:
                self._pool = _grown_pool(self._pool, 2 * len(self._pool.row) + self._lists)
            elif status == NEED_HOLDING:
                self._holding = _grown_holding(self._holding, len(self._settings.bits))
            elif status not in (FINISHED, FULL, SPENT):
                raise AssertionError(status)

    def advance_time(self, low: int) -> Iterator[MatchBatch]:
        """Learn that no event below a watermark comes any more: give held matches out; `keep` purges what nothing can reach."""
        counters = self._counters
        if low <= counters[WATERMARK]:
            return
        counters[WATERMARK] = low
        if counters[HELD_LIVE] and counters[EARLIEST] < low:
            counters[EARLIEST] = HIGHEST
            yield from self._release(low, everything=False)

    def shed(self, before: int) -> None:
        """Forget the events before a time; matches that wait for certainty stay."""
        purge_all(self._query, self._pool, self._stacks, self._counters, before)

    def finish(self) -> Iterator[MatchBatch]:
        """Yield the matches that only the end of the stream makes certain."""
        yield from self._release(HIGHEST, everything=True)
        self._counters[EARLIEST] = HIGHEST

    def keep(self) -> npt.NDArray[np.int64]:
        """Return the rows that later matches may still name, ascending; all other rows are forgotten."""
        # It goes over all keys, so it is not done with every watermark.
        self.shed(max(int(self._counters[WATERMARK]) - self._settings.window, LOWEST))
        named = self._pool.row[: int(self._counters[TOP])]
        live = named >= 0
        held = self._held_rows()
        needed = np.zeros(len(self._rows.order), np.bool_)
        needed[named[live]] = True
        needed[self._holding.row[held]] = True
        kept = np.flatnonzero(needed)
        renumbered = (np.cumsum(needed) - 1).astype(np.int32)
        named[live] = renumbered[named[live]]
        self._holding.row[held] = renumbered[self._holding.row[held]]
        rows = self._rows
        self._rows = _rows(rows.order[kept], rows.values[:, kept], rows.valid[:, kept])
        return kept

    def live_keys(self) -> npt.NDArray[np.bool_]:
        """Return for each slot whether it holds anything."""
        live: npt.NDArray[np.bool_] = (self._stacks.oldest != NONE).any(axis=1) | (self._stacks.held != NONE)
        return live

    def compact_keys(self, kept: npt.NDArray[np.int64]) -> None:
        """Forget all slots but these (ascending), which are numbered anew; the others must not be live."""
        stacks = new_stacks(max(1, len(kept)), self._lists)
        _copy(tuple(column[kept] for column in self._stacks), stacks)
        self._stacks = stacks

    def dump(self) -> bytes:
        """Return the whole state between two batches, as versioned, packed arrays."""
        self._slide_together()
        counters = self._counters
        arrays: dict[str, npt.NDArray[Any]] = {
            "version": np.array([STATE_VERSION]),
            "counters": counters,
            "matches": np.array([self._account.matches]),
        }
        top, held = int(counters[TOP]), int(counters[HELD_TOP])
        arrays |= {f"pool_{name}": column[:top] for name, column in self._pool._asdict().items()}
        arrays |= {f"stack_{name}": column for name, column in self._stacks._asdict().items()}
        arrays |= {f"held_{name}": column[:held] for name, column in self._holding._asdict().items()}
        arrays["held_row"] = self._holding.row[: held * len(self._settings.bits)]
        arrays |= {f"row_{name}": column for name, column in self._rows._asdict().items() if name != "floats"}
        return pack_arrays(arrays)

    def load(self, state: bytes) -> None:
        """Go on from a dumped state."""
        arrays = unpack_arrays(state)
        version = int(arrays["version"][0])
        if version != STATE_VERSION:
            raise ValueError(f"state of version {version} cannot be read, this is version {STATE_VERSION}")
        self._counters[:] = arrays["counters"]
        self._account.matches = int(arrays["matches"][0])
        pool = Pool(*(arrays[f"pool_{name}"] for name in Pool._fields))
        self._pool = _grown_pool(pool, max(FIRST_INSTANCES, 2 * len(pool.row)))
        self._stacks = Stacks(*(arrays[f"stack_{name}"] for name in Stacks._fields))
        self._holding = _grown_holding(Holding(*(arrays[f"held_{name}"] for name in Holding._fields)), len(self._settings.bits))
        self._rows = _rows(*(arrays[f"row_{name}"] for name in ArrivedEvents._fields if name != "floats"))

    # What runtimes ask ------------------------------------------------------------------------------------------------

    def counters(self) -> dict[str, int]:
        """Return what has been done so far, and how many instances and held matches there are now."""
        return {name: int(self._counters[index]) for name, index in REPORTED.items()}

    def partial_matches(self) -> int:
        """Return how many events wait in the stacks of steps and how many matches are held."""
        return int(self._counters[LIVE] + self._counters[HELD_LIVE])

    def kept_values(self, column: int) -> npt.NDArray[np.int64]:
        """Return a value column of the events that are held."""
        values: npt.NDArray[np.int64] = self._rows.values[column]
        return values

    # Room -------------------------------------------------------------------------------------------------------------

    def _append(self, batch: ArrivalBatch) -> None:
        rows, size, columns = self._rows, len(batch), self._settings.columns
        order = np.zeros((size, 3), np.int64)
        order[:, TIME], order[:, SEQUENCE] = batch.clock, batch.sequence
        if batch.tie is not None:
            order[:, TIE] = batch.tie
        values = np.zeros((columns, size), np.int64) if batch.values is None else batch.values
        valid = np.zeros((columns, size), np.uint8) if batch.valid is None else batch.valid
        self._rows = _rows(
            np.concatenate([rows.order, order]),
            np.concatenate([rows.values, values], axis=1),
            np.concatenate([rows.valid, valid], axis=1),
        )

    def _conditions(self) -> tuple[Programs | None, Absences | None]:
        """Return the conditions between events, or nothing: kernels are compiled without what no query asks for."""
        judged = self._settings.conditions or any(absence.number >= 0 for absence in self._settings.forbidden)
        labelled = self._settings.labelled
        return (labelled.programs(), labelled.absences()) if judged else (None, None)

    def _ensure_slots(self, slots: int) -> None:
        if slots > len(self._stacks.held):
            stacks = new_stacks(max(slots, 2 * len(self._stacks.held)), self._lists)
            _copy(self._stacks, stacks)
            self._stacks = stacks

    def _release(self, watermark: int, *, everything: bool) -> Iterator[MatchBatch]:
        slot, status = 0, FULL
        while status == FULL:
            status, slot, number = release(
                self._query, self._stacks, self._holding, self._counters, watermark, everything, slot, self._found
            )
            if number:
                yield self._written(number)

    def _new_found(self) -> MatchBatch:
        return new_found(CHUNK_MATCHES, CHUNK_MATCHES * len(self._settings.bits))

    def _written(self, number: int) -> MatchBatch:
        """Return the matches that a kernel has written; the next ones go to new arrays."""
        self._account.take_matches(number)
        found, self._found = self._found, self._new_found()
        positions = int(found.offset[number])
        return MatchBatch(
            found.start[:number], found.end[:number], found.offset[: number + 1], found.row[:positions], found.label[:positions]
        )

    def _held_rows(self) -> npt.NDArray[np.int64]:
        """Return the places of `holding.row` that belong to held matches."""
        steps = len(self._settings.bits)
        held = np.flatnonzero(self._holding.used[: int(self._counters[HELD_TOP])])
        return (held[:, None] * steps + np.arange(steps)).ravel()

    def _slide_together(self) -> None:
        """Number the live instances and held matches without holes."""
        counters, stacks = self._counters, self._stacks
        live, moved = _renumbering(self._pool.used, int(counters[TOP]))
        for name, column in self._pool._asdict().items():
            column[: len(live)] = moved[column[live]] if name in INSTANCE_LINKS else column[live]
        for lists in (stacks.oldest, stacks.newest):
            lists[:] = moved[lists]
        self._pool.used[len(live) :] = 0
        counters[TOP], counters[FREE] = len(live), NONE
        held_row = self._holding.row[self._held_rows()]
        live, moved = _renumbering(self._holding.used, int(counters[HELD_TOP]))
        self._holding.row[: len(held_row)] = held_row
        self._holding.deadline[: len(live)] = self._holding.deadline[live]
        self._holding.following[: len(live)] = moved[self._holding.following[live]]
        self._holding.used[:] = np.arange(len(self._holding.used)) < len(live)
        stacks.held[:] = moved[stacks.held]
        counters[HELD_TOP], counters[HELD_FREE] = len(live), NONE


def _renumbering(used: npt.NDArray[np.uint8], top: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
    """Return what is in use, and the new number of each; one place more keeps -1 what it is."""
    live = used[:top].astype(np.bool_)
    return np.flatnonzero(live), np.append(np.cumsum(live) - 1, NONE).astype(np.int32)


def _sequence(settings: DisorderSettings) -> Sequence:
    """Lay the query out as kernels read it."""
    steps = len(settings.bits)
    forbidden = sorted(settings.forbidden, key=lambda absence: absence.gap)
    gaps = [absence.gap for absence in forbidden]
    attached = [min(gap, steps - 1) for gap in gaps]
    inside = [gap for gap in gaps if gap < steps]
    # A match is held for the event behind the last NOT, not for its last event (Li 2010, optimization 4.5).
    deadline = steps if steps in gaps else max(inside, default=-1)
    return Sequence(
        bit=np.array(settings.bits, np.int64),
        label=np.array(settings.labels, np.int32),
        forbidden_bit=np.array([absence.bit for absence in forbidden], np.int64),
        gap=np.array(gaps, np.int32),
        gap_first=np.searchsorted(gaps, np.arange(steps + 2)).astype(np.int32),
        number=np.array([absence.number for absence in forbidden], np.int32),
        step=np.array(attached, np.int32),
        column=np.array([attached[:at].count(step) for at, step in enumerate(attached)], np.int32),
        window=np.int64(settings.window),
        deadline_step=np.int64(deadline),
        tie_margin=np.int64(settings.ties_by_arrival),
    )


def _rows(
    order: npt.NDArray[np.int64], values: npt.NDArray[np.int64], valid: npt.NDArray[np.uint8]
) -> ArrivedEvents:
    values = np.ascontiguousarray(values, np.int64)
    return ArrivedEvents(order, values, values.view(np.float64), np.ascontiguousarray(valid, np.uint8))


def _grown_pool(pool: Pool, capacity: int) -> Pool:
    larger = new_pool(capacity, pool.before.shape[1])
    _copy(pool, larger)
    return larger


def _grown_holding(holding: Holding, steps: int) -> Holding:
    larger = new_holding(max(FIRST_HOLDING, 2 * len(holding.deadline)), steps)
    _copy(holding, larger)
    return larger


def _copy(columns: tuple[npt.NDArray[Any], ...], larger: tuple[npt.NDArray[Any], ...]) -> None:
    for old, new in zip(columns, larger, strict=True):
        new[: len(old)] = old
