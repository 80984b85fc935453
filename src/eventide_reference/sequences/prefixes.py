"""The first parts of a pattern as a pattern of its own, with the conditions that they decide (section 11)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from sqlglot import exp

from eventide.pattern import (
    Absence,
    Both,
    Either,
    Event,
    Expression,
    Filtered,
    Gap,
    Named,
    Pattern,
    Repeat,
    Sequence,
    walk,
)
from eventide_reference.sequences.conditions import NEIGHBOURS, Condition, conjuncts

if TYPE_CHECKING:
    from collections.abc import Callable

ASKS_EACH = {"BARE", *NEIGHBOURS}


def parts_of(pattern: Pattern) -> tuple[tuple[Pattern, ...], tuple[Absence, ...]]:
    """Return the parts of the outermost sequence, and the absences behind them.

    >>> from eventide.pattern import Gap
    >>> [part.type for part in parts_of(Named(Sequence((Event("A"), Event("B")), (Gap(),)), "x"))[0]]
    ['A', 'B']
    """
    core = pattern
    while isinstance(core, Named | Filtered):
        core = core.pattern
    if isinstance(core, Sequence):
        return core.parts, core.trailing
    while isinstance(pattern, Filtered):
        pattern = pattern.pattern
    return (pattern,), ()


def first_parts(pattern: Pattern, count: int) -> Pattern:
    """Return prefix `count` of a pattern whose outermost sequence has that many parts or more.

    >>> from eventide.pattern import Gap
    >>> first_parts(Sequence((Event("A"), Event("B")), (Gap(),)), 1).parts
    (Event(type='A', stream=None),)
    """
    parts, _ = parts_of(pattern)
    whole = count == len(parts)
    around = _names_around(pattern)
    bound = _names(parts[:count]) | around
    later = _names(parts[count:]) | (frozenset() if whole else around)
    return _cut(pattern, count, _Decided(bound, later, whole))


@dataclass(frozen=True, slots=True)
class _Decided:
    """Which conditions a prefix decides: `bound` and `later` are the variables of its parts and of those it lacks."""

    bound: frozenset[str]
    later: frozenset[str]
    whole: bool

    def decides(self, condition: Condition, own: frozenset[str] = frozenset()) -> bool:
        """Tell whether a condition is decided; `own` are names of a negated event, which always is known."""
        return self.whole or all(
            reading.kind != "SUPPORT"
            and reading.variable in self.bound
            and (reading.kind in ASKS_EACH or reading.variable not in self.later)
            for reading in condition.readings
            if reading.kind == "SUPPORT" or reading.variable not in own
        )

    def keeps(self, absence: Absence) -> bool:
        """Tell whether all conditions of an absence are decided."""
        if absence.condition is None:
            return True
        name = absence.variable or absence.event.type or ""
        own = frozenset({name} | ({absence.event.type or ""} - self.bound - self.later))
        return all(self.decides(condition, own) for condition in conjuncts(absence.condition, default=name))


def _cut(pattern: Pattern, count: int, decided: _Decided) -> Pattern:
    """Return the first parts of the outermost sequence, in what stands around it."""
    match pattern:
        case Filtered(condition=condition):
            inner = _cut(pattern.pattern, count, decided)
            kept = [part.tree for part in conjuncts(condition) if decided.decides(part)]
            if not kept:
                return inner
            tree = cast("exp.Expression", exp.and_(*(tree.copy() for tree in kept)))
            return Filtered(inner, Expression(tree.sql(dialect="spark"), tree))
        case Named():
            return replace(pattern, pattern=_cut(pattern.pattern, count, decided))
        case Sequence():
            gaps = tuple(_gap(gap, decided.keeps) for gap in pattern.gaps[: count - 1])
            leading = tuple(absence for absence in pattern.leading if decided.keeps(absence))
            parts = tuple(_without(part, decided.keeps) for part in pattern.parts[:count])
            return replace(pattern, parts=parts, gaps=gaps, leading=leading, trailing=())
        case _:
            return pattern


def _names_around(pattern: Pattern) -> frozenset[str]:
    """Return the names that all parts of the outermost sequence have."""
    names = set()
    while isinstance(pattern, Named | Filtered):
        if isinstance(pattern, Named):
            names.add(pattern.variable)
        pattern = pattern.pattern
    return frozenset(names) if isinstance(pattern, Sequence) else frozenset()


def _gap(gap: Gap, keeps: Callable[[Absence], bool]) -> Gap:
    return replace(gap, absences=tuple(absence for absence in gap.absences if keeps(absence)))


def _without(pattern: Pattern, keeps: Callable[[Absence], bool]) -> Pattern:
    match pattern:
        case Event():
            return pattern
        case Named() | Filtered() | Repeat():
            return replace(pattern, pattern=_without(pattern.pattern, keeps))
        case Sequence():
            parts = tuple(_without(part, keeps) for part in pattern.parts)
            return replace(pattern, parts=parts, gaps=tuple(_gap(gap, keeps) for gap in pattern.gaps))
        case Either() | Both():
            return replace(pattern, parts=tuple(_without(part, keeps) for part in pattern.parts))


def _names(patterns: tuple[Pattern, ...]) -> frozenset[str]:
    parts = [part for pattern in patterns for part in walk(pattern)]
    names = {part.variable for part in parts if isinstance(part, Named)}
    return frozenset(names | {part.type for part in parts if isinstance(part, Event) and part.type is not None})
