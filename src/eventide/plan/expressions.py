"""Expressions over one event: from the query's names to columns, with their kinds checked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from eventide.errors import BindError, did_you_mean
from eventide.plan.references import span_of
from eventide.plan.schema import Kind

if TYPE_CHECKING:
    from eventide.plan.schema import StreamSchema

COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ)
ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod)
_BOOLEAN = (*COMPARISONS, exp.And, exp.Or, exp.Not, exp.Is, exp.In, exp.Between, exp.Like)


def single_event(tree: exp.Expression, schema: StreamSchema, text: str | None) -> exp.Expression:
    """Return the expression with `variable.attribute` replaced by the column it means."""
    tree = tree.copy()
    for column in list(tree.find_all(exp.Column)):
        resolved = column_of(column, schema, text)
        fresh = exp.column(exp.to_identifier(resolved, quoted=True))
        if column is tree:
            return fresh
        column.replace(fresh)
    return tree


def column_of(column: exp.Column, schema: StreamSchema, text: str | None) -> str:
    """Return the column of the events that an attribute means."""
    resolved = schema.resolve(column.name)
    if resolved is None:
        raise BindError(
            "UNKNOWN_ATTRIBUTE",
            f"The events have no attribute {column.name}.",
            text=text,
            span=span_of(column.this),
            hint=did_you_mean(column.name, schema.columns),
        )
    return resolved


def check_kinds(tree: exp.Expression, schema: StreamSchema, text: str | None) -> Kind | None:
    """Return the kind of an expression where it is plain, and refuse comparisons between kinds that do not compare."""
    match tree:
        case exp.Column() if tree.table:
            return schema.columns[column_of(tree, schema, text)]
        case exp.Column():
            return None
        case exp.Literal():
            if tree.is_string:
                return Kind.STRING
            return Kind.INTEGER if str(tree.this).isdigit() else Kind.FLOAT
        case exp.Boolean():
            return Kind.BOOLEAN
        case exp.Null():
            return None
        case exp.Paren() | exp.Neg() | exp.Abs():
            return check_kinds(tree.this, schema, text)
        case exp.Count():
            return Kind.INTEGER
        case exp.First() | exp.Last() | exp.Min() | exp.Max() | exp.Sum():
            return check_kinds(tree.this, schema, text)
        case exp.Avg():
            check_kinds(tree.this, schema, text)
            return Kind.FLOAT
        case exp.Anonymous() if str(tree.this).upper() in ("NEXT", "PREV") and tree.expressions:
            return check_kinds(tree.expressions[0], schema, text)
    kinds = [check_kinds(child, schema, text) for child in tree.iter_expressions()]
    if isinstance(tree, COMPARISONS) and len(kinds) == 2:
        _refuse_mismatch(tree, kinds[0], kinds[1], text)
    if isinstance(tree, exp.Between):
        for bound in kinds[1:]:
            _refuse_mismatch(tree, kinds[0], bound, text)
    if isinstance(tree, exp.In):
        for option in kinds[1:]:
            _refuse_mismatch(tree, kinds[0], option, text)
    if isinstance(tree, ARITHMETIC):
        return _arithmetic_kind(tree, kinds, text)
    if isinstance(tree, exp.And | exp.Or | exp.Not):
        for child, kind in zip(tree.iter_expressions(), kinds, strict=True):
            require_boolean(child, kind, text)
    return Kind.BOOLEAN if isinstance(tree, _BOOLEAN) else None


def require_boolean(tree: exp.Expression, kind: Kind | None, text: str | None) -> None:
    """Refuse a condition that is plainly not true or false."""
    if kind is not None and kind is not Kind.BOOLEAN:
        raise BindError(
            "CONDITION_NOT_BOOLEAN",
            f"{tree.sql(dialect='spark')} is a {kind.value}, not a condition.",
            text=text,
            span=span_of(tree),
            hint="Compare it with something, such as a.price > 3.",
        )


def comparable(first: Kind | None, second: Kind | None) -> bool:
    """Return whether two kinds compare; text that is compared with a time is read as a time.

    >>> comparable(Kind.INTEGER, Kind.DECIMAL), comparable(Kind.INTEGER, Kind.STRING)
    (True, False)
    """
    if first is None or second is None or first is second or Kind.OTHER in (first, second):
        return True
    if first.numeric and second.numeric:
        return True
    times = {Kind.TIMESTAMP, Kind.DATE}
    return (first in times and second in times | {Kind.STRING}) or (second in times and first is Kind.STRING)


def _refuse_mismatch(tree: exp.Expression, first: Kind | None, second: Kind | None, text: str | None) -> None:
    if not comparable(first, second):
        assert first is not None and second is not None
        raise BindError(
            "TYPE_MISMATCH",
            f"A {first.value} does not compare with a {second.value}.",
            text=text,
            span=span_of(tree),
            hint="Convert one side, for example CAST(x AS DOUBLE).",
        )


def _arithmetic_kind(tree: exp.Expression, kinds: list[Kind | None], text: str | None) -> Kind | None:
    for kind in kinds:
        if kind in (Kind.STRING, Kind.BOOLEAN):
            raise BindError(
                "TYPE_MISMATCH",
                f"{tree.sql(dialect='spark')} calculates with a {kind.value}.",
                text=text,
                span=span_of(tree),
                hint="Convert it, for example CAST(x AS DOUBLE).",
            )
    if isinstance(tree, exp.Div):
        return Kind.FLOAT if all(kind is not None for kind in kinds) else None
    if any(kind is None or not kind.numeric for kind in kinds):
        return None
    if Kind.FLOAT in kinds:
        return Kind.FLOAT
    return Kind.DECIMAL if Kind.DECIMAL in kinds else Kind.INTEGER
