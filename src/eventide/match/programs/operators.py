"""The operations of condition programs: a stack machine over integers, doubles and nulls with SQL's logic."""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from eventide.compilation import inner_kernel

STACK = 64


class Op(IntEnum):
    """Operations; operands are (a, b, c). Suffix I is 64-bit integers, F doubles."""

    LOAD_I = 0  # slot, column, 1 for the next event of the slot's variable
    LOAD_F = 1
    CONST_I = 2  # index into constants
    CONST_F = 3
    NULL = 4
    TO_F = 5
    EQ_I = 10
    NE_I = 11
    LT_I = 12
    LE_I = 13
    EQ_F = 14
    NE_F = 15
    LT_F = 16
    LE_F = 17
    SAME_I = 18
    SAME_F = 19
    ADD_I = 20
    SUB_I = 21
    MUL_I = 22
    MOD_I = 23
    ADD_F = 25
    SUB_F = 26
    MUL_F = 27
    DIV_F = 28
    MOD_F = 29
    ABS_I = 30
    ABS_F = 31
    AND = 40
    OR = 41
    NOT = 42
    IS_NULL = 43
    IF_I = 44
    IF_F = 45
    COUNT = 50  # variable, -, slot whose earlier events are read or -1 for all
    COUNT_VALUE = 51  # variable, column, slot
    FIRST = 52
    LAST = 53
    SUM_I = 54
    SUM_F = 55
    MIN_I = 56
    MIN_F = 57
    MAX_I = 58
    MAX_F = 59
    AVG_I = 60
    AVG_F = 61
    FIRST_KNOWN = 62  # as FIRST, but an instance without such an event is not judged yet


@inner_kernel
def less(a, b):
    """Return a < b with NaN above everything."""
    if np.isnan(a):
        return False
    if np.isnan(b):
        return True
    return a < b


@inner_kernel
def equal(a, b):
    """Return a = b with NaN equal to itself."""
    return a == b or (np.isnan(a) and np.isnan(b))


@inner_kernel
def truncated_remainder(a, b):
    """Return the remainder with the sign of the dividend, as SQL has it."""
    remainder = abs(a) % abs(b)
    return -remainder if a < 0 else remainder


@inner_kernel
def operate(op, top, wholes, reals, nulls):
    """Run one operation on the stack (anything but loads, constants and set functions); returns the new top."""
    if op == Op.TO_F:
        reals[top] = float(wholes[top])
    elif op < Op.ADD_I:
        top -= 1
        if op == Op.SAME_I or op == Op.SAME_F:
            both = nulls[top] == 1 and nulls[top + 1] == 1
            none = nulls[top] == 0 and nulls[top + 1] == 0
            if op == Op.SAME_I:
                same = wholes[top] == wholes[top + 1]
            else:
                same = equal(reals[top], reals[top + 1])
            wholes[top] = 1 if both or (none and same) else 0
            nulls[top] = 0
        else:
            nulls[top] |= nulls[top + 1]
            if op == Op.EQ_I:
                truth = wholes[top] == wholes[top + 1]
            elif op == Op.NE_I:
                truth = wholes[top] != wholes[top + 1]
            elif op == Op.LT_I:
                truth = wholes[top] < wholes[top + 1]
            elif op == Op.LE_I:
                truth = wholes[top] <= wholes[top + 1]
            elif op == Op.EQ_F:
                truth = equal(reals[top], reals[top + 1])
            elif op == Op.NE_F:
                truth = not equal(reals[top], reals[top + 1])
            elif op == Op.LT_F:
                truth = less(reals[top], reals[top + 1])
            else:
                truth = not less(reals[top + 1], reals[top])
            wholes[top] = 1 if truth else 0
    elif op <= Op.MOD_F:
        top -= 1
        nulls[top] |= nulls[top + 1]
        if op == Op.ADD_I:
            wholes[top] += wholes[top + 1]
        elif op == Op.SUB_I:
            wholes[top] -= wholes[top + 1]
        elif op == Op.MUL_I:
            wholes[top] *= wholes[top + 1]
        elif op == Op.MOD_I:
            if wholes[top + 1] == 0:
                nulls[top] = 1
            elif nulls[top] == 0:
                wholes[top] = truncated_remainder(wholes[top], wholes[top + 1])
        elif op == Op.ADD_F:
            reals[top] += reals[top + 1]
        elif op == Op.SUB_F:
            reals[top] -= reals[top + 1]
        elif op == Op.MUL_F:
            reals[top] *= reals[top + 1]
        elif reals[top + 1] == 0.0:
            nulls[top] = 1
        elif op == Op.DIV_F:
            reals[top] = reals[top] / reals[top + 1]
        elif nulls[top] == 0:
            reals[top] = truncated_remainder(reals[top], reals[top + 1])
    elif op == Op.ABS_I:
        wholes[top] = abs(wholes[top])
    elif op == Op.ABS_F:
        reals[top] = abs(reals[top])
    elif op == Op.AND or op == Op.OR:
        top -= 1
        decisive = 0 if op == Op.AND else 1
        left = nulls[top] == 0 and wholes[top] == decisive
        right = nulls[top + 1] == 0 and wholes[top + 1] == decisive
        if left or right:
            nulls[top] = 0
            wholes[top] = decisive
        else:
            nulls[top] |= nulls[top + 1]
            wholes[top] = 1 - decisive
    elif op == Op.NOT:
        wholes[top] = 1 - wholes[top]
    elif op == Op.IS_NULL:
        wholes[top] = nulls[top]
        nulls[top] = 0
    elif op == Op.IF_I or op == Op.IF_F:
        top -= 2
        pick = top + 1 if nulls[top] == 0 and wholes[top] == 1 else top + 2
        nulls[top] = nulls[pick]
        wholes[top] = wholes[pick]
        reals[top] = reals[pick]
    return top
