"""The automaton of a row pattern as a graph to draw: places in the order they are met, moves in the order of preferment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from eventide.explain.kinds.sequence_states import MAX_STATES_SHOWN
from eventide.plan.row_patterns.automaton import ACCEPT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eventide.plan.row_patterns.automaton import RowAutomaton

MAX_MOVES_SHOWN = 20
START = "start"
FIRST_START = "start at the first row of a partition"


@dataclass(frozen=True)
class PlaceView:
    """A place of the pattern that takes a row; numbers count from 1 as places are met from the start on."""

    number: int
    variable: str
    left_out: bool


@dataclass(frozen=True)
class MoveView:
    """A move to a place, or the end of the match (`place` None), which may need the last row of the partition behind it."""

    preferment: int
    place: PlaceView | None
    at_end_only: bool = False


@dataclass(frozen=True)
class StateView:
    """A state, which is a start (`place` None) or a place that has taken a row, with its first moves."""

    name: str
    place: PlaceView | None
    moves: tuple[MoveView, ...]
    hidden_moves: int


@dataclass(frozen=True)
class RowAutomatonView:
    """The states that are shown, how many more there are, and variables at places that no way leads to."""

    states: tuple[StateView, ...]
    hidden: int
    never_reached: tuple[str, ...]

    def shows(self, place: PlaceView) -> bool:
        """Return whether the state of a place is among those that are shown."""
        return any(state.place == place for state in self.states)


def view_rows(automaton: RowAutomaton) -> RowAutomatonView:
    """Follow the automaton from its starts, in the order of preferment."""
    starts = [(START, automaton.start)]
    if automaton.first_start != automaton.start:
        starts = [(FIRST_START, automaton.first_start), *([(START, automaton.start)] if automaton.start else [])]
    met: dict[int, PlaceView] = {}
    for _, moves in starts:
        _meet(automaton, moves, met)
    for position in (pending := list(met)):
        before = len(met)
        _meet(automaton, automaton.moves[position], met)
        pending.extend(list(met)[before:])
    states = [_state(name, None, moves, met) for name, moves in starts]
    shown = [(position, place) for position, place in met.items() if place.number <= MAX_STATES_SHOWN]
    states.extend(_state(f"{place.number}: {place.variable}", place, automaton.moves[position], met) for position, place in shown)
    lost = (place.variable for number, place in enumerate(automaton.positions) if number not in met)
    return RowAutomatonView(tuple(states), len(met) - len(shown), tuple(dict.fromkeys(lost)))


def _meet(automaton: RowAutomaton, moves: Sequence[int], met: dict[int, PlaceView]) -> None:
    for move in moves:
        if move >= 0 and move not in met:
            position = automaton.positions[move]
            met[move] = PlaceView(len(met) + 1, position.variable, position.excluded)


def _state(name: str, place: PlaceView | None, moves: Sequence[int], met: dict[int, PlaceView]) -> StateView:
    views = [
        MoveView(number, met[move] if move >= 0 else None, at_end_only=move < 0 and move != ACCEPT)
        for number, move in enumerate(moves[:MAX_MOVES_SHOWN], 1)
    ]
    return StateView(name, place, tuple(views), max(0, len(moves) - MAX_MOVES_SHOWN))
