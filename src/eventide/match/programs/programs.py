"""Conditions between events as small stack programs, run by kernels while they follow a match.

A *path* holds the events of a (partial) match from the latest (index 0) to the earliest; each has a row and a label. A condition
has slots, one for each variable with bare references; an instance puts one event of the path into each slot.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from eventide.compilation import inner_kernel
from eventide.match.programs.operators import STACK, Op, equal, less, operate

MAX_SLOTS = 6
SIMPLY = 2
"""All that a label has to judge are comparisons of two values."""


class Programs(NamedTuple):
    """All conditions of a query, in flat arrays. `label_has[label, variable]` says which variables a label binds."""

    code: npt.NDArray[np.int64]
    """[instruction, (op, a, b, c)]"""
    constants: npt.NDArray[np.int64]
    first: npt.NDArray[np.int32]
    """[condition + 1]: where its instructions begin."""
    slots: npt.NDArray[np.int32]
    """[condition, MAX_SLOTS]: variable of each slot, -1 when unused."""
    paired: npt.NDArray[np.uint8]
    """[condition, MAX_SLOTS]: 1 when the slot also reads the next event of its variable."""
    scope: npt.NDArray[np.int32]
    """[condition]: variable that must have an event for the condition to be asked, or -1."""
    outside: npt.NDArray[np.int32]
    """[condition]: slot that holds an event outside the path (a negated one), or -1."""
    label_has: npt.NDArray[np.uint8]
    pair_first: npt.NDArray[np.int32]
    """[label + 1]: where the (condition, slot) pairs to check when an event with that label joins the path begin."""
    pair_condition: npt.NDArray[np.int32]
    pair_slot: npt.NDArray[np.int32]
    whole_first: npt.NDArray[np.int32]
    """[label + 1]: conditions to check over all instances when an event with that label joins."""
    whole_condition: npt.NDArray[np.int32]
    closing: npt.NDArray[np.int32]
    """Conditions to check on whole matches."""
    closing_done: npt.NDArray[np.uint8]
    """[closing, label]: 1 when a match whose outermost event has the label has been checked on the way."""
    simple: npt.NDArray[np.int32]
    """[condition, (op, left slot, left column, right column, paired)] of those that compare two values, op -1 for the others.

    A paired one compares an event with the next of its variable; the left slot is then 1 where the next one stands on the left.
    """
    judged: npt.NDArray[np.uint8]
    """[label]: 0 when there is nothing to judge as an event with the label joins, SIMPLY, or 1."""
    agree_first: npt.NDArray[np.int32]
    """[label + 1]: where the values begin in which an event with the label must agree with others (`agreement.py`)."""
    agree_group: npt.NDArray[np.int32]
    agree_column: npt.NDArray[np.int32]
    agree_float: npt.NDArray[np.uint8]
    """[group]: 1 where the values are doubles."""


@inner_kernel
def next_in_path(programs, labels, index, variable):
    """Return the path index of the next later event of the variable, or -1."""
    index -= 1
    while index >= 0 and not programs.label_has[labels[index], variable]:
        index -= 1
    return index


@inner_kernel
def fold(programs, op, variable, column, so_far, rows, labels, depth, values, floats, valid):
    """Run a set function over the path; returns (integer, double, is null, number of events seen)."""
    seen = 0
    used = 0
    whole = np.int64(0)
    real = 0.0
    begin = depth - 1
    stop = so_far + 1 if so_far >= 0 else 0
    for index in range(begin, stop - 1, -1):
        if variable >= 0 and not programs.label_has[labels[index], variable]:
            continue
        seen += 1
        if op == Op.COUNT:
            continue
        row = rows[index]
        if op == Op.FIRST or op == Op.LAST or op == Op.FIRST_KNOWN:
            if op == Op.LAST or seen == 1:
                whole = values[column, row]
                real = floats[column, row]
                used = valid[column, row]
            continue
        if not valid[column, row]:
            continue
        used += 1
        if op == Op.SUM_I or op == Op.AVG_I:
            whole += values[column, row]
            real += values[column, row]
        elif op == Op.SUM_F or op == Op.AVG_F:
            real += floats[column, row]
        elif op == Op.MIN_I:
            if used == 1 or values[column, row] < whole:
                whole = values[column, row]
        elif op == Op.MAX_I:
            if used == 1 or values[column, row] > whole:
                whole = values[column, row]
        elif op == Op.MIN_F:
            if used == 1 or less(floats[column, row], real):
                real = floats[column, row]
        elif op == Op.MAX_F:
            if used == 1 or less(real, floats[column, row]):
                real = floats[column, row]
    if op == Op.AVG_I or op == Op.AVG_F:
        if used > 0:
            real = real / used
    return whole, real, used == 0, seen, used


@inner_kernel
def holds(programs, condition, chosen, rows, labels, depth, outside_row, values, floats, valid, wholes, reals, nulls):
    """Judge one instance: 1 when the condition is true or vacuous, 0 otherwise.

    `chosen[slot]` is the path index of the slot's event (-1 for the event outside the path).
    """
    top = np.int64(-1)
    for at in range(programs.first[condition], programs.first[condition + 1]):
        op = programs.code[at, 0]
        a = programs.code[at, 1]
        b = programs.code[at, 2]
        c = programs.code[at, 3]
        if op <= Op.LOAD_F:
            index = chosen[a]
            if c == 1:
                index = next_in_path(programs, labels, index, programs.slots[condition, a])
                if index < 0:
                    return 1
            row = outside_row if index < 0 else rows[index]
            top += 1
            nulls[top] = 1 - valid[b, row]
            wholes[top] = values[b, row]
            reals[top] = floats[b, row]
        elif op == Op.CONST_I:
            top += 1
            nulls[top] = 0
            wholes[top] = programs.constants[a]
        elif op == Op.CONST_F:
            top += 1
            nulls[top] = 0
            reals[top] = programs.constants[a : a + 1].view(np.float64)[0]
        elif op == Op.NULL:
            top += 1
            nulls[top] = 1
            wholes[top] = 0
            reals[top] = 0.0
        elif op <= Op.IF_F:
            top = operate(op, top, wholes, reals, nulls)
        else:
            so_far = chosen[c] if c >= 0 else -1
            whole, real, is_null, seen, used = fold(
                programs, op, a, b, so_far, rows, labels, depth, values, floats, valid
            )
            if op == Op.COUNT:
                whole = np.int64(seen)
                is_null = False
            elif op == Op.COUNT_VALUE:
                whole = np.int64(used)
                is_null = False
            elif seen == 0 and (c >= 0 or op == Op.FIRST_KNOWN):
                return 1
            top += 1
            wholes[top] = whole
            reals[top] = real
            nulls[top] = 1 if is_null else 0
    return 1 if nulls[0] == 0 and wholes[0] == 1 else 0


@inner_kernel
def all_hold(programs, condition, fixed_slot, fixed_index, outside_row, rows, labels, depth, values, floats, valid, scratch):
    """Judge every instance of a condition, or those with one slot fixed (`fixed_slot` -1 fixes none)."""
    wholes, reals, nulls, chosen = scratch
    scope = programs.scope[condition]
    if scope >= 0:
        inside = False
        for index in range(depth):
            if programs.label_has[labels[index], scope]:
                inside = True
                break
        if not inside:
            return True
    slots = 0
    while slots < MAX_SLOTS and programs.slots[condition, slots] >= 0:
        slots += 1
    outside = programs.outside[condition]
    # An odometer over the path indices of the free slots.
    level = 0
    for slot in range(slots):
        chosen[slot] = -1
    while level >= 0:
        if level == slots:
            if (
                holds(
                    programs, condition, chosen, rows, labels, depth, outside_row, values, floats, valid, wholes, reals, nulls
                )
                == 0
            ):
                return False
            level -= 1
            continue
        if level == outside or level == fixed_slot:
            # Such a slot has one choice; -1 before and after it means the odometer passes twice.
            if chosen[level] == -1:
                chosen[level] = -2 if level == outside else fixed_index
                level += 1
            else:
                chosen[level] = -1
                level -= 1
            continue
        variable = programs.slots[condition, level]
        index = chosen[level] + 1
        while index < depth and not programs.label_has[labels[index], variable]:
            index += 1
        if index < depth:
            chosen[level] = index
            level += 1
        else:
            chosen[level] = -1
            level -= 1
    return True


@inner_kernel
def every_instance_holds(programs, condition, rows, labels, depth, values, floats, valid, scratch):
    """Judge every instance of a condition over the whole path."""
    none = np.int64(-1)
    return all_hold(programs, condition, none, none, none, rows, labels, depth, values, floats, valid, scratch)


@inner_kernel
def compare(op, left_column, left, right_column, right, values, floats, valid):
    """Compare a value of one row with one of another, null not holding."""
    known = valid[left_column, left] and valid[right_column, right]
    if op == Op.SAME_I or op == Op.SAME_F:
        if not known:
            return not valid[left_column, left] and not valid[right_column, right]
    if not known:
        return False
    if op == Op.EQ_I or op == Op.SAME_I:
        return values[left_column, left] == values[right_column, right]
    if op == Op.NE_I:
        return values[left_column, left] != values[right_column, right]
    if op == Op.LT_I:
        return values[left_column, left] < values[right_column, right]
    if op == Op.LE_I:
        return values[left_column, left] <= values[right_column, right]
    if op == Op.EQ_F or op == Op.SAME_F:
        return equal(floats[left_column, left], floats[right_column, right])
    if op == Op.NE_F:
        return not equal(floats[left_column, left], floats[right_column, right])
    if op == Op.LT_F:
        return less(floats[left_column, left], floats[right_column, right])
    return not less(floats[right_column, right], floats[left_column, left])


@inner_kernel
def compares(simple, slots, label_has, condition, slot, at, rows, labels, depth, values, floats, valid):
    """Judge all instances of a comparison of two values in which the event at path index `at` stands in a slot."""
    op = simple[condition, 0]
    left_column, right_column = simple[condition, 2], simple[condition, 3]
    if simple[condition, 4]:
        later = at - 1
        while later >= 0 and not label_has[labels[later], slots[condition, slot]]:
            later -= 1
        if later < 0:
            return True
        if simple[condition, 1]:
            return compare(op, left_column, rows[later], right_column, rows[at], values, floats, valid)
        return compare(op, left_column, rows[at], right_column, rows[later], values, floats, valid)
    other = slots[condition, 1 - slot]
    on_left = simple[condition, 1] == slot
    row = rows[at]
    for index in range(depth):
        if label_has[labels[index], other]:
            if on_left:
                holding = compare(op, left_column, row, right_column, rows[index], values, floats, valid)
            else:
                holding = compare(op, left_column, rows[index], right_column, row, values, floats, valid)
            if not holding:
                return False
    return True


@inner_kernel
def new_scratch():
    """Return the work space of the evaluator."""
    return (np.zeros(STACK, np.int64), np.zeros(STACK), np.zeros(STACK, np.int64), np.zeros(MAX_SLOTS, np.int64))


@inner_kernel
def joins(programs, at, rows, labels, depth, values, floats, valid, scratch):
    """Judge all that can be known when the event at path index `at` (either end of the path) has joined."""
    label = labels[at]
    for pair in range(programs.pair_first[label], programs.pair_first[label + 1]):
        # One type for all callers: a kernel is compiled again for every mix of integer types.
        condition = np.int64(programs.pair_condition[pair])
        slot = np.int64(programs.pair_slot[pair])
        index = np.int64(at)
        if programs.paired[condition, slot] and at == 0 and depth > 1:
            # Growing at the late end: the new event is the "next" of the variable's previous event.
            variable = programs.slots[condition, slot]
            index = np.int64(1)
            while index < depth and not programs.label_has[labels[index], variable]:
                index += 1
            if index == depth:
                continue
        if programs.simple[condition, 0] >= 0:
            if not compares(
                programs.simple,
                programs.slots,
                programs.label_has,
                condition,
                slot,
                index,
                rows,
                labels,
                depth,
                values,
                floats,
                valid,
            ):
                return False
        elif not all_hold(
            programs, condition, slot, index, np.int64(-1), rows, labels, depth, values, floats, valid, scratch
        ):
            return False
    for whole in range(programs.whole_first[label], programs.whole_first[label + 1]):
        condition = np.int64(programs.whole_condition[whole])
        if not every_instance_holds(programs, condition, rows, labels, depth, values, floats, valid, scratch):
            return False
    return True


@inner_kernel
def closes(programs, outermost, rows, labels, depth, values, floats, valid, scratch):
    """Judge the conditions that only whole matches decide."""
    for number in range(programs.closing.shape[0]):
        if programs.closing_done[number, outermost]:
            continue
        condition = np.int64(programs.closing[number])
        if not every_instance_holds(programs, condition, rows, labels, depth, values, floats, valid, scratch):
            return False
    return True
