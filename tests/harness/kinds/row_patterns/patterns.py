"""Random row patterns with every operator, their text, and smaller ones for a pattern that fails."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from eventide.pattern.row_patterns import (
    Alternation,
    Concatenation,
    Empty,
    Exclusion,
    PartitionEnd,
    PartitionStart,
    Permutation,
    Repetition,
    RowPattern,
    Variable,
    parts_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

VARIABLES = ("A", "B", "C", "D")
MANY_VARIABLES = (*VARIABLES, "E", "F", "G", "H", "I", "J", "K", "L", "M", "N", "O", "P", "Q", "R")
BOUNDS = ((0, None), (1, None), (0, 1), (2, 2), (1, 1), (2, None), (1, 2), (0, 2), (2, 3), (3, 3), (0, 3))
LARGE_BOUNDS = ((0, 40), (3, 70), (12, None), (1, 33), (64, None), (5, 66), (9, 9))
"""Loops that are unrolled to more states than a machine word has bits."""


def make_pattern(rng: Random, size: int, *, exclusions: bool) -> RowPattern:
    """Return a random pattern of about `size` variables."""
    if rng.random() < 0.01:
        return Empty()
    if rng.random() < 0.03:
        return _wide(rng)
    pattern = _make(rng, size, exclusions=exclusions)
    if rng.random() < 0.08:
        pattern = Concatenation((PartitionStart(), pattern))
    if rng.random() < 0.08:
        pattern = Concatenation((pattern, PartitionEnd()))
    return pattern


def _make(rng: Random, size: int, *, exclusions: bool) -> RowPattern:
    chance = rng.random()
    if chance < 0.025:
        return rng.choice((Empty(), Empty(), PartitionStart(), PartitionEnd()))
    if size <= 1:
        part: RowPattern = Variable(rng.choice(VARIABLES))
        return _repeated(rng, part) if rng.random() < 0.45 else part
    if chance < 0.17:
        part = _make(rng, size, exclusions=exclusions)
        return _repeated(rng, _nullable(rng, part) if rng.random() < 0.4 else part)
    if chance < 0.25 and exclusions:
        return Exclusion(_make(rng, size - 1, exclusions=rng.random() < 0.1))
    number = rng.choice((2, 2, 3)) if size > 2 else 2
    parts = tuple(_make(rng, share, exclusions=exclusions) for share in _shares(rng, size, number))
    if chance < 0.37:
        return Alternation(parts)
    if chance < 0.46:
        return Permutation(parts)
    return Concatenation(parts)


def _wide(rng: Random) -> RowPattern:
    """Return a pattern of many variables, whose conditions take many bits."""
    names = rng.sample(MANY_VARIABLES, rng.randint(7, len(MANY_VARIABLES)))
    options = Alternation(tuple(Variable(name) for name in names[2:]))
    return Concatenation((Variable(names[0]), Repetition(options, 1, None, reluctant=rng.random() < 0.3), Variable(names[1])))


def _shares(rng: Random, size: int, number: int) -> list[int]:
    shares = [1] * number
    for _ in range(size - number):
        shares[rng.randrange(number)] += 1
    return shares


def _repeated(rng: Random, part: RowPattern) -> RowPattern:
    least, most = rng.choice(LARGE_BOUNDS if rng.random() < 0.03 else (*BOUNDS, *BOUNDS[:3] * 3))
    return Repetition(part, least, most, reluctant=rng.random() < 0.25)


def _nullable(rng: Random, part: RowPattern) -> RowPattern:
    """Return a pattern with the empty word, often as the preferred one: rounds of loops may then map no row."""
    match rng.randrange(5):
        case 0:
            return Alternation((Empty(), part))
        case 1:
            return Alternation((part, Empty()))
        case 2:
            return Concatenation((Repetition(part, 0, 1, reluctant=True), Repetition(Variable(rng.choice(VARIABLES)), 0, 1)))
        case 3:
            return Repetition(part, 0, rng.choice((1, 2)), reluctant=True)
    return Repetition(part, 0, None, reluctant=rng.random() < 0.6)


def pattern_text(pattern: RowPattern, *, inside: bool = False) -> str:
    """Write a row pattern; `inside` asks for parentheses where a quantifier or a neighbour could bind otherwise.

    >>> pattern_text(Repetition(Alternation((Variable("A"), Variable("B"))), 1, None, reluctant=True))
    '(A | B)+?'
    """
    match pattern:
        case Variable(name):
            return name
        case Concatenation(parts):
            written = " ".join(pattern_text(part, inside=isinstance(part, Concatenation | Alternation)) for part in parts)
        case Alternation(parts):
            written = " | ".join(pattern_text(part, inside=isinstance(part, Alternation)) for part in parts)
        case Permutation(parts):
            return f"PERMUTE({', '.join(pattern_text(part) for part in parts)})"
        case Repetition(part, least, most, reluctant):
            # A quantifier behind a quantifier needs parentheses, `A??` is one quantifier.
            inner = pattern_text(part, inside=True)
            return (
                f"{inner}{quantifier_text(least, most)}{'?' if reluctant else ''}" if not inside else f"({pattern_text(pattern)})"
            )
        case Exclusion(part):
            return f"{{- {pattern_text(part)} -}}"
        case PartitionStart():
            return "^"
        case PartitionEnd():
            return "$"
        case Empty():
            return "()"
    return f"({written})" if inside else written


def quantifier_text(least: int, most: int | None) -> str:
    """Write a quantifier.

    >>> [quantifier_text(*bounds) for bounds in ((0, None), (1, None), (0, 1), (2, 2), (2, None), (0, 2))]
    ['*', '+', '?', '{2}', '{2,}', '{,2}']
    """
    named = {(0, None): "*", (1, None): "+", (0, 1): "?"}.get((least, most))
    if named:
        return named
    return f"{{{least}}}" if least == most else f"{{{least or ''},{'' if most is None else most}}}"


def simpler_patterns(pattern: RowPattern) -> Iterator[RowPattern]:
    """Yield patterns that are a little smaller."""
    parts = parts_of(pattern)
    yield from parts
    if isinstance(pattern, Concatenation | Alternation | Permutation):
        if len(parts) > 2:
            for place in range(len(parts)):
                yield replace(pattern, parts=parts[:place] + parts[place + 1 :])
        if isinstance(pattern, Permutation):
            yield Concatenation(parts)
        for place, part in enumerate(parts):
            for smaller in simpler_patterns(part):
                yield replace(pattern, parts=(*parts[:place], smaller, *parts[place + 1 :]))
    elif isinstance(pattern, Repetition | Exclusion):
        if isinstance(pattern, Repetition) and pattern.reluctant:
            yield replace(pattern, reluctant=False)
        for smaller in simpler_patterns(parts[0]):
            yield replace(pattern, part=smaller)
