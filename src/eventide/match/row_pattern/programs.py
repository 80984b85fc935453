"""Conditions on the match so far, run by the search while it maps rows.

*Registers* follow the rows of sets of variables: how many there were, the first few and the last few of them. *Accumulators* keep
running aggregates. A step copies them and adds one row, so going back costs nothing. *Observables* are all values that later
conditions can read of the past: two ways to the same row and position with equal observables have the same future.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from eventide.compilation import inner_kernel
from eventide.match.programs.operators import Op, less, operate
from eventide.match.row_pattern.completable import mix

ROW_I = 70  # register or -1 for the current row, column, shift
ROW_F = 71
LABEL = 72  # register or -1, set that the variable must be in or -1, shift
NUMBER = 73
SET_COUNT = 74  # set
ACCUMULATOR = 75  # accumulator, operation

WATCH_ROW = 0  # register, column, shift
WATCH_LABEL = 1  # register, set, shift
WATCH_COUNT = 2  # set, cap
WATCH_ACCUMULATOR = 3  # accumulator

NULL_BITS = np.uint64(0x9E3779B97F4A7C15)


class RowPrograms(NamedTuple):
    """All conditions on the match so far, in flat arrays."""

    code: npt.NDArray[np.int64]
    """[instruction, (op, a, b, c)]"""
    constants: npt.NDArray[np.int64]
    first: npt.NDArray[np.int32]
    """[condition + 1]: where its instructions begin."""
    set_has: npt.NDArray[np.uint8]
    """[set, variable]"""
    set_base: npt.NDArray[np.int32]
    """[set]: register of its count; behind it stand the rows of its first and of its last members."""
    set_firsts: npt.NDArray[np.int32]
    set_lasts: npt.NDArray[np.int32]
    sum_set: npt.NDArray[np.int32]
    """[accumulator]: the set it adds up."""
    sum_op: npt.NDArray[np.int32]
    sum_column: npt.NDArray[np.int32]
    sum_base: npt.NDArray[np.int32]
    """[accumulator]: register of the number of its values; behind it the integer result."""
    registers: int
    label_code: npt.NDArray[np.int64]
    """[variable]: the code of its name among the strings that conditions compare."""
    watch: npt.NDArray[np.int64]
    """[observable, (kind, a, b, c)]"""
    live: npt.NDArray[np.uint8]
    """[position, observable]: whether a condition may read it after the position took a row."""
    merges: int
    """Whether equal observables make equal futures."""
    counts_matches: int
    """Whether a condition reads MATCH_NUMBER."""


@inner_kernel
def add_row(
    set_has, set_base, set_firsts, set_lasts, sum_set, sum_op, sum_column, sum_base, variable, row, registers, reals, depth,
    values, floats, valid,
):  # fmt: skip
    """Fill the registers of depth + 1 from those of depth and a row mapped to the variable; False when a sum overflows."""
    after = depth + 1
    for register in range(registers.shape[1]):
        registers[after, register] = registers[depth, register]
    for number in range(sum_base.shape[0]):
        reals[after, number] = reals[depth, number]
    for member in range(set_base.shape[0]):
        if set_has[member, variable]:
            base = set_base[member]
            firsts = set_firsts[member]
            count = registers[after, base]
            if count < firsts:
                registers[after, base + 1 + count] = row
            registers[after, base] = count + 1
            newest = base + 1 + firsts
            for place in range(newest + set_lasts[member] - 1, newest, -1):
                registers[after, place] = registers[after, place - 1]
            if set_lasts[member] > 0:
                registers[after, newest] = row
    for number in range(sum_base.shape[0]):
        column = sum_column[number]
        if not set_has[sum_set[number], variable] or not valid[column, row]:
            continue
        base = sum_base[number]
        op = sum_op[number]
        seen = registers[after, base]
        registers[after, base] = seen + 1
        whole = values[column, row]
        real = floats[column, row]
        if op == Op.SUM_I or op == Op.AVG_I:
            total = registers[after, base + 1] + whole
            if (registers[after, base + 1] ^ total) & (whole ^ total) < 0:
                return False
            registers[after, base + 1] = total
        elif op == Op.SUM_F or op == Op.AVG_F:
            reals[after, number] += real
        elif op == Op.MIN_I:
            if seen == 0 or whole < registers[after, base + 1]:
                registers[after, base + 1] = whole
        elif op == Op.MAX_I:
            if seen == 0 or whole > registers[after, base + 1]:
                registers[after, base + 1] = whole
        elif op == Op.MIN_F:
            if seen == 0 or less(real, reals[after, number]):
                reals[after, number] = real
        elif op == Op.MAX_F and (seen == 0 or less(reals[after, number], real)):
            reals[after, number] = real
    return True


@inner_kernel
def label_at(set_has, label_code, variables, row, member, start, current, path, place):
    """Return the code of the variable that a row is mapped to, or -1 when it is not (yet) mapped, or not to that set."""
    if row < start or row > current:
        return np.int64(-1)
    variable = variables[path[place + row - start]]
    if member >= 0 and not set_has[member, variable]:
        return np.int64(-1)
    return label_code[variable]


@inner_kernel
def row_holds(
    code, first, constants, real_constants, set_has, set_base, sum_base, label_code, variables, condition, current, start,
    begin, end, match, path, path_place, registers, real_registers, depth, values, floats, valid, wholes, reals, nulls,
):  # fmt: skip
    """Judge a condition for the row `current`, which is mapped already."""
    top = np.int64(-1)
    for at in range(first[condition], first[condition + 1]):
        op = code[at, 0]
        a = code[at, 1]
        b = code[at, 2]
        c = code[at, 3]
        if op == ROW_I or op == ROW_F:
            top += 1
            row = current if a < 0 else registers[depth, a]
            place = row + c
            if row < 0 or place < begin or place >= end:
                nulls[top] = 1
                wholes[top] = 0
                reals[top] = 0.0
            else:
                nulls[top] = 1 - valid[b, place]
                wholes[top] = values[b, place]
                reals[top] = floats[b, place]
        elif op == Op.CONST_I:
            top += 1
            nulls[top] = 0
            wholes[top] = constants[a]
        elif op == Op.CONST_F:
            top += 1
            nulls[top] = 0
            reals[top] = real_constants[a]
        elif op == Op.NULL:
            top += 1
            nulls[top] = 1
            wholes[top] = 0
            reals[top] = 0.0
        elif op == LABEL:
            top += 1
            row = current if a < 0 else registers[depth, a]
            wholes[top] = -1
            if row >= 0:
                wholes[top] = label_at(set_has, label_code, variables, row + c, b, start, current, path, path_place)
            nulls[top] = 1 if wholes[top] < 0 else 0
        elif op == NUMBER:
            top += 1
            nulls[top] = 0
            wholes[top] = match
        elif op == SET_COUNT:
            top += 1
            nulls[top] = 0
            wholes[top] = registers[depth, set_base[a]]
        elif op == ACCUMULATOR:
            top += 1
            base = sum_base[a]
            seen = registers[depth, base]
            nulls[top] = 1 if seen == 0 else 0
            wholes[top] = registers[depth, base + 1]
            reals[top] = real_registers[depth, a]
            if b == Op.COUNT_VALUE:
                nulls[top] = 0
                wholes[top] = seen
            elif b == Op.AVG_I and seen > 0:
                reals[top] = registers[depth, base + 1] / seen
            elif b == Op.AVG_F and seen > 0:
                reals[top] = real_registers[depth, a] / seen
        else:
            top = operate(op, top, wholes, reals, nulls)
    return nulls[0] == 0 and wholes[0] == 1


@inner_kernel
def observed(
    watch, live, counts_matches, set_has, set_base, sum_base, label_code, variables, position, current, start, begin, end, limit,
    match, path, path_place, registers, real_bits, depth, values, valid,
):  # fmt: skip
    """Return two independent hashes of the row, the position and all that later conditions can read of the past."""
    one = mix(np.uint64(current) + np.uint64(1))
    two = mix(np.uint64(position) + mix(np.uint64(limit) + np.uint64(2)))
    if counts_matches:
        one = mix(one ^ np.uint64(match))
    two = mix(two ^ one)
    for number in range(watch.shape[0]):
        if not live[position, number]:
            continue
        kind = watch[number, 0]
        a = watch[number, 1]
        b = watch[number, 2]
        c = watch[number, 3]
        value = NULL_BITS
        if kind == WATCH_ROW:
            row = registers[depth, a]
            if row >= 0 and begin <= row + c < end and valid[b, row + c]:
                value = mix(np.uint64(values[b, row + c]))
        elif kind == WATCH_LABEL:
            row = registers[depth, a]
            if row >= 0:
                value = mix(np.uint64(label_at(set_has, label_code, variables, row + c, b, start, current, path, path_place)))
        elif kind == WATCH_COUNT:
            value = np.uint64(min(registers[depth, set_base[a]], b))
        else:
            base = sum_base[a]
            value = mix(np.uint64(registers[depth, base])) ^ np.uint64(registers[depth, base + 1])
            value = mix(value) ^ np.uint64(real_bits[depth, a])
        one = mix(one + value)
        two = mix((two ^ value) + np.uint64(number))
    return one, two
