"""Expressions over one event: from the query's names to columns, with their kinds checked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from eventide.errors import BindError, did_you_mean
from eventide.plan.expressions.references import span_of
from eventide.plan.expressions.schema import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eventide.plan.expressions.schema import StreamSchema

COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ)
ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod)
_TIMES = (Kind.TIMESTAMP, Kind.DATE)
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
            resolved = schema.resolve(tree.name)
            return None if resolved is None else schema.columns[resolved]
        case exp.Literal():
            if tree.is_string:
                return Kind.STRING
            return Kind.INTEGER if str(tree.this).isdigit() else Kind.FLOAT
        case exp.Boolean():
            return Kind.BOOLEAN
        case exp.Null():
            return None
        case exp.Interval():
            return Kind.INTERVAL
        case exp.Paren() | exp.Neg() | exp.Abs():
            return check_kinds(tree.this, schema, text)
        case exp.Count():
            return Kind.INTEGER
        case exp.First() | exp.Last() | exp.Min() | exp.Max():
            return check_kinds(tree.this, schema, text)
        case exp.Sum() | exp.Avg():
            kind = check_kinds(tree.this, schema, text)
            _require_number(tree, kind, text)
            return Kind.FLOAT if isinstance(tree, exp.Avg) else kind
        case exp.Anonymous() if str(tree.this).upper() in ("NEXT", "PREV") and tree.expressions:
            return check_kinds(tree.expressions[0], schema, text)
    if isinstance(tree, exp.And | exp.Or):
        # Long chains nest to the left; they are walked, not descended.
        for part in connected(tree):
            require_boolean(part, check_kinds(part, schema, text), text)
        return Kind.BOOLEAN
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
    if isinstance(tree, exp.Not):
        require_boolean(tree.this, kinds[0], text)
    return Kind.BOOLEAN if isinstance(tree, _BOOLEAN) else None


def connected(tree: exp.Expression) -> Iterator[exp.Expression]:
    """Yield the conditions that ANDs and ORs connect, in the order they were written.

    >>> from sqlglot import parse_one
    >>> [part.sql() for part in connected(parse_one("a AND b OR c"))]
    ['a', 'b', 'c']
    """
    pending = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, exp.And | exp.Or):
            pending.extend((node.expression, node.this))
        else:
            yield node


def require_boolean(tree: exp.Expression, kind: Kind | None, text: str | None) -> None:
    """Refuse a condition that is plainly not true or false."""
    if kind is not None and kind is not Kind.BOOLEAN:
        raise BindError(
            "CONDITION_NOT_BOOLEAN",
            f"{tree.sql(dialect='spark')} is {kind.named}, not a condition.",
            text=text,
            span=span_of(tree),
            hint="Compare it with something, such as a.price > 3.",
        )


def _require_number(tree: exp.Expression, kind: Kind | None, text: str | None) -> None:
    if kind is not None and kind is not Kind.OTHER and not kind.numeric:
        name = "SUM" if isinstance(tree, exp.Sum) else "AVG"
        raise BindError(
            "TYPE_MISMATCH",
            f"{name} adds numbers, {tree.this.sql(dialect='spark')} is {kind.named}.",
            text=text,
            span=span_of(tree),
            hint="Use MIN, MAX, FIRST, LAST or COUNT, or convert it, for example CAST(x AS DOUBLE).",
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
    readable = (*_TIMES, Kind.STRING)
    return (first in _TIMES and second in readable) or (second in _TIMES and first is Kind.STRING)


def _refuse_mismatch(tree: exp.Expression, first: Kind | None, second: Kind | None, text: str | None) -> None:
    if not comparable(first, second):
        assert first is not None and second is not None
        raise BindError(
            "TYPE_MISMATCH",
            f"{first.named.capitalize()} does not compare with {second.named}.",
            text=text,
            span=span_of(tree),
            hint=_comparison_hint(first, second),
        )


def _comparison_hint(first: Kind, second: Kind) -> str:
    if Kind.INTERVAL in (first, second):
        return "Write an interval, for example INTERVAL 5 MINUTES."
    if first in _TIMES or second in _TIMES:
        return "Write a time as text, for example '2024-01-02 14:30:00'."
    return "Convert one side, for example CAST(x AS DOUBLE)."


def _time_kind(tree: exp.Expression, kinds: list[Kind | None], text: str | None) -> Kind | None:
    """Return the kind of a calculation with times: they differ by intervals, and only intervals move or scale."""
    if None in kinds or Kind.OTHER in kinds:
        return None
    match tree, kinds:
        case exp.Sub(), (Kind.TIMESTAMP | Kind.DATE, Kind.TIMESTAMP | Kind.DATE):
            return Kind.INTERVAL
        case exp.Add() | exp.Sub(), (Kind.TIMESTAMP | Kind.DATE as time, Kind.INTERVAL):
            return time
        case exp.Add(), (Kind.INTERVAL, Kind.TIMESTAMP | Kind.DATE as time):
            return time
        case exp.Add() | exp.Sub(), (Kind.INTERVAL, Kind.INTERVAL):
            return Kind.INTERVAL
    raise BindError(
        "TYPE_MISMATCH",
        f"{tree.sql(dialect='spark')} calculates with {' and '.join(kind.named for kind in kinds if kind is not None)}.",
        text=text,
        span=span_of(tree),
        hint="Add an interval to a time, for example a.ts + INTERVAL 5 MINUTES.",
    )


def _arithmetic_kind(tree: exp.Expression, kinds: list[Kind | None], text: str | None) -> Kind | None:
    for kind in kinds:
        if kind in (Kind.STRING, Kind.BOOLEAN):
            raise BindError(
                "TYPE_MISMATCH",
                f"{tree.sql(dialect='spark')} calculates with {kind.named}.",
                text=text,
                span=span_of(tree),
                hint="Convert it, for example CAST(x AS DOUBLE).",
            )
    if any(kind in _TIMES or kind is Kind.INTERVAL for kind in kinds):
        return _time_kind(tree, kinds, text)
    if isinstance(tree, exp.Div):
        return Kind.FLOAT if all(kind is not None for kind in kinds) else None
    if any(kind is None or not kind.numeric for kind in kinds):
        return None
    if Kind.FLOAT in kinds:
        return Kind.FLOAT
    return Kind.DECIMAL if Kind.DECIMAL in kinds else Kind.INTEGER
