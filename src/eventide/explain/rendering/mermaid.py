"""The state graphs of descriptions as a mermaid flowchart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eventide.explain.rendering.diagram import Shape, boxes_of
from eventide.explain.rendering.model import EdgeKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eventide.explain.rendering.model import Description

# Characters with a meaning inside a quoted mermaid label.
_ENTITIES = {"&": "#amp;", '"': "#quot;", "<": "#lt;", ">": "#gt;", "#": "#35;", "`": "#96;", "\n": " "}
_SHAPES = {Shape.STATE: ("((", "))"), Shape.MATCH: ("(((", ")))"), Shape.MORE: ("[", "]")}
_ARROWS = {EdgeKind.TAKE: "-->", EdgeKind.SKIP: "-.->", EdgeKind.MATCH: "==>"}


def to_mermaid(descriptions: Sequence[Description]) -> str:
    """Return one flowchart: dotted edges pass an event over, thick ones complete a match."""
    lines = ["flowchart LR"]
    for box in boxes_of(descriptions):
        body = [_quoted(node.label, *_SHAPES[node.shape], node.name) for node in box.nodes]
        body.extend(f"{edge.source} {_ARROWS[edge.kind]}{_quoted(edge.label, '|', '|')} {edge.target}" for edge in box.edges)
        lines.extend(box.lines([_quoted(box.label or "", "[", "]", f"subgraph c{box.number} ")], body, "end"))
    return "\n".join(lines)


def _quoted(label: str, left: str, right: str, name: str = "") -> str:
    return f'{name}{left}"{escaped(label)}"{right}'


def escaped(label: str) -> str:
    """Return a label that mermaid shows as it is.

    >>> escaped('a.x < "b"')
    'a.x #lt; #quot;b#quot;'
    """
    return "".join(_ENTITIES.get(character, character) for character in label)
