"""The plan of a MATCH_RECOGNIZE clause: what is prepared, matched and put out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from eventide.match.row_pattern.kernel import SKIP_PAST_LAST, SKIP_TO_FIRST, SKIP_TO_LAST, SKIP_TO_NEXT
from eventide.pattern.row_patterns import SkipTo
from eventide.plan.row_patterns.needs import RowNeeds, needs_of
from eventide.plan.row_patterns.tables import make_tables
from eventide.plan.row_patterns.watched_values import row_programs
from eventide.records import record

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from eventide.match.row_pattern.programs import RowPrograms
    from eventide.match.row_pattern.tables import RowTables
    from eventide.pattern.row_patterns import RowQuery
    from eventide.plan.expressions.operators import ValueColumn
    from eventide.plan.expressions.schema import Kind
    from eventide.plan.row_patterns.automaton import RowAutomaton
    from eventide.plan.row_patterns.binding import BoundRowPattern
    from eventide.plan.row_patterns.conditions import BoundDefinition, RowCondition
    from eventide.plan.row_patterns.output import RowOutput

_SKIPS = {
    SkipTo.PAST_LAST_ROW: SKIP_PAST_LAST,
    SkipTo.NEXT_ROW: SKIP_TO_NEXT,
    SkipTo.FIRST: SKIP_TO_FIRST,
    SkipTo.LAST: SKIP_TO_LAST,
}


@record(kw_only=True)
class RowPlan:
    """Everything a runtime needs to run a clause over rows of one schema."""

    query: RowQuery
    columns: Mapping[str, Kind]
    """The columns of the input."""
    keys: tuple[str, ...]
    """Columns of PARTITION BY, as the input spells them."""
    order: tuple[str, ...]
    """Columns of ORDER BY, as the input spells them."""
    automaton: RowAutomaton
    definitions: tuple[BoundDefinition, ...]
    """The conditions of DEFINE as they were bound."""
    predicates: tuple[RowCondition, ...]
    """The conditions on rows, one bit of the symbol mask each."""
    values: tuple[ValueColumn, ...]
    strings: Mapping[str, int]
    """Where the codes of string constants belong in the programs."""
    output: RowOutput
    tables: RowTables
    programs: RowPrograms
    window: int | None
    """The longest time between the first and the last row of a match, in microseconds."""
    skip: int
    """The skip mode as kernels know it."""
    skip_to: npt.NDArray[np.uint8]
    """Whether SKIP TO may stop at the rows of each variable."""
    needs: RowNeeds
    """Which rows around a match it reads."""
    hold: int | None
    """How long after its last row a result can take to become certain, in microseconds; None when there is no bound."""
    warnings: tuple[str, ...]


def choose_row_plan(bound: BoundRowPattern, matcher: str | None = None) -> RowPlan:
    """Lay a bound clause out for the matcher of row patterns, the only one that can run it."""
    assert matcher is None, "SQL has no way to force a matcher"
    query, automaton, definitions = bound.query, bound.automaton, bound.definitions
    numbers = {name: number for number, name in enumerate(query.variables)}
    places = [position.variable for position in automaton.positions]
    tables = make_tables(
        automaton.states,
        [1 << definitions.bit_of[name] if name in definitions.bit_of else 0 for name in places],
        [definitions.program_of.get(name, -1) for name in places],
        [numbers[name] for name in places],
        [position.excluded for position in automaton.positions],
    )
    programs = row_programs(definitions, automaton, query.variables)
    needs = needs_of(automaton, definitions.predicates, tables, programs, bound.output)
    return RowPlan(
        query=query,
        columns=bound.columns,
        keys=bound.keys,
        order=bound.order,
        automaton=automaton,
        definitions=definitions.bound,
        predicates=definitions.predicates,
        values=definitions.values,
        strings=definitions.strings,
        output=bound.output,
        tables=tables,
        programs=programs,
        window=query.within,
        skip=_SKIPS[query.skip.to],
        skip_to=_skip_to(query),
        needs=needs,
        hold=None if needs.ahead or needs.measured_behind else query.within,
        warnings=_warnings(query),
    )


def _skip_to(query: RowQuery) -> npt.NDArray[np.uint8]:
    target = query.skip.variable
    members = {subset.name: {name.text for name in subset.members} for subset in query.subsets}
    wanted = set() if target is None else members.get(target.text, {target.text})
    return np.array([int(name in wanted) for name in query.variables] or [0], np.uint8)


def _warnings(query: RowQuery) -> tuple[str, ...]:
    if query.order_by:
        return ()
    return ("MATCH_RECOGNIZE has no ORDER BY: rows are taken in the order in which the input holds them.",)
