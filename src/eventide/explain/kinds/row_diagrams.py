"""The automata of MATCH_RECOGNIZE clauses as mermaid and dot diagrams; edges are numbered in the order of preferment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eventide.explain.dot import escaped as escaped_dot
from eventide.explain.kinds.row_states import FIRST_START
from eventide.explain.labels import DrawnEdge
from eventide.explain.mermaid import escaped as escaped_mermaid

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eventide.explain.kinds.row_model import RowExplanation
    from eventide.explain.kinds.row_states import MoveView, RowAutomatonView, StateView

_ARROWS = {"take": "-->", "match": "==>"}
_STYLES = {"take": "solid", "match": "bold"}


def rows_to_mermaid(explanations: Sequence[RowExplanation]) -> str:
    """Return the automata as one flowchart, each clause of several in a box; thick edges complete a match."""
    lines = ["flowchart LR"]
    for number, shown in enumerate(explanations, 1):
        boxed = len(explanations) > 1
        prefix = f"c{number}_" if boxed else ""
        body = [f'{node}(("{escaped_mermaid(label)}"))' for node, label in _nodes(shown.automaton, prefix)]
        body.append(f'{prefix}match((("match")))')
        if _goes_on(shown.automaton):
            body.append(f'{prefix}more["..."]')
        body.extend(
            f'{edge.source} {_ARROWS[edge.kind]}|"{escaped_mermaid(edge.label)}"| {edge.target}'
            for edge in _edges(shown.automaton, prefix)
        )
        if boxed:
            lines.append(f'  subgraph c{number} ["{escaped_mermaid(shown.pattern)}"]')
        lines.extend(f"{'    ' if boxed else '  '}{line}" for line in body)
        if boxed:
            lines.append("  end")
    return "\n".join(lines)


def rows_to_dot(explanations: Sequence[RowExplanation]) -> str:
    """Return the automata as one graph, each clause of several in a box; bold edges complete a match."""
    lines = ["digraph automaton {", "  rankdir=LR;", "  node [shape=circle];"]
    for number, shown in enumerate(explanations, 1):
        boxed = len(explanations) > 1
        prefix = f"c{number}_" if boxed else ""
        body = [f'{node} [label="{escaped_dot(label)}"];' for node, label in _nodes(shown.automaton, prefix)]
        body.append(f'{prefix}match [shape=doublecircle, label="match"];')
        if _goes_on(shown.automaton):
            body.append(f'{prefix}more [shape=plaintext, label="..."];')
        body.extend(
            f'{edge.source} -> {edge.target} [label="{escaped_dot(edge.label)}", style={_STYLES[edge.kind]}];'
            for edge in _edges(shown.automaton, prefix)
        )
        if boxed:
            lines.extend((f"  subgraph cluster_{number} {{", f'    label="{escaped_dot(shown.pattern)}";'))
        lines.extend(f"{'    ' if boxed else '  '}{line}" for line in body)
        if boxed:
            lines.append("  }")
    return "\n".join([*lines, "}"])


def _goes_on(view: RowAutomatonView) -> bool:
    return view.hidden > 0 or any(state.hidden_moves for state in view.states)


def _nodes(view: RowAutomatonView, prefix: str) -> Iterator[tuple[str, str]]:
    for state in view.states:
        label = state.name
        if state.name == FIRST_START:
            label = "first row"
        if state.place is not None and state.place.left_out:
            label = f"{label} {{- -}}"
        yield _node(state, prefix), label


def _node(state: StateView, prefix: str) -> str:
    if state.place is not None:
        return f"{prefix}s{state.place.number}"
    return f"{prefix}first" if state.name == FIRST_START else f"{prefix}start"


def _edges(view: RowAutomatonView, prefix: str) -> Iterator[DrawnEdge]:
    for state in view.states:
        source = _node(state, prefix)
        for move in state.moves:
            yield DrawnEdge(source, _target(view, move, prefix), _label(move), "match" if move.place is None else "take")
        if state.hidden_moves:
            yield DrawnEdge(source, f"{prefix}more", f"({len(state.moves) + 1}) ...", "take")


def _target(view: RowAutomatonView, move: MoveView, prefix: str) -> str:
    if move.place is None:
        return f"{prefix}match"
    return f"{prefix}s{move.place.number}" if view.shows(move.place) else f"{prefix}more"


def _label(move: MoveView) -> str:
    # Not "1. A": newer versions of mermaid read that as a list, which they refuse in a label.
    number = f"({move.preferment})"
    if move.place is None:
        return f"{number} after the last row" if move.at_end_only else number
    return f"{number} {move.place.variable}"
