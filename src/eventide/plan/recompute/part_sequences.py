"""The ways through a pattern as sequences of events and loops of one event, each with the parts that it takes."""

from __future__ import annotations

from dataclasses import replace

from eventide.pattern import Strategy
from eventide.plan.sequences.structure import Alternatives, BoundGap, Chain, Loop, Mix, Node, One
from eventide.records import record

MOST_SEQUENCES = 16
"""Each sequence is searched by itself, and their number doubles with every part that may be missing."""

_NOTHING = BoundGap(Strategy.ANY)


@record
class SequencePart:
    """A step of a sequence: an occurrence, how often it comes, and the gap before it."""

    occurrence: int
    minimum: int
    maximum: int | None
    gap: BoundGap = _NOTHING


PartSequence = tuple[SequencePart, ...]


class NoSequences(Exception):  # noqa: N818 - says what the pattern holds instead, and is always caught
    """The pattern is more than a few sequences of events and loops of one event."""


def sequences_of(root: Node) -> tuple[PartSequence, ...]:
    """Return the ways through a pattern, the one that leaves nothing out first; NoSequences says what it holds instead.

    >>> star = Loop(One(1), 0, None, Strategy.ANY)
    >>> [[part.occurrence for part in parts] for parts in sequences_of(Chain((One(0), star), (_NOTHING,)))]
    [[0, 1], [0]]
    """
    # A pattern never matches the empty sequence (semantics.md, section 3).
    return tuple(parts for parts in _ways(root) if parts)


def _ways(node: Node) -> list[PartSequence]:
    """Return the sequences of a part, the empty one included where it may be missing."""
    match node:
        case One(occurrence=occurrence):
            ways: list[PartSequence] = [(SequencePart(occurrence, 1, 1),)]
        case Loop(maximum=maximum, strategy=strategy) if maximum != 1 and strategy is not Strategy.ANY:
            raise NoSequences(f"a loop that may not skip events ({strategy.value})")
        case Loop(part=One(occurrence=occurrence), minimum=minimum, maximum=maximum):
            ways = [(SequencePart(occurrence, max(1, minimum), maximum),)] if maximum != 0 else []
        case Loop(part=part, maximum=1):
            ways = _ways(part)
        case Loop():
            raise NoSequences("a loop of several steps")
        case Chain():
            ways = _ways_along(node)
        case Alternatives(parts=parts):
            ways = [way for part in parts for way in _ways(part)]
        case Mix():
            raise NoSequences("AND")
    if isinstance(node, Loop) and node.minimum == 0:
        ways = [*ways, ()]
    _refuse_many(len(ways))
    return list(dict.fromkeys(ways))


def _refuse_many(ways: int) -> None:
    if ways > MOST_SEQUENCES:
        raise NoSequences(f"more than {MOST_SEQUENCES} ways to leave parts out or to choose between them")


def _ways_along(chain: Chain) -> list[PartSequence]:
    """Return the sequences of a chain; what is missing joins the gaps around it (semantics.md, section 3)."""
    for gap in chain.gaps:
        if gap.strategy is not Strategy.ANY:
            raise NoSequences(f"a gap that may not skip events ({gap.strategy.value})")
    # Beside each beginning, the last part that it takes: the gap to the next one reaches back to there.
    begun: list[tuple[PartSequence, int]] = [((), -1)]
    for place, part in enumerate(chain.parts):
        ways = _ways(part)
        _refuse_many(len(begun) * len(ways))
        begun = [_joined(chain, steps, last, way, place) for steps, last in begun for way in ways]
    return [steps for steps, _ in begun]


def _joined(chain: Chain, steps: PartSequence, last: int, way: PartSequence, place: int) -> tuple[PartSequence, int]:
    if not way:
        return steps, last
    if not steps:
        return way, place
    crossed = chain.gaps[last:place]
    gap = BoundGap(
        Strategy.ANY,
        tuple(bit for gap in crossed for bit in gap.forbidden),
        tuple(absence for gap in crossed for absence in gap.checked),
    )
    return (*steps, replace(way[0], gap=gap), *way[1:]), place
