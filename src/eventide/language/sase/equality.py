"""`[attribute]`: one value of the attribute in all events of a match, written out as conditions."""

from __future__ import annotations

from itertools import combinations, pairwise
from typing import TYPE_CHECKING

from sqlglot import exp

from eventide.language.parts.absences import negated_variable
from eventide.language.reading.short_forms import make_identifier
from eventide.language.reading.tokens import bare_name, span_of
from eventide.pattern.expressions import expression_from_tree
from eventide.pattern.sequences import Either, Event, Expression, Named, Pattern, Repeat, absences, children, walk

if TYPE_CHECKING:
    from lark import Token


def equality_conditions(pattern: Pattern, attribute: Token) -> tuple[list[Expression], dict[str, list[Expression]]]:
    """Return the conditions between the variables of the pattern, and those of each negated variable.

    Neighbouring variables are compared. Where a variable may have no event a comparison with it holds vacuously, so then all
    pairs are compared.

    >>> from lark import Token
    >>> from eventide.pattern.sequences import Gap, Sequence
    >>> pattern = Sequence((Event("A"), Repeat(Event("B"), 1, None)), (Gap(),))
    >>> [condition.sql for condition in equality_conditions(pattern, Token("NAME", "id", start_pos=0, end_pos=2))[0]]
    ['A.id = B.id', 'B.id = NEXT(B.id)']
    """
    variables = _variables(pattern)
    names = list(variables)
    may_be_missing = any(isinstance(part, Either) or (isinstance(part, Repeat) and part.minimum == 0) for part in walk(pattern))
    pairs = list(combinations(names, 2) if may_be_missing else pairwise(names))
    conditions: list[Expression] = []
    for name in names:
        conditions.extend(_equal(left, right, attribute) for left, right in pairs if right == name)
        if variables[name]:
            conditions.append(_equal(name, name, attribute, following=True))
    absent = {
        negated: [_equal(negated, names[0], attribute)]
        for absence in absences(pattern)
        if (negated := negated_variable(absence)) is not None
    }
    return conditions, absent


def _variables(pattern: Pattern) -> dict[str, bool]:
    """Return the variables in written order, each with whether it may bind several events."""
    found: dict[str, bool] = {}
    pending = [(pattern, False)]
    while pending:
        current, repeated = pending.pop()
        name = current.variable if isinstance(current, Named) else current.type if isinstance(current, Event) else None
        if name is not None:
            several = repeated or name in found or any(isinstance(part, Repeat) and part.maximum != 1 for part in walk(current))
            found[name] = several
            continue
        inside = repeated or (isinstance(current, Repeat) and current.maximum != 1)
        pending.extend((child, inside) for child in reversed(children(current)))
    return found


def _equal(left: str, right: str, attribute: Token, *, following: bool = False) -> Expression:
    other: exp.Expression = _column(right, attribute)
    if following:
        other = exp.Anonymous(this="NEXT", expressions=[other])
    return expression_from_tree(exp.EQ(this=_column(left, attribute), expression=other), span_of(attribute))


def _column(variable: str, attribute: Token) -> exp.Column:
    # An unknown attribute is reported where the user wrote it, inside the brackets.
    place = span_of(attribute)
    return exp.Column(this=make_identifier(bare_name(attribute), place), table=make_identifier(variable, place))
