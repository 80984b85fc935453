"""In which direction a condition gets harder: for every value that its program reads, whether it must stay small or large."""

from __future__ import annotations

import struct
from enum import Enum
from typing import TYPE_CHECKING

from eventide.match.programs.operators import Op

if TYPE_CHECKING:
    from collections.abc import Sequence

_SMALLER = (Op.LT_I, Op.LE_I, Op.LT_F, Op.LE_F)
_EQUAL = (Op.EQ_I, Op.EQ_F)
_ADDING = (Op.ADD_I, Op.ADD_F)
_SUBTRACTING = (Op.SUB_I, Op.SUB_F)
_SCALING = (Op.MUL_I, Op.MUL_F, Op.DIV_F)
_LEAVES = (Op.LOAD_I, Op.LOAD_F, Op.CONST_I, Op.CONST_F, Op.NULL)


class Direction(Enum):
    """What a condition wants of a value, all others unchanged."""

    SMALL = "small"
    LARGE = "large"
    EQUAL = "equal"
    OTHER = "other"


_TURNED = {Direction.SMALL: Direction.LARGE, Direction.LARGE: Direction.SMALL}


def directions(code: Sequence[tuple[int, int, int, int]], constants: Sequence[int]) -> list[Direction]:
    """Return the direction of every instruction's value, OTHER where there is none.

    >>> code = [(Op.LOAD_F, 0, 0, 0), (Op.LOAD_F, 1, 0, 0), (Op.SUB_F, 0, 0, 0), (Op.LOAD_F, 2, 0, 0), (Op.LT_F, 0, 0, 0)]
    >>> [direction.value for direction in directions(code, [])]
    ['small', 'large', 'small', 'large', 'other']
    """
    found = [Direction.OTHER] * len(code)
    operands = _operands(code)
    if not code:
        return found
    root = len(code) - 1
    pending: list[tuple[int, Direction]] = []
    if code[root][0] in _SMALLER:
        left, right = operands[root]
        pending = [(left, Direction.SMALL), (right, Direction.LARGE)]
    elif code[root][0] in _EQUAL:
        # Arithmetic may give the same for different values: only plain ones are known by one of them.
        pending = [(side, Direction.EQUAL) for side in operands[root] if code[side][0] in _LEAVES]
    while pending:
        number, direction = pending.pop()
        op = code[number][0]
        found[number] = direction
        if direction is Direction.EQUAL or not operands[number]:
            continue
        first, *rest = operands[number]
        if op == Op.TO_F:
            pending.append((first, direction))
        elif op in _ADDING:
            pending += [(first, direction), (rest[0], direction)]
        elif op in _SUBTRACTING:
            pending += [(first, direction), (rest[0], _TURNED[direction])]
        elif op in _SCALING:
            for value, factor in ((first, rest[0]), (rest[0], first)):
                sign = _sign(code[factor], constants)
                if sign and not (op == Op.DIV_F and value != first):
                    pending.append((value, direction if sign > 0 else _TURNED[direction]))
    return found


def _operands(code: Sequence[tuple[int, int, int, int]]) -> list[tuple[int, ...]]:
    """Return for every instruction those that made its operands."""
    stack: list[int] = []
    operands: list[tuple[int, ...]] = []
    for number, (op, _, _, _) in enumerate(code):
        if op in _LEAVES or op >= Op.COUNT:
            taken = 0
        elif op in (Op.IF_I, Op.IF_F):
            taken = 3
        elif op in (Op.TO_F, Op.ABS_I, Op.ABS_F, Op.NOT, Op.IS_NULL):
            taken = 1
        else:
            taken = 2
        operands.append(tuple(stack[len(stack) - taken :]))
        del stack[len(stack) - taken :]
        stack.append(number)
    return operands


def _sign(instruction: tuple[int, int, int, int], constants: Sequence[int]) -> int:
    """Return the sign of a finite constant, 0 for everything else."""
    op, at, _, _ = instruction
    if op == Op.CONST_I:
        return (constants[at] > 0) - (constants[at] < 0)
    if op == Op.CONST_F:
        (value,) = struct.unpack("d", struct.pack("q", constants[at]))
        return 0 if value - value != 0 else (value > 0) - (value < 0)
    return 0
