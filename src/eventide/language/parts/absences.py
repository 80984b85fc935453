"""Conditions on negated events become conditions of the NOT itself."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from eventide.errors import ParseError
from eventide.pattern.expressions import conjunction, conjuncts
from eventide.pattern.sequences import (
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
    absences,
    positive_variables,
)

if TYPE_CHECKING:
    from collections.abc import Iterable


def negated_variable(absence: Absence) -> str | None:
    """Return the name by which conditions speak of a negated event: its variable, else its type.

    >>> negated_variable(Absence(Event("B")))
    'B'
    """
    return absence.variable if absence.variable is not None else absence.event.type


def mentioned_names(tree: exp.Expression) -> set[str]:
    """Return the variables, and the attributes without a variable, that an expression mentions.

    >>> from sqlglot import parse_one
    >>> sorted(mentioned_names(parse_one("a.x < COUNT(b)")))
    ['a', 'b']
    """
    return {column.table or column.name for column in tree.find_all(exp.Column)}


def move_conditions_to_absences(pattern: Pattern) -> Pattern:
    """Return the pattern with every conjunct that mentions a negated variable moved to its absence.

    >>> from eventide.language import parse
    >>> sequence = parse("SELECT * WHERE A ; NOT B ; C FILTER B.x > A.x").pattern
    >>> sequence.gaps[0].absences[0].condition.sql
    'B.x > A.x'
    """
    names = {name for absence in absences(pattern) if (name := negated_variable(absence)) is not None}
    if names:
        names -= positive_variables(pattern)
    if not names:
        return pattern
    moved: dict[str, list[Expression]] = {}
    rest = _without_negated(pattern, names, moved)
    return with_absence_conditions(rest, moved) if moved else pattern


def with_absence_conditions(pattern: Pattern, conditions: dict[str, list[Expression]]) -> Pattern:
    """Return the pattern whose absences have these further conditions, given for each negated variable.

    >>> from eventide.language.reading.expressions import parse_condition
    >>> sequence = Sequence((Event("A"), Event("C")), (Gap(absences=(Absence(Event("B")),)),))
    >>> with_absence_conditions(sequence, {"B": [parse_condition("B.x > 1")]}).gaps[0].absences[0].condition.sql
    'B.x > 1'
    """

    def added(found: Iterable[Absence]) -> tuple[Absence, ...]:
        return tuple(_added(absence, conditions.get(negated_variable(absence) or "", [])) for absence in found)

    def rebuilt(part: Pattern) -> Pattern:
        if isinstance(part, Sequence):
            gaps = tuple(Gap(gap.strategy, added(gap.absences)) for gap in part.gaps)
            parts = tuple(rebuilt(inner) for inner in part.parts)
            return replace(part, parts=parts, gaps=gaps, leading=added(part.leading), trailing=added(part.trailing))
        if isinstance(part, Either | Both):
            return replace(part, parts=tuple(rebuilt(inner) for inner in part.parts))
        if isinstance(part, Named | Filtered | Repeat):
            return replace(part, pattern=rebuilt(part.pattern))
        return part

    return rebuilt(pattern)


def _added(absence: Absence, conditions: list[Expression]) -> Absence:
    if not conditions:
        return absence
    own = [absence.condition] if absence.condition is not None else []
    return replace(absence, condition=conjunction([*own, *conditions]))


def _without_negated(pattern: Pattern, names: set[str], moved: dict[str, list[Expression]]) -> Pattern:
    match pattern:
        case Event():
            return pattern
        case Named(pattern=inner) | Repeat(pattern=inner):
            return replace(pattern, pattern=_without_negated(inner, names, moved))
        case Sequence(parts=parts) | Either(parts=parts) | Both(parts=parts):
            return replace(pattern, parts=tuple(_without_negated(part, names, moved) for part in parts))
        case Filtered(pattern=inner, condition=condition):
            rest = _without_negated(inner, names, moved)
            kept = _kept(condition, names, moved)
            return replace(pattern, pattern=rest, condition=kept) if kept is not None else rest


def _kept(condition: Expression, names: set[str], moved: dict[str, list[Expression]]) -> Expression | None:
    """Return what remains of a condition when the conjuncts on negated variables are taken out."""
    if not mentioned_names(condition.tree) & names:
        return condition
    kept: list[Expression] = []
    for conjunct in conjuncts(condition):
        negated = mentioned_names(conjunct.tree) & names
        if len(negated) > 1:
            raise ParseError(
                "NOT_CONDITION",
                f"A condition relates two events that must not occur: {', '.join(sorted(negated))}.",
                span=condition.span,
                hint="Write one condition for each NOT.",
            )
        for name in negated:
            moved.setdefault(name, []).append(conjunct)
        if not negated:
            kept.append(conjunct)
    return conjunction(kept) if kept else None
