"""The state graphs of descriptions in the dot language of Graphviz."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eventide.explain.rendering.diagram import Shape, boxes_of
from eventide.explain.rendering.model import EdgeKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eventide.explain.rendering.model import Description

_SHAPES = {Shape.STATE: "", Shape.MATCH: "shape=doublecircle, ", Shape.MORE: "shape=plaintext, "}
_STYLES = {EdgeKind.TAKE: "solid", EdgeKind.SKIP: "dotted", EdgeKind.MATCH: "bold"}


def to_dot(descriptions: Sequence[Description]) -> str:
    """Return one graph: dotted edges pass an event over, bold ones complete a match."""
    lines = ["digraph automaton {", "  rankdir=LR;", "  node [shape=circle];"]
    for box in boxes_of(descriptions):
        body = [f"{node.name} [{_SHAPES[node.shape]}label={quoted(node.label)}];" for node in box.nodes]
        body.extend(
            f"{edge.source} -> {edge.target} [label={quoted(edge.label)}, style={_STYLES[edge.kind]}];" for edge in box.edges
        )
        lines.extend(box.lines([f"subgraph cluster_{box.number} {{", f"  label={quoted(box.label or '')};"], body, "}"))
    return "\n".join([*lines, "}"])


def quoted(label: str) -> str:
    r"""Return a label between double quotes.

    >>> quoted('a "b"')
    '"a \\"b\\""'
    """
    escaped = label.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
    return f'"{escaped}"'
