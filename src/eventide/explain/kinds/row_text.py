"""The plan of a MATCH_RECOGNIZE clause as text, one section a topic."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eventide.explain.text import aligned
from eventide.pattern.row_pattern_printing import quote_variable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eventide.explain.kinds.row_model import ConditionView, RowColumnView, RowExplanation
    from eventide.explain.kinds.row_states import MoveView, RowAutomatonView, StateView

NO_CLAUSE = "The statement has no MATCH_RECOGNIZE clause; the relational engine runs all of it."


def rows_to_text(explanations: Sequence[RowExplanation]) -> str:
    """Return the clauses of a statement as indented text, in the order in which they are run."""
    return "\n\n".join(map(_clause, explanations)) or NO_CLAUSE


def _clause(shown: RowExplanation) -> str:
    sections = [(title, lines) for title, lines in _sections(shown) if lines]
    return "\n".join(line for title, lines in sections for line in (title, *(f"  {text}".rstrip() for text in lines)))


def _sections(shown: RowExplanation) -> Iterator[tuple[str, Sequence[str]]]:
    yield shown.place, [shown.pattern]
    yield "partition by", shown.partition or ["none: all rows are one partition"]
    yield "order by", shown.order or ["none: rows are taken as the input holds them"]
    yield "rows per match", [shown.rows]
    yield "after match", [shown.skip]
    yield "within", [] if shown.within is None else [shown.within]
    yield "subsets", shown.subsets
    yield "conditions", aligned([_condition(view) for view in shown.conditions])
    yield "automaton", _automaton(shown.automaton)
    yield "matcher", shown.matcher
    yield "output", aligned([_column(view) for view in shown.columns])
    yield "warnings", shown.warnings
    yield "relational plan", shown.physical.splitlines()


def _condition(view: ConditionView) -> tuple[str, ...]:
    name = quote_variable(view.variable)
    if view.bit is not None:
        return (name, f"rows: bit {view.bit}", view.text, f"neighbours: {', '.join(view.reads)}" if view.reads else "")
    if not view.text:
        return (name, "every row", "", "")
    return (name, "match so far: searched", view.text, f"reads {', '.join(view.reads)}")


def _column(view: RowColumnView) -> tuple[str, ...]:
    return (view.name, view.content, f"reads {view.reads}" if view.reads else "")


def _automaton(view: RowAutomatonView) -> list[str]:
    lines = ["a state is a place of the pattern that took a row; its moves stand in the order of preferment"]
    for state in view.states:
        lines.append(state.name)
        lines.extend(f"  {line}" for line in _state(state))
    if view.hidden:
        lines.append(f"... and {view.hidden} further states")
    if view.never_reached:
        names = ", ".join(map(quote_variable, view.never_reached))
        lines.append(f"no match leads to some places of: {names}")
    return lines


def _state(state: StateView) -> list[str]:
    if not state.moves:
        return ["no move: no match can go on or end here"]
    lines = aligned([_move(move) for move in state.moves])
    return [*lines, f"... and {state.hidden_moves} further moves"] if state.hidden_moves else lines


def _move(move: MoveView) -> tuple[str, ...]:
    number = f"{move.preferment}."
    if move.place is None:
        return (f"{number} match", "only after the last row of the partition" if move.at_end_only else "")
    taken = quote_variable(move.place.variable) + (" {- left out -}" if move.place.left_out else "")
    return (f"{number} {taken}", f"-> {move.place.number}")
