"""What may still become of a condition on sets: bounds from the summary of a path and from all that may come before it.

Of every node is known how many events the paths below it bind to a variable, at least and at most, and between which bounds their
values and sums lie. With the summary of the path this gives an interval for either side of a comparison: it may be sure to fail,
then no path goes on from here; or sure to hold, then its registers are settled and summaries that differed in them are one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from eventide.compilation import inner_kernel, kernel
from eventide.match.dag.judged.summaries import KNOWN, LARGEST_KEY, NULL, SETTLED
from eventide.match.dag.nodes import BOTTOM, UNION
from eventide.match.programs.operators import Op

FAILS, UNKNOWN, HOLDS = -1, 0, 1
FEWEST, MOST, FEWEST_VALUES, MOST_VALUES, MOST_NULLS = range(5)
LEAST_SUM, LARGEST_SUM, MOST_ADDED, SMALLEST_VALUE, LARGEST_VALUE, FACTS = range(5, 11)
"""What is known of the events of a variable below a node; MOST_ADDED is the sum of amounts without their signs."""
ROUNDING = 1e-12
SUM_ROUNDING = 1e-9
"""Doubles add up to something else in another order: sums that are nearer than this share of all that is added may be either."""
INFINITE = np.inf


class Bounded(NamedTuple):
    """The conditions that have bounds, as programs over registers."""

    code: npt.NDArray[np.int64]
    """[instruction, (op, register or constant, feature, second register)]"""
    constants: npt.NDArray[np.int64]
    first: npt.NDArray[np.int32]
    """[condition + 1]: where its instructions begin."""
    adds: npt.NDArray[np.uint8]
    """[condition]: 1 where doubles are added up."""
    registers: npt.NDArray[np.int32]
    """[condition, (begin, end)]: its registers."""
    decided: npt.NDArray[np.uint8]
    """[label, condition]: 1 where an event with the label leaves the condition nothing to wait for."""
    binds: npt.NDArray[np.uint8]
    """[label, feature]: 1 where the label binds the variable of a feature."""
    column: npt.NDArray[np.int32]
    """[feature]: a value column, -1 where events are counted."""
    floats: npt.NDArray[np.uint8]


@kernel
def look_below(nodes, top, bounded, values, floats, valid, below):
    """Write what is known of the events below every node."""
    label_of, left_of, right_of = nodes.label, nodes.left, nodes.right
    for node in range(top):
        label = label_of[node]
        for feature in range(bounded.column.shape[0]):
            facts = below[feature, node]
            if label == UNION:
                one, other = below[feature, left_of[node]], below[feature, right_of[node]]
                for fact in range(FACTS):
                    if fact == FEWEST or fact == FEWEST_VALUES or fact == LEAST_SUM or fact == SMALLEST_VALUE:
                        facts[fact] = min(one[fact], other[fact])
                    else:
                        facts[fact] = max(one[fact], other[fact])
                continue
            for fact in range(FACTS):
                facts[fact] = 0.0
            facts[SMALLEST_VALUE] = INFINITE
            facts[LARGEST_VALUE] = -INFINITE
            if label == BOTTOM:
                continue
            if left_of[node] >= 0:
                for fact in range(FACTS):
                    facts[fact] = below[feature, left_of[node], fact]
            if not bounded.binds[label, feature]:
                continue
            facts[FEWEST] += 1.0
            facts[MOST] += 1.0
            column, row = bounded.column[feature], nodes.row[node]
            if column < 0:
                continue
            if not valid[column, row]:
                facts[MOST_NULLS] += 1.0
                continue
            facts[FEWEST_VALUES] += 1.0
            facts[MOST_VALUES] += 1.0
            value = floats[column, row] if bounded.floats[feature] else float(values[column, row])
            if np.isfinite(value):
                facts[LEAST_SUM] += value
                facts[LARGEST_SUM] += value
                facts[MOST_ADDED] += abs(value)
                facts[SMALLEST_VALUE] = min(facts[SMALLEST_VALUE], value)
                facts[LARGEST_VALUE] = max(facts[LARGEST_VALUE], value)
            else:
                facts[LEAST_SUM] = facts[SMALLEST_VALUE] = -INFINITE
                facts[LARGEST_SUM] = facts[LARGEST_VALUE] = facts[MOST_ADDED] = INFINITE


@inner_kernel
def value_of_key(key, is_float, bits):
    """Return the value of an order key; NaN becomes infinity. `bits` is a place for one number."""
    if not is_float:
        return float(key)
    if key == LARGEST_KEY:
        return INFINITE
    bits[0] = key if key >= 0 else key ^ np.int64(0x7FFFFFFFFFFFFFFF)
    return bits.view(np.float64)[0]


@inner_kernel
def verdict(bounded, condition, marks, held, quanta, below, node, hopeful, lows, highs, bits):
    """Return what is sure of a condition: FAILS is looked for when `hopeful`, else HOLDS.

    `node` is the one that comes next, -1 where nothing does; `quanta` are the units in which registers add doubles up.
    """
    top = -1
    scale = 0.0
    for at in range(bounded.first[condition], bounded.first[condition + 1]):
        op, register, feature, second = bounded.code[at, 0], bounded.code[at, 1], bounded.code[at, 2], bounded.code[at, 3]
        if op == Op.CONST_I:
            top += 1
            lows[top] = highs[top] = float(bounded.constants[register])
        elif op == Op.CONST_F:
            bits[0] = bounded.constants[register]
            top += 1
            lows[top] = highs[top] = bits.view(np.float64)[0]
        elif op <= Op.LOAD_F or op >= Op.COUNT:
            is_float = bounded.floats[feature] == 1
            known = marks[register] & KNOWN != 0
            fewest = most = fewest_values = most_values = nulls = least = largest = added = 0.0
            smallest_value, largest_value = INFINITE, -INFINITE
            if node >= 0:
                fewest, most = below[feature, node, FEWEST], below[feature, node, MOST]
                fewest_values, most_values = below[feature, node, FEWEST_VALUES], below[feature, node, MOST_VALUES]
                nulls, added = below[feature, node, MOST_NULLS], below[feature, node, MOST_ADDED]
                least, largest = below[feature, node, LEAST_SUM], below[feature, node, LARGEST_SUM]
                smallest_value, largest_value = below[feature, node, SMALLEST_VALUE], below[feature, node, LARGEST_VALUE]
            top += 1
            may_be_null = False
            if op == Op.COUNT:
                lows[top] = held[register] + fewest
                highs[top] = held[register] + most
            elif op == Op.COUNT_VALUE:
                lows[top] = held[register] + fewest_values
                highs[top] = held[register] + most_values
            elif op <= Op.LOAD_F:
                if marks[register] & ~KNOWN:
                    # A null never fulfils a comparison, NaN and infinities are left to those who look closely.
                    return FAILS if hopeful and marks[register] & NULL else UNKNOWN
                if known:
                    lows[top] = highs[top] = value_of_key(held[register], is_float, bits)
                    if not hopeful:
                        lows[top] = min(lows[top], smallest_value)
                        highs[top] = max(highs[top], largest_value)
                        may_be_null = nulls > 0
                elif hopeful:
                    if fewest == 0 or nulls > 0:
                        return UNKNOWN
                    lows[top], highs[top] = smallest_value, largest_value
                else:
                    if most == 0:
                        return HOLDS
                    lows[top], highs[top] = smallest_value, largest_value
                    may_be_null = nulls > 0
            elif op == Op.SUM_I or op == Op.SUM_F or op == Op.AVG_I or op == Op.AVG_F:
                if marks[register] & ~KNOWN:
                    return UNKNOWN
                here = float(held[register]) * (quanta[register] if op == Op.SUM_F or op == Op.AVG_F else 1.0)
                may_be_null = not known and fewest_values == 0
                if not known and most_values == 0:
                    return FAILS if hopeful else UNKNOWN
                lows[top], highs[top] = here + least, here + largest
                scale = max(scale, abs(here) + added)
                if op == Op.AVG_I or op == Op.AVG_F:
                    if most_values > 0:
                        return UNKNOWN
                    lows[top] /= held[second]
                    highs[top] = lows[top]
            else:
                # MIN, MAX, FIRST and LAST: one of the values, of the path or of what comes.
                if not known and most_values == 0:
                    return FAILS if hopeful else UNKNOWN
                own = value_of_key(held[register], is_float, bits) if known else 0.0
                if np.isinf(own) or largest_value == INFINITE:
                    # It may be NaN, which arithmetic turns into the largest number, whatever its sign.
                    return UNKNOWN
                may_be_null = marks[register] & NULL != 0 or (not known and fewest_values == 0) or nulls > 0
                if not known:
                    lows[top], highs[top] = smallest_value, largest_value
                elif op == Op.MAX_I or op == Op.MAX_F:
                    lows[top], highs[top] = own, max(own, largest_value)
                elif op == Op.MIN_I or op == Op.MIN_F:
                    lows[top], highs[top] = min(own, smallest_value), own
                elif op == Op.LAST:
                    lows[top] = highs[top] = own
                else:
                    lows[top], highs[top] = min(own, smallest_value), max(own, largest_value)
            if may_be_null and not hopeful:
                return UNKNOWN
        elif op == Op.ADD_I or op == Op.ADD_F:
            top -= 1
            lows[top] += lows[top + 1]
            highs[top] += highs[top + 1]
        elif op == Op.SUB_I or op == Op.SUB_F:
            top -= 1
            lows[top], highs[top] = lows[top] - highs[top + 1], highs[top] - lows[top + 1]
        elif op == Op.MUL_I or op == Op.MUL_F:
            top -= 1
            a, b = lows[top] * lows[top + 1], lows[top] * highs[top + 1]
            c, d = highs[top] * lows[top + 1], highs[top] * highs[top + 1]
            lows[top], highs[top] = min(a, b, c, d), max(a, b, c, d)
        if np.isnan(lows[top]) or np.isnan(highs[top]):
            return UNKNOWN
        if op != Op.TO_F:
            scale = max(scale, min(abs(lows[top]), abs(highs[top])))
    op = bounded.code[bounded.first[condition + 1] - 1, 0]
    slack = scale * (SUM_ROUNDING if bounded.adds[condition] else ROUNDING)
    if np.isinf(slack):
        return UNKNOWN
    low, high, other_low, other_high = lows[0], highs[0], lows[1], highs[1]
    if hopeful:
        if op == Op.LT_I or op == Op.LT_F:
            sure = low >= other_high + slack if slack == 0.0 else low > other_high + slack
        elif op == Op.LE_I or op == Op.LE_F:
            sure = low > other_high + slack
        else:
            sure = low > other_high + slack or other_low > high + slack
        return FAILS if sure else UNKNOWN
    if op == Op.EQ_I or op == Op.EQ_F:
        return UNKNOWN
    return HOLDS if high < other_low - slack else UNKNOWN


@inner_kernel
def foresee(bounded, marks, held, quanta, below, node, lows, highs, bits):
    """Settle the conditions that are sure to hold; returns whether none is sure to fail."""
    for condition in range(bounded.first.shape[0] - 1):
        begin, end = bounded.registers[condition, 0], bounded.registers[condition, 1]
        if marks[begin] & SETTLED:
            continue
        if verdict(bounded, condition, marks, held, quanta, below, node, True, lows, highs, bits) == FAILS:
            return False
        if verdict(bounded, condition, marks, held, quanta, below, node, False, lows, highs, bits) == HOLDS:
            for register in range(begin, end):
                marks[register] = SETTLED
                held[register] = 0
    return True


@inner_kernel
def too_close(bounded, label, marks, held, quanta, below, lows, highs, bits):
    """Return whether a sum of doubles is so near to what it is compared with that its order decides; label -1: at the end."""
    for condition in range(bounded.first.shape[0] - 1):
        if not bounded.adds[condition] or marks[bounded.registers[condition, 0]] & SETTLED:
            continue
        if label >= 0 and not bounded.decided[label, condition]:
            continue
        nothing = np.int64(-1)
        if (
            verdict(bounded, condition, marks, held, quanta, below, nothing, True, lows, highs, bits) == UNKNOWN
            and verdict(bounded, condition, marks, held, quanta, below, nothing, False, lows, highs, bits) == UNKNOWN
        ):
            return True
    return False
