"""What a query shows of its matches: the variables it keeps and the rows of its SELECT list (section 7)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlglot import exp

from eventide.errors import BindError, did_you_mean
from eventide.pattern import Event, Filtered, Named, Pattern, Query, Repeat, children
from eventide_reference.sequences.conditions import NEIGHBOURS, Evaluation, Row, function_name, readings
from eventide_reference.sequences.layout import Layout
from eventide_reference.values import value_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eventide_reference.sequences.oracle import Match

INTERVAL = ("match_start", "match_end")
"""Names of every match: the times of its first and last event."""


def kept_variables(query: Query) -> frozenset[str]:
    """Return the variables whose bindings tell matches apart in the result.

    >>> from eventide.pattern import Event, Gap, Named, Query, Sequence
    >>> sorted(kept_variables(Query(Sequence((Named(Event("A"), "x"), Event("B")), (Gap(),)))))
    ['B', 'x']
    """
    bound = Layout(query.pattern).variables()
    kept: set[str] = set()
    if query.output is None or query.group_by is not None:
        kept |= starred_variables(query.pattern)
    if query.order_by is not None:
        kept |= _scored(query, bound)
    for item in query.output or ():
        tree = item.expression.tree
        if query.group_by is not None and isinstance(tree, exp.Column) and not tree.table:
            continue  # a name of the group
        names = set(_names(item.expression.tree, query, bound))
        if "*" in names:
            kept |= starred_variables(query.pattern)
        for name in sorted(names - bound - {"*", *INTERVAL}):
            raise BindError(
                "UNKNOWN_VARIABLE",
                f"There is no variable {name}.",
                text=query.text or None,
                span=item.expression.span,
                hint=did_you_mean(name, sorted(bound)),
            )
        kept |= (names & bound) - {"*"}
    return frozenset(kept)


def _scored(query: Query, bound: frozenset[str]) -> set[str]:
    assert query.order_by is not None
    names = set(_names(query.order_by.score.tree, query, bound))
    return (names - {"*"}) | (starred_variables(query.pattern) if "*" in names else set())


def starred_variables(pattern: Pattern) -> frozenset[str]:
    """Return what `*` stands for: all names given by AS, and the event types that somewhere stand without a name of their own.

    >>> from eventide.pattern import Event, Named, Repeat
    >>> sorted(starred_variables(Named(Repeat(Event("B"), 1, None), "bs")))
    ['bs']
    """
    return frozenset(_starred(pattern, named=False))


def _starred(pattern: Pattern, *, named: bool) -> Iterator[str]:
    if isinstance(pattern, Event):
        if pattern.type is not None and not named:
            yield pattern.type
    elif isinstance(pattern, Named):
        yield pattern.variable
        yield from _starred(pattern.pattern, named=True)
    else:
        # `B+ AS b` names its one event type as directly as `B AS b`; a group does not.
        still_named = named and isinstance(pattern, Repeat | Filtered)
        for part in children(pattern):
            yield from _starred(part, named=still_named)


def _names(tree: exp.Expr, query: Query, bound: frozenset[str]) -> Iterator[str]:
    if isinstance(tree, exp.Star):
        yield "*"
    elif _is_key(tree, query, bound):
        return
    elif isinstance(tree, exp.Column) and not tree.table:
        yield tree.name
    elif isinstance(tree, exp.Column) or function_name(tree) is not None:
        yield from (reading.variable for reading in readings(tree))
    else:
        for child in tree.iter_expressions():
            yield from _names(child, query, bound)


def _is_key(tree: exp.Expr, query: Query, bound: frozenset[str]) -> bool:
    """Tell whether a name without a variable is a partition attribute."""
    return (
        isinstance(tree, exp.Column)
        and not tree.table
        and tree.name not in bound
        and any(tree.name == name.text for name in query.partition_by)
    )


def output_rows(query: Query, events: Sequence[Row], matches: list[Match], *, time: str = "time") -> list[Row]:
    """Return one row for each match: the SELECT list, or for `*` the key, the interval and the events of each variable.

    >>> from eventide_reference import find_matches
    >>> from eventide.pattern import Event, Query
    >>> stream = [{"time": 1, "type": "A", "v": 7}]
    >>> output_rows(Query(Event("A")), stream, find_matches(Query(Event("A")), stream))
    [{'match_start': 1, 'match_end': 1, 'A': [{'time': 1, 'type': 'A', 'v': 7}]}]
    """
    return [_row(query, list(events), match, time) for match in matches]


def _row(query: Query, events: list[Row], match: Match, time: str) -> Row:
    if query.output is None:
        return _everything(query, events, match, time)
    row: Row = {}
    for item in query.output:
        tree = item.expression.tree
        if isinstance(tree, exp.Star):
            row |= _everything(query, events, match, time)
        else:
            row[item.alias or _column_name(tree)] = _item(tree, query, events, match, time)
    return row


def _column_name(tree: exp.Expr) -> str:
    return tree.name if isinstance(tree, exp.Column) else tree.sql(dialect="spark")


def _everything(query: Query, events: list[Row], match: Match, time: str) -> Row:
    row: Row = {name.text: value for name, value in zip(query.partition_by, match.key, strict=True)}
    row |= {"match_start": events[match.start][time], "match_end": events[match.end][time]}
    return row | {name: _events_of(events, match, name) for name in sorted(starred_variables(query.pattern))}


def _events_of(events: list[Row], match: Match, variable: str) -> list[Row]:
    return [events[index] for index in match.bindings[variable]]


def _item(tree: exp.Expr, query: Query, events: list[Row], match: Match, time: str) -> Any:
    if isinstance(tree, exp.Column) and not tree.table and tree.name in match.bindings:
        return _events_of(events, match, tree.name)
    of_match = dict(zip(INTERVAL, (events[match.start][time], events[match.end][time]), strict=True))
    of_match |= {name.text: value for name, value in zip(query.partition_by, match.key, strict=True)}
    support = tuple({index for indices in match.bindings.values() for index in indices})
    # Nothing is in focus, so that aggregates read all events of their variable.
    whole = Evaluation(events, match.bindings, support, {})

    def read(node: exp.Expr) -> Any:
        if not isinstance(node, exp.Column):
            if function_name(node) in NEIGHBOURS:
                raise BindError(
                    "NEXT_IN_SELECT", f"{node.sql()} has no event to start from.", hint="Write FIRST(x.a) or LAST(x.a)."
                )
            return whole.read(node)
        if not node.table:
            return of_match[node.name]
        found = _events_of(events, match, node.table)
        if len(found) > 1:
            raise BindError(
                "SEVERAL_EVENTS",
                f"{node.table} binds several events.",
                text=query.text or None,
                hint=f"Write FIRST({node.sql()}) or LAST({node.sql()}).",
            )
        return found[0].get(node.name) if found else None

    return value_of(tree, read)
