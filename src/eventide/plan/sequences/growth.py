"""Which variables make the matches of a pattern many."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eventide.pattern import Strategy
from eventide.plan.sequences.structure import Alternatives, Chain, Loop, Mix, Node, One, occurrences_in

if TYPE_CHECKING:
    from collections.abc import Sequence


def doubling_variables(root: Node, variables: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Return the variables of loops that may skip events: each event can be taken or left. `variables[i]` are those of i.

    >>> doubling_variables(Loop(One(0), 1, None, Strategy.ANY), [["Pay", "s", "@steps"]])
    ('s',)
    """
    found: dict[str, None] = {}
    for loop in _free_loops(root):
        for occurrence in sorted(occurrences_in(loop)):
            written = [name for name in variables[occurrence] if "@" not in name]
            # Names that the user gave stand behind that of the type.
            found.update(dict.fromkeys(written[-1:]))
    return tuple(found)


def _free_loops(node: Node) -> list[Node]:
    match node:
        case One():
            return []
        case Loop(maximum=maximum, strategy=Strategy.ANY) if maximum is None or maximum > 1:
            return [node]
        case Loop(part=part):
            return _free_loops(part)
        case Chain(parts=parts) | Alternatives(parts=parts) | Mix(parts=parts):
            return [loop for part in parts for loop in _free_loops(part)]
