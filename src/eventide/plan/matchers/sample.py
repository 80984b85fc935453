"""What the first events of a table show: how large windows are, how often predicates hold, how many pairs of events fit."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from eventide.match.programs.operators import Op
from eventide.records import record

if TYPE_CHECKING:
    from collections.abc import Callable

    from eventide.match.protocol import EventBatch
    from eventide.plan.compiled import CompiledQuery
    from eventide.plan.sequences.conditions import CompiledCondition

    Integers = npt.NDArray[np.int64]

MOST_EVENTS = 1 << 16
PAIRS = 4_000
"""How many pairs conditions are judged on."""
_STEPS = (0.7548776662466927, 0.5698402909980532)
"""1 / g and 1 / g ** 2 for the g with g ** 3 = g + 1."""
_COMPARISONS: dict[int, Callable[[Any, Any], Any]] = {
    Op.EQ_I: np.equal,
    Op.NE_I: np.not_equal,
    Op.LT_I: np.less,
    Op.LE_I: np.less_equal,
    Op.EQ_F: np.equal,
    Op.NE_F: np.not_equal,
    Op.LT_F: np.less,
    Op.LE_F: np.less_equal,
}
_DOUBLES = (Op.EQ_F, Op.NE_F, Op.LT_F, Op.LE_F)


@record
class Sample:
    """What some events show of a query.

    `fits` holds for each condition between events the share of pairs inside a window that it lets pass, of those that earlier
    conditions between the same two steps let pass; it is 1 for a condition that does not compare two events.
    """

    events: int
    mean_window: float
    largest_window: int
    shares: tuple[float, ...]
    """[bit]: the share of events that set it."""
    fits: tuple[float, ...]

    @classmethod
    def of(cls, query: CompiledQuery, batch: EventBatch) -> Sample:
        """Look at the first events of a batch; the same events always show the same."""
        key, order = _sorted_by_key(batch)
        begin = _begins(key[order], batch.clock[order], batch.window_start[order])
        sizes = np.arange(1, len(order) + 1) - begin
        mask = batch.mask[order]
        bits = range(len(query.predicates))
        return cls(
            len(order),
            float(sizes.mean()) if len(order) else 0.0,
            int(sizes.max(initial=0)),
            tuple(float((mask >> bit & 1).mean()) if len(order) else 0.0 for bit in bits),
            _Pairs(query, batch, order, begin).shares(),
        )


def largest_window(batch: EventBatch) -> tuple[int, int]:
    """Return the rows from the first to behind the last of the largest window among events that are sorted by key."""
    key, order = _sorted_by_key(batch)
    if not len(order):
        return 0, 0
    begin = _begins(key, batch.clock[: len(order)], batch.window_start[: len(order)])
    last = int(np.argmax(np.arange(len(order)) - begin))
    return int(begin[last]), last + 1


def _sorted_by_key(batch: EventBatch) -> tuple[Integers, Integers]:
    """Return the keys of the first events, and their rows with those of a key together."""
    count = min(len(batch.mask), MOST_EVENTS)
    key = np.zeros(count, np.int64) if batch.key is None else batch.key[:count].astype(np.int64)
    if batch.restart is not None:
        key = key + np.cumsum(batch.restart[:count])
    return key, np.argsort(key, kind="stable")


def _begins(key: Integers, clock: Integers, window_start: Integers) -> Integers:
    """Return where the window of each event begins among events that are sorted by key and then by time."""
    events = len(key)
    at = np.concatenate([window_start, clock])
    is_event = np.repeat([0, 1], events)
    # The start of a window comes before the events of the same time, which are inside of it.
    merged = np.lexsort((is_event, at, np.concatenate([key, key])))
    before = np.cumsum(is_event[merged])
    begin = np.empty(2 * events, np.int64)
    begin[merged] = before
    return begin[:events]


def _spread_points(count: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return points that fill the unit square evenly, by Roberts's sequence: no `numpy.random`, which is slow to import.

    >>> [part.round(2).tolist() for part in _spread_points(2)]
    [[0.5, 0.25], [0.5, 0.07]]
    """
    number = np.arange(count, dtype=np.float64)
    return (0.5 + _STEPS[0] * number) % 1.0, (0.5 + _STEPS[1] * number) % 1.0


@record
class _Side:
    """A value of an event: the variable that takes it, the column, whether it is the later one of two of the same variable."""

    variable: str
    column: int
    later: bool
    widened: bool


def _compared(condition: CompiledCondition) -> tuple[Op, _Side, _Side] | None:
    """Return the two sides of a condition that compares two events, or None."""
    *loads, (op, *_) = condition.code
    sides: list[_Side] = []
    for load, slot, column, later in loads:
        if load == Op.TO_F and sides:
            sides[-1] = replace(sides[-1], widened=True)
        elif load in (Op.LOAD_I, Op.LOAD_F):
            sides.append(_Side(condition.slots[slot], column, bool(later), widened=False))
        else:
            return None
    if op not in _COMPARISONS or len(sides) != 2 or condition.outside is not None:
        return None
    one, other = sides
    related = one.variable != other.variable or one.later != other.later
    return (Op(op), one, other) if related else None


class _Pairs:
    """Draws pairs of events that lie in one window."""

    def __init__(self, query: CompiledQuery, batch: EventBatch, order: Integers, begin: Integers) -> None:
        self._query = query
        self._batch = batch
        self._order = order
        self._begin = begin

    def shares(self) -> tuple[float, ...]:
        """Return the share of pairs that each condition lets pass, of those that those before it let pass."""
        left: dict[tuple[str, str], npt.NDArray[np.bool_]] = {}
        shares = []
        for condition in self._query.conditions:
            compared = _compared(condition)
            if compared is None or not len(self._order):
                shares.append(1.0)
                continue
            op, one, other = compared
            swapped = self._place(one) > self._place(other)
            first, second = (other, one) if swapped else (one, other)
            earlier, later = self._drawn(first, second)
            known = left.setdefault((first.variable, second.variable), np.ones(len(earlier), np.bool_))
            rows = (later, earlier) if swapped else (earlier, later)
            passed = known & self._holds(op, (one, other), rows)
            # None of the pairs that were drawn need not be none of all.
            shares.append(max(int(passed.sum()), 0.5) / max(int(known.sum()), 1.0))
            left[first.variable, second.variable] = passed
        return tuple(shares)

    def _holds(self, op: Op, sides: tuple[_Side, _Side], rows: tuple[Integers, Integers]) -> npt.NDArray[np.bool_]:
        (one, one_known), (other, other_known) = (self._values(side, at, op) for side, at in zip(sides, rows, strict=True))
        held: npt.NDArray[np.bool_] = one_known & other_known & _COMPARISONS[op](one, other)
        return held

    def _place(self, side: _Side) -> tuple[int, bool]:
        return min(one.index for one in self._query.bound.occurrences if side.variable in one.variables), side.later

    def _drawn(self, first: _Side, second: _Side) -> tuple[Integers, Integers]:
        """Return rows of events of the first side, and for each that of an event of the second side later in the window."""
        mask = self._batch.mask[self._order]
        firsts = np.flatnonzero(mask & self._bits(first.variable))
        seconds = np.flatnonzero(mask & self._bits(second.variable))
        low, high = np.searchsorted(firsts, self._begin[seconds]), np.searchsorted(firsts, seconds)
        seconds, low, high = (part[high > low] for part in (seconds, low, high))
        if not len(seconds):
            return self._order[:0], self._order[:0]
        # Windows with more pairs are drawn more often, as they cost more.
        weights = np.cumsum(high - low)
        window, place = _spread_points(PAIRS)
        drawn = np.searchsorted(weights, (window * weights[-1]).astype(np.int64), side="right")
        partner = low[drawn] + (place * (high - low)[drawn]).astype(np.int64)
        return self._order[firsts[partner]], self._order[seconds[drawn]]

    def _bits(self, variable: str) -> int:
        return sum({1 << one.bit for one in self._query.bound.occurrences if variable in one.variables})

    def _values(self, side: _Side, rows: Integers, op: Op) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]:
        values, valid = self._batch.values, self._batch.valid
        assert values is not None and valid is not None
        column = values[side.column, rows]
        if op in _DOUBLES:
            column = column.astype(np.float64) if side.widened else column.view(np.float64)
        return column, valid[side.column, rows].astype(np.bool_)
