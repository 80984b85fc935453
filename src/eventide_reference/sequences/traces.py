"""The traces of a pattern as steps without events: which step can follow which, over which gap.

`progress` objects say how far a pattern has been walked. Each knows the steps that can come next and the ways in which
it can be complete. They are built from the pattern alone and know nothing of events.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from eventide.pattern import Strategy
from eventide_reference.sequences.layout import Chain, Choice, Leaf, Loop, Node, Together

if TYPE_CHECKING:
    from collections.abc import Iterator

START = -1


@dataclass(frozen=True, slots=True)
class Gap:
    """What lies before a step: the number of the step it reaches back to (START: none), its strategy and its absences."""

    predecessor: int
    strategy: Strategy
    absences: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """An occurrence that takes the next event, over a gap."""

    occurrence: int
    gap: Gap


@dataclass(frozen=True, slots=True)
class Exit:
    """A way to be complete: the number of the last step, and the absences that stand after it."""

    last: int
    absences: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class InLeaf:
    """An occurrence that has taken its event as step number `last`."""

    last: int

    def steps(self, _number: int) -> Iterator[tuple[Step, Progress]]:
        """Yield nothing: one occurrence takes one event."""
        return iter(())

    def exits(self) -> Iterator[Exit]:
        """Yield the one way to be complete."""
        yield Exit(self.last)


@dataclass(frozen=True, slots=True)
class InChain:
    """A sequence that is inside its part `index`."""

    chain: Chain
    index: int
    inner: Progress

    def steps(self, number: int) -> Iterator[tuple[Step, Progress]]:
        """Yield the steps inside the part, and those that begin a later part while all parts between are missing."""
        for step, inner in self.inner.steps(number):
            yield step, InChain(self.chain, self.index, inner)
        for exit_ in self.inner.exits():
            absences = exit_.absences
            for later in range(self.index + 1, len(self.chain.parts)):
                absences += self.chain.between[later - 1]
                gap = Gap(exit_.last, self.chain.strategies[later - 1], absences)
                for step, inner in enter(self.chain.parts[later], gap, number):
                    yield step, InChain(self.chain, later, inner)
                if not can_be_missing(self.chain.parts[later]):
                    break

    def exits(self) -> Iterator[Exit]:
        """Yield the exits of the part when all later parts can be missing."""
        if all(can_be_missing(part) for part in self.chain.parts[self.index + 1 :]):
            for exit_ in self.inner.exits():
                yield Exit(exit_.last, exit_.absences + self.chain.trailing)


@dataclass(frozen=True, slots=True)
class InLoop:
    """A repeated part in its round number `rounds` (from 1)."""

    loop: Loop
    rounds: int
    inner: Progress

    def steps(self, number: int) -> Iterator[tuple[Step, Progress]]:
        """Yield the steps inside the round, and those that begin the next round."""
        for step, inner in self.inner.steps(number):
            yield step, InLoop(self.loop, self.rounds, inner)
        if self.loop.maximum is None or self.rounds < self.loop.maximum:
            for exit_ in self.inner.exits():
                gap = Gap(exit_.last, self.loop.strategy, exit_.absences)
                for step, inner in enter(self.loop.part, gap, number):
                    yield step, InLoop(self.loop, self.rounds + 1, inner)

    def exits(self) -> Iterator[Exit]:
        """Yield the exits of the round when there are rounds enough; rounds that can be empty need not be written out."""
        if self.rounds >= self.loop.minimum or can_be_missing(self.loop.part):
            yield from self.inner.exits()


@dataclass(frozen=True, slots=True)
class InTogether:
    """An AND with the progress of each operand (None: not begun); `recent` is the last step of any of them."""

    together: Together
    operands: tuple[Progress | None, ...]
    recent: int

    def steps(self, number: int) -> Iterator[tuple[Step, Progress]]:
        """Yield the steps of each operand; one that has not begun looks back to the most recent step of any operand."""
        for index, operand in enumerate(self.operands):
            if operand is None:
                moves = enter(self.together.parts[index], Gap(self.recent, self.together.strategy, ()), number)
            else:
                moves = operand.steps(number)
            for step, inner in moves:
                yield step, InTogether(self.together, _replaced(self.operands, index, inner), number)

    def exits(self) -> Iterator[Exit]:
        """Yield the exit when each operand is complete or can be missing."""
        parts = zip(self.together.parts, self.operands, strict=True)
        if all(can_be_missing(part) if operand is None else list(operand.exits()) for part, operand in parts):
            yield Exit(self.recent)


Progress = InLeaf | InChain | InLoop | InTogether


def _replaced(operands: tuple[Progress | None, ...], index: int, inner: Progress) -> tuple[Progress | None, ...]:
    return (*operands[:index], inner, *operands[index + 1 :])


def can_be_missing(node: Node) -> bool:
    """Tell whether a part may have no event at all.

    >>> can_be_missing(Loop(Leaf(0), 0, None, Strategy.ANY)), can_be_missing(Leaf(0))
    (True, False)
    """
    match node:
        case Leaf():
            return False
        case Chain(parts=parts) | Together(parts=parts):
            return all(can_be_missing(part) for part in parts)
        case Choice(parts=parts):
            return any(can_be_missing(part) for part in parts)
        case Loop(part=part, minimum=minimum):
            return minimum == 0 or can_be_missing(part)


def enter(node: Node, gap: Gap, number: int) -> Iterator[tuple[Step, Progress]]:
    """Yield each first step of a node as step `number` of the trace, over the gap that stands before the node.

    >>> [step.occurrence for step, _ in enter(Choice((Leaf(3), Leaf(4))), Gap(START, Strategy.ANY, ()), 0)]
    [3, 4]
    """
    match node:
        case Leaf(occurrence=occurrence):
            yield Step(occurrence, gap), InLeaf(number)
        case Choice(parts=parts):
            for part in parts:
                yield from enter(part, gap, number)
        case Chain(parts=parts):
            before = Gap(gap.predecessor, gap.strategy, gap.absences + node.leading)
            for index, part in enumerate(parts):
                for step, inner in enter(part, before, number):
                    yield step, InChain(node, index, inner)
                if not can_be_missing(part):
                    break
        case Together(parts=parts):
            nothing: tuple[Progress | None, ...] = (None,) * len(parts)
            for index, part in enumerate(parts):
                for step, inner in enter(part, gap, number):
                    yield step, InTogether(node, _replaced(nothing, index, inner), number)
        case Loop(part=part, maximum=maximum):
            if maximum is None or maximum > 0:
                for step, inner in enter(part, gap, number):
                    yield step, InLoop(node, 1, inner)


# Compares by identity: each place of the tree exists once.
@dataclass(slots=True, eq=False)
class Prefix:
    """The steps taken so far with every way to have taken them; the tree of all prefixes is the language of the pattern."""

    root: Node
    steps: tuple[Step, ...] = ()
    ways: frozenset[Progress] = frozenset()
    _extensions: tuple[Prefix, ...] | None = None

    def extensions(self) -> tuple[Prefix, ...]:
        """Return the prefixes that are one step longer.

        >>> chain = Chain((Leaf(0), Leaf(1)), (Strategy.NEXT,), ((),), (), ())
        >>> [first] = Prefix(chain).extensions()
        >>> [second] = first.extensions()
        >>> second.steps[1].gap.strategy.value, list(second.exits()), second.extensions()
        ('next', [()], ())
        """
        if self._extensions is None:
            number = len(self.steps)
            if number == 0:
                moves = list(enter(self.root, Gap(START, Strategy.ANY, ()), number))
            else:
                moves = [move for way in self.ways for move in way.steps(number)]
            ways: dict[Step, set[Progress]] = {}
            for step, way in moves:
                ways.setdefault(step, set()).add(way)
            self._extensions = tuple(Prefix(self.root, (*self.steps, step), frozenset(found)) for step, found in ways.items())
        return self._extensions

    def exits(self) -> Iterator[tuple[int, ...]]:
        """Yield the absences at the end of the match, once for each way to be complete."""
        yield from {exit_.absences for way in self.ways for exit_ in way.exits()}
