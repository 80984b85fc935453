"""What the matchers over nodes share: the store of events, the arena, enumeration, and dump and load."""

from __future__ import annotations

import io
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from eventide.match.enumeration import (
    COUNT_LIMIT,
    FINISHED,
    GROW,
    Found,
    Store,
    enumerate_checked,
    enumerate_plain,
    grow_walk,
    new_accepts,
    new_found,
    new_walk,
)
from eventide.match.preferred import enumerate_preferred
from eventide.match.selection import Keep, drop_duplicates, select
from eventide.match.shared_dag.kernel import (
    ACCEPTED,
    COUNTERS,
    DONE,
    KEY,
    NEED_ACCEPTS,
    NEED_LISTS,
    NEED_NODES,
    NEED_TRANSITION,
    OPEN_ACCEPT,
    TOP,
    WANTED_STATE,
    WANTED_SYMBOL,
    Events,
    mark_forbidden,
)
from eventide.match.shared_dag.nodes import UNION, compact, mark_live, new_nodes
from eventide.match.tables import SymbolTable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from eventide.match.protocol import EventBatch, MatcherSettings

CHUNK_MATCHES = 1 << 16
FIRST_NODES = 1 << 15
FIRST_ACCEPTS = 1 << 12
STATE_VERSION = 1


class MatchLimit(Exception):
    """More matches than the caller allowed."""

    def __init__(self, limit: int) -> None:
        super().__init__(limit)
        self.limit = limit


class NodeMatcher(ABC):
    """A matcher whose partial matches are nodes of one arena. Subclasses keep the lists of active states or runs."""

    name = ""
    judges_on_arrival = False
    """Whether conditions are judged as events arrive, so that enumeration only judges whole matches."""

    def __init__(self, settings: MatcherSettings) -> None:
        self._settings = settings
        self._symbols = SymbolTable(settings.source, settings.bits, with_skips=self.judges_on_arrival)
        self._nodes = new_nodes(FIRST_NODES)
        self._absence_count = len(settings.forbidden_bits)
        self._accepts = new_accepts(FIRST_ACCEPTS, self._absence_count)
        self._counters = np.zeros(COUNTERS, np.int64)
        self._events = self._empty_events()
        self._store = self._empty_store()
        self._rows = 0
        self._taken = np.zeros(1, np.int64)
        self._matches = 0
        self._walk = new_walk()
        self.peak_nodes = 0

    # What subclasses provide ------------------------------------------------------------------------------------------

    @abstractmethod
    def _take(self, begin: int, end: int) -> tuple[int, int]:
        """Run the kernel over rows; returns (status, next row)."""

    @abstractmethod
    def _ensure_slots(self, slots: int) -> None:
        """Make room for that many keys."""

    @abstractmethod
    def _grow_lists(self) -> None:
        """Make room where the kernel said NEED_LISTS."""

    @abstractmethod
    def _roots(self) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
        """Return the nodes that active states hold, with the bounds of their windows."""

    @abstractmethod
    def _renumber(self, marked: npt.NDArray[np.uint8], moved: npt.NDArray[np.int32]) -> None:
        """Point the active states at moved nodes."""

    @abstractmethod
    def _slot_state(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
        """Return the window bound of each slot and its latest forbidden events."""

    @abstractmethod
    def _state_arrays(self) -> dict[str, npt.NDArray[np.generic]]:
        """Return the arrays of the subclass for a dump."""

    @abstractmethod
    def _restore(self, arrays: dict[str, npt.NDArray[np.generic]]) -> None:
        """Take the arrays of a dump back."""

    # The protocol -----------------------------------------------------------------------------------------------------

    def advance(self, batch: EventBatch) -> Iterator[Found]:
        """Take a batch and yield the matches that are now certain."""
        begin = self._rows
        self._append(batch)
        end = self._rows
        row = begin
        stopped = (DONE, begin)
        while row < end:
            status, row = self._take(row, end)
            # Asked for the same again: what was cleared away was not enough for this one event.
            again, stopped = stopped == (status, row), (status, row)
            if status == NEED_TRANSITION:
                self._symbols.complete(int(self._counters[WANTED_STATE]), int(self._counters[WANTED_SYMBOL]))
            elif status == NEED_NODES:
                if not self._settings.trailing:
                    yield from self._flush(int(self._counters[ACCEPTED]))
                self._collect(more=again)
            elif status == NEED_ACCEPTS:
                if not self._settings.trailing:
                    yield from self._flush(int(self._counters[ACCEPTED]))
                self._grow_accepts(more=again)
            elif status == NEED_LISTS:
                self._grow_lists()
            elif status != DONE:
                raise AssertionError(status)
        if self._settings.trailing:
            yield from self._flush(self._settled_accepts())
        else:
            yield from self._flush(int(self._counters[ACCEPTED]))

    def finish(self) -> Iterator[Found]:
        """Yield the matches that only the end of the stream makes certain."""
        count = int(self._counters[ACCEPTED])
        self._learn_tails(np.arange(int(self._counters[OPEN_ACCEPT]), count))
        self._counters[OPEN_ACCEPT] = count
        yield from self._flush(count)

    def keep(self) -> npt.NDArray[np.int64]:
        """Return the rows that later matches may still name, ascending; all other rows are forgotten."""
        self._collect()
        needed = np.zeros(self._rows, np.uint8)
        top = int(self._counters[TOP])
        labels = self._nodes.label[:top]
        needed[self._nodes.row[:top][labels != UNION]] = 1
        count = int(self._counters[ACCEPTED])
        needed[self._accepts.row[:count]] = 1
        if self._absence_count:
            lows, last = self._slot_state()
            bounds = lows.copy()
            # An open accept still asks for the forbidden events of its own, earlier window.
            np.minimum.at(bounds, self._events.slot[self._accepts.row[:count]], self._accepts.low[:count])
            mark_forbidden(last, self._store.clock, self._store.previous, bounds, needed)
            tails = self._accepts.tail[: int(self._counters[OPEN_ACCEPT])]
            needed[tails[tails >= 0]] = 1
        kept = np.flatnonzero(needed)
        renumbered = np.cumsum(needed, dtype=np.int32) - 1
        keep_label = labels != UNION
        self._nodes.row[:top][keep_label] = renumbered[self._nodes.row[:top][keep_label]]
        self._accepts.row[:count] = renumbered[self._accepts.row[:count]]
        if self._absence_count:
            # Accepts that are still open have not learnt their tails; what stands there is left over.
            tails = self._accepts.tail[: int(self._counters[OPEN_ACCEPT])]
            tails[tails >= 0] = renumbered[tails[tails >= 0]]
            _, last = self._slot_state()
            self._forget_links(last, needed, renumbered)
            self._forget_links(self._store.previous, needed, renumbered)
        self._keep_rows(kept)
        return kept

    def dump(self) -> bytes:
        """Return the whole state between two batches, as a versioned archive of arrays."""
        self._collect()
        top = int(self._counters[TOP])
        count = int(self._counters[ACCEPTED])
        arrays: dict[str, npt.NDArray[np.generic]] = {
            "version": np.array([STATE_VERSION]),
            "counters": self._counters,
            "taken": self._taken,
            "matches": np.array([self._matches]),
            "history": self._symbols.history(),
            "slot": self._events.slot[: self._rows],
            "clock": self._store.clock[: self._rows],
            "low": self._store.low[: self._rows],
            "values": self._store.values[:, : self._rows],
            "valid": self._store.valid[:, : self._rows],
            "previous": self._store.previous[:, : self._rows],
        }
        for name, column in self._nodes._asdict().items():
            arrays[f"node_{name}"] = column[:top]
        for name, column in self._accepts._asdict().items():
            arrays[f"accept_{name}"] = column[:count]
        arrays |= {f"own_{name}": array for name, array in self._state_arrays().items()}
        buffer = io.BytesIO()
        np.savez(buffer, **arrays)  # type: ignore[arg-type]
        return buffer.getvalue()

    def load(self, state: bytes) -> None:
        """Go on from a dumped state."""
        with np.load(io.BytesIO(state), allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        if int(arrays["version"][0]) != STATE_VERSION:
            message = f"state of version {int(arrays['version'][0])} cannot be read, this is version {STATE_VERSION}"
            raise ValueError(message)
        self._counters[:] = arrays["counters"]
        self._taken = arrays["taken"]
        self._matches = int(arrays["matches"][0])
        self._symbols.replay(arrays["history"])
        self._rows = len(arrays["slot"])
        rows = self._rows
        self._events = Events(
            arrays["slot"],
            np.zeros(rows, np.uint8),
            np.zeros(rows, np.int32),
            arrays["clock"],
            arrays["low"],
            np.zeros(rows, np.uint8),
            np.zeros((self._absence_count, rows), np.uint8),
        )
        values = np.ascontiguousarray(arrays["values"])
        self._store = Store(
            arrays["clock"],
            arrays["low"],
            values,
            values.view(np.float64),
            np.ascontiguousarray(arrays["valid"]),
            np.ascontiguousarray(arrays["previous"]),
        )
        top = len(arrays["node_label"])
        self._nodes = new_nodes(max(FIRST_NODES, 2 * top))
        for name, column in self._nodes._asdict().items():
            column[:top] = arrays[f"node_{name}"]
        count = len(arrays["accept_row"])
        self._accepts = new_accepts(max(FIRST_ACCEPTS, 2 * count), self._absence_count)
        for name, column in self._accepts._asdict().items():
            column[:count] = arrays[f"accept_{name}"]
        self._restore({name.removeprefix("own_"): array for name, array in arrays.items() if name.startswith("own_")})

    # Events and rows --------------------------------------------------------------------------------------------------

    def _empty_events(self) -> Events:
        return Events(
            np.empty(0, np.int32),
            np.empty(0, np.uint8),
            np.empty(0, np.int32),
            np.empty(0, np.int64),
            np.empty(0, np.int64),
            np.empty(0, np.uint8),
            np.empty((self._absence_count, 0), np.uint8),
        )

    def _empty_store(self) -> Store:
        values = np.empty((self._settings.columns, 0), np.int64)
        return Store(
            np.empty(0, np.int64),
            np.empty(0, np.int64),
            values,
            values.view(np.float64),
            np.empty((self._settings.columns, 0), np.uint8),
            np.empty((self._absence_count, 0), np.int32),
        )

    def _append(self, batch: EventBatch) -> None:
        size = len(batch)
        slot = batch.slot.astype(np.int32) if batch.slot is not None else np.zeros(size, np.int32)
        restart = np.zeros(size, np.uint8) if batch.restart is None else batch.restart.astype(np.uint8)
        home = np.ones(size, np.uint8) if batch.home is None else batch.home.astype(np.uint8)
        symbol = self._symbols.symbols(batch.mask)
        forbids = np.empty((self._absence_count, size), np.uint8)
        for absence, bit in enumerate(self._settings.forbidden_bits):
            forbids[absence] = (batch.mask >> bit) & 1
        columns = self._settings.columns
        values = batch.values if batch.values is not None else np.zeros((columns, size), np.int64)
        valid = batch.valid if batch.valid is not None else np.zeros((columns, size), np.uint8)
        old, store = self._events, self._store
        if self._rows == 0:
            # Copies: the caller may reuse its arrays, and kernels are compiled anew for arrays that cannot be written.
            clock, low = batch.clock.astype(np.int64), batch.low.astype(np.int64)
            self._events = Events(slot, restart, symbol, clock, low, home, forbids)
            values, valid = values.astype(np.int64, order="C"), valid.astype(np.uint8, order="C")
            previous = np.full((self._absence_count, size), -1, np.int32)
        else:
            clock = np.concatenate([store.clock, batch.clock])
            low = np.concatenate([store.low, batch.low])
            self._events = Events(
                np.concatenate([old.slot, slot]),
                np.concatenate([old.restart, restart]),
                np.concatenate([old.symbol, symbol]),
                clock,
                low,
                np.concatenate([old.home, home]),
                np.concatenate([old.forbids, forbids], axis=1),
            )
            values = np.concatenate([store.values, values], axis=1)
            valid = np.concatenate([store.valid, valid], axis=1)
            previous = np.concatenate([store.previous, np.full((self._absence_count, size), -1, np.int32)], axis=1)
        self._store = Store(clock, low, values, values.view(np.float64), valid, previous)
        self._rows += size
        slots = int(slot.max()) + 1 if size else 1
        self._ensure_slots(slots)
        self._counters[KEY] = 0
        keys = slots + (int(restart.sum()) if batch.restart is not None else 0)
        if self._taken.shape[0] < keys:
            taken = np.zeros(keys, np.int64)
            taken[: self._taken.shape[0]] = self._taken
            self._taken = taken

    def _keep_rows(self, kept: npt.NDArray[np.int64]) -> None:
        events, store = self._events, self._store
        self._events = Events(
            events.slot[kept],
            events.restart[kept],
            events.symbol[kept],
            store.clock[kept],
            store.low[kept],
            events.home[kept],
            np.ascontiguousarray(events.forbids[:, kept]),
        )
        values = np.ascontiguousarray(store.values[:, kept])
        self._store = Store(
            self._events.clock,
            self._events.low,
            values,
            values.view(np.float64),
            np.ascontiguousarray(store.valid[:, kept]),
            np.ascontiguousarray(store.previous[:, kept]),
        )
        self._rows = len(kept)
        if self._counters[KEY] > 0:
            # Sorted input: only the last key goes on, as key number 0 of the next batch.
            self._taken = self._taken[[int(self._counters[KEY])]].copy()
            self._accepts.key[: int(self._counters[ACCEPTED])] -= self._counters[KEY]
            self._counters[KEY] = 0

    @staticmethod
    def _forget_links(
        links: npt.NDArray[np.int32], needed: npt.NDArray[np.uint8], renumbered: npt.NDArray[np.int32]
    ) -> None:
        known = links >= 0
        links[known] = np.where(needed[links[known]] == 1, renumbered[links[known]], -1)

    # Accepts and enumeration ------------------------------------------------------------------------------------------

    def _grow_accepts(self, *, more: bool) -> None:
        count = int(self._counters[ACCEPTED])
        if count < self._accepts.row.shape[0] // 2 and not more:
            return
        larger = new_accepts(2 * self._accepts.row.shape[0], self._absence_count)
        for name, column in larger._asdict().items():
            column[:count] = getattr(self._accepts, name)[:count]
        self._accepts = larger

    def _learn_tails(self, accepts: npt.NDArray[np.int64]) -> None:
        if self._absence_count and accepts.size:
            _, last = self._slot_state()
            self._accepts.tail[accepts] = last[self._events.slot[self._accepts.row[accepts]]]

    def _settled_accepts(self) -> int:
        """Move the accepts that no later event can touch to the front and return how many there are."""
        count, open_accept = int(self._counters[ACCEPTED]), int(self._counters[OPEN_ACCEPT])
        lows, _ = self._slot_state()
        waiting = np.arange(open_accept, count)
        rows = self._accepts.row[waiting]
        slots = self._events.slot[rows]
        expired = self._nodes.start[self._accepts.node[waiting]] < lows[slots]
        # The matches of a key leave in the order of their ends, as selectors and LIMIT want to see them.
        first_open = np.full(len(lows), np.iinfo(np.int32).max, np.int32)
        np.minimum.at(first_open, slots[~expired], rows[~expired])
        expired &= rows < first_open[slots]
        self._learn_tails(waiting[expired])
        order = np.concatenate([np.arange(open_accept), waiting[expired], waiting[~expired]])
        for column in self._accepts:
            column[:count] = column[order]
        settled = open_accept + int(expired.sum())
        self._counters[OPEN_ACCEPT] = settled
        return settled

    def _flush(self, count: int) -> Iterator[Found]:
        """Enumerate the first `count` accepts and forget them."""
        if count:
            yield from self._enumerate(count)
            total = int(self._counters[ACCEPTED])
            for column in self._accepts:
                column[: total - count] = column[count:total].copy()
            self._counters[ACCEPTED] = total - count
            self._counters[OPEN_ACCEPT] = max(0, int(self._counters[OPEN_ACCEPT]) - count)

    def _enumerate(self, count: int) -> Iterator[Found]:
        if self._settings.keep in (Keep.NEXT, Keep.LAST) and not self._settings.checked:
            yield from self._enumerate_preferred(count)
            return
        selecting = self._selects()
        accept = 0
        size = 0
        walk = self._walk
        step = self._enumerator(count)
        begin_of_group = 0
        found = new_found(CHUNK_MATCHES, 4 * CHUNK_MATCHES)
        while accept < count or size > 0:
            last = self._group_end(begin_of_group, count) if selecting else count
            found.offset[0] = 0
            written = 0
            while True:
                view = self._tail_of(found, written)
                status, accept, size, number = step(accept, last, size, walk, view)
                written += number
                self._count(number)
                if status == FINISHED:
                    break
                if status == GROW:
                    walk = grow_walk(walk)
                    continue
                if not selecting and written:
                    break
                found = self._larger(found, written)
            begin_of_group = last
            if written:
                yield self._selected(found, written) if selecting else self._trimmed(found, written)
                found = new_found(CHUNK_MATCHES, 4 * CHUNK_MATCHES)
        self._walk = walk

    def _enumerate_preferred(self, count: int) -> Iterator[Found]:
        """Yield what NEXT or LAST keeps; without conditions between events the winners are found without their rivals."""
        accept = 0
        latest = self._settings.keep is Keep.LAST
        seen = np.zeros(int(self._counters[TOP]), np.int64)
        found = new_found(CHUNK_MATCHES, 4 * CHUNK_MATCHES)
        while accept < count:
            found.offset[0] = 0
            status, accept, number = enumerate_preferred(self._nodes, self._accepts, accept, count, found, latest, seen)
            self._count(number)
            if number:
                yield self._without_duplicates(found, number)
                found = new_found(CHUNK_MATCHES, 4 * CHUNK_MATCHES)
            elif status != FINISHED:
                found = self._larger(found, 0)

    def _enumerator(self, count: int) -> Callable[..., tuple[int, int, int, int]]:
        settings, nodes, accepts, taken = self._settings, self._nodes, self._accepts, self._taken
        # A selector needs all candidates, so the quota is applied to what it keeps.
        quota = COUNT_LIMIT if settings.quota is None or self._selects() else settings.quota
        one_each = settings.keep is Keep.ANY
        if not settings.checked and settings.slices == 1:

            def plain(accept: int, last: int, size: int, walk: object, found: Found) -> tuple[int, int, int, int]:
                return enumerate_plain(  # type: ignore[no-any-return]
                    nodes, accepts, accept, last, size, walk, found, len(found.start), quota, taken, one_each
                )

            return plain
        labelled, store = settings.labelled, self._store
        programs = labelled.closing_programs() if self.judges_on_arrival else labelled.programs()
        absences = labelled.absences()
        counts = np.empty(int(self._counters[TOP]) if settings.slices > 1 else 1, np.int64)

        def checked(accept: int, last: int, size: int, walk: object, found: Found) -> tuple[int, int, int, int]:
            return enumerate_checked(  # type: ignore[no-any-return]
                nodes,
                accepts,
                accept,
                last,
                size,
                walk,
                found,
                len(found.start),
                quota,
                taken,
                one_each,
                programs,
                absences,
                store,
                counts,
                settings.slice_index,
                settings.slices,
            )

        return checked

    def _selects(self) -> bool:
        return self._settings.keep is not Keep.ALL or self._settings.deduplicate

    def _group_end(self, begin: int, count: int) -> int:
        """Return the end of a run of accepts that does not cut the matches of one event apart."""
        end = min(begin + 256, count)
        rows = self._accepts.row
        while end < count and rows[end] == rows[end - 1]:
            end += 1
        return end

    def _count(self, number: int) -> None:
        self._matches += number
        limit = self._settings.max_matches
        if limit is not None and self._matches > limit:
            raise MatchLimit(limit)

    @staticmethod
    def _tail_of(found: Found, written: int) -> Found:
        """Return a view whose first match is number `written` of `found`; offsets stay those of the whole."""
        return Found(found.start[written:], found.end[written:], found.offset[written:], found.row, found.label)

    @staticmethod
    def _larger(found: Found, written: int) -> Found:
        positions = int(found.offset[written])
        larger = new_found(2 * len(found.start), 2 * len(found.row))
        larger.start[:written] = found.start[:written]
        larger.end[:written] = found.end[:written]
        larger.offset[: written + 1] = found.offset[: written + 1]
        larger.row[:positions] = found.row[:positions]
        larger.label[:positions] = found.label[:positions]
        return larger

    @staticmethod
    def _trimmed(found: Found, written: int) -> Found:
        positions = int(found.offset[written])
        return Found(
            found.start[:written], found.end[:written], found.offset[: written + 1], found.row[:positions], found.label[:positions]
        )

    def _selected(self, found: Found, written: int) -> Found:
        keep = np.zeros(written, np.uint8)
        if self._settings.keep is Keep.ALL:
            keep[:] = 1
        else:
            select(found, written, int(self._settings.keep), keep)
        return self._kept(found, written, keep)

    def _without_duplicates(self, found: Found, written: int) -> Found:
        return self._kept(found, written, np.ones(written, np.uint8))

    def _kept(self, found: Found, written: int, keep: npt.NDArray[np.uint8]) -> Found:
        """Return the matches to keep, without those that show the same as another."""
        if self._settings.deduplicate:
            # Hashes wrap around, which plain Python (NUMBA_DISABLE_JIT) would warn of.
            with np.errstate(over="ignore"):
                drop_duplicates(found, written, self._settings.labelled.visible(), keep)
        kept = np.flatnonzero(keep)
        if len(kept) == written:
            return self._trimmed(found, written)
        lengths = (found.offset[1 : written + 1] - found.offset[:written])[kept]
        offset = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        positions = np.repeat(found.offset[:written][kept] - offset[:-1], lengths) + np.arange(offset[-1])
        return Found(found.start[kept], found.end[kept], offset, found.row[positions], found.label[positions])

    # Memory -----------------------------------------------------------------------------------------------------------

    def _collect(self, *, more: bool = False) -> None:
        """Slide live nodes together; ask for more room when that does not free half of the arena."""
        top = int(self._counters[TOP])
        count = int(self._counters[ACCEPTED])
        roots, lows = self._roots()
        # Accepts first: their windows begin earlier, and what they keep must not be cut off by a later window.
        roots = np.concatenate([self._accepts.node[:count], roots])
        lows = np.concatenate([self._accepts.low[:count], lows])
        marked = np.zeros(top, np.uint8)
        moved = np.empty(top, np.int32)
        mark_live(self._nodes, roots, lows, marked)
        live = compact(self._nodes, top, marked, moved)
        self._renumber(marked, moved)
        self._accepts.node[:count] = moved[self._accepts.node[:count]]
        self._counters[TOP] = live
        self.peak_nodes = max(self.peak_nodes, live)
        capacity = self._nodes.label.shape[0]
        if 4 * live > capacity or more:
            larger = new_nodes(max(4 * live, 2 * capacity))
            for name, column in larger._asdict().items():
                column[:live] = getattr(self._nodes, name)[:live]
            self._nodes = larger
