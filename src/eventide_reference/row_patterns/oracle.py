"""The result of a MATCH_RECOGNIZE clause, computed step by step as section 10 of docs/semantics.md defines it."""

from __future__ import annotations

import math
import sys
from contextlib import contextmanager
from functools import cmp_to_key
from typing import TYPE_CHECKING, Any

from eventide.errors import LimitError
from eventide.pattern.row_patterns import RowsPerMatch
from eventide_reference.row_patterns.reading import Sight, Table
from eventide_reference.row_patterns.walk import Found, subset_members, walk
from eventide_reference.row_patterns.words import Steps
from eventide_reference.values import compare

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from eventide.pattern.row_patterns import RowQuery, SortKey

Row = tuple[Any, ...]

DEEPEST_RECURSION = 12_000
"""How deep generators may nest: one or two for each round of a loop, and no deeper than the C stack bears."""


def recognize(
    query: RowQuery, rows: Sequence[Mapping[str, Any]], columns: Sequence[str], max_steps: int = 1_000_000
) -> tuple[list[str], list[Row]]:
    """Return the names of the result columns, and the rows: partitions as they first appear, inside in the order of the walk.

    >>> from eventide.pattern.row_patterns import RowQuery, Repetition, Variable
    >>> query = RowQuery(Repetition(Variable("A"), 1, None), rows_per_match=RowsPerMatch.ALL_SHOW_EMPTY)
    >>> recognize(query, [{"x": 1}, {"x": 2}], ["x"])
    (['x'], [(1,), (2,)])
    """
    table = Table(rows, columns)
    partition_columns = [table.spelling(name.text) for name in query.partition_by]
    order_columns = [table.spelling(key.column.text) for key in query.order_by]
    measures = [measure.name for measure in query.measures]
    if query.rows_per_match is RowsPerMatch.ONE:
        before, after = list(dict.fromkeys(partition_columns)), []
    else:
        before = list(dict.fromkeys([*partition_columns, *order_columns]))
        after = [column for column in columns if column not in before]
    steps = Steps(max_steps)
    result: list[Row] = []
    with _deep_recursion():
        for partition in partitions(table, partition_columns):
            ordered = Table(in_order(partition, query.order_by), columns)
            for position, values in output(query, ordered, steps):
                row = ordered.rows[position]
                result.append((*(row[name] for name in before), *values, *(row[name] for name in after)))
    return [*before, *measures, *after], result


@contextmanager
def _deep_recursion() -> Iterator[None]:
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, DEEPEST_RECURSION))
    try:
        yield
    except RecursionError as error:
        raise LimitError("TOO_MANY_STEPS", "A match nests too deep for the oracle.", hint="Give it fewer rows.") from error
    finally:
        sys.setrecursionlimit(limit)


def partitions(table: Table, columns: Sequence[str]) -> list[Table]:
    """Split the rows by the values of columns; null equals null and NaN equals NaN.

    >>> [len(part.rows) for part in partitions(Table([{"k": None}, {"k": 1}, {"k": None}], ["k"]), ["k"])]
    [2, 1]
    """
    parts: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for row in table.rows:
        values = (row[column] for column in columns)
        key = tuple("NaN" if isinstance(value, float) and math.isnan(value) else (value,) for value in values)
        parts.setdefault(key, []).append(row)
    return [Table(part, table.columns) for part in parts.values()]


def in_order(partition: Table, keys: Sequence[SortKey]) -> list[Mapping[str, Any]]:
    """Sort the rows of a partition; equal rows keep their order.

    >>> from eventide.pattern import Name
    >>> from eventide.pattern.row_patterns import SortKey
    >>> in_order(Table([{"x": 2}, {"x": None}, {"x": 1}], ["x"]), [SortKey(Name("x"))])
    [{'x': None}, {'x': 1}, {'x': 2}]
    """

    def difference(left: Mapping[str, Any], right: Mapping[str, Any]) -> int:
        for key in keys:
            column = partition.spelling(key.column.text)
            one, other = left[column], right[column]
            if one is None or other is None:
                order = (other is None) - (one is None)
                order = order if key.nulls_first else -order
            else:
                order = -compare(one, other) if key.descending else compare(one, other)
            if order:
                return order
        return 0

    return sorted(partition.rows, key=cmp_to_key(difference))


def output(query: RowQuery, partition: Table, steps: Steps) -> Iterator[tuple[int, Row]]:
    """Yield, for each row that comes out, its position and the values of the measures."""
    members = subset_members(query)
    for found in walk(query, partition, steps):
        if not isinstance(found, Found):
            if query.rows_per_match is RowsPerMatch.ALL_WITH_UNMATCHED:
                yield found.position, (None,) * len(query.measures)
            continue
        variables = tuple(mapped.variable for mapped in found.word)
        for seen in current_rows(query.rows_per_match, found):
            sight = Sight(partition, found.start, variables, seen, found.number, members)
            values = tuple(sight.value(measure.expression.tree) for measure in query.measures)
            yield found.start + max(seen - 1, 0), values


def current_rows(mode: RowsPerMatch, found: Found) -> list[int]:
    """Return at which rows of a match the measures are taken: 1 is its first row, 0 stands for an empty match.

    >>> from eventide_reference.row_patterns.words import Mapped
    >>> found = Found(1, 0, (Mapped("A"), Mapped("B", excluded=True), Mapped("B")))
    >>> current_rows(RowsPerMatch.ONE, found), current_rows(RowsPerMatch.ALL_OMIT_EMPTY, found)
    ([3], [1, 3])
    """
    if mode is RowsPerMatch.ONE:
        return [len(found.word)]
    if not found.word:
        return [] if mode is RowsPerMatch.ALL_OMIT_EMPTY else [0]
    return [place for place, mapped in enumerate(found.word, start=1) if not mapped.excluded]
