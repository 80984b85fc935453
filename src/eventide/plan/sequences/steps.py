"""How a partial match moves: configurations of a pattern, and what taking or skipping an event makes of them.

A configuration says how far each operator of the pattern has come. It is a nested tuple, so that equal ones are one state of
the automaton. Only the gaps are tracked: an event that is not taken closes the gaps it breaks (strict ones, those whose NOT
it is, and *next* gaps when the event could have been taken).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eventide.pattern import Strategy
from eventide.plan.sequences.structure import Alternatives, BoundGap, Chain, Loop, Mix, Node, One, nullable
from eventide.records import record

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Configuration = tuple[Any, ...]
DONE: Configuration = ("done",)


@record
class Move:
    """Taking an event at an occurrence; `strategy` None leaves the gap to the enclosing operator."""

    occurrence: int
    strategy: Strategy | None
    checked: frozenset[int]
    target: Configuration


@record
class Skipped:
    """An event that a part does not take: its bits, whether another part took it, whether a *next* move was passed over."""

    bits: int
    taken: bool
    blocked: bool


class StepMachine:
    """Computes the moves of configurations of one pattern.

    >>> from eventide.plan.sequences.structure import BoundGap
    >>> machine = StepMachine(Chain((One(0), One(1)), (BoundGap(Strategy.ANY),)), occurrence_bits=[0, 1])
    >>> [move.occurrence for move in machine.moves(machine.initial, 0b11)]
    [0]
    """

    def __init__(self, root: Node, occurrence_bits: Sequence[int]) -> None:
        self._nodes: list[Node] = []
        self._children: list[tuple[int, ...]] = []
        self._nullable: list[bool] = []
        self._bits = list(occurrence_bits)
        # Configurations share their inner parts, so what was computed of these is kept.
        self._moves: dict[tuple[Configuration, int], tuple[Move, ...]] = {}
        self._first: dict[tuple[int, int], tuple[Move, ...]] = {}
        self._accepts: dict[Configuration, bool] = {}
        self._keeps: dict[Configuration, bool] = {}
        self.initial: Configuration = ("initial", self._register(root))

    def _register(self, node: Node) -> int:
        match node:
            case One():
                inner: tuple[int, ...] = ()
            case Chain(parts=parts) | Mix(parts=parts) | Alternatives(parts=parts):
                inner = tuple(self._register(part) for part in parts)
            case Loop(part=part):
                inner = (self._register(part),)
        self._nodes.append(node)
        self._children.append(inner)
        self._nullable.append(nullable(node))
        return len(self._nodes) - 1

    def accepting(self, state: Configuration) -> bool:
        """Return whether the pattern is complete."""
        known = self._accepts.get(state)
        if known is None:
            known = self._accepts[state] = self._accepting(state)
        return known

    def goes_on(self, state: Configuration) -> bool:
        """Return whether an event can still be taken, and some continuation may complete the pattern."""
        known = self._keeps.get(state)
        if known is None:
            known = self._keeps[state] = self.movable(state) and self.viable(state)
        return known

    def _accepting(self, state: Configuration) -> bool:
        match state:
            case ("done",):
                return True
            case ("initial", number):
                return self._nullable[number]
            case ("chain", number, position, inner, _):
                rest = self._children[number][position + 1 :]
                return self.accepting(inner) and all(self._nullable[child] for child in rest)
            case ("loop", number, count, inner, _):
                return self.accepting(inner) and count >= self._needed_rounds(number)
            case ("mix", _, parts, _):
                return all(self.accepting(part) for part in parts)
        raise AssertionError(state)

    def movable(self, state: Configuration) -> bool:
        """Return whether any event could still be taken."""
        match state:
            case ("done",):
                return False
            case ("initial", _):
                return True
            case ("chain", _, _, inner, open_targets):
                return bool(open_targets) or self.movable(inner)
            case ("loop", _, _, inner, is_open):
                return is_open or self.movable(inner)
            case ("mix", _, parts, opens):
                started = any(part[0] != "initial" for part in parts)
                return any(
                    self.movable(part) and (is_open or part[0] != "initial" or not started)
                    for part, is_open in zip(parts, opens, strict=True)
                )
        raise AssertionError(state)

    def viable(self, state: Configuration) -> bool:
        """Return whether some continuation may still complete the pattern."""
        if self.accepting(state):
            return True
        match state:
            case ("chain", _, _, inner, open_targets):
                return bool(open_targets) or (self.movable(inner) and self.viable(inner))
            case ("loop", _, _, inner, is_open):
                return is_open or (self.movable(inner) and self.viable(inner))
            case ("mix", _, parts, _):
                return self.movable(state) and all(self.viable(part) for part in parts)
        return self.movable(state)

    def moves(self, state: Configuration, bits: int) -> tuple[Move, ...]:
        """Return every way to take an event whose predicate bits are given."""
        known = self._moves.get((state, bits))
        if known is None:
            known = self._moves[state, bits] = tuple(self._moves_of(state, bits))
        return known

    def _moves_of(self, state: Configuration, bits: int) -> Iterator[Move]:
        match state:
            case ("initial", number):
                yield from self._first_moves(number, bits)
            case ("chain", number, position, inner, open_targets):
                for move in self.moves(inner, bits):
                    yield Move(move.occurrence, move.strategy, move.checked, self._in_chain(number, position, move.target))
                for target in open_targets:
                    gap = self._gap(number, position, target)
                    for move in self._first_moves(self._children[number][target], bits):
                        yield Move(
                            move.occurrence,
                            gap.strategy,
                            move.checked | frozenset(gap.checked),
                            self._in_chain(number, target, move.target),
                        )
            case ("loop", number, count, inner, is_open):
                for move in self.moves(inner, bits):
                    yield Move(move.occurrence, move.strategy, move.checked, self._in_loop(number, count, move.target))
                if is_open:
                    for move in self._first_moves(self._children[number][0], bits):
                        yield Move(
                            move.occurrence,
                            self._loop(number).strategy,
                            move.checked,
                            self._in_loop(number, count + 1, move.target),
                        )
            case ("mix", number, parts, opens):
                yield from self._mix_moves(number, parts, opens, bits)

    def skip(self, state: Configuration, event: Skipped) -> Configuration:
        """Return what is left of the configuration after an event that it does not take."""
        match state:
            case ("chain", number, position, inner, open_targets):
                left = tuple(
                    target for target in open_targets if self._survives(self._gap(number, position, target), event)
                )
                return ("chain", number, position, self.skip(inner, event), left)
            case ("loop", number, count, inner, is_open):
                still = is_open and self._survives(BoundGap(self._loop(number).strategy), event)
                return ("loop", number, count, self.skip(inner, event), still)
            case ("mix", number, parts, opens):
                gap = BoundGap(self._mix(number).strategy)
                return (
                    "mix",
                    number,
                    tuple(self.skip(part, event) for part in parts),
                    tuple(is_open and self._survives(gap, event) for is_open in opens),
                )
        return state

    def _first_moves(self, number: int, bits: int) -> tuple[Move, ...]:
        known = self._first.get((number, bits))
        if known is None:
            known = self._first[number, bits] = tuple(self._first_moves_of(number, bits))
        return known

    def _first_moves_of(self, number: int, bits: int) -> Iterator[Move]:
        node = self._nodes[number]
        children = self._children[number]
        match node:
            case One(occurrence=occurrence):
                if bits >> self._bits[occurrence] & 1:
                    yield Move(occurrence, None, frozenset(), DONE)
            case Chain():
                for position, child in enumerate(children):
                    for move in self._first_moves(child, bits):
                        yield Move(move.occurrence, None, move.checked, self._in_chain(number, position, move.target))
                    if not self._nullable[child]:
                        break
            case Alternatives():
                for child in children:
                    yield from self._first_moves(child, bits)
            case Loop():
                for move in self._first_moves(children[0], bits):
                    yield Move(move.occurrence, None, move.checked, self._in_loop(number, 1, move.target))
            case Mix():
                parts = tuple(("initial", child) for child in children)
                yield from self._mix_moves(number, parts, (True,) * len(parts), bits)

    def _mix_moves(
        self, number: int, parts: tuple[Configuration, ...], opens: tuple[bool, ...], bits: int
    ) -> Iterator[Move]:
        begun = any(part[0] != "initial" for part in parts)
        passed = Skipped(bits, taken=True, blocked=False)
        for index, part in enumerate(parts):
            starting = part[0] == "initial"
            if starting and begun and not opens[index]:
                continue
            for move in self.moves(part, bits):
                others = tuple(
                    move.target if other == index else self.skip(parts[other], passed) for other in range(len(parts))
                )
                strategy = self._mix(number).strategy if starting and begun else move.strategy
                target: Configuration = ("mix", number, others, (True,) * len(parts))
                yield Move(move.occurrence, strategy, move.checked, target)

    def _in_chain(self, number: int, position: int, inner: Configuration) -> Configuration:
        children = self._children[number]
        if position == len(children) - 1:
            return inner
        targets: list[int] = []
        if self.accepting(inner):
            for target in range(position + 1, len(children)):
                targets.append(target)
                if not self._nullable[children[target]]:
                    break
        return ("chain", number, position, inner, tuple(targets))

    def _in_loop(self, number: int, count: int, inner: Configuration) -> Configuration:
        loop = self._loop(number)
        is_open = (loop.maximum is None or count < loop.maximum) and self.accepting(inner)
        if loop.maximum is None:
            # Rounds beyond the minimum need not be told apart.
            count = min(count, max(1, self._needed_rounds(number)))
        return ("loop", number, count, inner, is_open)

    def _needed_rounds(self, number: int) -> int:
        # Rounds of a part that may be missing can all be missing.
        return 0 if self._nullable[self._children[number][0]] else self._loop(number).minimum

    def _gap(self, number: int, position: int, target: int) -> BoundGap:
        chain = self._nodes[number]
        assert isinstance(chain, Chain)
        crossed = chain.gaps[position:target]
        return BoundGap(
            crossed[-1].strategy,
            tuple(bit for gap in crossed for bit in gap.forbidden),
            tuple(absence for gap in crossed for absence in gap.checked),
        )

    def _loop(self, number: int) -> Loop:
        node = self._nodes[number]
        assert isinstance(node, Loop)
        return node

    def _mix(self, number: int) -> Mix:
        node = self._nodes[number]
        assert isinstance(node, Mix)
        return node

    @staticmethod
    def _survives(gap: BoundGap, event: Skipped) -> bool:
        if gap.strategy is Strategy.STRICT:
            return False
        if gap.strategy is Strategy.NEXT and event.blocked and not event.taken:
            return False
        return not any(event.bits >> bit & 1 for bit in gap.forbidden)
