"""How large the automaton of a pattern can become, and the error that names the part which makes it so.

A state holds *configurations*, ways in which the events so far can stand in the pattern. Two things make many: operands of
AND, which stand anywhere independently of each other, and repetitions inside repetitions that cannot be merged.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from eventide.errors import LimitError, Span
from eventide.plan.sequences.structure import Alternatives, Chain, Loop, Mix, Node, One, occurrences_in

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eventide.plan.sequences.binding import BoundPattern
    from eventide.plan.sequences.structure import Occurrence

MAX_STATES = 20_000
MAX_PLACES = 200_000
"""Configurations of all states, times the depth of the pattern: about a second of work."""
MOST_OPERANDS = 12
"""Operands of AND where each can stand at any place of its own; every further one doubles the states."""


def refuse_large(pattern: BoundPattern, text: str | None) -> None:
    """Refuse a pattern whose size is known from its text to be too large: AND of many parts."""
    for node in _inside(pattern.root):
        if isinstance(node, Mix) and (len(node.parts) > MOST_OPERANDS or places(node) > MAX_STATES):
            states = places(node)
            shown = f"{states}" if states < 10**12 else "more than 10^12"
            raise LimitError(
                "AUTOMATON_TOO_LARGE",
                f"AND of {len(node.parts)} parts needs {shown} automaton states, since its parts come in any order.",
                text=text,
                span=_span(node, pattern.occurrences),
                hint=f"Use at most {MOST_OPERANDS} parts under AND, or give some of them an order with ;.",
            )


def too_large(limit: int, what: str, pattern: BoundPattern | None = None, text: str | None = None) -> LimitError:
    """Return the error of an automaton that grows beyond a limit while it is made; names the part that makes it large."""
    span = None
    if pattern is not None:
        largest = max(_inside(pattern.root), key=lambda node: (_spread(node), -len(occurrences_in(node))))
        span = _span(largest, pattern.occurrences)
    return LimitError(
        "AUTOMATON_TOO_LARGE",
        f"The pattern needs more than {limit} {what}.",
        text=text,
        span=span,
        hint="Use smaller repetition bounds or fewer parts under AND.",
    )


def places(node: Node) -> int:
    """Return in how many ways events can stand inside a part that has begun, completed ones included.

    >>> from eventide.pattern import Strategy
    >>> places(Mix((One(0), One(1), Loop(One(2), 1, 3, Strategy.ANY)), Strategy.ANY))
    15
    """
    match node:
        case One():
            return 1
        case Chain(parts=parts) | Alternatives(parts=parts):
            return sum(places(part) for part in parts)
        case Mix(parts=parts):
            return prod(1 + places(part) for part in parts) - 1
        case Loop(part=part, minimum=minimum, maximum=maximum):
            return places(part) * (max(1, minimum) if maximum is None else maximum)


def depth(node: Node) -> int:
    """Return how deeply operators stand inside each other: the size of a configuration.

    >>> from eventide.pattern import Strategy
    >>> depth(Loop(Loop(One(0), 1, 3, Strategy.ANY), 1, 3, Strategy.ANY))
    3
    """
    match node:
        case One():
            return 1
        case Loop(part=part):
            return 1 + depth(part)
        case Chain(parts=parts) | Alternatives(parts=parts) | Mix(parts=parts):
            return 1 + max(depth(part) for part in parts)


def _spread(node: Node) -> int:
    """Return how many places one number of events can lead to: the more, the more configurations a state holds."""
    match node:
        case One():
            return 1
        case Chain(parts=parts):
            return max(_spread(part) for part in parts)
        case Alternatives(parts=parts):
            return sum(_spread(part) for part in parts)
        case Mix():
            return places(node)
        case Loop(part=part):
            inner = 1 if isinstance(part, One) else places(part)
            return max(_spread(part), inner * (places(node) // max(1, places(part))) if inner > 1 else 1)


def _inside(node: Node) -> list[Node]:
    match node:
        case One():
            return [node]
        case Loop(part=part):
            return [node, *_inside(part)]
        case Chain(parts=parts) | Alternatives(parts=parts) | Mix(parts=parts):
            return [node, *(inner for part in parts for inner in _inside(part))]


def _span(node: Node, occurrences: Sequence[Occurrence]) -> Span | None:
    """Return where a part stands in the text: from its first event to its last."""
    spans = [span for number in occurrences_in(node) if (span := occurrences[number].span) is not None]
    if not spans:
        return None
    return Span(min(span.start for span in spans), max(span.end for span in spans))
