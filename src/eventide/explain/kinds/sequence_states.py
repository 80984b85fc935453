"""The automaton as a graph to draw: states and edges over events that set one predicate bit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eventide.plan.sequences.automaton import Automaton, Label

MAX_STATES_SHOWN = 60
NO_BIT = "any other event"
MATCH = -1
"""The target of an edge after which nothing more can be taken."""


@dataclass(frozen=True)
class Edge:
    """A move on one kind of event: it is taken by variables, or by none that the result shows, or passed over (`takes` empty).

    `accepting` edges complete a match; `target` MATCH means that this is all they do.
    """

    source: int
    target: int
    event: str
    takes: tuple[str, ...]
    checks: tuple[str, ...]
    accepting: bool


@dataclass(frozen=True)
class StateView:
    """A state with its edges; `stays` and `drops` name the events that leave it as it is and those that end it."""

    number: int
    edges: tuple[Edge, ...]
    stays: tuple[str, ...]
    drops: tuple[str, ...]


@dataclass(frozen=True)
class AutomatonView:
    """The states met over events that set one bit; `hidden` counts those that were met but not followed."""

    states: tuple[StateView, ...]
    events: tuple[str, ...]
    hidden: int


def view_automaton(
    automaton: Automaton, predicates: Sequence[str], absences: Sequence[str], *, no_bit_seen: bool
) -> AutomatonView:
    """Follow the automaton from its start, each predicate alone, up to MAX_STATES_SHOWN states."""
    events = [(name, 1 << bit) for bit, name in enumerate(predicates)]
    if no_bit_seen:
        events.append((NO_BIT, 0))
    met = [0]
    views: list[StateView] = []
    while len(views) < min(len(met), MAX_STATES_SHOWN):
        view = _view_state(automaton, met[len(views)], events, absences)
        met.extend(dict.fromkeys(edge.target for edge in view.edges if edge.target != MATCH and edge.target not in met))
        views.append(view)
    return AutomatonView(tuple(views), tuple(name for name, _ in events), len(met) - len(views))


def _view_state(automaton: Automaton, state: int, events: Sequence[tuple[str, int]], absences: Sequence[str]) -> StateView:
    edges: list[Edge] = []
    stays, drops = [], []
    for name, bits in events:
        expansion = automaton.expand(state, bits)
        for move in expansion.marked:
            label = automaton.labels[move.label]
            checks = tuple(absences[number] for number in label.checked)
            edges.append(Edge(state, move.target, name, _takes(label), checks, move.accepting))
        if expansion.unmarked == state:
            stays.append(name)
        elif expansion.unmarked != -1:
            edges.append(Edge(state, expansion.unmarked, name, (), (), expansion.unmarked_accepting))
            continue
        elif state and not expansion.unmarked_accepting:
            drops.append(name)
        if expansion.unmarked_accepting:
            edges.append(Edge(state, MATCH, name, (), (), accepting=True))
    return StateView(state, tuple(edges), tuple(stays), tuple(drops))


def shown_variable(variable: str) -> bool:
    """Return whether a variable is one that the user wrote; the planner's own names hold an @.

    >>> shown_variable("a"), shown_variable("a@0")
    (True, False)
    """
    return "@" not in variable


def _takes(label: Label) -> tuple[str, ...]:
    return tuple(variable for variable in label.variables if shown_variable(variable)) or ("*",)
