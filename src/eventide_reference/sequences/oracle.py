"""The oracle: the matches of a query, computed step by step as docs/semantics.md defines them."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from eventide.errors import BindError
from eventide.pattern import Consumption, Event, Query, Selector, WindowUnit, absences, walk
from eventide_reference.sequences.output import kept_variables
from eventide_reference.sequences.rules import Rules
from eventide_reference.sequences.runs import FoundMatch, Search
from eventide_reference.sequences.selectors import keep
from eventide_reference.windows import step_test, window_test

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eventide_reference.sequences.conditions import Row


@dataclass(frozen=True, slots=True)
class Match:
    """A match in indices into the given events: its partition key, first and last event, and the events of each variable.

    The indices of a variable stand in event order; a variable without events has an empty tuple.
    """

    key: tuple[Any, ...]
    start: int
    end: int
    bindings: dict[str, tuple[int, ...]]

    def identity(self) -> tuple[object, ...]:
        """Return a hashable form that is equal for equal matches.

        >>> Match((), 0, 1, {"a": (0,)}).identity()
        (0, 1, (('a', (0,)),))
        """
        return (self.start, self.end, tuple(sorted(self.bindings.items())))


@dataclass(frozen=True, slots=True)
class Columns:
    """Which columns of the events hold their roles, and how many microseconds one unit of time is."""

    time: str = "time"
    type: str | None = "type"
    stream: str | None = None
    tie_break: str | None = None
    time_scale: int = 1


def find_matches(
    query: Query,
    events: Sequence[Row],
    *,
    time: str = "time",
    type: str | None = "type",  # noqa: A002  the role of the column is called so everywhere
    stream: str | None = None,
    tie_break: str | None = None,
    time_scale: int = 1,
) -> list[Match]:
    """Return the matches of a query, ordered by their last event, then their first event, then their bindings.

    `events` are rows in the order of arrival. `time_scale` is the number of microseconds in one unit of the time column.

    >>> from eventide.pattern import Gap, Sequence
    >>> stream = [{"time": 1, "type": "A"}, {"time": 2, "type": "A"}, {"time": 3, "type": "B"}]
    >>> for match in find_matches(Query(Sequence((Event("A"), Event("B")), (Gap(),))), stream):
    ...     print(match.bindings)
    {'A': (0,), 'B': (2,)}
    {'A': (1,), 'B': (2,)}
    """
    groups = matches_by_end(query, events, Columns(time, type, stream, tie_break, time_scale))
    if query.selector is Selector.ANY:
        groups = [group[:1] for group in groups]
    return [match for group in groups for match in group][: query.limit]


def count_matches(query: Query, events: Sequence[Row], **columns: Any) -> dict[tuple[Any, ...], int]:
    """Return the number of matches of each partition that has any; `columns` are those of find_matches.

    >>> count_matches(Query(Event("A")), [{"time": 1, "type": "A"}, {"time": 2, "type": "A"}])
    {(): 2}
    """
    return dict(Counter(match.key for match in find_matches(query, events, **columns)))


def admissible(query: Query, events: Sequence[Row], produced_matches: list[Match], **columns: Any) -> str | None:
    """Say why a set of matches is not a result of the query, or return None when it is one.

    Where the definition leaves a choice open (selector ANY, the last matches of LIMIT), every choice is accepted.

    >>> stream = [{"time": 1, "type": "A"}, {"time": 2, "type": "A"}]
    >>> admissible(Query(Event("A"), limit=1), stream, [Match((), 1, 1, {"A": (1,)})])
    "0 of 1 matches end at event 0; not there: [Match(key=(), start=0, end=0, bindings={'A': (0,)})]."
    """
    produced = {match.identity(): match for match in produced_matches}
    if len(produced) < len(produced_matches):
        return "A match is there more than once."
    groups = matches_by_end(query, events, Columns(**columns))
    known = {match.identity(): match for group in groups for match in group}
    for identity, match in produced.items():
        if identity not in known:
            return f"{match} is no match of the query."
        if _key_identity(match.key) != _key_identity(known[identity].key):
            return f"{match} has not the key {known[identity].key}."
    per_group = [1 if query.selector is Selector.ANY else len(group) for group in groups]
    left = sum(per_group) if query.limit is None else query.limit
    last: int | None = None
    for group, size in zip(groups, per_group, strict=True):
        found = [match for match in group if match.identity() in produced]
        expected = min(size, left)
        if found and expected == 0:
            return f"LIMIT {query.limit} cuts at the end event {last}, but there is a match that ends at event {group[0].end}."
        if len(found) != expected:
            missing = [match for match in group if match.identity() not in produced]
            return f"{len(found)} of {expected} matches end at event {group[0].end}; not there: {missing}."
        if expected:
            left -= expected
            last = group[0].end
    return None


def matches_by_end(query: Query, events: Sequence[Row], columns: Columns) -> list[list[Match]]:
    """Return the projected matches in groups that end at the same event, in the order of the stream.

    All that is defined without a choice has been applied: conditions, selectors other than ANY, CONSUME BY.

    >>> [len(group) for group in matches_by_end(Query(Event("A")), [{"time": 1, "type": "A"}], Columns())]
    [1]
    """
    rules = Rules(query)
    kept = kept_variables(query)
    _check_types(query, columns)
    order = ordered(query, events, columns)
    rank = {index: place for place, index in enumerate(order)}
    ending: dict[int, tuple[tuple[Any, ...], list[int], list[FoundMatch]]] = {}
    for key, members in partitions(query, events, order):
        rows = [events[index] for index in members]
        inside = window_test(query.window, rows, columns.time, columns.time_scale)
        near = step_test(query.step_window, rows, columns.time, columns.time_scale)
        search = Search(rules, rows, lambda event, row: fits(event, row, columns), inside, near)
        for match in search.matches():
            ending.setdefault(rank[members[match.end]], (key, members, []))[2].append(match)
    groups = []
    consumed: dict[object, int] = {}
    for place in sorted(ending):
        key, members, found = ending[place]
        owner = _key_identity(key) if query.consumption is Consumption.PARTITION else None
        # What was consumed is gone: selectors no longer see it.
        alive = [match for match in found if rank[members[match.start]] > consumed.get(owner, -1)]
        selected = keep(query.selector, alive)
        if selected:
            groups.append(_projected(selected, key, members, kept))
            if query.consumption is not Consumption.NONE:
                consumed[owner] = place
    return groups


def _projected(found: list[FoundMatch], key: tuple[Any, ...], members: list[int], kept: frozenset[str]) -> list[Match]:
    """Forget the variables that are not kept, and matches that became equal."""
    distinct = {(match.start, match.end, tuple(pair for pair in match.bindings if pair[0] in kept)) for match in found}
    return [
        Match(
            key, members[start], members[end], {name: tuple(members[position] for position in bound) for name, bound in bindings}
        )
        for start, end, bindings in sorted(distinct)
    ]


def ordered(query: Query, events: Sequence[Row], columns: Columns) -> list[int]:
    """Return the indices of the events that take part, in the order of (time, tie-break, stream, arrival).

    >>> ordered(Query(Event("A")), [{"time": 2}, {"time": None}, {"time": 1}], Columns())
    [2, 0]
    """
    streams = [name.text for name in query.streams]
    needed = [columns.time]
    if query.window is not None and query.window.unit is WindowUnit.ATTRIBUTE and query.window.attribute is not None:
        needed.append(query.window.attribute)

    def place(index: int) -> tuple[Any, ...]:
        row = events[index]
        tie = row[columns.tie_break] if columns.tie_break else None
        stream = streams.index(row[columns.stream]) if columns.stream and streams else 0
        # Null comes before every other tie-break, as in Spark's ascending order.
        return (row[columns.time], tie is not None, tie if tie is not None else 0, stream, index)

    taking_part = [
        index
        for index, row in enumerate(events)
        if all(row[name] is not None for name in needed) and (not columns.stream or not streams or row[columns.stream] in streams)
    ]
    return sorted(taking_part, key=place)


def partitions(query: Query, events: Sequence[Row], order: list[int]) -> list[tuple[tuple[Any, ...], list[int]]]:
    """Return each key with the indices of its events in order; null is a key value like others, and so is NaN.

    >>> from eventide.pattern import Name
    >>> query = Query(Event("A"), partition_by=(Name("k"),))
    >>> partitions(query, [{"k": None}, {"k": 1}, {"k": None}], [0, 1, 2])
    [((None,), [0, 2]), ((1,), [1])]
    """
    found: dict[tuple[object, ...], tuple[tuple[Any, ...], list[int]]] = {}
    for index in order:
        key = tuple(events[index][name.text] for name in query.partition_by)
        found.setdefault(_key_identity(key), (key, []))[1].append(index)
    return list(found.values())


def _key_identity(key: tuple[Any, ...]) -> tuple[object, ...]:
    return tuple("NaN" if isinstance(value, float) and math.isnan(value) else (value,) for value in key)


def fits(event: Event, row: Row, columns: Columns) -> bool:
    """Tell whether a row is an event of the type and stream that the pattern names.

    >>> fits(Event("A"), {"type": "A"}, Columns()), fits(Event("A"), {"type": "B"}, Columns())
    (True, False)
    """
    right_type = event.type is None or columns.type is None or row[columns.type] == event.type
    right_stream = event.stream is None or columns.stream is None or row[columns.stream] == event.stream
    return right_type and right_stream


def _check_types(query: Query, columns: Columns) -> None:
    """Without a type column every event of a stream has the one type that the query names for it."""
    if columns.type is not None:
        return
    named = [part for part in walk(query.pattern) if isinstance(part, Event)]
    named += [absence.event for absence in absences(query.pattern)]
    for stream in {event.stream for event in named}:
        types = {event.type for event in named if event.stream == stream and event.type is not None}
        if len(types) > 1:
            raise BindError(
                "TYPE_COLUMN_NEEDED",
                f"The query names the types {', '.join(sorted(types))}, but the events have no type column.",
                text=query.text or None,
                hint='Write et.events(data, time="ts", type="kind").',
            )
