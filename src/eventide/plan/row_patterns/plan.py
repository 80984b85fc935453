"""The plan of a MATCH_RECOGNIZE clause: what is prepared, matched and put out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from eventide.errors import BindError, did_you_mean
from eventide.match.row_pattern.kernel import SKIP_PAST_LAST, SKIP_TO_FIRST, SKIP_TO_LAST, SKIP_TO_NEXT
from eventide.match.row_pattern.tables import make_tables
from eventide.pattern.row_patterns import Exclusion, RowsPerMatch, SkipTo, primary_variables, walk_rows
from eventide.plan.row_patterns.automaton import RowAutomaton, build
from eventide.plan.row_patterns.conditions import BoundDefinition, Definitions, RowCondition
from eventide.plan.row_patterns.output import RowOutput, bind_output
from eventide.plan.row_patterns.readings import Names
from eventide.plan.row_patterns.watched_values import row_programs
from eventide.plan.schema import Kind, StreamSchema

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy.typing as npt
    from sqlglot import exp

    from eventide.match.row_pattern.programs import RowPrograms
    from eventide.match.row_pattern.tables import RowTables
    from eventide.pattern.row_patterns import RowQuery
    from eventide.pattern.sequences import Name
    from eventide.plan.expressions.operators import ValueColumn

_SKIPS = {
    SkipTo.PAST_LAST_ROW: SKIP_PAST_LAST,
    SkipTo.NEXT_ROW: SKIP_TO_NEXT,
    SkipTo.FIRST: SKIP_TO_FIRST,
    SkipTo.LAST: SKIP_TO_LAST,
}


@dataclass(frozen=True)
class RowPlan:
    """Everything a runtime needs to run a clause over rows of one schema."""

    query: RowQuery
    columns: Mapping[str, Kind]
    """The columns of the input."""
    variables: tuple[str, ...]
    partition: tuple[str, ...]
    """Columns of PARTITION BY, as the input spells them."""
    order: tuple[str, ...]
    """Columns of ORDER BY, as the input spells them."""
    automaton: RowAutomaton
    definitions: tuple[BoundDefinition, ...]
    """The conditions of DEFINE as they were bound."""
    bits: tuple[RowCondition, ...]
    values: tuple[ValueColumn, ...]
    output: RowOutput
    tables: RowTables
    programs: RowPrograms
    text_constants: Mapping[str, int]
    """Where the codes of string constants belong in the programs."""
    warnings: tuple[str, ...] = field(default=())

    @property
    def skip(self) -> int:
        """The skip mode as kernels know it."""
        return _SKIPS[self.query.skip.to]

    @property
    def skip_to(self) -> npt.NDArray[np.uint8]:
        """Whether SKIP TO may stop at the rows of each variable."""
        target = self.query.skip.variable
        members = {subset.name: {name.text for name in subset.members} for subset in self.query.subsets}
        wanted = set() if target is None else members.get(target.text, {target.text})
        return np.array([int(name in wanted) for name in self.variables] or [0], np.uint8)

    @property
    def within(self) -> int | None:
        """The longest time between the first and the last row of a match, in microseconds."""
        return self.query.within

    def members(self, variables: frozenset[str] | None) -> npt.NDArray[np.uint8]:
        """Return for each position whether its rows are rows of the variables; None is all."""
        names = [position.variable for position in self.automaton.positions]
        return np.array([int(variables is None or name in variables) for name in names] or [0], np.uint8)


def make_row_plan(
    query: RowQuery, columns: Mapping[str, Kind], describe: Callable[[Sequence[exp.Expression]], list[Kind]]
) -> RowPlan:
    """Bind a clause to the columns of its input."""
    variables = primary_variables(query.pattern)
    subsets = {subset.name: frozenset(name.text for name in subset.members) for subset in query.subsets}
    schema = StreamSchema(columns, time="")
    names = Names(schema, tuple(variables), subsets, query.text or None)
    partition = tuple(_column(name, names, "PARTITION BY") for name in query.partition_by)
    order = tuple(_column(key.column, names, "ORDER BY") for key in query.order_by)
    _refuse_within(query, names, order)
    _refuse_excluded_unmatched(query, names)
    automaton = build(query.pattern, names.text)
    definitions = Definitions(names, describe)
    for definition in query.definitions:
        definitions.bind(definition)
    output = bind_output(query, names, describe)
    numbers = {name: number for number, name in enumerate(variables)}
    places = [position.variable for position in automaton.positions]
    tables = make_tables(
        automaton.states,
        [1 << definitions.bit_of[name] if name in definitions.bit_of else 0 for name in places],
        [definitions.program_of.get(name, -1) for name in places],
        [numbers[name] for name in places],
        [position.excluded for position in automaton.positions],
    )
    return RowPlan(
        query,
        dict(columns),
        tuple(variables),
        partition,
        order,
        automaton,
        tuple(definitions.bound),
        tuple(definitions.bits),
        tuple(definitions.columns),
        output,
        tables,
        row_programs(definitions, automaton, variables),
        dict(definitions.pool.places),
        tuple(_warnings(query)),
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
    excluded = next((node for node in walk_rows(query.pattern) if isinstance(node, Exclusion)), None)
    if excluded is not None and query.rows is RowsPerMatch.ALL_WITH_UNMATCHED:
        raise BindError(
            "EXCLUSION_WITH_UNMATCHED_ROWS",
            "WITH UNMATCHED ROWS cannot be combined with {- -}: a row left out would look like one without a match.",
            text=names.text,
            span=excluded.span,
            hint="Use SHOW EMPTY MATCHES, or take the exclusion out and filter the result by CLASSIFIER().",
        )


def _warnings(query: RowQuery) -> list[str]:
    if not query.order_by:
        return ["MATCH_RECOGNIZE has no ORDER BY: rows are taken in the order in which the input holds them."]
    return []
