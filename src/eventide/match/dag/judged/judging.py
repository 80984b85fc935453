"""Building the judged DAG of one end, in room that grows with what is found."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from eventide.match.budget import SPENT
from eventide.match.dag.enumeration import Accepts, grow_walk
from eventide.match.dag.judged.bounds import FACTS, MOST_ADDED, look_below
from eventide.match.dag.judged.building import (
    COUNTERS,
    DEAD,
    DONE,
    NEED_CELLS,
    NEED_NODES,
    NEED_PAIRS,
    NEED_PATH,
    NEED_STACK,
    NEED_SUMMARIES,
    RETURNED,
    STOPPED,
    TOO_MUCH,
    TOP,
    forget,
    judge,
    new_known,
    new_pairs,
    new_stack,
    spread_out,
)
from eventide.match.dag.judged.candidates import count_candidates
from eventide.match.dag.judged.summaries import new_cells
from eventide.match.dag.nodes import UNION, new_nodes

if TYPE_CHECKING:
    from typing import Any

    import numpy.typing as npt

    from eventide.match.budget import Account
    from eventide.match.dag.enumeration import Absences, Store, Walk
    from eventide.match.dag.judged.bounds import Bounded
    from eventide.match.dag.judged.summaries import Summaries
    from eventide.match.dag.nodes import Nodes
    from eventide.match.programs.programs import Programs

FIRST_ROOM = 1 << 10
EXACT = 2.0**53
UNITS = 50
"""Sums of doubles are counted in parts of 2^50 of the largest."""
MOST_PAIRS = 1 << 21
"""Some 200 MB; a summary that is no smaller than its path would go on to the end of memory."""


class Judged(NamedTuple):
    """The judged DAG of one end, and where its matches are accepted in it."""

    nodes: Nodes
    top: int
    accepts: Accepts
    stopped: bool
    """Whether there may be more matches than enough."""

    def matches(self) -> int:
        """Return the exact number of matches."""
        counts = np.empty(self.top)
        count_candidates(self.nodes, self.top, counts)
        roots: list[int] = self.accepts.node.tolist()
        if counts.max(initial=0.0) < EXACT:
            return sum(int(counts[root]) for root in roots)
        exact: list[int] = []
        read = (self.nodes.label, self.nodes.left, self.nodes.right)
        for label, left, right in zip(*(column[: self.top].tolist() for column in read), strict=True):
            exact.append(exact[left] + exact[right] if label == UNION else 1 if left < 0 else exact[left])
        return sum(exact[root] for root in roots)


class EndCounts(NamedTuple):
    """How many matches end at an event, where nobody asks which."""

    end: npt.NDArray[np.int32]
    matches: list[int]


class JudgedDag:
    """Judges what ends at one event after the other, in the same room."""

    def __init__(
        self,
        programs: Programs,
        absences: Absences,
        summaries: Summaries,
        bounded: Bounded,
        visible: npt.NDArray[np.int32],
        *,
        witnesses: bool,
    ) -> None:
        self._asked = (programs, absences)
        self._summaries = summaries
        self._bounded = bounded
        self._below = np.zeros((0, 0, FACTS))
        self._quanta = np.ones(len(summaries.kind))
        self._visible = visible
        self._witnesses = witnesses
        self._nodes = new_nodes(FIRST_ROOM)
        self._stack = new_stack(FIRST_ROOM)
        self._pairs = new_pairs(FIRST_ROOM)
        self._known = new_known(FIRST_ROOM, len(summaries.kind))
        self._cells = new_cells(FIRST_ROOM)
        self._counters = np.zeros(COUNTERS, np.int64)

    def judged(
        self, nodes: Nodes, accepts: Accepts, begin: int, end: int, walk: Walk, store: Store, enough: int, account: Account
    ) -> tuple[Judged | None, Walk]:
        """Judge the accepts of one end; None where there are too many pairs to hold. The walk may have grown."""
        # Hashes wrap around and bounds are infinite, which plain Python (NUMBA_DISABLE_JIT) would warn of.
        with np.errstate(over="ignore", invalid="ignore"):
            return self._judged(nodes, accepts, begin, end, walk, store, enough, account)

    def _judged(
        self, nodes: Nodes, accepts: Accepts, begin: int, end: int, walk: Walk, store: Store, enough: int, account: Account
    ) -> tuple[Judged | None, Walk]:
        programs, absences = self._asked
        forget(self._pairs, self._known, self._cells, self._counters)
        roots: list[int] = []
        keys: list[int] = []
        for accept in range(begin, end):
            if nodes.start[accepts.node[accept]] < accepts.low[accept] or self._counters[STOPPED]:
                continue
            status = SPENT
            while status != DONE:
                status = judge(
                    nodes,
                    accepts,
                    accept,
                    walk,
                    programs,
                    absences,
                    store,
                    self._summaries,
                    self._bounded,
                    self._quanta,
                    self._below,
                    self._visible,
                    self._nodes,
                    self._stack,
                    self._pairs,
                    self._known,
                    self._cells,
                    self._counters,
                    self._witnesses,
                    enough,
                    MOST_PAIRS,
                    account.slice(),
                )
                if status == NEED_PATH:
                    walk = grow_walk(walk)
                elif status not in (DONE, SPENT):
                    self._grow(status)
            if self._counters[STOPPED] == TOO_MUCH:
                return None, walk
            if self._counters[RETURNED] != DEAD:
                roots.append(int(self._counters[RETURNED]))
                keys.append(accept)
        chosen = np.array(keys, np.int64)
        found = Accepts(
            accepts.row[chosen], np.array(roots, np.int32), accepts.low[chosen], accepts.key[chosen], accepts.tail[chosen]
        )
        return Judged(self._nodes, int(self._counters[TOP]), found, bool(self._counters[STOPPED])), walk

    def look_below(self, nodes: Nodes, store: Store, top: int) -> None:
        """Learn what lies below the nodes, and choose units in which the largest sum of doubles leaves room for many."""
        features = len(self._bounded.column)
        self._below = np.zeros((features, top, FACTS))
        look_below(nodes, top, self._bounded, store.values, store.floats, store.valid, self._below)
        added = [np.nanmax(np.where(np.isfinite(facts), facts, 0.0), initial=0.0) for facts in self._below[..., MOST_ADDED]]
        largest = max(added, default=0.0)
        if largest > 0:
            self._quanta[:] = 2.0 ** (np.ceil(np.log2(largest)) - UNITS)

    def _grow(self, status: int) -> None:
        if status == NEED_STACK:
            self._stack = _doubled(self._stack, new_stack(2 * len(self._stack.node)))
            return
        if status == NEED_NODES:
            self._nodes = _doubled(self._nodes, new_nodes(2 * len(self._nodes.label)))
            return
        if status == NEED_PAIRS:
            self._pairs = _doubled(self._pairs, new_pairs(2 * len(self._pairs.node)))
        elif status == NEED_SUMMARIES:
            self._known = _doubled(self._known, new_known(2 * len(self._known.marks), len(self._summaries.kind)))
        elif status == NEED_CELLS:
            self._cells = _doubled(self._cells, new_cells(2 * len(self._cells.rest)))
        else:
            raise AssertionError(status)
        self._pairs.slot[:] = -1
        self._known.slot[:] = -1
        self._cells.slot[:] = -1
        spread_out(self._pairs, self._known, self._cells, self._counters)


def _doubled(old: Any, new: Any) -> Any:
    """Return the larger room with what the smaller one holds; hash tables are filled anew by others."""
    for name, column in new._asdict().items():
        if name != "slot":
            column[: len(getattr(old, name))] = getattr(old, name)
    return new
