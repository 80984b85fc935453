"""The value of a Spark SQL expression, read from its tree: numbers, text, null and three-valued logic."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from sqlglot import exp

if TYPE_CHECKING:
    from collections.abc import Callable

Value = Any
"""A Python value as a row holds it; None is null."""


def value_of(node: exp.Expr, read: Callable[[exp.Expr], Value]) -> Value:
    """Return the value of an expression; `read` gives the value of its columns and of its functions over events.

    >>> import sqlglot
    >>> value_of(sqlglot.parse_one("1 + 2 * 3 > 6 OR NULL"), lambda node: None)
    True
    """

    def inner(child: exp.Expr) -> Value:
        return value_of(child, read)

    match node:
        case exp.Column() | exp.AggFunc() | exp.Anonymous():
            return _plain(read(node))
        case exp.Paren():
            return inner(node.this)
        case exp.Null():
            return None
        case exp.Boolean():
            return bool(node.this)
        case exp.Literal():
            return _literal(node)
        case exp.And():
            return _and(inner(node.this), inner(node.expression))
        case exp.Or():
            return _not(_and(_not(inner(node.this)), _not(inner(node.expression))))
        case exp.Not():
            return _not(inner(node.this))
        case exp.Is():
            return _is(inner(node.this), node.expression)
        case exp.NullSafeEQ():
            left, right = inner(node.this), inner(node.expression)
            return left is None and right is None if left is None or right is None else compare(left, right) == 0
        case exp.EQ() | exp.NEQ() | exp.LT() | exp.LTE() | exp.GT() | exp.GTE():
            return _comparison(type(node), inner(node.this), inner(node.expression))
        case exp.In() if node.expressions:
            return _in(inner(node.this), [inner(item) for item in node.expressions])
        case exp.Between() if not node.args.get("symmetric"):
            subject = inner(node.this)
            lower = _comparison(exp.GTE, subject, inner(node.args["low"]))
            return _and(lower, _comparison(exp.LTE, subject, inner(node.args["high"])))
        case exp.Neg():
            operand = inner(node.this)
            return None if operand is None else -operand
        case exp.Abs():
            operand = inner(node.this)
            return None if operand is None else abs(operand)
        case exp.Add() | exp.Sub() | exp.Mul() | exp.Div() | exp.Mod():
            return _arithmetic(type(node), inner(node.this), inner(node.expression))
        case exp.Coalesce():
            values = (inner(item) for item in [node.this, *node.expressions])
            return next((value for value in values if value is not None), None)
        case exp.Nullif():
            left, right = inner(node.this), inner(node.expression)
            return None if _comparison(exp.EQ, left, right) is True else left
        case exp.Greatest() | exp.Least():
            operands = [inner(item) for item in [node.this, *node.expressions]]
            return aggregate(exp.Max if isinstance(node, exp.Greatest) else exp.Min, operands)
        case exp.DPipe():
            return _concatenation([inner(node.this), inner(node.expression)])
        case exp.Concat():
            return _concatenation([inner(item) for item in node.expressions])
        case exp.Length():
            operand = inner(node.this)
            return None if operand is None else len(operand)
        case exp.Case():
            return _case(node, inner)
        case exp.If():
            branch = node.args["true"] if inner(node.this) is True else node.args.get("false")
            return None if branch is None else inner(branch)
        case _:
            raise NotImplementedError(f"the oracle does not evaluate {type(node).__name__}")


def _plain(value: Value) -> Value:
    # Decimals are compared as doubles (section 5, numbers).
    return float(value) if isinstance(value, Decimal) else value


def _literal(node: exp.Literal) -> Value:
    text = str(node.this)
    if node.is_string:
        return text
    return int(text) if text.isdigit() else float(text)


def _not(operand: Value) -> Value:
    return None if operand is None else not operand


def _and(left: Value, right: Value) -> Value:
    if left is False or right is False:
        return False
    return None if left is None or right is None else True


def _is(subject: Value, test: exp.Expr) -> bool:
    if isinstance(test, exp.Null):
        return subject is None
    if isinstance(test, exp.Boolean):
        return subject is bool(test.this)
    raise NotImplementedError(f"the oracle does not evaluate IS {type(test).__name__}")


def compare(left: Value, right: Value) -> int:
    """Order two values that are not null: negative, zero or positive; NaN equals NaN and is the largest number.

    >>> compare(float("nan"), float("inf")), compare(float("nan"), float("nan")), compare("a", "b")
    (1, 0, -1)
    """
    if isinstance(left, str) != isinstance(right, str):
        raise NotImplementedError("the oracle does not compare text with other values")
    left_nan = isinstance(left, float) and math.isnan(left)
    right_nan = isinstance(right, float) and math.isnan(right)
    if left_nan or right_nan:
        return left_nan - right_nan
    return int(left > right) - int(left < right)


def _comparison(kind: type[exp.Expr], left: Value, right: Value) -> Value:
    if left is None or right is None:
        return None
    order = compare(left, right)
    verdicts: dict[type[exp.Expr], bool] = {
        exp.EQ: order == 0,
        exp.NEQ: order != 0,
        exp.LT: order < 0,
        exp.LTE: order <= 0,
        exp.GT: order > 0,
        exp.GTE: order >= 0,
    }
    return verdicts[kind]


def _in(subject: Value, items: list[Value]) -> Value:
    verdicts = [_comparison(exp.EQ, subject, item) for item in items]
    if True in verdicts:
        return True
    return None if None in verdicts else False


def _arithmetic(kind: type[exp.Expr], left: Value, right: Value) -> Value:
    if left is None or right is None:
        return None
    if kind is exp.Add:
        return left + right
    if kind is exp.Sub:
        return left - right
    if kind is exp.Mul:
        return left * right
    if right == 0:
        return None
    if kind is exp.Div:
        return left / right
    return remainder(left, right)


def _concatenation(parts: list[Value]) -> Value:
    if None in parts:
        return None
    if not all(isinstance(part, str) for part in parts):
        raise NotImplementedError("the oracle joins text alone")
    return "".join(parts)


def remainder(left: int | float, right: int | float) -> int | float:
    """Return the remainder with the sign of the dividend, as SQL has it.

    >>> remainder(-7, 3), remainder(7.5, -2)
    (-1, 1.5)
    """
    if isinstance(left, int) and isinstance(right, int):
        size = abs(left) % abs(right)
        return -size if left < 0 else size
    if math.isinf(left):
        return math.nan
    return math.fmod(left, right)


def _case(node: exp.Case, inner: Callable[[exp.Expr], Value]) -> Value:
    for branch in node.args["ifs"]:
        test = inner(branch.this)
        chosen = test if node.this is None else _comparison(exp.EQ, inner(node.this), test)
        if chosen is True:
            return inner(branch.args["true"])
    default = node.args.get("default")
    return None if default is None else inner(default)


def aggregate(kind: type[exp.Expr], values: list[Value]) -> Value:
    """Return COUNT, SUM, AVG, MIN or MAX over values as SQL does: nulls are skipped, over nothing all but COUNT are null.

    >>> aggregate(exp.Sum, [1, None, 2]), aggregate(exp.Count, [None]), aggregate(exp.Max, [])
    (3, 0, None)
    """
    present = [_plain(value) for value in values if value is not None]
    if kind is exp.Count:
        return len(present)
    if not present:
        return None
    if kind is exp.Sum:
        return sum(present)
    if kind is exp.Avg:
        return sum(present) / len(present)
    best = present[0]
    for value in present[1:]:
        order = compare(value, best)
        if (order < 0 and kind is exp.Min) or (order > 0 and kind is exp.Max):
            best = value
    return best
