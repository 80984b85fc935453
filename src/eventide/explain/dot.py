"""The automaton of a plan in the dot language of Graphviz."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eventide.explain.labels import drawn_edges

if TYPE_CHECKING:
    from eventide.explain.model import Explanation

_STYLES = {"take": "solid", "match": "bold", "skip": "dotted"}


def to_dot(explanation: Explanation) -> str:
    """Return the automaton as a graph: dotted edges pass an event over, bold ones complete a match."""
    lines = [
        "digraph automaton {",
        "  rankdir=LR;",
        "  node [shape=circle];",
        "  start [shape=point];",
        "  start -> s0;",
    ]
    lines.extend(f'  s{state.number} [label="{state.number}"];' for state in explanation.automaton.states)
    lines.append('  match [shape=doublecircle, label="match"];')
    if explanation.automaton.hidden:
        lines.append('  more [shape=plaintext, label="..."];')
    lines.extend(
        f'  {edge.source} -> {edge.target} [label="{escaped(edge.label)}", style={_STYLES[edge.kind]}];'
        for edge in drawn_edges(explanation.automaton)
    )
    lines.append("}")
    return "\n".join(lines)


def escaped(label: str) -> str:
    r"""Return a label for use between double quotes.

    >>> escaped('a "b"')
    'a \\"b\\"'
    """
    return label.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
