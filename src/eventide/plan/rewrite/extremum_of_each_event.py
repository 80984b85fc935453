"""A condition on the largest or smallest value of a loop becomes a condition on each event of the loop.

`b.x > 10 * MAX(s.x)` says the same as `b.x > 10 * s.x` for each s, and the second can be judged event by event. It is so where
the condition gets harder with a larger MAX or a smaller MIN: one side of a comparison is the aggregate under arithmetic with
constants that keeps the order (NaN, the largest number, stays the largest), and the other side does not read the variable.
Aggregates skip nulls: a null among the values never breaks the condition, but the condition does not hold where all are null.
So a null counts as the value that breaks nothing, and COUNT asks for a value, unless each event is asked for one anyway.
Under *next* conditions also say which events may be skipped, when they are determined; there the rule keeps away.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from eventide.pattern import Strategy
from eventide.plan.expressions.references import references
from eventide.plan.expressions.schema import Kind
from eventide.plan.sequences.binding import Correlated
from eventide.plan.sequences.structure import always_bound, uses_strategy

if TYPE_CHECKING:
    from eventide.plan.expressions.schema import StreamSchema
    from eventide.plan.sequences.binding import BoundPattern
    from eventide.plan.sequences.bound_query import BoundQuery

_SMALLER = (exp.LT, exp.LTE)
_LARGER = (exp.GT, exp.GTE)
_NULL_FAILS = (*_SMALLER, *_LARGER, exp.EQ, exp.NEQ)


def extremum_of_each_event(bound: BoundQuery) -> BoundQuery:
    """Return the query with conditions on MAX and MIN as conditions on each event, where they are the same."""
    pattern, schema = bound.pattern, bound.schema
    if schema is None or uses_strategy(pattern.root, Strategy.NEXT):
        return bound
    variables = [occurrence.variables for occurrence in pattern.occurrences]
    sure = always_bound(pattern.root, variables)
    rewritten = pattern
    conditions: list[Correlated] = []
    pending = list(pattern.conditions)
    while pending:
        condition = pending.pop(0)
        found = None if condition.scope is not None else _on_each_event(condition, rewritten, schema, sure)
        if found is None:
            conditions.append(condition)
            continue
        each, variable, guard = found
        read = references(each)
        source = f"{condition.source}, judged for each {variable}"
        if len({one.variable for one in read}) == 1 and all(one.kind == "bare" for one in read):
            rewritten = _local(rewritten, read[0].variable, each)
        else:
            pending.insert(0, Correlated(each, tuple(read), None, source))
        if guard is not None:
            conditions.append(Correlated(guard, tuple(references(guard)), None, guard.sql(dialect="spark")))
    if rewritten is pattern and conditions == list(pattern.conditions):
        return bound
    return replace(bound, pattern=replace(rewritten, conditions=tuple(conditions)))


def _on_each_event(
    condition: Correlated, pattern: BoundPattern, schema: StreamSchema, sure: frozenset[str]
) -> tuple[exp.Expression, str, exp.Expression | None] | None:
    """Return the condition on each event of a variable, and one that asks for a value where there may be none.

    None where there is no such condition that says the same.
    """
    tree = condition.tree
    if not isinstance(tree, (*_SMALLER, *_LARGER)) or not {one.variable for one in condition.references} <= sure:
        return None
    for side in ("this", "expression"):
        # The side that must stay small is read by MAX, the one that must stay large by MIN.
        stays_small = isinstance(tree, _SMALLER) == (side == "this")
        aggregate = _aggregate_in(tree.args[side], exp.Max if stays_small else exp.Min)
        if aggregate is None:
            continue
        read = [one for one in condition.references if one.node is not aggregate]
        own = next(one for one in condition.references if one.node is aggregate)
        if any(one.variable == own.variable for one in read):
            continue
        value = _value_of_each(aggregate, own.variable, tree.args[side], pattern, schema, smallest=stays_small)
        if value is None:
            continue
        each = tree.copy()
        place = _aggregate_in(each.args[side], exp.Max if stays_small else exp.Min)
        assert place is not None
        place.replace(value)
        if _never_null(pattern, own.variable, aggregate.this):
            return each, own.variable, None
        return each, own.variable, exp.GT(this=exp.Count(this=aggregate.this.copy()), expression=exp.Literal.number(0))
    return None


def _aggregate_in(side: exp.Expression, kind: type[exp.Expression]) -> exp.Expression | None:
    """Return the aggregate under arithmetic with constants that keeps the order of its values."""
    node = side
    while not isinstance(node, kind):
        if isinstance(node, exp.Paren):
            node = node.this
        elif isinstance(node, exp.Add | exp.Mul) and _positive(node.this, node):
            node = node.expression
        elif isinstance(node, exp.Add | exp.Mul | exp.Div | exp.Sub) and _positive(node.expression, node):
            node = node.this
        else:
            return None
    return node


def _positive(node: exp.Expression, under: exp.Expression) -> bool:
    """Return whether a constant keeps the order when it is added, subtracted, or multiplied with."""
    if not isinstance(node, exp.Literal) or node.is_string:
        return False
    return not isinstance(under, exp.Mul | exp.Div) or 0 < float(node.this) < float("inf")


def _value_of_each(
    aggregate: exp.Expression,
    variable: str,
    side: exp.Expression,
    pattern: BoundPattern,
    schema: StreamSchema,
    *,
    smallest: bool,
) -> exp.Expression | None:
    """Return what stands for the aggregate in the condition on each event, or None where that would not be the same.

    Arithmetic is left to the relational engine then, so it must be the arithmetic of the kernels: of doubles and 64-bit integers.
    """
    column = aggregate.this
    name = schema.resolve(column.name) if isinstance(column, exp.Column) else None
    kind = None if name is None else schema.columns[name]
    known = _never_null(pattern, variable, column)
    if kind is Kind.FLOAT:
        wide = exp.Cast(this=column.copy(), to=exp.DataType.build("DOUBLE", dialect="spark"))
        return wide if known else _null_as(wide, "-Infinity" if smallest else "NaN")
    if side is aggregate and kind in (Kind.INTEGER, Kind.DECIMAL, Kind.DATE, Kind.TIMESTAMP):
        return column.copy() if known else None
    whole = not any(literal for literal in side.find_all(exp.Literal) if not literal.is_int) and side.find(exp.Div) is None
    if kind is Kind.INTEGER and known and whole:
        return exp.Cast(this=column.copy(), to=exp.DataType.build("BIGINT", dialect="spark"))
    return None


def _null_as(value: exp.Expression, text: str) -> exp.Expression:
    """Return a double with null as one that no comparison fails for; NaN is the largest."""
    edge = exp.Cast(this=exp.Literal.string(text), to=exp.DataType.build("DOUBLE", dialect="spark"))
    return exp.Coalesce(this=value, expressions=[edge])


def _never_null(pattern: BoundPattern, variable: str, argument: exp.Expression) -> bool:
    """Return whether a condition on each event of the variable fails where the argument is null."""
    if not isinstance(argument, exp.Column):
        return False
    name = argument.name.lower()

    def asks(tree: exp.Expression) -> bool:
        if isinstance(tree, exp.Between):
            return _is_column(tree.this, name)
        return isinstance(tree, _NULL_FAILS) and (_is_column(tree.this, name) or _is_column(tree.expression, name))

    own = [occurrence for occurrence in pattern.occurrences if variable in occurrence.variables]
    return all(any(asks(tree) for tree in occurrence.conditions) for occurrence in own)


def _is_column(node: exp.Expression, name: str) -> bool:
    return isinstance(node, exp.Column) and node.name.lower() == name


def _local(pattern: BoundPattern, variable: str, condition: exp.Expression) -> BoundPattern:
    """Return the pattern with a condition on each event of a variable."""
    occurrences = tuple(
        replace(one, conditions=(*one.conditions, condition)) if variable in one.variables else one for one in pattern.occurrences
    )
    return replace(pattern, occurrences=occurrences)
