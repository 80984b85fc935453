"""A row pattern as an automaton whose moves are in the order of preferment.

Its states are the start and the *positions*: the variables of the pattern, each as often as it stands there once bounded
repetitions are written out. From every state an ordered list says which position may take the next row, and where a match ends.
Taking always the first move that can still be completed walks the preferred match.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations
from math import factorial
from typing import TYPE_CHECKING

from eventide.errors import BindError
from eventide.pattern.row_patterns import (
    Alternation,
    Concatenation,
    Empty,
    Exclusion,
    PartitionEnd,
    PartitionStart,
    Permutation,
    Repetition,
    Variable,
)
from eventide.records import record

if TYPE_CHECKING:
    from eventide.pattern.row_patterns import RowPattern

ACCEPT = -1
ACCEPT_AT_END = -2
LARGEST = 20_000
"""Positions; more would come from bounds or permutations that nobody means."""
MOST_MOVES = 1_000_000


@record
class Position:
    """A place of the pattern that takes one row."""

    variable: str
    excluded: bool


@record
class RowAutomaton:
    """Positions, and the ordered moves of each of them and of the two starts (inside a partition, and at its first row)."""

    positions: tuple[Position, ...]
    moves: tuple[tuple[int, ...], ...]
    """Of each position: positions, ACCEPT, or ACCEPT_AT_END (only after the last row)."""
    start: tuple[int, ...]
    first_start: tuple[int, ...]

    @property
    def states(self) -> list[tuple[int, ...]]:
        """The moves of all states: positions, the start, the start at the first row."""
        return [*self.moves, self.start, self.first_start]


def build(pattern: RowPattern, text: str | None = None) -> RowAutomaton:
    """Return the automaton of a pattern.

    >>> from eventide.pattern.row_patterns import Repetition, Variable
    >>> automaton = build(Repetition(Variable("A"), 1, None))
    >>> automaton.start, automaton.moves
    ((0,), ((0, -1),))
    """
    return _Builder(text).build(pattern)


@dataclass
class _Node:
    """One instruction: a position, a choice between ways on in their order, an anchor, or the end."""

    ways: tuple[int, ...] = ()
    position: int = -1
    anchor: str = ""
    loop: bool = False
    """Whether a way round that took no row leaves by the exit, which is `leave`."""
    leave: int = -1


class _Builder:
    def __init__(self, text: str | None) -> None:
        self._text = text
        self._nodes: list[_Node] = [_Node(anchor="accept")]
        self._positions: list[Position] = []
        self._moves = 0

    def build(self, pattern: RowPattern) -> RowAutomaton:
        entry = self._add(pattern, 0, excluded=False)
        after = {node.position: node.ways[0] for node in self._nodes if node.position >= 0}
        moves = tuple(self._closure(after[number], first=False) for number in range(len(self._positions)))
        return RowAutomaton(
            tuple(self._positions), moves, self._closure(entry, first=False), self._closure(entry, first=True)
        )

    def _node(self, node: _Node) -> int:
        self._nodes.append(node)
        return len(self._nodes) - 1

    def _add(self, pattern: RowPattern, after: int, *, excluded: bool) -> int:
        """Add the instructions of a pattern that goes on at `after`; return where it begins."""
        match pattern:
            case Variable(name):
                return self._add_position(name, after, pattern, excluded=excluded)
            case Concatenation(parts):
                for part in reversed(parts):
                    after = self._add(part, after, excluded=excluded)
                return after
            case Alternation(parts):
                return self._node(_Node(tuple(self._add(part, after, excluded=excluded) for part in parts)))
            case Permutation(parts):
                self._refuse_large_permutation(pattern, len(parts))
                orders = (Concatenation(order) for order in permutations(parts))
                return self._node(_Node(tuple(self._add(order, after, excluded=excluded) for order in orders)))
            case Repetition():
                return self._add_repetition(pattern, after, excluded=excluded)
            case Exclusion(part):
                return self._add(part, after, excluded=True)
            case PartitionStart():
                return self._node(_Node((after,), anchor="start"))
            case PartitionEnd():
                return self._node(_Node((after,), anchor="end"))
            case Empty():
                return after

    def _add_position(self, name: str, after: int, variable: Variable, *, excluded: bool) -> int:
        self._positions.append(Position(name, excluded))
        if len(self._positions) > LARGEST:
            raise self._too_large(variable)
        return self._node(_Node((after,), position=len(self._positions) - 1))

    def _add_repetition(self, pattern: Repetition, after: int, *, excluded: bool) -> int:
        least = pattern.least
        if pattern.most is None:
            loop, inside = self._add_loop(pattern, after, excluded=excluded)
            # The last required round and the rounds behind it are the same positions.
            after = inside if least else loop
            least = max(0, least - 1)
        else:
            # Nested, so that a round is only tried when the one before it was taken: (p (p p?)?)?
            leave = after
            for _ in range(pattern.most - pattern.least):
                inside = self._add(pattern.part, after, excluded=excluded)
                after = self._node(_Node((leave, inside) if pattern.reluctant else (inside, leave)))
                self._refuse_many_nodes(pattern)
        for _ in range(least):
            after = self._add(pattern.part, after, excluded=excluded)
            self._refuse_many_nodes(pattern)
        return after

    def _add_loop(self, pattern: Repetition, after: int, *, excluded: bool) -> tuple[int, int]:
        """Add an unbounded repetition; return where it begins and where a round of it begins."""
        loop = self._node(_Node(loop=True, leave=after))
        inside = self._add(pattern.part, loop, excluded=excluded)
        self._nodes[loop].ways = (after, inside) if pattern.reluctant else (inside, after)
        return loop, inside

    def _closure(self, entry: int, *, first: bool) -> tuple[int, ...]:
        """Return the moves behind an instruction, in the order of preferment.

        The key of what was visited holds the loops around it that were entered without taking a row, and whether `$` was passed:
        ways on from the same key are the same, and those found first are preferred. A loop that was left is forgotten, so that
        there are no more keys for a place than loops around it.
        """
        found: dict[int, None] = {}
        visited: set[tuple[int, frozenset[int], bool]] = set()
        pending: list[tuple[int, frozenset[int], bool]] = [(entry, frozenset(), False)]
        while pending:
            key = pending.pop()
            if key in visited:
                continue
            visited.add(key)
            number, loops, at_end = key
            node = self._nodes[number]
            if node.position >= 0:
                if not at_end:
                    found.setdefault(node.position)
            elif node.anchor == "accept":
                found.setdefault(ACCEPT_AT_END if at_end else ACCEPT)
            elif node.anchor == "start":
                if first:
                    pending.append((node.ways[0], loops, at_end))
            elif node.anchor == "end":
                pending.append((node.ways[0], loops, True))
            elif node.loop and number in loops:
                # A round that took no row is the last one.
                pending.append((node.leave, loops - {number}, at_end))
            elif node.loop:
                entered = loops | {number}
                pending.extend((way, loops if way == node.leave else entered, at_end) for way in reversed(node.ways))
            else:
                pending.extend((way, loops, at_end) for way in reversed(node.ways))
        self._moves += len(found)
        if self._moves > MOST_MOVES:
            raise BindError(
                "PATTERN_TOO_LARGE",
                f"Written out, the pattern has more than {MOST_MOVES} ways from one row to the next.",
                text=self._text,
                hint="Use fewer optional parts inside a repetition, or smaller bounds.",
            )
        return tuple(_until_certain(found))

    def _refuse_many_nodes(self, pattern: Repetition) -> None:
        if len(self._nodes) > 10 * LARGEST:
            raise self._too_large(pattern)

    def _refuse_large_permutation(self, pattern: Permutation, parts: int) -> None:
        if parts > 12 or factorial(parts) * parts > LARGEST:
            raise BindError(
                "MATCH_RECOGNIZE_PERMUTE_TOO_MANY_PATTERNS",
                f"PERMUTE of {parts} parts has more than {LARGEST} places for rows when it is written out.",
                text=self._text,
                span=pattern.span,
                hint="Permute fewer parts, or use (A | B | C){3} with conditions that count.",
            )

    def _too_large(self, pattern: Variable | Repetition) -> BindError:
        return BindError(
            "PATTERN_TOO_LARGE",
            f"Written out, the pattern has more than {LARGEST} places for rows.",
            text=self._text,
            span=pattern.span,
            hint="Use smaller bounds, or + or * with a condition that counts, such as COUNT(A.*) <= 50000.",
        )


def _until_certain(moves: dict[int, None]) -> list[int]:
    """Cut the moves behind an unconditional end: they are never preferred to it."""
    kept = []
    for move in moves:
        kept.append(move)
        if move == ACCEPT:
            break
    return kept
