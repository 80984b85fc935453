"""The automaton of a plan as a mermaid flowchart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eventide.explain.labels import drawn_edges

if TYPE_CHECKING:
    from eventide.explain.model import Explanation

# Characters with a meaning inside a quoted mermaid label.
_ENTITIES = {"&": "#amp;", '"': "#quot;", "<": "#lt;", ">": "#gt;", "#": "#35;", "`": "#96;", "\n": " "}


def to_mermaid(explanation: Explanation) -> str:
    """Return the automaton as a flowchart: dotted edges pass an event over, thick ones complete a match."""
    lines = ["flowchart LR", '  start(( )) --> s0(("0"))']
    lines.extend(f'  s{state.number}(("{state.number}"))' for state in explanation.automaton.states[1:])
    lines.append('  match((("match")))')
    if explanation.automaton.hidden:
        lines.append('  more["..."]')
    arrows = {"take": "-->", "match": "==>", "skip": "-.->"}
    lines.extend(
        f'  {edge.source} {arrows[edge.kind]}|"{escaped(edge.label)}"| {edge.target}'
        for edge in drawn_edges(explanation.automaton)
    )
    return "\n".join(lines)


def escaped(label: str) -> str:
    """Return a label that mermaid shows as it is.

    >>> escaped('a.x < "b"')
    'a.x #lt; #quot;b#quot;'
    """
    return "".join(_ENTITIES.get(character, character) for character in label)
