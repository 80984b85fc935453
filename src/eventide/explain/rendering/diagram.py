"""What every diagram language draws: state graphs as boxes of nodes and edges."""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING

from eventide.explain.rendering.model import MATCH, MORE, EdgeKind, StateGraph
from eventide.records import record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eventide.explain.rendering.model import Description


class Shape(Enum):
    """What a node stands for."""

    STATE = auto()
    MATCH = auto()
    MORE = auto()


@record
class DrawnNode:
    """A node with a name that is its own in the whole diagram."""

    name: str
    label: str
    shape: Shape


@record
class DrawnEdge:
    """An edge between two nodes."""

    source: str
    target: str
    label: str
    kind: EdgeKind


@record
class Box:
    """One state graph; it has a label where it is not the only one of the diagram."""

    number: int
    label: str | None
    nodes: tuple[DrawnNode, ...]
    edges: tuple[DrawnEdge, ...]

    def lines(self, before: Sequence[str], inside: Sequence[str], behind: str) -> list[str]:
        """Return the lines of the graph, between those of a frame where it needs one."""
        if self.label is None:
            return [f"  {line}" for line in inside]
        return [*(f"  {line}" for line in before), *(f"    {line}" for line in inside), f"  {behind}"]


def boxes_of(descriptions: Sequence[Description]) -> list[Box]:
    """Return the state graphs of the descriptions, ready to be written down."""
    graphs = [(shown.text, part) for shown in descriptions for part in shown.parts if isinstance(part, StateGraph)]
    if len(graphs) == 1:
        return [_box(1, None, graphs[0][1], "")]
    return [_box(number, text, graph, f"c{number}_") for number, (text, graph) in enumerate(graphs, 1)]


def _box(number: int, label: str | None, graph: StateGraph, prefix: str) -> Box:
    drawn = {MATCH, *(state.node for state in graph.states)}
    edges = tuple(
        DrawnEdge(prefix + state.node, prefix + (edge.target if edge.target in drawn else MORE), edge.label, edge.kind)
        for state in graph.states
        for move in state.moves
        for edge in move.edges
    )
    nodes = [DrawnNode(prefix + state.node, state.label, Shape.STATE) for state in graph.states]
    nodes.append(DrawnNode(prefix + MATCH, "match", Shape.MATCH))
    if any(edge.target == prefix + MORE for edge in edges):
        nodes.append(DrawnNode(prefix + MORE, "...", Shape.MORE))
    return Box(number, label, tuple(nodes), edges)
