"""A repetition of a repetition becomes one repetition, where both ask for the same numbers of rounds.

`(p{1,50}){1,50}` is `p{1,2500}`: rounds have no identity of their own, only how often p occurs counts. Kept apart, the automaton
would follow every way to divide the events of p into rounds, which grows with the product of the bounds.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from eventide.plan.sequences.structure import Alternatives, Chain, Loop, Mix, Node, One, nullable

if TYPE_CHECKING:
    from eventide.pattern import Strategy
    from eventide.plan.sequences.bound_query import BoundQuery


def nested_loops(bound: BoundQuery) -> BoundQuery:
    """Return the query with repetitions inside each other merged."""
    return replace(bound, pattern=replace(bound.pattern, root=merged_loops(bound.pattern.root)))


def merged_loops(node: Node) -> Node:
    """Return a part of a pattern with repetitions inside each other merged.

    >>> from eventide.pattern import Strategy
    >>> merged_loops(Loop(Loop(One(0), 1, 5, Strategy.ANY), 0, 3, Strategy.ANY))
    Loop(part=One(occurrence=0), minimum=0, maximum=15, strategy=<Strategy.ANY: ...>)
    """
    match node:
        case One():
            return node
        case Chain(parts=parts, gaps=gaps):
            return Chain(tuple(merged_loops(part) for part in parts), gaps)
        case Alternatives(parts=parts):
            return Alternatives(tuple(merged_loops(part) for part in parts))
        case Mix(parts=parts, strategy=strategy):
            return Mix(tuple(merged_loops(part) for part in parts), strategy)
        case Loop(part=part, minimum=minimum, maximum=maximum, strategy=strategy):
            inner = merged_loops(part)
            outer = Loop(inner, minimum, maximum, strategy)
            return _merged(outer, inner) or outer if isinstance(inner, Loop) else outer


def _merged(outer: Loop, inner: Loop) -> Loop | None:
    """Return the one repetition that takes as many rounds of the innermost part as the two can, or None where there is none."""
    strategy = _strategy_of_both(outer, inner)
    least = 0 if nullable(inner.part) else inner.minimum
    if strategy is None or not _without_holes(outer, least, inner.maximum):
        return None
    most = None if outer.maximum is None or inner.maximum is None else outer.maximum * inner.maximum
    return Loop(inner.part, outer.minimum * least, most, strategy)


def _strategy_of_both(outer: Loop, inner: Loop) -> Strategy | None:
    """Return what rules between all rounds; a repetition of one round at most has nothing to rule."""
    if inner.maximum == 1 or inner.strategy is outer.strategy:
        return outer.strategy
    return inner.strategy if outer.maximum == 1 else None


def _without_holes(outer: Loop, least: int, most: int | None) -> bool:
    """Return whether k rounds of `least` to `most` give, over all k that the outer loop allows, all numbers in between.

    Between k and k + 1 rounds there is a hole where (k + 1) * least exceeds k * most + 1; the fewest rounds are the worst.
    """
    fewest = outer.minimum
    if least == 0 or fewest == outer.maximum:
        return True
    reached = fewest * most if most is not None else (0 if fewest == 0 else None)
    return reached is None or (fewest + 1) * least <= reached + 1
