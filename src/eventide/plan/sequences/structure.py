"""The bound structure of a pattern: numbered event occurrences and the operators that combine them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eventide.pattern import Strategy
from eventide.records import record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlglot import exp

    from eventide.errors import Span


@record
class Occurrence:
    """One event type where it stands in the pattern, with the variables that take its events."""

    index: int
    type: str | None
    stream: str | None
    variables: tuple[str, ...]
    conditions: tuple[exp.Expression, ...] = ()
    bit: int = -1
    span: Span | None = None


@record
class BoundAbsence:
    """An event that must not occur; `correlated` conditions relate it to other variables.

    `tied` when it had such conditions before a partition key made them true. `operand` is a variable that all events of the
    operand of AND bind in which the NOT stands: its gap reaches back to the last of them.
    """

    index: int
    type: str | None
    stream: str | None
    variable: str
    conditions: tuple[exp.Expression, ...] = ()
    correlated: tuple[exp.Expression, ...] = ()
    tied: bool = False
    operand: str | None = None
    bit: int = -1
    span: Span | None = None


@record
class BoundGap:
    """The rule between two parts: a strategy, bits that must not occur, and absences checked on found matches."""

    strategy: Strategy
    forbidden: tuple[int, ...] = ()
    checked: tuple[int, ...] = ()


@record
class One:
    """One event at an occurrence."""

    occurrence: int


@record
class Chain:
    """Parts in order; `gaps[i]` lies before `parts[i + 1]`."""

    parts: tuple[Node, ...]
    gaps: tuple[BoundGap, ...]


@record
class Alternatives:
    """One of the parts."""

    parts: tuple[Node, ...]


@record
class Mix:
    """All parts, interleaved in any way."""

    parts: tuple[Node, ...]
    strategy: Strategy


@record
class Loop:
    """The part repeated."""

    part: Node
    minimum: int
    maximum: int | None
    strategy: Strategy


Node = One | Chain | Alternatives | Mix | Loop


def nullable(node: Node) -> bool:
    """Return whether the part may be missing."""
    match node:
        case One():
            return False
        case Chain(parts=parts) | Mix(parts=parts):
            return all(nullable(part) for part in parts)
        case Alternatives(parts=parts):
            return any(nullable(part) for part in parts)
        case Loop(part=part, minimum=minimum):
            return minimum == 0 or nullable(part)


def occurrences_in(node: Node) -> frozenset[int]:
    """Return the numbers of the occurrences inside a node."""
    match node:
        case One(occurrence=occurrence):
            return frozenset((occurrence,))
        case Chain(parts=parts) | Mix(parts=parts) | Alternatives(parts=parts):
            return frozenset().union(*(occurrences_in(part) for part in parts))
        case Loop(part=part):
            return occurrences_in(part)


def always_bound(node: Node, variables: Sequence[Sequence[str]]) -> frozenset[str]:
    """Return the variables that every match binds; `variables[i]` are those of occurrence i.

    >>> from eventide.pattern import Strategy
    >>> loop = Loop(One(1), 0, None, Strategy.ANY)
    >>> sorted(always_bound(Chain((One(0), loop), (BoundGap(Strategy.ANY),)), [["a"], ["b"]]))
    ['a']
    """
    match node:
        case One(occurrence=occurrence):
            return frozenset(variables[occurrence])
        case Chain(parts=parts) | Mix(parts=parts):
            return frozenset().union(*(always_bound(part, variables) for part in parts))
        case Alternatives(parts=parts):
            return frozenset.intersection(*(always_bound(part, variables) for part in parts))
        case Loop(part=part, minimum=minimum):
            return always_bound(part, variables) if minimum else frozenset()


def followers(root: Node) -> dict[int, frozenset[int]]:
    """Return for each occurrence the occurrences that can take a later event of the same match.

    >>> from eventide.pattern import Strategy
    >>> chain = Chain((One(0), Loop(One(1), 1, None, Strategy.ANY)), (BoundGap(Strategy.ANY),))
    >>> {key: sorted(value) for key, value in followers(chain).items()}
    {0: [1], 1: [1]}
    """
    result: dict[int, set[int]] = {occurrence: set() for occurrence in occurrences_in(root)}
    pending: list[Node] = [root]
    while pending:
        node = pending.pop()
        match node:
            case One():
                pass
            case Chain(parts=parts):
                later: frozenset[int] = frozenset()
                for part in reversed(parts):
                    inside = occurrences_in(part)
                    for occurrence in inside:
                        result[occurrence] |= later
                    later |= inside
                pending.extend(parts)
            case Mix(parts=parts):
                everything = occurrences_in(node)
                for part in parts:
                    inside = occurrences_in(part)
                    for occurrence in inside:
                        result[occurrence] |= everything - inside
                pending.extend(parts)
            case Alternatives(parts=parts):
                pending.extend(parts)
            case Loop(part=part, maximum=maximum):
                if maximum is None or maximum > 1:
                    inside = occurrences_in(part)
                    for occurrence in inside:
                        result[occurrence] |= inside
                pending.append(part)
    return {key: frozenset(value) for key, value in result.items()}


def repeatable(root: Node) -> frozenset[int]:
    """Return the occurrences that can take more than one event of a match."""
    return frozenset(occurrence for occurrence, later in followers(root).items() if occurrence in later)


def uses_strategy(node: Node, strategy: Strategy) -> bool:
    """Return whether any gap or loop has the strategy."""
    match node:
        case One():
            return False
        case Chain(parts=parts, gaps=gaps):
            return any(gap.strategy is strategy for gap in gaps) or any(uses_strategy(part, strategy) for part in parts)
        case Alternatives(parts=parts):
            return any(uses_strategy(part, strategy) for part in parts)
        case Mix(parts=parts, strategy=own):
            return own is strategy or any(uses_strategy(part, strategy) for part in parts)
        case Loop(part=part, strategy=own, maximum=maximum):
            return (own is strategy and maximum != 1) or uses_strategy(part, strategy)


def loops_freely(node: Node) -> bool:
    """Return whether the pattern repeats without bound under skip-till-any."""
    match node:
        case One():
            return False
        case Chain(parts=parts) | Mix(parts=parts) | Alternatives(parts=parts):
            return any(loops_freely(part) for part in parts)
        case Loop(part=part, maximum=maximum, strategy=strategy):
            return (maximum is None and strategy is Strategy.ANY) or loops_freely(part)
