"""From accepts to matches: when they are certain, in which order, and which of them selectors keep."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from eventide.match.budget import SPENT, Resource, Spent
from eventide.match.dag.agreement import ANY_VALUE, possible_values
from eventide.match.dag.checking import enumerate_checked
from eventide.match.dag.enumeration import (
    COUNT_LIMIT,
    FINISHED,
    FULL,
    GROW,
    Accepts,
    MatchBatch,
    Walk,
    enumerate_plain,
    grow_walk,
    new_accepts,
    new_found,
)
from eventide.match.dag.judged.candidates import count_candidates
from eventide.match.dag.judged.judging import EndCounts, JudgedDag
from eventide.match.dag.judged.maximal import maximal_matches, maximal_supports
from eventide.match.dag.kernel import ACCEPTED, OPEN_ACCEPT, TOP
from eventide.match.dag.path_counts import count_paths
from eventide.match.dag.preferred import enumerate_preferred
from eventide.match.dag.selection import drop_duplicates, select
from eventide.match.dag.slicing import NEVER_COUNTED, counted_values
from eventide.match.protocol import Keep

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from eventide.match.budget import Account
    from eventide.match.dag.event_store import EventStore
    from eventide.match.dag.judged.judging import Judged
    from eventide.match.dag.nodes import Nodes
    from eventide.match.protocol import MatcherSettings

CHUNK_MATCHES = 1 << 16
FEW_MATCHES = 1 << 10
FIRST_GROUP, LARGEST_GROUP = 256, 1 << 14
"""How many accepts a selector looks at together; no more than the first number where matches are capped."""
MANY_CANDIDATES, MANY_TO_LIST = 1 << 12, 1 << 16
"""Ends with more candidates have them judged before any is listed; with more than the second number where all are listed."""


class Enumerator(ABC):
    """The enumerating half of a matcher over nodes."""

    _settings: MatcherSettings
    _nodes: Nodes
    _accepts: Accepts
    _counters: npt.NDArray[np.int64]
    _rows: EventStore
    _taken: npt.NDArray[np.int64]
    _account: Account
    _walk: Walk
    _absence_count: int
    _spare: MatchBatch | None = None

    counts_only = False
    """Whether the number of matches of an end will do for the matches."""
    _next_count = 0
    """How many matches there must be before those of an end are counted again."""
    judges_on_arrival = False
    """Whether conditions are judged as events arrive, so that enumeration only judges whole matches."""

    @abstractmethod
    def _slot_state(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
        """Return the window bound of each slot and its latest forbidden events."""

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
            self._accepts.tail[accepts] = last[self._rows.events.slot[self._accepts.row[accepts]]]

    def _settled_accepts(self) -> int:
        """Move the accepts that no later event can touch to the front and return how many there are."""
        count, open_accept = int(self._counters[ACCEPTED]), int(self._counters[OPEN_ACCEPT])
        lows, _ = self._slot_state()
        waiting = np.arange(open_accept, count)
        rows = self._accepts.row[waiting]
        slots = self._rows.events.slot[rows]
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

    def _flush(self, count: int) -> Iterator[Any]:
        """Enumerate the first `count` accepts and forget them."""
        if count:
            yield from self._enumerate(count)
            total = int(self._counters[ACCEPTED])
            for column in self._accepts:
                column[: total - count] = column[count:total].copy()
            self._counters[ACCEPTED] = total - count
            self._counters[OPEN_ACCEPT] = max(0, int(self._counters[OPEN_ACCEPT]) - count)

    def _enumerate(self, count: int) -> Iterator[Any]:
        many = np.flatnonzero(self._many_candidates(count)).tolist() if self._judges_first() else []
        if many and self._settings.labelled.summaries() is None:
            many = []
        begin = 0
        judged = None
        for accept in many:
            if accept < begin:
                continue
            first = accept
            while first > begin and self._accepts.row[first - 1] == self._accepts.row[accept]:
                first -= 1
            if begin < first:
                yield from self._enumerate_stretch(begin, first)
            begin = self._group_end(accept, 1, count)
            judged = judged or self._judged_dag()
            yield from self._enumerate_judged(judged, first, begin)
        if begin < count:
            yield from self._enumerate_stretch(begin, count)

    def _judges_first(self) -> bool:
        """Whether ends with many candidates have them judged before they are listed."""
        settings = self._settings
        able = settings.explosive and settings.slices == 1 and not self.judges_on_arrival
        return able and (settings.checked or settings.keep is Keep.MAX)

    def _many_candidates(self, count: int) -> npt.NDArray[np.bool_]:
        """Return which accepts have too many candidates to walk them one by one."""
        counts = np.empty(int(self._counters[TOP]))
        count_candidates(self._nodes, len(counts), counts)
        listing = not self._selects() and self._settings.quota is None and not self.counts_only
        few = MANY_TO_LIST if listing else MANY_CANDIDATES
        many: npt.NDArray[np.bool_] = counts[self._accepts.node[:count]] > few
        return many

    def _judged_dag(self) -> JudgedDag:
        settings, labelled = self._settings, self._settings.labelled
        summarised = labelled.summaries()
        assert summarised is not None
        # A selector compares supports, which the result need not show.
        witnesses = settings.deduplicate and settings.keep is Keep.ALL
        dag = JudgedDag(labelled.programs(), labelled.absences(), *summarised, labelled.visible(), witnesses=witnesses)
        dag.look_below(self._nodes, self._rows.store, int(self._counters[TOP]))
        return dag

    def _enumerate_judged(self, dag: JudgedDag, begin: int, end: int) -> Iterator[MatchBatch | EndCounts]:
        """Yield the matches of one end from its judged DAG, which holds no other candidates."""
        settings = self._settings
        enough = COUNT_LIMIT
        if settings.keep is Keep.ANY:
            enough = 1
        elif settings.quota is not None and not self._selects():
            enough = settings.quota - int(self._taken[self._accepts.key[begin]])
            if enough <= 0:
                return
        elif settings.quota is not None and settings.keep is Keep.ALL:
            yield from self._enumerate_quota(dag, begin, end, settings.quota)
            return
        judged = self._judged(dag, begin, end, enough)
        if judged is None:
            yield from self._enumerate_stretch(begin, end)
            return
        count = len(judged.accepts.row)
        if self.counts_only and settings.keep is Keep.ALL and not settings.deduplicate:
            number = judged.matches() if settings.quota is None else min(judged.matches(), enough)
            if settings.quota is not None:
                self._taken[self._accepts.key[begin]] += number
            yield EndCounts(judged.accepts.row[:1], [number] if count else [])
        elif settings.keep is Keep.MAX and count:
            yield from self._enumerate_maximal(judged)
        elif settings.keep in (Keep.NEXT, Keep.LAST):
            yield from self._enumerate_preferred(0, count, judged)
        else:
            yield from self._enumerate_stretch(0, count, judged)

    def _judged(self, dag: JudgedDag, begin: int, end: int, enough: int) -> Judged | None:
        store, account = self._rows.store, self._account
        judged, self._walk = dag.judged(self._nodes, self._accepts, begin, end, self._walk, store, enough, account)
        return judged

    def _enumerate_quota(self, dag: JudgedDag, begin: int, end: int, quota: int) -> Iterator[MatchBatch]:
        """Yield as many different matches of one end as LIMIT may want: more are judged while too many show the same."""
        enough = 4 * quota
        while True:
            judged = self._judged(dag, begin, end, enough)
            if judged is None:
                yield from self._enumerate_stretch(begin, end)
                return
            found = list(self._enumerate_stretch(0, len(judged.accepts.row), judged))
            if not judged.stopped or sum(len(batch.start) for batch in found) >= quota:
                yield from found
                return
            enough *= 8

    def _enumerate_maximal(self, judged: Judged) -> Iterator[MatchBatch]:
        """Yield what MAX keeps of one end."""
        supports = maximal_supports(judged, self._account)
        if supports is None:
            yield from self._enumerate_stretch(0, len(judged.accepts.row), judged)
            return
        found, number, self._walk = maximal_matches(judged, *supports, self._walk, self._account, larger_found, CHUNK_MATCHES)
        yield self._counted(self._without_duplicates(found, number))

    def _enumerate_stretch(self, begin: int, count: int, judged: Judged | None = None) -> Iterator[MatchBatch]:
        """Yield the matches of the accepts from `begin` on, or of those of a judged DAG."""
        if self._settings.keep in (Keep.NEXT, Keep.LAST) and not self._settings.checked:
            yield from self._enumerate_preferred(begin, count)
            return
        selecting = self._selects()
        accept = begin
        size = 0
        walk = self._walk
        step = self._enumerator(judged)
        begin_of_group, group = begin, FIRST_GROUP
        largest = LARGEST_GROUP if self._settings.budget.matches is None else FIRST_GROUP
        found = self._room()
        while accept < count or size > 0:
            going_on = accept if size > 0 else -1
            last = self._group_end(begin_of_group, group, count) if selecting and judged is None else count
            found.offset[0] = 0
            written = 0
            while True:
                view = self._tail_of(found, written)
                status, accept, size, number = step(accept, last, size, walk, view)
                written += number
                if selecting:
                    self._account.allow_candidates(written)
                else:
                    self._take_found(number, accept - 1)
                if status == FINISHED:
                    break
                if status == SPENT:
                    continue
                if status == GROW:
                    walk = grow_walk(walk)
                    continue
                if not selecting and written:
                    if size > 0 and accept == going_on:
                        self._expect_rest_of(accept - 1)
                    break
                self._account.allow_room(2 * room_bytes(found))
                found = larger_found(found, written)
            begin_of_group = last
            group = next_size(group, written, CHUNK_MATCHES, largest)
            if written:
                chosen = self._counted(self._selected(found, written)) if selecting else trimmed_found(found, written)
                few = written <= FEW_MATCHES and len(found.start) == CHUNK_MATCHES
                if few:
                    chosen = copied_found(chosen)
                yield chosen
                found = found if few else new_found(CHUNK_MATCHES, 4 * CHUNK_MATCHES)
        self._walk, self._spare = walk, found

    def _room(self) -> MatchBatch:
        """Return room for a chunk of matches; that of a handful is used again, since making it takes longer than they do."""
        room, self._spare = self._spare, None
        return room if room is not None and len(room.start) == CHUNK_MATCHES else new_found(CHUNK_MATCHES, 4 * CHUNK_MATCHES)

    def _take_found(self, number: int, accept: int) -> None:
        """Count matches; where there are more than may be, say how many if that end alone has very many."""
        try:
            self._account.take_matches(number)
        except Spent as spent:
            rest = self._rest_of(accept) if spent.resource is Resource.MATCHES else 0
            raise Spent(spent.resource, spent.amount, self._account.matches - number + rest if rest else None) from None

    def _expect_rest_of(self, accept: int) -> None:
        """Refuse an end with more matches than can be written, once it has filled all room and others are left.

        That is counted again when there are twice as many matches: the count goes over all nodes of the end.
        """
        if self._account.matches >= self._next_count:
            self._next_count = 2 * self._account.matches
            rest = self._rest_of(accept)
            if rest:
                self._account.expects(rest)

    def _rest_of(self, accept: int) -> int:
        """Return how many matches of an end are left, one room more or less; 0 where they are few or cannot be counted."""
        settings = self._settings
        if settings.checked or settings.slices > 1 or settings.quota is not None or settings.keep is not Keep.ALL:
            return 0
        paths = count_paths(self._nodes, int(self._accepts.node[accept]), int(self._accepts.low[accept]))
        return 0 if paths <= 2 * CHUNK_MATCHES else paths - CHUNK_MATCHES

    def _enumerate_preferred(self, begin: int, count: int, judged: Judged | None = None) -> Iterator[MatchBatch]:
        """Yield what NEXT or LAST keeps; where no condition is left to judge the winners are found without their rivals."""
        accept, root, size, number = begin, 0, 0, 0
        latest = self._settings.keep is Keep.LAST
        nodes, accepts = (self._nodes, self._accepts) if judged is None else (judged.nodes, judged.accepts)
        seen = np.zeros(int(self._counters[TOP]) if judged is None else judged.top, np.int64)
        found = new_found(CHUNK_MATCHES, 4 * CHUNK_MATCHES)
        status = SPENT
        while status != FINISHED:
            status, accept, root, size, number = enumerate_preferred(
                nodes,
                accepts,
                accept,
                count,
                root,
                size,
                self._walk,
                found,
                number,
                CHUNK_MATCHES,
                latest,
                seen,
                self._account.slice(),
            )
            # Matches that end at one event stay together, since they may show the same.
            between = root == 0 and size == 0
            if status == GROW:
                self._walk = grow_walk(self._walk)
            elif status == FULL and not between:
                self._account.allow_room(2 * room_bytes(found))
                found = larger_found(found, number)
            elif number and between:
                yield self._counted(self._without_duplicates(found, number))
                found, number = new_found(CHUNK_MATCHES, 4 * CHUNK_MATCHES), 0

    def _enumerator(self, judged: Judged | None = None) -> Callable[..., tuple[int, int, int, int]]:
        settings, taken, account = self._settings, self._taken, self._account
        nodes, accepts = (self._nodes, self._accepts) if judged is None else (judged.nodes, judged.accepts)
        # A selector needs all candidates, so the quota is applied to what it keeps.
        quota = COUNT_LIMIT if settings.quota is None or self._selects() else settings.quota
        one_each = settings.keep is Keep.ANY
        plain = judged is not None or (not settings.checked and settings.slices == 1)
        kernel: Callable[..., tuple[int, int, int, int]] = enumerate_plain if plain else enumerate_checked
        checks = () if plain else self._checks()

        def step(accept: int, last: int, size: int, walk: object, found: MatchBatch) -> tuple[int, int, int, int]:
            given = (nodes, accepts, accept, last, size, walk, found, len(found.start), quota, taken, one_each)
            return kernel(*given, *checks, account.slice())

        return step

    def _checks(self) -> tuple[object, ...]:
        """Return what an enumeration with conditions and in slices reads besides."""
        settings, store = self._settings, self._rows.store
        labelled = settings.labelled
        programs, absences = labelled.checks(closing=self.judges_on_arrival)
        top = int(self._counters[TOP])
        groups = len(programs.agree_float)
        possible = np.empty((groups, top if groups else 0), np.int64)
        if groups:
            possible_values(self._nodes, top, programs, store, possible)
        sliced = settings.slices > 1
        bits = counted_values(possible) if sliced else np.array([ANY_VALUE])
        counts = np.empty((len(bits), top if sliced else 1))
        counted = np.full((len(bits), top if sliced else 1), NEVER_COUNTED)
        slices = (settings.slice_index, settings.slices, bits, counts, counted)
        return programs, absences, store, *slices, possible

    def _selects(self) -> bool:
        return self._settings.keep is not Keep.ALL or self._settings.deduplicate

    def _group_end(self, begin: int, size: int, count: int) -> int:
        """Return the end of a run of about so many accepts that does not cut the matches of one event apart."""
        end = min(begin + size, count)
        rows = self._accepts.row
        while end < count and rows[end] == rows[end - 1]:
            end += 1
        return end

    def _counted(self, found: MatchBatch) -> MatchBatch:
        self._account.take_matches(len(found.start))
        return found

    @staticmethod
    def _tail_of(found: MatchBatch, written: int) -> MatchBatch:
        """Return a view whose first match is number `written` of `found`; offsets stay those of the whole."""
        return MatchBatch(found.start[written:], found.end[written:], found.offset[written:], found.row, found.label)

    def _selected(self, found: MatchBatch, written: int) -> MatchBatch:
        keep = np.zeros(written, np.uint8)
        if self._settings.keep is Keep.ALL:
            keep[:] = 1
        else:
            begin = one = 0
            while begin < written:
                begin, one = select(found, written, int(self._settings.keep), keep, begin, one, self._account.slice())
        return self._kept(found, written, keep)

    def _without_duplicates(self, found: MatchBatch, written: int) -> MatchBatch:
        return self._kept(found, written, np.ones(written, np.uint8))

    def _kept(self, found: MatchBatch, written: int, keep: npt.NDArray[np.uint8]) -> MatchBatch:
        """Return the matches to keep, without those that show the same as another."""
        if self._settings.deduplicate:
            return without_duplicates(found, written, self._settings.labelled.visible(), keep)
        return kept_found(found, written, keep)


def next_size(size: int, matches: int, chunk: int, largest: int) -> int:
    """Return how many ends to look at together next, after so many of them had so many matches: about an eighth of a chunk.

    >>> next_size(16, 0, 800, 1000), next_size(16, 101, 800, 1000), next_size(900, 0, 800, 1000)
    (32, 8, 1000)
    """
    return max(1, size // 2) if 8 * matches > chunk else min(largest, 2 * size)


def room_bytes(found: MatchBatch) -> int:
    """Return the memory that room for matches takes."""
    return sum(column.nbytes for column in found)


def larger_found(found: MatchBatch, written: int) -> MatchBatch:
    """Return the matches written so far with twice the room."""
    return found_in_room(found, written, 2 * len(found.start), 2 * len(found.row))


def found_in_room(found: MatchBatch, written: int, matches: int, room: int) -> MatchBatch:
    """Return the matches written so far in room for that many matches and positions."""
    positions = int(found.offset[written])
    larger = new_found(matches, room)
    larger.start[:written] = found.start[:written]
    larger.end[:written] = found.end[:written]
    larger.offset[: written + 1] = found.offset[: written + 1]
    larger.row[:positions] = found.row[:positions]
    larger.label[:positions] = found.label[:positions]
    return larger


def trimmed_found(found: MatchBatch, written: int) -> MatchBatch:
    """Return the matches without the room behind them."""
    positions = int(found.offset[written])
    return MatchBatch(
        found.start[:written],
        found.end[:written],
        found.offset[: written + 1],
        found.row[:positions],
        found.label[:positions],
    )


def without_duplicates(
    found: MatchBatch, written: int, visible: npt.NDArray[np.int32], keep: npt.NDArray[np.uint8]
) -> MatchBatch:
    """Return the matches to keep, without those that show the same as another."""
    # Hashes wrap around, which plain Python (NUMBA_DISABLE_JIT) would warn of.
    with np.errstate(over="ignore"):
        drop_duplicates(found, written, visible, keep)
    return kept_found(found, written, keep)


def copied_found(found: MatchBatch) -> MatchBatch:
    """Return the matches in memory of their own."""
    return MatchBatch(found.start.copy(), found.end.copy(), found.offset.copy(), found.row.copy(), found.label.copy())


def kept_found(found: MatchBatch, written: int, keep: npt.NDArray[np.uint8]) -> MatchBatch:
    """Return the matches to keep."""
    kept = np.flatnonzero(keep)
    return trimmed_found(found, written) if len(kept) == written else chosen_found(found, kept)


def chosen_found(found: MatchBatch, chosen: npt.NDArray[np.int64]) -> MatchBatch:
    """Return some of the matches, in the order in which they are chosen."""
    begins = found.offset[chosen]
    lengths = found.offset[chosen + 1] - begins
    offset = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    positions = np.repeat(begins - offset[:-1], lengths) + np.arange(offset[-1])
    return MatchBatch(found.start[chosen], found.end[chosen], offset, found.row[positions], found.label[positions])
