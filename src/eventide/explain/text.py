"""A plan as text, one section a topic."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eventide.explain.kinds.sequence_states import MATCH
from eventide.explain.model import OPAQUE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eventide.explain.kinds.sequence_states import AutomatonView, Edge, StateView
    from eventide.explain.model import Explanation, PredicateView


def to_text(explanation: Explanation) -> str:
    """Return an explanation as indented text."""
    sections = [(title, lines) for title, lines in _sections(explanation) if lines]
    return "\n".join(line for title, lines in sections for line in (title, *(f"  {text}".rstrip() for text in lines)))


def _sections(shown: Explanation) -> Iterator[tuple[str, Sequence[str]]]:
    yield "query", shown.query.splitlines()
    yield "streams", _streams(shown)
    yield "partition keys", _keys(shown)
    yield "window", [line for line in (shown.window, shown.step_window) if line is not None]
    yield "strategy", [shown.strategy]
    yield "selector", [] if shown.selector == "ALL" else [shown.selector]
    yield "consume by", [] if shown.consumption == "NONE" else [shown.consumption]
    yield "limit", [] if shown.limit is None else [str(shown.limit)]
    yield "predicates", aligned([_predicate(view) for view in shown.predicates])
    yield "absences", aligned([
        (
            view.text,
            view.place,
            f"bit {view.bit}",
            "checked on matches" if view.on_matches else "inside the automaton",
        )
        for view in shown.absences
    ])  # fmt: skip
    yield "automaton", _automaton(shown.automaton)
    yield "matcher", [f"{shown.matcher}: {shown.reason}"]
    yield "results over all matches", shown.results
    yield "irrelevant events", [_irrelevant(shown)]
    yield "output", aligned([(column.name, column.content) for column in shown.columns])
    yield "warnings", shown.warnings
    yield "relational plan", (shown.physical or "").splitlines()


def _streams(shown: Explanation) -> list[str]:
    if not shown.streams:
        return ["not given: attributes and their types were not checked"]
    return [
        f"{view.name}: " + ", ".join(f"{role} {column}" for role, column in view.roles) + f"; {view.columns} columns"
        for view in shown.streams
    ]


def _keys(shown: Explanation) -> list[str]:
    if not shown.keys:
        return ["none: all events are one partition"]
    return aligned(
        [(key.column, "derived from equalities between events" if key.derived else "PARTITION BY") for key in shown.keys]
    )


def _predicate(view: PredicateView) -> tuple[str, ...]:
    place = "no bit" if view.bit is None else f"bit {view.bit}"
    kind = "opaque(refined)" if view.kind == OPAQUE else f"{view.kind}({view.use})" if view.use else view.kind
    users = f"({', '.join(view.used_by)})" if view.used_by else ""
    return (place, kind, view.text, users)


def _irrelevant(shown: Explanation) -> str:
    if shown.drops_irrelevant:
        return "dropped before the shuffle: an event that sets no bit changes no match"
    return "kept: events that set no bit count for contiguity or for the window"


def _automaton(view: AutomatonView) -> list[str]:
    lines = ["on an event that sets one bit; an event that sets several can make each of their moves"]
    for state in view.states:
        lines.append(f"state {state.number}" + (" (start, entered anew at every event)" if state.number == 0 else ""))
        lines.extend(f"  {line}" for line in _state(state, view.events))
    if view.hidden:
        lines.append(f"... and {view.hidden} or more further states, made when they are needed")
    return lines


def _state(state: StateView, events: tuple[str, ...]) -> list[str]:
    rows = [_edge(edge) for edge in state.edges]
    if state.stays:
        rows.append((_named(state.stays, events), "skip", f"-> {state.number}"))
    if state.drops:
        rows.append((_named(state.drops, events), "if not taken, the partial match ends", ""))
    return aligned(rows)


def _edge(edge: Edge) -> tuple[str, ...]:
    silent = "take, not shown" if edge.accepting else "skip or take, not shown"
    action = f"take {', '.join(edge.takes)}" if edge.takes else silent
    if edge.checks:
        action += f" if no {', '.join(edge.checks)}"
    target = "-> match" if edge.target == MATCH else f"-> {edge.target}" + (", match" if edge.accepting else "")
    return (edge.event, action, target)


def _named(some: tuple[str, ...], events: tuple[str, ...]) -> str:
    if len(some) == len(events):
        return "any event"
    return ", ".join(some)


def aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Return the rows as lines whose columns stand under each other.

    >>> aligned([("a", "first"), ("price", "second")])
    ['a      first', 'price  second']
    """
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))] if rows else []
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
