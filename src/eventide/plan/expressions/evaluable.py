"""Expressions that only the relational engine can judge: it is asked before a query runs, so that errors find their place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from eventide.errors import BindError
from eventide.plan.expressions.columns import ARITHMETIC, COMPARISONS
from eventide.plan.expressions.references import function_kind, span_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from eventide.plan.expressions.schema import Kind, KindsOf, StreamSchema

# What the planner checks itself; anything else is a matter of the engine's functions and types.
_PLAIN = (
    *COMPARISONS, *ARITHMETIC, exp.Column, exp.Identifier, exp.Literal, exp.Boolean, exp.Null, exp.Paren, exp.Neg,
    exp.And, exp.Or, exp.Not, exp.Is, exp.In, exp.Between, exp.Star,
)  # fmt: skip


def check_evaluable(
    trees: Iterable[exp.Expression], schema: StreamSchema, kinds_of: KindsOf, text: str | None
) -> None:
    """Raise a BindError with its place where the engine cannot evaluate one of a query's expressions."""
    check_probes([(probe(tree, schema), tree) for tree in trees if not is_plain(tree)], kinds_of, text)


def check_probes(probes: Sequence[tuple[exp.Expression, exp.Expression]], kinds_of: KindsOf, text: str | None) -> None:
    """Ask the engine about expressions, all at once; each comes with the place at which an error is raised."""
    if not probes:
        return
    try:
        kinds_at(kinds_of, [probe for probe, _ in probes], text, probes[0][1])
    except BindError:
        # Which of them it was, one by one.
        for probe, place in probes:
            kinds_at(kinds_of, [probe], text, place)
        raise


def kinds_at(
    kinds_of: KindsOf, trees: Sequence[exp.Expression], text: str | None, place: exp.Expression
) -> list[Kind]:
    """Return the kinds of expressions; what the engine has against them is raised at the place they come from."""
    try:
        return kinds_of(trees)
    except BindError as error:
        raise BindError(error.condition, error.message, text=text, span=span_of(place), hint=error.hint) from None


def is_plain(tree: exp.Expression) -> bool:
    """Return whether the planner knows all operators of an expression.

    >>> from sqlglot import parse_one
    >>> is_plain(parse_one("a.x + 1 < MAX(b.x)")), is_plain(parse_one("LENGTH(a.x) > 3"))
    (True, False)
    """
    return all(isinstance(node, _PLAIN) or function_kind(node) is not None for node in tree.walk())


def probe(tree: exp.Expression, schema: StreamSchema) -> exp.Expression:
    """Return an expression over one event with the types of the given one: what reads several events reads one instead.

    >>> from sqlglot import parse_one
    >>> from eventide.plan.expressions.schema import Kind, StreamSchema
    >>> probe(parse_one("ROUND(AVG(b.x)) + a.x"), StreamSchema({"x": Kind.INTEGER}, time="x")).sql()
    'ROUND(CAST("x" AS DOUBLE)) + "x"'
    """
    # A parent to replace in, also for the outermost node.
    holder = exp.Paren(this=tree.copy())
    for node in list(holder.walk(bfs=False)):
        kind = function_kind(node)
        if kind == "count":
            node.replace(exp.cast(exp.Literal.number(1), "bigint"))
        elif kind == "avg":
            node.replace(exp.cast(node.this.copy(), "double"))
        elif kind is not None:
            node.replace((node.expressions[0] if isinstance(node, exp.Anonymous) else node.this).copy())
    for column in list(holder.find_all(exp.Column)):
        resolved = schema.resolve(column.name)
        if resolved is not None:
            column.replace(exp.column(exp.to_identifier(resolved, quoted=True)))
    result = holder.this
    assert isinstance(result, exp.Expression)
    return result
