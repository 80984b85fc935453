"""Which rows around a match a clause reads: what a stream must wait for, and what it must remember."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eventide.match.row_pattern.programs import ROW_F, ROW_I
from eventide.plan.row_patterns.readings import Cell, MatchNumber
from eventide.records import record

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eventide.match.row_pattern.programs import RowPrograms
    from eventide.match.row_pattern.tables import RowTables
    from eventide.plan.row_patterns.automaton import RowAutomaton
    from eventide.plan.row_patterns.conditions import RowCondition
    from eventide.plan.row_patterns.output import RowOutput


@record
class RowNeeds:
    """What the engine of one query needs to know of rows around those it decides on."""

    ahead: int
    """How many rows behind a row its conditions look (NEXT)."""
    before: int
    """How many rows before a match conditions and measures look (PREV)."""
    measured_before: int
    measured_behind: int
    """How many rows around a match its measures look."""
    counts: bool
    """Whether MATCH_NUMBER is read."""
    anchored: bool
    """Whether a match at the first row of a partition can differ from others."""


def needs_of(
    automaton: RowAutomaton, predicates: Sequence[RowCondition], tables: RowTables, programs: RowPrograms, output: RowOutput
) -> RowNeeds:
    """Return what a clause needs."""
    conditions = list(_condition_shifts(predicates, programs))
    measures = [field.place.shift for field in output.fields if isinstance(field, Cell)]
    return RowNeeds(
        ahead=max([0, *conditions]),
        before=-min([0, *_shifts_before_match(automaton, predicates, tables, programs), *measures]),
        measured_before=-min([0, *measures]),
        measured_behind=max([0, *measures]),
        counts=bool(programs.counts_matches) or any(isinstance(field, MatchNumber) for field in output.fields),
        anchored=automaton.start != automaton.first_start,
    )


def _shifts_before_match(
    automaton: RowAutomaton, predicates: Sequence[RowCondition], tables: RowTables, programs: RowPrograms
) -> Iterator[int]:
    """Yield how far conditions look before the first row of a match: a variable that comes later finds PREV inside of it."""
    depth = _depths(automaton)
    for bit, condition in enumerate(predicates):
        if condition.program is not None:
            taking = [depth[position] for position, flag in enumerate(tables.bit.tolist()) if flag == 1 << bit]
            earliest = min([place for place in taking if place >= 0], default=0)
            for op, _, _, shift in condition.program.code:
                if op in (ROW_I, ROW_F):
                    yield shift + earliest
    for op, _, _, shift in programs.code.tolist():
        if op in (ROW_I, ROW_F):
            yield shift


def _depths(automaton: RowAutomaton) -> list[int]:
    """Return for each position how many rows of a match come before it at the least; -1 where none leads there."""
    moves = automaton.moves
    depth = [-1] * len(moves)
    level = {move for start in (automaton.start, automaton.first_start) for move in start if move >= 0}
    number = 0
    while level:
        for position in level:
            depth[position] = number
        level = {move for position in level for move in moves[position] if move >= 0 and depth[move] < 0}
        number += 1
    return depth


def _condition_shifts(predicates: Sequence[RowCondition], programs: RowPrograms) -> Iterator[int]:
    """Yield how far conditions look from a row of the match."""
    judged = [condition.program.code for condition in predicates if condition.program is not None]
    for code in (*judged, programs.code.tolist()):
        for op, _, _, shift in code:
            if op in (ROW_I, ROW_F):
                yield shift
