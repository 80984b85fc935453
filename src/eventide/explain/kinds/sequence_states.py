"""The automaton of a sequence as a state graph: what each state does on an event that sets one predicate bit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eventide.explain.rendering.model import MATCH, MAX_STATES_SHOWN, Edge, EdgeKind, Move, State, StateGraph

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eventide.plan.sequences.automaton import Automaton, Expansion, Label

    Expansions = list[tuple[str, Expansion]]

NO_BIT = "any other event"
NONE = -1
"""Where a move leads after which nothing more can be taken."""


def sequence_states(automaton: Automaton, predicates: Sequence[str], absences: Sequence[str], *, no_bit_seen: bool) -> StateGraph:
    """Follow the automaton from its start, each predicate alone, up to MAX_STATES_SHOWN states."""
    events = [(name, 1 << bit) for bit, name in enumerate(predicates)]
    if no_bit_seen:
        events.append((NO_BIT, 0))
    met = [0]
    states: list[State] = []
    while len(states) < min(len(met), MAX_STATES_SHOWN):
        number = met[len(states)]
        expansions = [(name, automaton.expand(number, bits)) for name, bits in events]
        targets = (target for _, made in expansions for target in (*(move.target for move in made.marked), made.unmarked))
        met.extend(dict.fromkeys(target for target in targets if target != NONE and target not in met))
        states.append(_state(automaton, number, expansions, absences))
    hidden = len(met) - len(states)
    return StateGraph(
        "automaton",
        "on an event that sets one bit; an event that sets several can make each of their moves",
        tuple(states),
        (f"... and {hidden} or more further states, made when they are needed",) if hidden else (),
    )


def _state(automaton: Automaton, number: int, expansions: Expansions, absences: Sequence[str]) -> State:
    moves = list(_moves(automaton, number, expansions, absences))
    stays = [name for name, made in expansions if made.unmarked == number]
    drops = [name for name, made in expansions if number and made.unmarked == NONE and not made.unmarked_accepting]
    if stays:
        events = _events(stays, expansions)
        moves.append(Move((events, "skip", f"-> {number}"), (Edge(_node(number), events, EdgeKind.SKIP),)))
    if drops:
        moves.append(Move((_events(drops, expansions), "if not taken, the partial match ends", "")))
    title = f"state {number}" if number else "state 0 (start, entered anew at every event)"
    return State(_node(number), str(number) if number else "start", title, tuple(moves))


def _moves(automaton: Automaton, number: int, expansions: Expansions, absences: Sequence[str]) -> Iterator[Move]:
    for event, made in expansions:
        for move in made.marked:
            label = automaton.labels[move.label]
            taken = ", ".join(_shown(label))
            unless = f"no {', '.join(absences[absence] for absence in label.checked)}" if label.checked else ""
            action = f"take {taken} if {unless}" if unless else f"take {taken}"
            drawn = f"{taken}: {event} ({unless})" if unless else f"{taken}: {event}"
            yield _move(event, action, drawn, move.target, EdgeKind.TAKE, accepting=move.accepting)
        # The events that leave the state as it is are shown together.
        target = NONE if made.unmarked == number else made.unmarked
        if target != NONE or made.unmarked_accepting:
            action = "take, not shown" if made.unmarked_accepting else "skip or take, not shown"
            yield _move(event, action, event, target, EdgeKind.SKIP, accepting=made.unmarked_accepting)


def _move(event: str, action: str, drawn: str, target: int, kind: EdgeKind, *, accepting: bool) -> Move:
    """Return a move; one that completes a match and goes on is drawn as two edges."""
    edges = [Edge(MATCH, drawn, EdgeKind.MATCH)] if accepting else []
    if target == NONE:
        return Move((event, action, "-> match"), tuple(edges))
    return Move((event, action, f"-> {target}{', match' if accepting else ''}"), (*edges, Edge(_node(target), drawn, kind)))


def _node(number: int) -> str:
    return f"s{number}"


def _events(some: Sequence[str], expansions: Expansions) -> str:
    return "any event" if len(some) == len(expansions) else ", ".join(some)


def shown_variable(variable: str) -> bool:
    """Return whether a variable is one that the user wrote; the planner's own names hold an @.

    >>> shown_variable("a"), shown_variable("a@0")
    (True, False)
    """
    return "@" not in variable


def _shown(label: Label) -> list[str]:
    return [variable for variable in label.variables if shown_variable(variable)] or ["*"]
