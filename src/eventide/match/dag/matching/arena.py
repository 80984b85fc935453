"""What the matchers over nodes share: the arena, which rows are kept, and dump and load."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from eventide.match.budget import SPENT, Account
from eventide.match.dag.enumeration import MatchBatch, grow_walk, new_accepts, new_walk
from eventide.match.dag.event_store import EventStore
from eventide.match.dag.kernel import (
    ACCEPTED,
    COUNTERS,
    DONE,
    KEPT_COUNTERS,
    KEY,
    NEED_ACCEPTS,
    NEED_LISTS,
    NEED_NODES,
    NEED_TRANSITION,
    NEED_WALK,
    OPEN_ACCEPT,
    TOP,
    WANTED_STATE,
    WANTED_SYMBOL,
    mark_forbidden,
)
from eventide.match.dag.matching.enumerator import Enumerator
from eventide.match.dag.nodes import UNION, compact, mark_live, new_nodes
from eventide.match.state_bytes import pack_arrays, unpack_arrays
from eventide.match.transitions import SymbolTable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eventide.match.protocol import EventBatch, MatcherSettings

FIRST_NODES = 1 << 15
FIRST_ACCEPTS = 1 << 12
STATE_VERSION = 1


class DagArena(Enumerator):
    """A matcher whose partial matches are nodes of one arena. Subclasses keep the lists of active states or runs."""

    name = ""

    def __init__(self, settings: MatcherSettings) -> None:
        self._settings = settings
        self._symbols = SymbolTable(settings.source, settings.bits, with_skips=self.judges_on_arrival)
        self._nodes = new_nodes(FIRST_NODES)
        self._absence_count = len(settings.forbidden_bits)
        self._accepts = new_accepts(FIRST_ACCEPTS, self._absence_count)
        self._counters = np.zeros(COUNTERS, np.int64)
        self._rows = EventStore(settings.columns, settings.forbidden_bits)
        self._taken = np.zeros(1, np.int64)
        self._account = Account(settings.budget)
        self._walk = new_walk()

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
    def _active(self) -> npt.NDArray[np.int32]:
        """Return for each slot how many active states or runs it holds."""

    @abstractmethod
    def _keep_slots(self, kept: npt.NDArray[np.int64]) -> None:
        """Forget all slots but these, which are numbered anew in their order."""

    @abstractmethod
    def _state_arrays(self) -> dict[str, npt.NDArray[np.generic]]:
        """Return the arrays of the subclass for a dump."""

    @abstractmethod
    def _restore(self, arrays: dict[str, npt.NDArray[np.generic]]) -> None:
        """Take the arrays of a dump back."""

    # The protocol -----------------------------------------------------------------------------------------------------

    def advance(self, batch: EventBatch) -> Iterator[MatchBatch]:
        """Take a batch and yield the matches that are now certain."""
        begin = self._rows.count
        self._account.begin(len(batch))
        self._append(batch)
        end = self._rows.count
        row = begin
        stopped = (DONE, begin)
        status = SPENT if begin < end else DONE
        while status != DONE:
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
            elif status == NEED_WALK:
                self._walk = grow_walk(self._walk)
            elif status not in (DONE, SPENT):
                raise AssertionError(status)
        if self._settings.trailing:
            yield from self._flush(self._settled_accepts())
        else:
            yield from self._flush(int(self._counters[ACCEPTED]))

    def advance_time(self, low: int) -> Iterator[MatchBatch]:
        """Learn that the window of every event to come begins at `low` or later, and yield the matches that are now certain."""
        self.shed(low)
        if self._settings.trailing:
            self._account.begin(self._rows.count)
            yield from self._flush(self._settled_accepts())

    def shed(self, before: int) -> None:
        """Let no window begin before a time; with a NOT at the end, what waits for it would be taken for certain."""
        lows, _ = self._slot_state()
        np.maximum(lows, before, out=lows)

    def live_keys(self) -> npt.NDArray[np.bool_]:
        """Return which slots hold anything that a match to come may need; to be asked right after `keep`."""
        _, last = self._slot_state()
        live = (self._active() > 0) | (last >= 0).any(axis=1)
        live[self._accepts.key[: int(self._counters[ACCEPTED])]] = True
        return live

    def kept_values(self, column: int) -> npt.NDArray[np.int64]:
        """Return a value column of the events that are held."""
        values: npt.NDArray[np.int64] = self._rows.store.values[column, : self._rows.count]
        return values

    def partial_matches(self) -> int:
        """Return how many active states or runs there are."""
        return int(self._active().sum())

    def compact_keys(self, kept: npt.NDArray[np.int64]) -> None:
        """Forget all slots but these (ascending), which are numbered anew; the others must not be live."""
        renumbered = np.full(len(self._active()), -1, np.int32)
        renumbered[kept] = np.arange(len(kept), dtype=np.int32)
        slot = self._rows.events.slot[: self._rows.count]
        slot[:] = renumbered[slot]
        count = int(self._counters[ACCEPTED])
        self._accepts.key[:count] = renumbered[self._accepts.key[:count]]
        taken = np.zeros(max(1, len(kept)), np.int64)
        known = kept[kept < len(self._taken)]
        taken[: len(known)] = self._taken[known]
        self._taken = taken
        self._keep_slots(kept)

    def finish(self) -> Iterator[MatchBatch]:
        """Yield the matches that only the end of the stream makes certain."""
        count = int(self._counters[ACCEPTED])
        self._account.begin(self._rows.count)
        self._learn_tails(np.arange(int(self._counters[OPEN_ACCEPT]), count))
        self._counters[OPEN_ACCEPT] = count
        yield from self._flush(count)

    def keep(self) -> npt.NDArray[np.int64]:
        """Return the rows that later matches may still name, ascending; all other rows are forgotten."""
        self._collect()
        needed = np.zeros(self._rows.count, np.uint8)
        top = int(self._counters[TOP])
        labels = self._nodes.label[:top]
        needed[self._nodes.row[:top][labels != UNION]] = 1
        count = int(self._counters[ACCEPTED])
        needed[self._accepts.row[:count]] = 1
        if self._absence_count:
            lows, last = self._slot_state()
            bounds = lows.copy()
            # An open accept still asks for the forbidden events of its own, earlier window.
            np.minimum.at(bounds, self._rows.events.slot[self._accepts.row[:count]], self._accepts.low[:count])
            mark_forbidden(last, self._rows.store.clock, self._rows.store.previous, bounds, needed)
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
            _forget_links(last, needed, renumbered)
            _forget_links(self._rows.store.previous[:, : self._rows.count], needed, renumbered)
        self._rows.keep(kept)
        if self._counters[KEY] > 0:
            # Sorted input: only the last key goes on, as key number 0 of the next batch.
            self._taken = self._taken[[int(self._counters[KEY])]].copy()
            self._accepts.key[:count] -= self._counters[KEY]
            self._counters[KEY] = 0
        return kept

    def history(self) -> npt.NDArray[np.int64]:
        """Return how labels and states got their numbers, for a symbol table that is to number them alike."""
        return self._symbols.history()

    def dump(self) -> bytes:
        """Return the whole state between two batches, as versioned, packed arrays."""
        self._collect()
        top = int(self._counters[TOP])
        count = int(self._counters[ACCEPTED])
        arrays: dict[str, npt.NDArray[np.generic]] = {
            "version": np.array([STATE_VERSION]),
            "counters": self._counters[:KEPT_COUNTERS],
            "taken": self._taken,
            "matches": np.array([self._account.matches]),
            "history": self._symbols.history(),
            **self._rows.dump(),
        }
        for name, column in self._nodes._asdict().items():
            arrays[f"node_{name}"] = column[:top]
        for name, column in self._accepts._asdict().items():
            arrays[f"accept_{name}"] = column[:count]
        arrays |= {f"own_{name}": array for name, array in self._state_arrays().items()}
        return pack_arrays(arrays)

    def load(self, state: bytes) -> None:
        """Go on from a dumped state."""
        arrays = unpack_arrays(state)
        if int(arrays["version"][0]) != STATE_VERSION:
            message = f"state of version {int(arrays['version'][0])} cannot be read, this is version {STATE_VERSION}"
            raise ValueError(message)
        self._counters[:KEPT_COUNTERS] = arrays["counters"]
        self._taken = arrays["taken"]
        self._account.matches = int(arrays["matches"][0])
        self._symbols.replay(arrays["history"])
        self._rows.load(arrays)
        top = len(arrays["node_label"])
        self._nodes = new_nodes(max(FIRST_NODES, 2 * top))
        for name, column in self._nodes._asdict().items():
            column[:top] = arrays[f"node_{name}"]
        count = len(arrays["accept_row"])
        self._accepts = new_accepts(max(FIRST_ACCEPTS, 2 * count), self._absence_count)
        for name, column in self._accepts._asdict().items():
            column[:count] = arrays[f"accept_{name}"]
        self._restore({name.removeprefix("own_"): array for name, array in arrays.items() if name.startswith("own_")})

    def _append(self, batch: EventBatch) -> None:
        self._rows.append(batch, self._symbols)
        slots = 1 if batch.key is None or not len(batch) else int(batch.key.max()) + 1
        self._ensure_slots(slots)
        self._counters[KEY] = 0
        keys = slots + (0 if batch.restart is None else int(np.count_nonzero(batch.restart)))
        if self._taken.shape[0] < keys:
            self._taken = np.append(self._taken, np.zeros(keys - self._taken.shape[0], np.int64))

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
        capacity = self._nodes.label.shape[0]
        if 4 * live > capacity or more:
            room = max(4 * live, 2 * capacity)
            self._account.allow_bytes(room * sum(column.itemsize for column in self._nodes))
            larger = new_nodes(room)
            for name, column in larger._asdict().items():
                column[:live] = getattr(self._nodes, name)[:live]
            self._nodes = larger


def _forget_links(
    links: npt.NDArray[np.int32], needed: npt.NDArray[np.uint8], renumbered: npt.NDArray[np.int32]
) -> None:
    known = links >= 0
    links[known] = np.where(needed[links[known]] == 1, renumbered[links[known]], -1)
