"""Timed-out partial matches: events that begin a match which is never completed (section 11)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any

from eventide.errors import BindError
from eventide.pattern import Consumption, Query, Selector, WindowUnit
from eventide.pattern.sequence_printing import absence_to_ceql, pattern_to_ceql
from eventide_reference.sequences.oracle import Columns, fits, matches_by_end, ordered, partitions
from eventide_reference.sequences.prefixes import first_parts, parts_of
from eventide_reference.sequences.rules import Rules
from eventide_reference.sequences.runs import Search
from eventide_reference.windows import step_test, window_test

if TYPE_CHECKING:
    from collections.abc import Sequence as Events

    from eventide_reference.sequences.conditions import Row


@dataclass(frozen=True, slots=True)
class Timeout:
    """An event, as an index into the given events, that begins no match; the other fields are columns of the result."""

    key: tuple[Any, ...]
    start: int
    match_start: Any
    expired_at: Any
    reached: int
    steps: int
    reached_steps: tuple[str, ...]
    missing: str
    last_step_at: Any


def timeouts(
    query: Query,
    events: Events[Row],
    *,
    time: str = "time",
    type: str | None = "type",  # noqa: A002  the role of the column is called so everywhere
    stream: str | None = None,
    tie_break: str | None = None,
    time_scale: int = 1,
) -> list[Timeout]:
    """Return the events that time out, in the order of the stream; the parameters are those of find_matches.

    >>> from eventide.pattern import Event, Gap, Sequence, Window
    >>> query = Query(Sequence((Event("A"), Event("B")), (Gap(),)), window=Window(WindowUnit.TIME_UNITS, 5))
    >>> rows = [{"time": 1, "type": "A"}, {"time": 3, "type": "A"}, {"time": 8, "type": "B"}]
    >>> [(out.match_start, out.expired_at, out.reached, out.missing) for out in timeouts(query, rows)]
    [(1, 6, 1, 'B')]
    """
    _check(query)
    columns = Columns(time, type, stream, tie_break, time_scale)
    query = replace(query, output=None)
    parts, trailing = parts_of(query.pattern)
    texts = [pattern_to_ceql(part) for part in parts]
    completed = {start for start, _ in _intervals(query, events, columns)}
    reachable = range(1, len(parts) + 1 if trailing else len(parts))
    ends = {k: _earliest(replace(query, pattern=first_parts(query.pattern, k)), events, columns) for k in reachable}
    found = []
    for key, start in _beginnings(query, events, columns):
        if start not in completed:
            moment = events[start][time]
            reached = max((k for k in reachable if start in ends[k]), default=0)
            missing = texts[reached] if reached < len(parts) else " ; ".join(map(absence_to_ceql, trailing))
            last = ends[reached][start] if reached else moment
            expired = _expiry(query, moment, time_scale)
            found.append(Timeout(key, start, moment, expired, reached, len(parts), tuple(texts[:reached]), missing, last))
    place = {index: rank for rank, index in enumerate(ordered(query, events, columns))}
    return sorted(found, key=lambda out: place[out.start])


def _check(query: Query) -> None:
    window = query.window
    timed = window is not None and window.unit in {WindowUnit.DURATION, WindowUnit.TIME_UNITS} and window.slide is None
    plain = query.selector is Selector.ALL and query.consumption is Consumption.NONE and query.limit is None
    if not timed or not plain:
        raise BindError(
            "TIMEOUTS_NOT_DEFINED",
            "Time-outs are defined for a plain time window, the selector ALL, and neither CONSUME BY nor LIMIT.",
            text=query.text or None,
            hint="Write WITHIN 30 minutes and leave the others out.",
        )


def _intervals(query: Query, events: Events[Row], columns: Columns) -> set[tuple[int, int]]:
    return {(match.start, match.end) for group in matches_by_end(query, events, columns) for match in group}


def _earliest(query: Query, events: Events[Row], columns: Columns) -> dict[int, Any]:
    """Return for each event that begins a match the earliest time at which one of them ends."""
    ends: dict[int, Any] = {}
    for start, end in _intervals(query, events, columns):
        moment = events[end][columns.time]
        ends[start] = min(moment, ends.get(start, moment))
    return ends


def _beginnings(query: Query, events: Events[Row], columns: Columns) -> list[tuple[tuple[Any, ...], int]]:
    """Return the events that can begin a match, with their keys."""
    rules = Rules(query)
    local = [scoped for scoped in rules.conditions if scoped.condition.reads_one_event]
    found = []
    for key, members in partitions(query, events, ordered(query, events, columns)):
        rows = [events[index] for index in members]
        inside = window_test(query.window, rows, columns.time, columns.time_scale)
        near = step_test(query.step_window, rows, columns.time, columns.time_scale)
        search = Search(rules, rows, lambda event, row: fits(event, row, columns), inside, near)
        found += [
            (key, index)
            for position, index in enumerate(members)
            if any(
                fits(rules.layout.occurrences[first.steps[0].occurrence].event, rows[position], columns)
                and all(search.is_true(scoped, first.steps, (position,)) for scoped in local)
                for first in rules.start.extensions()
            )
        ]
    return found


def _expiry(query: Query, moment: Any, time_scale: int) -> Any:
    assert query.window is not None
    size = int(query.window.size)
    if isinstance(moment, date):
        whole = moment if isinstance(moment, datetime) else datetime(moment.year, moment.month, moment.day)  # noqa: DTZ001
        return whole + timedelta(microseconds=size)
    return moment + (size // time_scale if query.window.unit is WindowUnit.DURATION else size)
