"""The words of a row pattern, in the order of preferment (section 10): how the rows from a position on may be mapped."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import permutations
from typing import TYPE_CHECKING

from eventide.errors import LimitError
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

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from eventide.pattern.row_patterns import RowPattern


@dataclass(frozen=True, slots=True)
class Mapped:
    """What one row is mapped to, and whether it stands in an exclusion."""

    variable: str
    excluded: bool = False


Word = tuple[Mapped, ...]
"""The mapping of the rows from the start of a match on, one by one."""


@dataclass(slots=True)
class Steps:
    """How many places of patterns were visited, and how many may be."""

    allowed: int
    taken: int = field(default=0, init=False)

    def count(self) -> None:
        """Count one more, up to what is allowed."""
        self.taken += 1
        if self.taken > self.allowed:
            raise LimitError(
                "TOO_MANY_STEPS",
                f"The oracle needs more than {self.allowed} steps.",
                hint="Give it fewer rows or raise max_steps.",
            )


@dataclass(frozen=True, slots=True)
class Search:
    """A search for matches at position `start` of a partition of `size` rows.

    `may_map` tells whether the next row may be mapped to a variable after a word.
    """

    start: int
    size: int
    may_map: Callable[[Word, str], bool]
    steps: Steps

    def words(self, pattern: RowPattern, word: Word = (), *, excluded: bool = False) -> Iterator[Word]:
        """Yield `word` continued by each word of the pattern that the rows allow, the most preferred first.

        >>> pattern = Concatenation((Repetition(Variable("A"), 0, None), Variable("B")))
        >>> search = Search(0, 2, lambda word, variable: True, Steps(100))
        >>> ["".join(mapped.variable for mapped in word) for word in search.words(pattern)]
        ['AB', 'B']
        """
        self.steps.count()
        position = self.start + len(word)
        match pattern:
            case Variable(name):
                if position < self.size and self.may_map(word, name):
                    yield (*word, Mapped(name, excluded))
            case Concatenation(()):
                yield word
            case Concatenation((first, *rest)):
                for longer in self.words(first, word, excluded=excluded):
                    yield from self.words(Concatenation(tuple(rest)), longer, excluded=excluded)
            case Alternation(parts):
                for part in parts:
                    yield from self.words(part, word, excluded=excluded)
            case Permutation(parts):
                for order in permutations(parts):
                    yield from self.words(Concatenation(order), word, excluded=excluded)
            case Repetition():
                yield from self._rounds(pattern, 0, word, excluded=excluded)
            case Exclusion(part):
                yield from self.words(part, word, excluded=True)
            case PartitionStart():
                if position == 0:
                    yield word
            case PartitionEnd():
                if position == self.size:
                    yield word
            case Empty():
                yield word

    def _rounds(self, loop: Repetition, done: int, word: Word, *, excluded: bool) -> Iterator[Word]:
        may_end = done >= loop.least
        if may_end and loop.reluctant:
            yield word
        if done != loop.most:
            for longer in self.words(loop.part, word, excluded=excluded):
                if loop.most is None and may_end and longer == word:
                    yield longer
                else:
                    yield from self._rounds(loop, done + 1, longer, excluded=excluded)
        if may_end and not loop.reluctant:
            yield word
