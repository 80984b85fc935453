"""The pattern of one event that can begin a match: a first step with the conditions that read this event alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from eventide.pattern import Both, Either, Event, Filtered, Named, Repeat, Sequence
from eventide.pattern.expressions import conjunction, conjuncts, expression_from_tree
from eventide.plan.expressions.references import references
from eventide.records import record

if TYPE_CHECKING:
    from eventide.pattern import Expression, Pattern

STEP = "step"
"""The variable of the event in the pattern that is made."""


@record
class _FirstStep:
    """An occurrence that can take the first event of a match, its variables so far, and what the event must fulfil."""

    event: Event
    variables: frozenset[str]
    conditions: tuple[Expression, ...] = ()


def beginning_of(pattern: Pattern) -> Pattern:
    """Return the pattern that matches each event which can begin a match of the given one.

    >>> from eventide.pattern.sequence_printing import pattern_to_ceql
    >>> from eventide.language import parse
    >>> query = parse("SELECT * WHERE A? AS a ; B AS b ; C FILTER a.x > 3 AND a.x < b.x")
    >>> pattern_to_ceql(beginning_of(query.pattern))
    '(A AS step FILTER step.x > 3) OR B AS step'
    """
    steps, _ = _first_steps(pattern)
    parts = tuple(dict.fromkeys(_single(step) for step in steps))
    return parts[0] if len(parts) == 1 else Either(parts)


def _single(step: _FirstStep) -> Pattern:
    named = Named(step.event, STEP)
    return Filtered(named, conjunction(step.conditions)) if step.conditions else named


def _first_steps(pattern: Pattern) -> tuple[list[_FirstStep], bool]:
    """Return the first steps of a pattern, and whether it may be missing."""
    match pattern:
        case Event(type=name):
            return [_FirstStep(pattern, frozenset((name,) if name is not None else ()))], False
        case Named(pattern=inner, variable=variable):
            steps, missing = _first_steps(inner)
            return [_FirstStep(step.event, step.variables | {variable}, step.conditions) for step in steps], missing
        case Filtered(pattern=inner, condition=condition):
            steps, missing = _first_steps(inner)
            return [_judged(step, condition) for step in steps], missing
        case Repeat(pattern=inner, minimum=minimum):
            steps, missing = _first_steps(inner)
            return steps, missing or minimum == 0
        case Sequence(parts=parts):
            found: list[_FirstStep] = []
            for part in parts:
                steps, missing = _first_steps(part)
                found += steps
                if not missing:
                    return found, False
            return found, True
        case Either(parts=parts) | Both(parts=parts):
            several = [_first_steps(part) for part in parts]
            enough = any if isinstance(pattern, Either) else all
            return [step for steps, _ in several for step in steps], enough(missing for _, missing in several)


def _judged(step: _FirstStep, condition: Expression) -> _FirstStep:
    """Add the conditions that read this one event; names that are given further out are not known to them."""
    own = []
    for part in conjuncts(condition):
        read = references(part.tree)
        variables = {reference.variable for reference in read}
        if len(variables) == 1 and variables <= step.variables and all(reference.kind == "bare" for reference in read):
            own.append(_about_step(part))
    return _FirstStep(step.event, step.variables, (*step.conditions, *own))


def _about_step(condition: Expression) -> Expression:
    tree = condition.tree.copy()
    for column in list(tree.find_all(exp.Column)):
        if column.table:
            column.set("table", exp.to_identifier(STEP))
    return expression_from_tree(tree, condition.span)
