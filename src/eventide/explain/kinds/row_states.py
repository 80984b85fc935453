"""The automaton of a row pattern as a state graph: places in the order they are met, moves in the order of preferment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eventide.explain.rendering.model import MATCH, MAX_STATES_SHOWN, MORE, Edge, EdgeKind, Move, State, StateGraph
from eventide.pattern.row_pattern_printing import quote_variable
from eventide.plan.row_patterns.automaton import ACCEPT

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eventide.plan.row_patterns.automaton import RowAutomaton

MAX_MOVES_SHOWN = 20


def row_states(automaton: RowAutomaton) -> StateGraph:
    """Follow the automaton from its starts; places are numbered from 1 as they are met."""
    starts = {"start": automaton.start}
    if automaton.first_start != automaton.start:
        starts = {"first": automaton.first_start, **({"start": automaton.start} if automaton.start else {})}
    met: dict[int, int] = {}
    pending = list(starts.values())
    for moves in pending:
        for position in moves:
            if position >= 0 and position not in met:
                met[position] = len(met) + 1
                pending.append(automaton.moves[position])
    states = [State(name, *_START_NAMES[name], moves=tuple(_moves(automaton, moves, met))) for name, moves in starts.items()]
    for position, number in list(met.items())[:MAX_STATES_SHOWN]:
        place = automaton.positions[position]
        title = f"{number}: {place.variable}"
        label = f"{title} {{- -}}" if place.excluded else title
        states.append(State(f"s{number}", label, title, tuple(_moves(automaton, automaton.moves[position], met))))
    return StateGraph(
        "automaton",
        "a state is a place of the pattern that took a row; its moves stand in the order of preferment",
        tuple(states),
        tuple(_notes(automaton, met)),
    )


_START_NAMES = {"start": ("start", "start"), "first": ("first row", "start at the first row of a partition")}
"""The label and the title of each start."""


def _moves(automaton: RowAutomaton, moves: Sequence[int], met: dict[int, int]) -> Iterator[Move]:
    for preferment, move in enumerate(moves[:MAX_MOVES_SHOWN], 1):
        # Not "1. A" in diagrams: newer versions of mermaid read that as a list, which they refuse in a label.
        if move >= 0:
            place = automaton.positions[move]
            taken = f"{quote_variable(place.variable)}{' {- left out -}' if place.excluded else ''}"
            edge = Edge(f"s{met[move]}", f"({preferment}) {place.variable}")
            yield Move((f"{preferment}. {taken}", f"-> {met[move]}"), (edge,))
        else:
            at_end = move != ACCEPT
            edge = Edge(MATCH, f"({preferment}){' after the last row' if at_end else ''}", EdgeKind.MATCH)
            yield Move((f"{preferment}. match", "only after the last row of the partition" if at_end else ""), (edge,))
    if not moves:
        yield Move(("no move: no match can go on or end here",))
    if len(moves) > MAX_MOVES_SHOWN:
        further = Edge(MORE, f"({MAX_MOVES_SHOWN + 1}) ...")
        yield Move((f"... and {len(moves) - MAX_MOVES_SHOWN} further moves",), (further,))


def _notes(automaton: RowAutomaton, met: dict[int, int]) -> Iterator[str]:
    if len(met) > MAX_STATES_SHOWN:
        yield f"... and {len(met) - MAX_STATES_SHOWN} further states"
    lost = [place.variable for number, place in enumerate(automaton.positions) if number not in met]
    if lost:
        yield f"no match leads to some places of: {', '.join(map(quote_variable, dict.fromkeys(lost)))}"
