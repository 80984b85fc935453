"""Conditions on rows and their neighbours, judged for all rows at once: whole columns go through the stack program.

The relational engine could do the same with LAG and LEAD, but its window operator costs more than handing the column over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from eventide.match.programs.operators import Op
from eventide.match.row_pattern.programs import ROW_F, ROW_I

if TYPE_CHECKING:
    from collections.abc import Sequence

SLICE = 1 << 20
"""Rows that are judged together, so that the columns in between stay small."""
Values = npt.NDArray[Any]
Column = tuple[Values, npt.NDArray[np.bool_]]
"""Values, and where they are known."""
OPERATIONS = frozenset({
    ROW_I, ROW_F, Op.CONST_I, Op.CONST_F, Op.NULL, Op.TO_F, Op.EQ_I, Op.NE_I, Op.LT_I, Op.LE_I, Op.EQ_F, Op.NE_F, Op.LT_F,
    Op.LE_F, Op.SAME_I, Op.SAME_F, Op.ADD_F, Op.SUB_F, Op.MUL_F, Op.ABS_F, Op.AND, Op.OR, Op.NOT, Op.IS_NULL, Op.IF_I, Op.IF_F,
})  # fmt: skip
"""What this module knows; other conditions are left to the relational engine."""


def mark_rows(
    code: Sequence[tuple[int, int, int, int]],
    constants: npt.NDArray[np.int64],
    values: npt.NDArray[np.int64],
    valid: npt.NDArray[np.uint8],
    offset: npt.NDArray[np.int64],
) -> npt.NDArray[np.bool_]:
    """Return for each row whether a condition on it and its neighbours is true.

    >>> prices = np.array([[5, 3, 4]])
    >>> falls = [(ROW_I, -1, 0, 0), (ROW_I, -1, 0, -1), (Op.LT_I, 0, 0, 0)]
    >>> mark_rows(falls, np.zeros(1, np.int64), prices, np.ones((1, 3), np.uint8), np.array([0, 3])).tolist()
    [False, True, False]
    """
    rows = int(offset[-1])
    result = np.empty(rows, np.bool_)
    for begin in range(0, rows, SLICE):
        end = min(rows, begin + SLICE)
        result[begin:end] = _Slice(begin, end, constants, values, valid, offset).judge(code)
    return result


class _Slice:
    """Some rows, with the borders of their partitions."""

    def __init__(
        self,
        begin: int,
        end: int,
        constants: npt.NDArray[np.int64],
        values: npt.NDArray[np.int64],
        valid: npt.NDArray[np.uint8],
        offset: npt.NDArray[np.int64],
    ) -> None:
        self._begin = begin
        self._end = end
        self._constants = constants
        self._values = values
        self._valid = valid
        first, last = np.searchsorted(offset, [begin, end - 1], "right") - 1
        borders: npt.NDArray[np.int64] = np.clip(offset[first : last + 2], begin, end)
        lengths = borders[1:] - borders[:-1]
        self._from = np.repeat(offset[first : last + 1], lengths)
        self._to = np.repeat(offset[first + 1 : last + 2], lengths)

    def judge(self, code: Sequence[tuple[int, int, int, int]]) -> npt.NDArray[np.bool_]:
        stack: list[Column] = []
        for op, a, b, c in code:
            if op in (ROW_I, ROW_F):
                stack.append(self._load(b, c, real=op == ROW_F))
            elif op in (Op.CONST_I, Op.CONST_F, Op.NULL):
                stack.append(self._constant(op, a))
            elif op in (Op.TO_F, Op.ABS_F, Op.NOT, Op.IS_NULL):
                stack.append(_unary(op, stack.pop()))
            elif op in (Op.IF_I, Op.IF_F):
                other, chosen, condition = stack.pop(), stack.pop(), stack.pop()
                stack.append(_choose(condition, chosen, other))
            else:
                right, left = stack.pop(), stack.pop()
                stack.append(_binary(op, left, right))
        truth, known = stack.pop()
        return truth.astype(np.bool_) & known

    def _load(self, column: int, shift: int, *, real: bool) -> Column:
        values = self._values[column].view(np.float64) if real else self._values[column]
        if shift == 0:
            return values[self._begin : self._end], self._valid[column, self._begin : self._end] == 1
        rows = np.arange(self._begin + shift, self._end + shift)
        inside = (rows >= self._from) & (rows < self._to)
        reached = np.where(inside, rows, self._begin)
        return values[reached], inside & (self._valid[column][reached] == 1)

    def _constant(self, op: int, place: int) -> Column:
        size = self._end - self._begin
        if op == Op.NULL:
            return np.zeros(size, np.int64), np.zeros(size, np.bool_)
        bits = self._constants[place : place + 1]
        value = bits.view(np.float64)[0] if op == Op.CONST_F else bits[0]
        return np.full(size, value), np.ones(size, np.bool_)


def _unary(op: int, column: Column) -> Column:
    values, known = column
    if op == Op.TO_F:
        return values.astype(np.float64), known
    if op == Op.ABS_F:
        return np.abs(values), known
    if op == Op.NOT:
        return ~values.astype(np.bool_), known
    return ~known, np.ones(len(known), np.bool_)


def _choose(condition: Column, chosen: Column, other: Column) -> Column:
    true = condition[0].astype(np.bool_) & condition[1]
    return np.where(true, chosen[0], other[0]), np.where(true, chosen[1], other[1])


def _binary(op: int, left: Column, right: Column) -> Column:
    if op in (Op.AND, Op.OR):
        return _connect(left, right, decisive=op == Op.OR)
    if op in (Op.SAME_I, Op.SAME_F):
        same = _equal(left[0], right[0]) if op == Op.SAME_F else left[0] == right[0]
        both = left[1] & right[1]
        return (both & same) | (~left[1] & ~right[1]), np.ones(len(both), np.bool_)
    return _calculate(op, left[0], right[0]), left[1] & right[1]


def _connect(left: Column, right: Column, *, decisive: bool) -> Column:
    """Return AND (decided by one false) or OR (decided by one true) in SQL's logic."""
    decided_left = left[1] & (left[0].astype(np.bool_) == decisive)
    decided_right = right[1] & (right[0].astype(np.bool_) == decisive)
    decided = decided_left | decided_right
    return np.where(decided, decisive, not decisive), decided | (left[1] & right[1])


def _calculate(op: int, a: Values, b: Values) -> Values:
    with np.errstate(invalid="ignore", over="ignore"):
        match op:
            case Op.EQ_I:
                return np.equal(a, b)
            case Op.NE_I:
                return np.not_equal(a, b)
            case Op.LT_I:
                return a < b
            case Op.LE_I:
                return a <= b
            case Op.EQ_F:
                return _equal(a, b)
            case Op.NE_F:
                return ~_equal(a, b)
            case Op.LT_F:
                return _less(a, b)
            case Op.LE_F:
                return ~_less(b, a)
            case Op.ADD_F:
                return a + b
            case Op.SUB_F:
                return a - b
            case Op.MUL_F:
                return a * b
    raise AssertionError(op)


def _equal(a: Values, b: Values) -> Values:
    """Compare doubles, NaN equal to itself."""
    return np.equal(a, b) | (np.isnan(a) & np.isnan(b))


def _less(a: Values, b: Values) -> Values:
    """Compare doubles, NaN above everything."""
    return np.less(a, b) | (np.isnan(b) & ~np.isnan(a))
