"""From conditions to the registers that summarise a path for them (`match/dag/judged/summaries.py`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from eventide.match.dag.judged.bounds import Bounded
from eventide.match.dag.judged.summaries import (
    ADDED,
    COUNT,
    COUNT_VALUE,
    EMPTY,
    LARGEST,
    LARGEST_KNOWN,
    LISTED,
    NEWEST,
    OLDEST,
    SAME,
    SEEN,
    SETTLE,
    SMALLEST,
    SMALLEST_KNOWN,
    SUM,
    Summaries,
)
from eventide.match.programs.operators import Op
from eventide.plan.expressions.references import ALL_EVENTS
from eventide.plan.labels.monotone import Direction, directions
from eventide.records import record

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eventide.plan.sequences.conditions import CompiledCondition

_BY_DIRECTION = {Direction.SMALL: LARGEST, Direction.LARGE: SMALLEST, Direction.EQUAL: SAME}
"""What must stay small is known by the largest of it."""
_BY_FUNCTION = {
    Op.COUNT: (COUNT,),
    Op.COUNT_VALUE: (COUNT_VALUE,),
    Op.FIRST: (NEWEST,),
    Op.LAST: (OLDEST,),
    Op.SUM_I: (SUM,),
    Op.AVG_I: (SUM, COUNT_VALUE),
    Op.MIN_I: (SMALLEST_KNOWN,),
    Op.MIN_F: (SMALLEST_KNOWN,),
    Op.MAX_I: (LARGEST_KNOWN,),
    Op.MAX_F: (LARGEST_KNOWN,),
    Op.SUM_F: (ADDED,),
    Op.AVG_F: (ADDED, COUNT_VALUE),
}
OF_DOUBLES = (Op.LOAD_F, Op.SUM_F, Op.MIN_F, Op.MAX_F, Op.AVG_F)


@record
class Register:
    """What one condition wants to know of the events of a variable; `asking` are the variables whose events ask for it."""

    kind: int
    variable: str
    column: int
    floats: bool
    asking: frozenset[str]
    of_first: bool = False
    """Whether it stands for FIRST, which every further event of the variable makes another."""
    instruction: int = -1
    """The instruction whose value it bounds."""


@record
class Before:
    """What may come before an event with a label: variables that can take it, and those that the next to join surely takes."""

    some: frozenset[str]
    every: frozenset[str]


def registers_of(
    condition: CompiledCondition, variables: Sequence[str], constants: Sequence[int], of_doubles: frozenset[int]
) -> Iterator[Register]:
    """Yield the registers of a condition; `variables` are the names by number, `of_doubles` the columns that hold doubles."""
    read = frozenset(condition.slots) | frozenset(variable for variable, _ in condition.sets)
    whole = bool(condition.sets) or condition.so_far or not condition.slots
    if condition.scope is not None:
        yield Register(SEEN, condition.scope, -1, False, read | {condition.scope})
    found = directions(condition.code, constants)
    bounded = is_bounded(condition, constants)
    for slot, variable in enumerate(condition.slots):
        loads = [number for number, (op, a, _, _) in enumerate(condition.code) if op <= Op.LOAD_F and a == slot]
        paired = condition.paired[slot]
        others = read - {variable}
        # A condition on whole matches is asked by every event that it reads, one between events by those of the other slots.
        asking = read if whole else others | ({variable} if paired else frozenset())
        if condition.so_far:
            yield from _listed(condition, variable, slot, variables, asking)
        elif paired and len(condition.slots) == 1 and not whole:
            for number in loads:
                op, _, column, later = condition.code[number]
                if later:
                    yield Register(NEWEST, variable, column, op in OF_DOUBLES, asking)
        elif paired or len(loads) != 1 or found[loads[0]] not in _BY_DIRECTION:
            yield from _listed(condition, variable, slot, variables, asking)
        else:
            op, _, column, _ = condition.code[loads[0]]
            kind = _BY_DIRECTION[found[loads[0]]]
            yield Register(kind, variable, column, op in OF_DOUBLES, asking, instruction=loads[0])
    for at, (op, number, column, so_far) in enumerate(condition.code):
        if op >= Op.COUNT and so_far < 0:
            variable = ALL_EVENTS if number < 0 else variables[number]
            # Doubles add up to something else in another order; only bounds tell where that does not matter.
            kinds = _BY_FUNCTION[Op(op)] if bounded or op not in (Op.SUM_F, Op.AVG_F) else (LISTED,)
            for kind in kinds:
                floats = op in OF_DOUBLES or column in of_doubles
                yield Register(kind, variable, -1 if kind == COUNT else column, floats, read, op == Op.FIRST, at)


def _listed(
    condition: CompiledCondition, variable: str, slot: int, variables: Sequence[str], asking: frozenset[str]
) -> Iterator[Register]:
    """Yield lists of all that a condition reads of a variable."""
    columns = {
        column: op in OF_DOUBLES
        for op, number, column, so_far in condition.code
        if (op <= Op.LOAD_F and number == slot) or (op > Op.COUNT and so_far == slot and variables[number] == variable)
    }
    for column, floats in columns.items():
        yield Register(LISTED, variable, column, floats, asking)


def summaries_of(registers: Sequence[Register], labels: Sequence[frozenset[str]], before: Sequence[Before]) -> Summaries:
    """Lay registers out by label; `labels` are the variables of each."""
    updates = np.zeros((len(labels), len(registers)), np.uint8)
    drops = np.zeros((len(labels), len(registers)), np.uint8)
    for index, (own, earlier) in enumerate(zip(labels, before, strict=True)):
        for number, register in enumerate(registers):
            updates[index, number] = register.variable in own or (register.variable == ALL_EVENTS and bool(own))
            if not register.asking & earlier.some:
                drops[index, number] = SETTLE
            elif register.of_first and register.variable in earlier.every:
                drops[index, number] = EMPTY
    return Summaries(
        np.array([register.kind for register in registers], np.int32),
        np.array([register.column for register in registers], np.int32),
        np.array([register.floats for register in registers], np.uint8),
        updates,
        drops,
    )



_COMPARED = (Op.LT_I, Op.LE_I, Op.LT_F, Op.LE_F, Op.EQ_I, Op.EQ_F)
_BETWEEN_INTERVALS = (Op.TO_F, Op.ADD_I, Op.ADD_F, Op.SUB_I, Op.SUB_F, Op.MUL_I, Op.MUL_F)
_READING = (Op.LOAD_I, Op.LOAD_F, Op.CONST_I, Op.CONST_F)


def is_bounded(condition: CompiledCondition, constants: Sequence[int]) -> bool:
    """Return whether bounds can be given for both sides of a condition on sets."""
    if not condition.sets or condition.so_far or any(condition.paired) or condition.scope is not None:
        return False
    *inner, last = condition.code
    if last[0] not in _COMPARED:
        return False
    found = directions(condition.code, constants)
    loads = [number for number, (op, _, _, _) in enumerate(condition.code) if op <= Op.LOAD_F]
    slots = [condition.code[number][1] for number in loads]
    if len(set(slots)) != len(slots) or any(found[number] not in (Direction.SMALL, Direction.LARGE) for number in loads):
        return False
    return all(op in _READING or op in _BETWEEN_INTERVALS or op >= Op.COUNT for op, _, _, _ in inner)


def bounds_of(
    conditions: Sequence[tuple[CompiledCondition, Sequence[Register]]],
    constants: Sequence[int],
    labels: Sequence[frozenset[str]],
    before: Sequence[Before],
) -> Bounded:
    """Lay out the conditions that have bounds, each given with its registers."""
    code: list[tuple[int, int, int, int]] = []
    first, spans, adds, chosen = [0], [], [], []
    features: dict[tuple[str, int, bool], int] = {}
    begin = 0
    for condition, registers in conditions:
        end = begin + len(registers)
        if is_bounded(condition, constants):
            for at, (op, a, _, _) in enumerate(condition.code):
                own = [begin + number for number, register in enumerate(registers) if register.instruction == at]
                if not own:
                    code.append((op, a, 0, 0))
                    continue
                register = registers[own[0] - begin]
                feature = features.setdefault((register.variable, register.column, register.floats), len(features))
                code.append((op, own[0], feature, own[-1]))
            first.append(len(code))
            spans.append((begin, end))
            adds.append(any(register.kind == ADDED for register in registers))
            chosen.append(condition)
        begin = end
    read = [frozenset(c.slots) | frozenset(variable for variable, _ in c.sets) for c in chosen]
    return Bounded(
        np.array(code, np.int64).reshape(-1, 4),
        np.array([*constants, 0], np.int64),
        np.array(first, np.int32),
        np.array(adds, np.uint8),
        np.array(spans, np.int32).reshape(-1, 2),
        np.array([[not names & earlier.some for names in read] for earlier in before], np.uint8).reshape(len(labels), len(read)),
        np.array(
            [[name in own or (name == ALL_EVENTS and bool(own)) for name, _, _ in features] for own in labels], np.uint8
        ).reshape(len(labels), len(features)),
        np.array([column for _, column, _ in features], np.int32),
        np.array([floats for _, _, floats in features], np.uint8),
    )
