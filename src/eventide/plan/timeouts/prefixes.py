"""The first parts of a pattern as a pattern of its own (semantics.md, section 11)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from eventide.pattern import Both, Either, Event, Filtered, Gap, Named, Repeat, Sequence, walk
from eventide.pattern.expressions import conjunction, conjuncts
from eventide.plan.expressions.references import ALL_EVENTS, references
from eventide.records import record

if TYPE_CHECKING:
    from eventide.pattern import Absence, Expression, Pattern, Query

_ASK_EACH = ("bare", "next", "prev")


def outermost(pattern: Pattern) -> Pattern:
    """Return the outermost sequence; where there is none, the pattern without the FILTERs around it.

    >>> outermost(Filtered(Named(Event("A"), "a"), None))
    Named(pattern=Event(type='A', stream=None), variable='a')
    """
    core = pattern
    while isinstance(core, Filtered | Named):
        core = core.pattern
    if isinstance(core, Sequence):
        return core
    while isinstance(pattern, Filtered):
        pattern = pattern.pattern
    return pattern


def prefix_of(query: Query, count: int) -> Pattern:
    """Return the first `count` parts of a query's sequence, with the conditions that they decide.

    >>> from eventide.pattern.sequence_printing import pattern_to_ceql
    >>> from eventide.language import parse
    >>> query = parse("SELECT * WHERE A ; NOT X ; B ; C FILTER A.x < B.x AND B.x < C.x AND COUNT(*) > 2")
    >>> pattern_to_ceql(prefix_of(query, 2))
    '((A ; NOT X ; B) FILTER A.x < B.x)'
    """
    core = outermost(query.pattern)
    parts = core.parts if isinstance(core, Sequence) else (core,)
    around: set[str] = set()
    pattern = query.pattern
    while pattern is not core:
        assert isinstance(pattern, Filtered | Named)
        if isinstance(pattern, Named):
            around.add(pattern.variable)
        pattern = pattern.pattern
    whole = count == len(parts)
    later = _names(parts[count:]) | (set() if whole else around)
    return _Prefix(query.text or None, count, _names(parts[:count]) | around, later, whole).cut(query.pattern)


@record
class _Prefix:
    """A prefix in the making: the variables of its parts, those of the parts it lacks, and whether it lacks none."""

    text: str | None
    count: int
    bound: set[str]
    later: set[str]
    whole: bool

    def cut(self, pattern: Pattern) -> Pattern:
        """Return the pattern with its outermost sequence cut."""
        match pattern:
            case Filtered(condition=condition):
                kept = [part for part in conjuncts(condition) if self._decides(part)]
                inner = self.cut(pattern.pattern)
                return replace(pattern, pattern=inner, condition=conjunction(kept)) if kept else inner
            case Named():
                return replace(pattern, pattern=self.cut(pattern.pattern))
            case Sequence():
                parts = tuple(self._reduced(part) for part in pattern.parts[: self.count])
                leading = self._kept(pattern.leading)
                if len(parts) == 1 and not leading:
                    return parts[0]
                gaps = self._gaps(pattern.gaps[: self.count - 1])
                return replace(pattern, parts=parts, gaps=gaps, leading=leading, trailing=())
            case _:
                return pattern

    def _reduced(self, part: Pattern) -> Pattern:
        """Return a part without the absences that are not decided yet."""
        match part:
            case Event():
                return part
            case Named(pattern=inner) | Filtered(pattern=inner) | Repeat(pattern=inner):
                return replace(part, pattern=self._reduced(inner))
            case Sequence(parts=parts, gaps=gaps):
                return replace(part, parts=tuple(self._reduced(inner) for inner in parts), gaps=self._gaps(gaps))
            case Either(parts=parts) | Both(parts=parts):
                return replace(part, parts=tuple(self._reduced(inner) for inner in parts))

    def _gaps(self, gaps: tuple[Gap, ...]) -> tuple[Gap, ...]:
        return tuple(Gap(gap.strategy, self._kept(gap.absences)) for gap in gaps)

    def _kept(self, absences: tuple[Absence, ...]) -> tuple[Absence, ...]:
        return tuple(absence for absence in absences if self._knows(absence))

    def _knows(self, absence: Absence) -> bool:
        if absence.condition is None:
            return True
        own = {absence.variable or absence.event.type or ""}
        if absence.event.type not in self.bound | self.later:
            own.add(absence.event.type or "")
        return all(self._decides(part, own) for part in conjuncts(absence.condition))

    def _decides(self, condition: Expression, own: set[str] | frozenset[str] = frozenset()) -> bool:
        """Return whether no event of a later part can change what a condition says; `own` are names of a negated event."""
        if self.whole:
            return True
        read = [reference for reference in references(condition.tree, self.text) if reference.variable not in own]
        return all(
            reference.variable != ALL_EVENTS
            and reference.variable in self.bound
            and (reference.kind in _ASK_EACH or reference.variable not in self.later)
            for reference in read
        )


def _names(patterns: tuple[Pattern, ...]) -> set[str]:
    parts = [part for pattern in patterns for part in walk(pattern)]
    names = {part.variable for part in parts if isinstance(part, Named)}
    return names | {part.type for part in parts if isinstance(part, Event) and part.type is not None}
