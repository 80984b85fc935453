"""Binding a MATCH_RECOGNIZE clause to the columns of its input."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eventide.errors import BindError, did_you_mean
from eventide.pattern.row_patterns import Exclusion, RowsPerMatch, walk_rows
from eventide.plan.expressions.schema import Kind, StreamSchema
from eventide.plan.row_patterns.automaton import RowAutomaton, build
from eventide.plan.row_patterns.conditions import DefinitionBinder, Definitions
from eventide.plan.row_patterns.output import RowOutput, bind_output
from eventide.plan.row_patterns.readings import Names
from eventide.records import record

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eventide.pattern.row_patterns import RowQuery
    from eventide.pattern.sequences import Name
    from eventide.plan.expressions.schema import KindsOf


@record(kw_only=True)
class BoundRowPattern:
    """A clause whose names are resolved: what rewrite rules would take and return."""

    query: RowQuery
    columns: Mapping[str, Kind]
    keys: tuple[str, ...]
    order: tuple[str, ...]
    automaton: RowAutomaton
    definitions: Definitions
    output: RowOutput


def bind_row_pattern(query: RowQuery, columns: Mapping[str, Kind], kinds_of: KindsOf) -> BoundRowPattern:
    """Bind a clause; `kinds_of` asks the relational engine what kinds expressions have."""
    subsets = {subset.name: frozenset(name.text for name in subset.members) for subset in query.subsets}
    # A clause orders by any columns: none of them is the time as such.
    names = Names(StreamSchema(columns, time=""), query.variables, subsets, query.text or None)
    keys = tuple(_column(name, names, "PARTITION BY") for name in query.partition_by)
    order = tuple(_column(key.column, names, "ORDER BY") for key in query.order_by)
    _refuse_within(query, names, order)
    _refuse_excluded_unmatched(query, names)
    automaton = build(query.pattern, names.text)
    definitions = DefinitionBinder(names, kinds_of)
    for definition in query.definitions:
        definitions.bind(definition)
    return BoundRowPattern(
        query=query,
        columns=dict(columns),
        keys=keys,
        order=order,
        automaton=automaton,
        definitions=definitions.definitions(),
        output=bind_output(query, names, kinds_of),
    )


def _column(name: Name, names: Names, clause: str) -> str:
    column = names.schema.resolve(name.text)
    if column is None:
        raise BindError(
            "UNKNOWN_COLUMN",
            f"The input has no column {name.text} to {clause}.",
            text=names.text,
            span=name.span,
            hint=did_you_mean(name.text, names.schema.columns),
        )
    return column


def _refuse_within(query: RowQuery, names: Names, order: tuple[str, ...]) -> None:
    if query.within is None:
        return
    timed = bool(order) and names.schema.columns[order[0]] in (Kind.TIMESTAMP, Kind.DATE)
    if not timed or query.order_by[0].descending:
        raise BindError(
            "WITHIN_NEEDS_TIME",
            "WITHIN measures the first column of ORDER BY, which must be a timestamp or a date in ascending order.",
            text=names.text,
            span=query.within_span,
            hint="Order by the time first, for example ORDER BY ts; convert text with to_timestamp in the input.",
        )


def _refuse_excluded_unmatched(query: RowQuery, names: Names) -> None:
    if query.rows_per_match is not RowsPerMatch.ALL_WITH_UNMATCHED:
        return
    excluded = next((node for node in walk_rows(query.pattern) if isinstance(node, Exclusion)), None)
    if excluded is not None:
        raise BindError(
            "EXCLUSION_WITH_UNMATCHED_ROWS",
            "WITH UNMATCHED ROWS cannot be combined with {- -}: a row left out would look like one without a match.",
            text=names.text,
            span=excluded.span,
            hint="Use SHOW EMPTY MATCHES, or take the exclusion out and filter the result by CLASSIFIER().",
        )
