"""Results over all matches (section 13), computed from the listed matches."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from eventide.pattern import GroupUnit
from eventide_reference.sequences.conditions import Row, function_name, readings
from eventide_reference.values import value_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from eventide.pattern import Query
    from eventide_reference.sequences.oracle import Match


def group_rows(query: Query, events: Sequence[Row], matches: list[Match], *, time: str, clock: Callable[[Any], int]) -> list[Row]:
    """Return one row for each group that has matches; `clock` gives a time as the whole number that windows are cut by.

    Counts and sums of whole numbers are whole numbers of any size, sums of doubles are exact fractions rounded once.

    >>> from eventide_reference import find_matches
    >>> from eventide.language import parse
    >>> query = parse("SELECT COUNT(*) AS n, SUM(b.v) AS s WHERE A ; B AS b GROUP BY PARTITION")
    >>> stream = [{"time": 1, "type": "A", "v": 1}, {"time": 2, "type": "B", "v": 2}, {"time": 3, "type": "B", "v": 3}]
    >>> group_rows(query, stream, find_matches(query, stream), time="time", clock=int)
    [{'n': 2, 's': 5}]
    """
    assert query.group_by is not None
    groups: dict[tuple[object, ...], list[Match]] = {}
    for match in matches:
        groups.setdefault(_group(query, events, match, time, clock), []).append(match)
    return [_row(query, list(events), group, time, clock) for group in groups.values()]


def _group(
    query: Query, events: Sequence[Row], match: Match, time: str, clock: Callable[[Any], int]
) -> tuple[object, ...]:
    assert query.group_by is not None
    key = tuple("NaN" if isinstance(value, float) and math.isnan(value) else (value,) for value in match.key)
    match query.group_by.unit:
        case GroupUnit.PARTITION:
            return key
        case GroupUnit.END:
            return (*key, match.end)
        case GroupUnit.WINDOW:
            return (*key, clock(events[match.end][time]) // window_size(query))


def window_size(query: Query) -> int:
    """Return the length of the windows of GROUP BY, in the unit that the query gives it."""
    assert query.group_by is not None
    if query.group_by.size is not None:
        return int(query.group_by.size.size)
    assert query.window is not None and query.window.slide is not None
    return query.window.slide


def _row(query: Query, events: list[Row], group: list[Match], time: str, clock: Callable[[Any], int]) -> Row:
    row: Row = {}
    keys = {name.text.lower(): value for name, value in zip(query.partition_by, group[0].key, strict=True)}
    for item in query.output or ():
        tree = item.expression.tree
        name = item.alias or tree.name
        if isinstance(tree, exp.Column) and not tree.table:
            lowered = tree.name.lower()
            if lowered in keys:
                row[name] = keys[lowered]
            elif lowered == "match_end":
                row[name] = events[group[0].end][time]
            else:
                number = clock(events[group[0].end][time]) // window_size(query)
                row[name] = (number + (lowered == "window_end")) * window_size(query)
        else:
            row[name] = _aggregate(tree, events, group)
    return row


def _aggregate(tree: exp.Expr, events: list[Row], group: list[Match]) -> Any:
    if isinstance(tree.this, exp.Star):
        return len(group)
    argument = tree.this
    if isinstance(argument, exp.Column) and not argument.table:
        return sum(len(match.bindings[argument.name]) for match in group)
    variable = next(iter(readings(argument))).variable
    bound = [events[index] for match in group for index in match.bindings[variable]]
    values = [value for value in (_of_event(argument, event) for event in bound) if value is not None]
    match tree:
        case exp.Count():
            return len(values)
        case exp.Sum():
            return _sum(values)
        case exp.Avg():
            return _average(values)
        case exp.Min():
            return min(values, key=_ordered, default=None)
    return max(values, key=_ordered, default=None)


def _of_event(tree: exp.Expr, event: Row) -> Any:
    return value_of(tree, lambda node: event.get(node.name))


def _ordered(value: Any) -> tuple[bool, Any]:
    odd = isinstance(value, float) and math.isnan(value)
    return (odd, 0 if odd else value)


def _sum(values: list[Any]) -> Any:
    if not values:
        return None
    if not any(isinstance(value, float) for value in values):
        return sum(values)
    odd = [value for value in values if not math.isfinite(value)]
    return sum(odd) if odd else as_double(sum(map(Fraction, values), Fraction(0)))


def _average(values: list[Any]) -> float | None:
    if not values:
        return None
    odd = [value for value in values if isinstance(value, float) and not math.isfinite(value)]
    return sum(odd) if odd else as_double(sum(map(Fraction, values), Fraction(0)) / len(values))


def as_double(value: Fraction) -> float:
    """Return the double nearest to a fraction.

    >>> as_double(Fraction(1, 3))
    0.3333333333333333
    """
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def score(query: Query, events: Sequence[Row], match: Match) -> Fraction:
    """Return what ORDER BY asks of a match: sums over its events, where null adds nothing."""
    assert query.order_by is not None
    return _score(query.order_by.score.tree, list(events), match)


def _score(tree: exp.Expr, events: list[Row], match: Match) -> Fraction:
    match tree:
        case exp.Paren():
            return _score(tree.this, events, match)
        case exp.Neg():
            return -_score(tree.this, events, match)
        case exp.Literal():
            return Fraction(tree.this)
        case exp.Add():
            return _score(tree.this, events, match) + _score(tree.expression, events, match)
        case exp.Sub():
            return _score(tree.this, events, match) - _score(tree.expression, events, match)
        case exp.Mul():
            return _score(tree.this, events, match) * _score(tree.expression, events, match)
        case exp.Div():
            return _score(tree.this, events, match) / _score(tree.expression, events, match)
    if function_name(tree) is None:
        variable = next(iter(readings(tree))).variable
        return _added(tree, events, match.bindings[variable])
    if isinstance(tree.this, exp.Star):
        return Fraction(len({index for indices in match.bindings.values() for index in indices}))
    if isinstance(tree.this, exp.Column) and not tree.this.table:
        return Fraction(len(match.bindings[tree.this.name]))
    variable = next(iter(readings(tree.this))).variable
    if isinstance(tree, exp.Count):
        return Fraction(sum(_of_event(tree.this, events[index]) is not None for index in match.bindings[variable]))
    return _added(tree.this, events, match.bindings[variable])


def _added(tree: exp.Expr, events: list[Row], indices: Iterable[int]) -> Fraction:
    values = (_of_event(tree, events[index]) for index in indices)
    return sum((Fraction(value) for value in values if value is not None), Fraction(0))
