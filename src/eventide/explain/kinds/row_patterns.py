"""What the plan of a row pattern tells: the clause, its conditions, its automaton and how matches are found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eventide.explain.kinds.row_names import ReadingNames, joined, neighbours_of, plain_sql
from eventide.explain.kinds.row_states import row_states
from eventide.explain.rendering.model import Description, Section
from eventide.pattern import Window, WindowUnit
from eventide.pattern.row_pattern_printing import quote_variable, to_row_pattern
from eventide.pattern.row_patterns import RowsPerMatch, SkipTo
from eventide.pattern.sequence_printing import quote_name, window_to_ceql

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eventide.explain.rendering.model import Row
    from eventide.plan.row_patterns.conditions import BoundDefinition
    from eventide.plan.row_patterns.plan import RowPlan

OBSERVED_SHOWN = 12
_ROWS = {
    RowsPerMatch.ONE: "one row for each match",
    RowsPerMatch.ALL_SHOW_EMPTY: "the rows of each match; one row for a match without rows",
    RowsPerMatch.ALL_OMIT_EMPTY: "the rows of each match",
    RowsPerMatch.ALL_WITH_UNMATCHED: "the rows of each match, and the rows that are in none, with null measures",
}


def describe_row_pattern(plan: RowPlan, physical: str | None = None) -> Description:
    """Return how a MATCH_RECOGNIZE clause is run; `physical` is the relational engine's own plan."""
    query = plan.query
    subsets = [f"{quote_variable(s.name)} = ({', '.join(quote_variable(m.text) for m in s.members)})" for s in query.subsets]
    return Description(
        "MATCH_RECOGNIZE",
        f"PATTERN ({to_row_pattern(query.pattern)})",
        (
            Section.of("partition by", *(list(map(quote_name, plan.keys)) or ["none: all rows are one partition"])),
            Section.of("order by", *(_order(plan) or ["none: rows are taken as the input holds them"])),
            Section.of("rows per match", f"{query.rows_per_match.value}: {_ROWS[query.rows_per_match]}"),
            Section.of("after match", _skip(plan)),
            Section.of("within", _within(plan)),
            Section.of("subsets", *subsets),
            Section("conditions", tuple(_conditions(plan))),
            row_states(plan.automaton),
            Section.of("matcher", *_matcher(plan)),
            Section("output", tuple(_columns(plan))),
        ),
        plan.warnings,
        physical,
    )


def _order(plan: RowPlan) -> list[str]:
    return [
        f"{quote_name(name)}{' descending' if key.descending else ''}, nulls {'first' if key.nulls_first else 'last'}"
        for name, key in zip(plan.order, plan.query.order_by, strict=True)
    ]


def _skip(plan: RowPlan) -> str:
    skip = plan.query.skip
    target = "" if skip.variable is None else f" {quote_variable(skip.variable.text)}"
    meaning = {
        SkipTo.PAST_LAST_ROW: "the next match starts after the last row of this one",
        SkipTo.NEXT_ROW: "the next match may start at the second row of this one",
        SkipTo.FIRST: f"the next match may start at the first row of{target}",
        SkipTo.LAST: f"the next match may start at the last row of{target}",
    }
    return f"SKIP {skip.to.value}{target}: {meaning[skip.to]}"


def _within(plan: RowPlan) -> str | None:
    if plan.window is None:
        return None
    duration = window_to_ceql(Window(WindowUnit.DURATION, plan.window))
    return f"{duration} of {quote_name(plan.order[0])}: from the first to the last row, inclusive"


def _conditions(plan: RowPlan) -> Iterator[Row]:
    for variable, definition in _definitions(plan):
        name = quote_variable(variable)
        if definition is None:
            yield (name, "every row", "", "")
            continue
        if definition.bit is not None:
            neighbours = ", ".join(neighbours_of(plan.predicates[definition.bit]))
            text = " AND ".join(map(plain_sql, definition.on_rows))
            yield (name, f"rows: bit {definition.bit}", text, f"neighbours: {neighbours}" if neighbours else "")
        if definition.on_match:
            text = " AND ".join(map(plain_sql, definition.on_match))
            yield (name, "match so far: searched", text, f"reads {', '.join(_reads(plan, definition))}")


def _definitions(plan: RowPlan) -> Iterator[tuple[str, BoundDefinition | None]]:
    """Yield the variables in the order of the pattern, each with its condition if it has one."""
    defined = {definition.variable: definition for definition in plan.definitions}
    return ((variable, defined.get(variable)) for variable in plan.query.variables)


def _reads(plan: RowPlan, definition: BoundDefinition) -> list[str]:
    return list(dict.fromkeys(map(ReadingNames(plan).name, definition.reads)))


def _matcher(plan: RowPlan) -> Iterator[str]:
    timed = plan.window is not None
    mark = "keeps the earliest row where a match can end" if timed else "marks from where a match can be completed"
    searched = [definition for _, definition in _definitions(plan) if definition is not None and definition.on_match]
    if not searched:
        yield "walk: every condition looks at rows only"
        yield f"a backward pass {mark}"
        yield "then each row of a match takes the first move that can be completed"
        yield "cost: linear, rows plus matched rows"
        return
    yield "search: a condition looks at the match so far, so moves are tried in the order of preferment"
    for definition in searched:
        yield f"the condition of {quote_variable(definition.variable)} reads {joined(_reads(plan, definition))}"
    yield f"a backward pass over the conditions on rows {mark}; no other move is tried"
    if plan.programs.merges:
        merged = {"row": True, "place": True, "end of WITHIN": timed, "match number": plan.programs.counts_matches}
        keys = [key for key, used in merged.items() if used]
        observed = ReadingNames(plan).observed()
        more = f" and {len(observed) - OBSERVED_SHOWN} more" if len(observed) > OBSERVED_SHOWN else ""
        yield f"equal states are merged on: {', '.join((*keys, *observed[:OBSERVED_SHOWN]))}{more}"
    else:
        yield "states are not merged: the variable of a row that is not mapped yet is read"
    yield "cost: rows times the different states that are merged on; max_steps stops a search that takes too long"


def _columns(plan: RowPlan) -> Iterator[Row]:
    measures = {measure.name: plain_sql(measure.expression.tree) for measure in plan.query.measures}
    names = ReadingNames(plan, running=plan.query.rows_per_match is not RowsPerMatch.ONE)
    for name, _ in plan.output.columns:
        if name in measures:
            reads = ", ".join(map(names.name, plan.output.measures[name]))
            yield (name, measures[name], f"reads {reads}" if reads and reads != measures[name] else "")
        elif name in plan.keys:
            yield (name, "PARTITION BY column", "")
        else:
            yield (name, "ORDER BY column" if name in plan.order else "column of the input", "")
