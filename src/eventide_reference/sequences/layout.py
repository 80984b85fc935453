"""The pattern with every place in it numbered: occurrences of events, absences and filters.

Two places of a pattern may hold equal nodes, so the rest of the oracle speaks of places by number.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from eventide.errors import BindError
from eventide.pattern import Absence, Both, Either, Event, Filtered, Named, Pattern, Repeat, Sequence, Strategy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eventide.pattern import Expression


# The nodes compare by identity: two equal groups at different places are different.
@dataclass(frozen=True, slots=True, eq=False)
class Leaf:
    """One occurrence of an event."""

    occurrence: int


@dataclass(frozen=True, slots=True, eq=False)
class Chain:
    """Parts in a row; absences are numbers, `between[i]` and `strategies[i]` belong to the gap after part i."""

    parts: tuple[Node, ...]
    strategies: tuple[Strategy, ...]
    between: tuple[tuple[int, ...], ...]
    leading: tuple[int, ...]
    trailing: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """One of the parts."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Together:
    """All of the parts, interleaved."""

    parts: tuple[Node, ...]
    strategy: Strategy


@dataclass(frozen=True, slots=True, eq=False)
class Loop:
    """A part in several rounds."""

    part: Node
    minimum: int
    maximum: int | None
    strategy: Strategy

    @property
    def repeats(self) -> bool:
        """Whether there can be a second round."""
        return self.maximum is None or self.maximum > 1


Node = Leaf | Chain | Choice | Together | Loop


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A place that takes one event and binds it to the variables `labels`."""

    event: Event
    labels: frozenset[str]


@dataclass(frozen=True, slots=True)
class Scope:
    """The pattern that one FILTER wraps: the variables that each of its occurrences binds inside it, and its absences."""

    condition: Expression
    labels: dict[int, frozenset[str]]
    absences: frozenset[int]
    in_loop: bool


@dataclass(slots=True)
class Layout:
    """A numbered pattern.

    >>> from eventide.pattern import Gap
    >>> layout = Layout(Sequence((Event("A"), Named(Event("A"), "x")), (Gap(),)))
    >>> [sorted(occurrence.labels) for occurrence in layout.occurrences]
    [['A'], ['A', 'x']]
    >>> sorted(layout.after[0]), sorted(layout.after[1])
    ([1], [])
    """

    pattern: Pattern
    root: Node = field(init=False)
    occurrences: list[Occurrence] = field(init=False, default_factory=list)
    absences: list[Absence] = field(init=False, default_factory=list)
    scopes: list[Scope] = field(init=False, default_factory=list)
    after: dict[int, frozenset[int]] = field(init=False)

    def __post_init__(self) -> None:
        self.root = self._number(self.pattern, in_loop=False, in_both=False)
        self.after = {number: frozenset() for number in range(len(self.occurrences))}
        self._follow(self.root)

    def variables(self) -> frozenset[str]:
        """Return every variable that a match can bind."""
        return frozenset[str]().union(*(occurrence.labels for occurrence in self.occurrences))

    def _number(self, pattern: Pattern, *, in_loop: bool, in_both: bool) -> Node:
        first, first_absence = len(self.occurrences), len(self.absences)
        match pattern:
            case Event():
                self.occurrences.append(Occurrence(pattern, frozenset({pattern.type} if pattern.type is not None else ())))
                return Leaf(first)
            case Named():
                node = self._number(pattern.pattern, in_loop=in_loop, in_both=in_both)
                self.occurrences[first:] = [
                    Occurrence(occurrence.event, occurrence.labels | {pattern.variable})
                    for occurrence in self.occurrences[first:]
                ]
                return node
            case Filtered():
                node = self._number(pattern.pattern, in_loop=in_loop, in_both=in_both)
                # The labels so far are exactly those given inside this filter: outer names are added later.
                labels = {number: self.occurrences[number].labels for number in range(first, len(self.occurrences))}
                absences = frozenset(range(first_absence, len(self.absences)))
                self.scopes.append(Scope(pattern.condition, labels, absences, in_loop))
                return node
            case Either():
                return Choice(tuple(self._number(part, in_loop=in_loop, in_both=in_both) for part in pattern.parts))
            case Both():
                return Together(
                    tuple(self._number(part, in_loop=in_loop, in_both=True) for part in pattern.parts), pattern.strategy
                )
            case Repeat():
                repeats = pattern.maximum is None or pattern.maximum > 1
                node = self._number(pattern.pattern, in_loop=in_loop or repeats, in_both=in_both)
                return Loop(node, pattern.minimum, pattern.maximum, pattern.strategy)
            case Sequence():
                if in_both and (pattern.leading or pattern.trailing):
                    raise BindError(
                        "NOT_AT_EDGE_OF_AND",
                        "NOT at the edge of an operand of AND has no gap to rule.",
                        span=pattern.span,
                        hint="Write NOT between two events of the operand, or outside the AND.",
                    )
                leading = self._absences(pattern.leading)
                between = tuple(self._absences(gap.absences) for gap in pattern.gaps)
                trailing = self._absences(pattern.trailing)
                parts = tuple(self._number(part, in_loop=in_loop, in_both=in_both) for part in pattern.parts)
                return Chain(parts, tuple(gap.strategy for gap in pattern.gaps), between, leading, trailing)

    def _absences(self, absences: tuple[Absence, ...]) -> tuple[int, ...]:
        first = len(self.absences)
        self.absences.extend(absences)
        return tuple(range(first, len(self.absences)))

    def _follow(self, node: Node) -> None:
        """Collect for each occurrence those that can come after it: later parts, further rounds, other operands."""
        match node:
            case Leaf():
                return
            case Choice(parts=parts):
                groups: list[tuple[Node, tuple[Node, ...]]] = [(part, ()) for part in parts]
            case Chain(parts=parts):
                groups = [(part, parts[index + 1 :]) for index, part in enumerate(parts)]
            case Together(parts=parts):
                groups = [(part, parts[:index] + parts[index + 1 :]) for index, part in enumerate(parts)]
            case Loop(part=part):
                groups = [(part, (part,) if node.repeats else ())]
        for part, later in groups:
            reachable = frozenset(number for other in later for number in leaves(other))
            for number in leaves(part):
                self.after[number] |= reachable
            self._follow(part)


def leaves(node: Node) -> Iterator[int]:
    """Yield the occurrences inside a node.

    >>> list(leaves(Choice((Leaf(3), Leaf(4)))))
    [3, 4]
    """
    match node:
        case Leaf(occurrence=occurrence):
            yield occurrence
        case Loop(part=part):
            yield from leaves(part)
        case Chain(parts=parts) | Choice(parts=parts) | Together(parts=parts):
            for part in parts:
                yield from leaves(part)
