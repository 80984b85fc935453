"""The edges that diagrams draw, with their labels; the same for every diagram language."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from eventide.explain.kinds.sequence_states import MATCH

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eventide.explain.kinds.sequence_states import AutomatonView, Edge


@dataclass(frozen=True)
class DrawnEdge:
    """An edge between two named nodes; `kind` is take, match or skip."""

    source: str
    target: str
    label: str
    kind: str


def drawn_edges(view: AutomatonView) -> Iterator[DrawnEdge]:
    """Yield the edges to draw: one that completes a match and goes on becomes two."""
    known = {state.number for state in view.states}
    for state in view.states:
        source = f"s{state.number}"
        for edge in state.edges:
            label = _label(edge)
            if edge.accepting:
                yield DrawnEdge(source, "match", label, "match")
            if edge.target != MATCH:
                target = f"s{edge.target}" if edge.target in known else "more"
                yield DrawnEdge(source, target, label, "take" if edge.takes else "skip")
        if state.stays:
            whole = len(state.stays) == len(view.events)
            yield DrawnEdge(source, source, "any event" if whole else ", ".join(state.stays), "skip")


def _label(edge: Edge) -> str:
    taken = f"{', '.join(edge.takes)}: {edge.event}" if edge.takes else edge.event
    return f"{taken} (no {', '.join(edge.checks)})" if edge.checks else taken
