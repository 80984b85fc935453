"""The render model of a MATCH_RECOGNIZE clause: what every format shows, free of how it looks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from eventide.explain.kinds.row_names import ReadingNames, clipped, joined, neighbours_of, plain_sql
from eventide.explain.kinds.row_states import RowAutomatonView, view_rows
from eventide.pattern import Window, WindowUnit
from eventide.pattern.expressions import conjunct_trees
from eventide.pattern.row_pattern_printing import quote_variable, to_row_pattern
from eventide.pattern.row_patterns import RowsPerMatch, SkipTo
from eventide.pattern.sequence_printing import quote_name, window_to_ceql
from eventide.plan.row_patterns.readings import Cell, Label, Names, Reader
from eventide.plan.schema import StreamSchema

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlglot import exp

    from eventide.language.sql.statement import MatchClause
    from eventide.pattern.row_patterns import Definition
    from eventide.plan.row_patterns.plan import RowPlan
    from eventide.plan.row_patterns.readings import Reading

INPUT_WIDTH = 70
OBSERVED_SHOWN = 12
_ROWS = {
    RowsPerMatch.ONE: "one row for each match",
    RowsPerMatch.ALL_SHOW_EMPTY: "the rows of each match; one row for a match without rows",
    RowsPerMatch.ALL_OMIT_EMPTY: "the rows of each match",
    RowsPerMatch.ALL_WITH_UNMATCHED: "the rows of each match, and the rows that are in none, with null measures",
}


@dataclass(frozen=True)
class ConditionView:
    """A part of a DEFINE condition: `bit` is set where it looks at rows only, `reads` are neighbours or parts of the match."""

    variable: str
    bit: int | None
    text: str
    reads: tuple[str, ...]


@dataclass(frozen=True)
class RowColumnView:
    """A column of the result, what it is, and what of the match it reads."""

    name: str
    content: str
    reads: str = ""


@dataclass(frozen=True)
class RowExplanation:
    """A whole plan, ready to be drawn."""

    place: str
    pattern: str
    partition: tuple[str, ...]
    order: tuple[str, ...]
    rows: str
    skip: str
    within: str | None
    subsets: tuple[str, ...]
    conditions: tuple[ConditionView, ...]
    automaton: RowAutomatonView
    matcher: tuple[str, ...]
    columns: tuple[RowColumnView, ...]
    warnings: tuple[str, ...]
    physical: str


def row_explanation(plan: RowPlan, physical: str, number: int, total: int, clause: MatchClause | None) -> RowExplanation:
    """Return what the plan of the clause `number` of `total` has to show."""
    query = plan.query
    conditions = tuple(_conditions(plan))
    return RowExplanation(
        _place(plan, number, total, clause),
        f"PATTERN ({to_row_pattern(query.pattern)})",
        tuple(map(quote_name, plan.keys)),
        tuple(_order(plan)),
        f"{query.rows.value}: {_ROWS[query.rows]}",
        _skip(plan),
        _within(plan),
        tuple(f"{quote_variable(s.name)} = ({', '.join(quote_variable(m.text) for m in s.members)})" for s in query.subsets),
        conditions,
        view_rows(plan.automaton),
        tuple(_matcher(plan, [view for view in conditions if view.bit is None])),
        tuple(_columns(plan)),
        plan.warnings,
        physical,
    )


def _place(plan: RowPlan, number: int, total: int, clause: MatchClause | None) -> str:
    parts = [f"MATCH_RECOGNIZE {number} of {total}" if total > 1 else "MATCH_RECOGNIZE"]
    if clause is not None:
        name = clause.input.sql(dialect="spark")
        result = name.removeprefix("__et_match_").partition(" ")[0]
        made_before = name.startswith("__et_match_") and result.isdigit()
        parts.append(f"over the result of clause {int(result) + 1}" if made_before else f"over {clipped(name, INPUT_WIDTH)}")
        text, span = plan.query.text, clause.span
        if span is not None and text[span.start : span.start + 15].upper() == "MATCH_RECOGNIZE":
            parts.append(f"line {text.count(chr(10), 0, span.start) + 1}")
    return ", ".join(parts)


def _order(plan: RowPlan) -> Iterator[str]:
    for name, key in zip(plan.order, plan.query.order_by, strict=True):
        nulls = "first" if key.nulls_first else "last"
        yield f"{quote_name(name)}{' descending' if key.descending else ''}, nulls {nulls}"


def _skip(plan: RowPlan) -> str:
    skip = plan.query.skip
    target = "" if skip.variable is None else f" {quote_variable(skip.variable.text)}"
    meaning = {
        SkipTo.PAST_LAST_ROW: "the next match begins behind the last row",
        SkipTo.NEXT_ROW: "the next match may begin at the second row",
        SkipTo.FIRST: f"the next match may begin at the first row of{target}",
        SkipTo.LAST: f"the next match may begin at the last row of{target}",
    }
    return f"SKIP {skip.to.value}{target}: {meaning[skip.to]}"


def _within(plan: RowPlan) -> str | None:
    if plan.window is None:
        return None
    duration = window_to_ceql(Window(WindowUnit.DURATION, plan.window))
    return f"{duration} of {quote_name(plan.order[0])}: from the first to the last row, inclusive"


def _reader(plan: RowPlan, *, defines: str | None = None, last_row: bool = False) -> Reader:
    subsets = {subset.name: frozenset(name.text for name in subset.members) for subset in plan.query.subsets}
    names = Names(StreamSchema(plan.columns, time=""), plan.variables, subsets, None)
    return Reader(names, defines=defines, last_row=last_row)


def _conditions(plan: RowPlan) -> Iterator[ConditionView]:
    defined = {definition.variable: definition for definition in plan.query.definitions}
    for variable in plan.variables:
        if variable in defined:
            yield from _parts(plan, defined[variable])
        else:
            yield ConditionView(variable, None, "", ())


def _parts(plan: RowPlan, definition: Definition) -> Iterator[ConditionView]:
    """Yield the part of a condition that looks at rows and the part that looks at the match so far."""
    reader = _reader(plan, defines=definition.variable)
    names = ReadingNames(plan)
    rows: list[exp.Expression] = []
    match: list[exp.Expression] = []
    reads: dict[str, None] = {}
    for part in conjunct_trees(definition.condition.tree):
        dependent = [reading for reading in reader.take(part).readings if not _looks_at_rows(reading)]
        (match if dependent else rows).append(part)
        reads.update(dict.fromkeys(map(names.name, dependent)))
    if rows:
        bit = _bit(plan, definition.variable)
        yield ConditionView(definition.variable, bit, _joined(rows), tuple(neighbours_of(plan, bit)))
    if match:
        yield ConditionView(definition.variable, None, _joined(match), tuple(reads))


def _looks_at_rows(reading: Reading) -> bool:
    if isinstance(reading, Cell):
        return reading.place.current
    return isinstance(reading, Label) and reading.place.current and reading.place.shift == 0


def _bit(plan: RowPlan, variable: str) -> int:
    places = [position.variable for position in plan.automaton.positions]
    return int(plan.tables.bit[places.index(variable)]).bit_length() - 1


def _joined(parts: list[exp.Expression]) -> str:
    return " AND ".join(plain_sql(part) for part in parts)


def _matcher(plan: RowPlan, searched: list[ConditionView]) -> Iterator[str]:
    reading = [view for view in searched if view.text]
    mark = "marks from where a match can be completed"
    if plan.window is not None:
        mark = "keeps the earliest row where a match can end"
    if not reading:
        yield "walk: every condition looks at rows only"
        yield f"a backward pass {mark}"
        yield "then each row of a match takes the first move that can be completed"
        yield "cost: linear, rows plus matched rows"
        return
    yield "search: a condition looks at the match so far, so moves are tried in the order of preferment"
    for view in reading:
        yield f"the condition of {quote_variable(view.variable)} reads {joined(view.reads)}"
    yield f"a backward pass over the conditions on rows {mark}; no other move is tried"
    if plan.programs.merges:
        keys = ["row", "place", *(["end of WITHIN"] if plan.window is not None else [])]
        keys.extend(["match number"] if plan.programs.counts_matches else [])
        observed = ReadingNames(plan).observed()
        more = f" and {len(observed) - OBSERVED_SHOWN} more" if len(observed) > OBSERVED_SHOWN else ""
        yield f"equal states are merged on: {', '.join((*keys, *observed[:OBSERVED_SHOWN]))}{more}"
    else:
        yield "states are not merged: the variable of a row that is not mapped yet is read"
    yield "cost: rows times the different states that are merged on; max_steps stops a search that takes too long"


def _columns(plan: RowPlan) -> Iterator[RowColumnView]:
    query = plan.query
    one = query.rows is RowsPerMatch.ONE
    measures = {measure.name: measure for measure in query.measures}
    reader = _reader(plan, last_row=one)
    names = ReadingNames(plan, running=not one)
    for name, _ in plan.output.columns:
        if name in measures:
            tree = measures[name].expression.tree
            reads = ", ".join(map(names.name, reader.take(tree).readings))
            content = plain_sql(tree)
            yield RowColumnView(name, content, "" if reads == content else reads)
        elif name in plan.keys:
            yield RowColumnView(name, "PARTITION BY column")
        else:
            yield RowColumnView(name, "ORDER BY column" if name in plan.order else "column of the input")
