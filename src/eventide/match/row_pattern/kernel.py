"""The walk over the rows of many partitions: the preferred match at each row, and where to go on behind it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from eventide.match.jit import kernel
from eventide.match.operators import STACK
from eventide.match.row_pattern.completable import earliest_ends
from eventide.match.row_pattern.programs import add_row, observed, row_holds
from eventide.match.row_pattern.tables import ACCEPT, WORD

NO_MATCH = -1
DONE, ROOM_FOR_ROWS, ROOM_FOR_MATCHES, ROOM_FOR_DEPTH, PAUSE, SKIP_TO_FIRST_ROW, SKIP_TO_NO_ROW, OVERFLOW, BUDGET = range(9)
SKIP_PAST_LAST, SKIP_TO_NEXT, SKIP_TO_FIRST, SKIP_TO_LAST = range(4)
PARTITION, ROW, NUMBER, MATCHES, MAPPED, STEPS = range(6)
SMALLEST_STRETCH = 1 << 14


class Input(NamedTuple):
    """The rows of whole partitions."""

    offset: npt.NDArray[np.int64]
    """[partition + 1]: the borders of the partitions."""
    mask: npt.NDArray[np.int64]
    horizon: npt.NDArray[np.int64]
    """[row]: the last row that WITHIN lets into a match that begins here; empty without WITHIN."""
    sets: npt.NDArray[np.uint64]
    at: npt.NDArray[np.int32]
    values: npt.NDArray[np.int64]
    floats: npt.NDArray[np.float64]
    valid: npt.NDArray[np.uint8]


class Scratch(NamedTuple):
    """The way of the search: by depth, the next move to try, the hashes of the step, and registers."""

    choice: npt.NDArray[np.int32]
    hashes: npt.NDArray[np.uint64]
    registers: npt.NDArray[np.int64]
    reals: npt.NDArray[np.float64]
    failed: npt.NDArray[np.uint64]
    """[slot, 2]: hashes of the steps that led nowhere; zero is a free slot."""
    kept: npt.NDArray[np.int64]
    """[0]: the number of failed steps that are remembered."""


class Output(NamedTuple):
    """Matches in the order of the walk."""

    start: npt.NDArray[np.int64]
    number: npt.NDArray[np.int64]
    partition: npt.NDArray[np.int64]
    first: npt.NDArray[np.int64]
    """[match]: where its positions begin in `path`."""
    path: npt.NDArray[np.int16]
    """The positions that took the rows of the matches."""


@kernel
def completes(rows, state, row, end, limit, earliest, base):
    """Return whether a match that reached the state before the row can be completed."""
    if earliest.shape[0] > 0:
        return earliest[row - base, state] <= limit
    number = 0 if row == end else rows.at[row]
    return (rows.sets[number, state // WORD] >> np.uint64(state % WORD)) & np.uint64(1) != 0


@kernel
def takes(tables, rows, position, row, end, limit, earliest, base):
    """Return whether a position may take a row, as far as rows alone tell, and the match be completed behind it."""
    if row >= end or (earliest.shape[0] > 0 and row > limit):
        return False
    needed = tables.bit[position]
    if needed != 0 and rows.mask[row] & needed == 0:
        return False
    return completes(rows, position, row + 1, end, limit, earliest, base)


@kernel
def walk(tables, rows, start, first, end, limit, earliest, base, path):
    """Follow the preferred match where conditions look at rows only; returns its length, or more than the room for it."""
    state = first
    length = 0
    while True:
        row = start + length
        chosen = NO_MATCH
        for number in range(tables.first[state], tables.first[state + 1]):
            move = tables.move[number]
            if move < 0:
                if move == ACCEPT or row == end:
                    return length
            elif takes(tables, rows, move, row, end, limit, earliest, base):
                chosen = move
                break
        if length == path.shape[0]:
            return length + 1
        path[length] = chosen
        state = chosen
        length += 1


@kernel
def remembers(failed, one, two):
    """Return the slot of a failed step, or -1 - slot where it would stand."""
    slot = np.int64(one & np.uint64(failed.shape[0] - 1))
    while failed[slot, 0] != 0 or failed[slot, 1] != 0:
        if failed[slot, 0] == one and failed[slot, 1] == two:
            return slot
        slot = (slot + 1) & (failed.shape[0] - 1)
    return -1 - slot


@kernel
def remember(scratch, one, two):
    """Keep a failed step; when there is no room all are forgotten, which costs time but changes nothing."""
    if 2 * scratch.kept[0] >= scratch.failed.shape[0]:
        forget(scratch)
    slot = remembers(scratch.failed, one, two)
    if slot < 0:
        scratch.failed[-1 - slot, 0] = one
        scratch.failed[-1 - slot, 1] = two
        scratch.kept[0] += 1


@kernel
def forget(scratch):
    """Forget all failed steps."""
    for slot in range(scratch.failed.shape[0]):
        scratch.failed[slot, 0] = 0
        scratch.failed[slot, 1] = 0
    scratch.kept[0] = 0


@kernel
def search(tables, programs, rows, start, first, begin, end, limit, number, earliest, base, path, scratch, steps, budget, stack):
    """Try mappings in the order of preferment; returns (length or NO_MATCH, status, steps)."""
    length = 0
    state = first
    scratch.choice[0] = tables.first[first]
    for register in range(programs.registers):
        scratch.registers[0, register] = -1
    for member in range(programs.set_base.shape[0]):
        scratch.registers[0, programs.set_base[member]] = 0
    for member in range(programs.sum_base.shape[0]):
        scratch.registers[0, programs.sum_base[member]] = 0
        scratch.registers[0, programs.sum_base[member] + 1] = 0
        scratch.reals[0, member] = 0.0
    while True:
        row = start + length
        advanced = False
        while scratch.choice[length] < tables.first[state + 1]:
            move = tables.move[scratch.choice[length]]
            scratch.choice[length] += 1
            if move < 0:
                if move == ACCEPT or row == end:
                    return length, DONE, steps
                continue
            if not takes(tables, rows, move, row, end, limit, earliest, base):
                continue
            steps += 1
            if steps > budget:
                return NO_MATCH, BUDGET, steps
            if length == path.shape[0]:
                return NO_MATCH, ROOM_FOR_ROWS, steps
            if length + 2 > scratch.choice.shape[0]:
                return NO_MATCH, ROOM_FOR_DEPTH, steps
            path[length] = move
            registers = scratch.registers[length + 1]
            reals = scratch.reals[length + 1]
            fits = add_row(
                programs, tables.variable[move], row, scratch.registers[length], registers,
                scratch.reals[length], reals, rows.values, rows.floats, rows.valid,
            )  # fmt: skip
            if not fits:
                return NO_MATCH, OVERFLOW, steps
            condition = tables.program[move]
            if condition >= 0 and not row_holds(
                programs, tables, condition, row, start, begin, end, number, path, registers, reals,
                rows.values, rows.floats, rows.valid, stack,
            ):  # fmt: skip
                continue
            if programs.merges:
                one, two = observed(
                    programs, tables, move, row, start, begin, end, limit, number, path, registers, reals, rows.values, rows.valid
                )
                if remembers(scratch.failed, one, two) >= 0:
                    continue
                scratch.hashes[length, 0] = one
                scratch.hashes[length, 1] = two
            length += 1
            state = move
            scratch.choice[length] = tables.first[move]
            advanced = True
            break
        if advanced:
            continue
        if length == 0:
            return NO_MATCH, DONE, steps
        length -= 1
        state = path[length - 1] if length > 0 else first
        if programs.merges:
            remember(scratch, scratch.hashes[length, 0], scratch.hashes[length, 1])


@kernel
def next_start(tables, skip, skip_to, start, length, path):
    """Return (row where the search goes on, status) behind a match that mapped rows."""
    if skip == SKIP_PAST_LAST:
        return start + length, DONE
    if skip == SKIP_TO_NEXT:
        return start + 1, DONE
    found = -1
    for place in range(length):
        if skip_to[tables.variable[path[place]]]:
            found = place
            if skip == SKIP_TO_FIRST:
                break
    if found < 0:
        return start, SKIP_TO_NO_ROW
    if found == 0:
        return start, SKIP_TO_FIRST_ROW
    return start + found, DONE


@kernel
def stretch(tables, rows, start, end):
    """Return (first row behind the stretch, earliest ends in it): as many rows as make looking ahead by WITHIN worth it."""
    states = tables.first.shape[0] - 1
    behind = min(end, max(start + max(1, SMALLEST_STRETCH // states), rows.horizon[start] + 1))
    last = min(end, rows.horizon[behind - 1] + 1)
    earliest = np.empty((last - start + 1, states), np.int32)
    earliest_ends(tables, rows.mask, start, end, last, earliest)
    return behind, earliest


@kernel
def recognize(tables, programs, rows, skip, skip_to, searches, state, output, scratch, budget):
    """Walk on from where `state` is; returns a status. DONE: all partitions are walked.

    Room that is missing is asked for by the status; calling again goes on at the same row. `state` holds partition, row, match
    number, matches and mapped rows in the output, and steps.
    """
    starts = tables.first.shape[0] - 3
    stack = (np.zeros(STACK, np.int64), np.zeros(STACK), np.zeros(STACK, np.int64))
    earliest = np.empty((0, 1), np.int32)
    while state[PARTITION] < rows.offset.shape[0] - 1:
        begin = rows.offset[state[PARTITION]]
        end = rows.offset[state[PARTITION] + 1]
        base = begin
        behind = np.int64(-1)
        while state[ROW] < end:
            start = state[ROW]
            first = starts if start > begin else starts + 1
            limit = np.int64(0)
            if rows.horizon.shape[0] > 0:
                limit = rows.horizon[start]
                if start >= behind:
                    behind, earliest = stretch(tables, rows, start, end)
                    base = start
            if not completes(rows, first, start, end, limit, earliest, base):
                state[ROW] += 1
                continue
            if state[MATCHES] == output.start.shape[0]:
                return ROOM_FOR_MATCHES
            path = output.path[state[MAPPED] :]
            if searches:
                length, status, steps = search(
                    tables, programs, rows, start, first, begin, end, limit, state[NUMBER] + 1, earliest, base, path,
                    scratch, state[STEPS], budget, stack,
                )  # fmt: skip
                state[STEPS] = steps
                if status != DONE:
                    return status
                if length == NO_MATCH:
                    state[ROW] += 1
                    continue
            else:
                length = walk(tables, rows, start, first, end, limit, earliest, base, path)
                if length > path.shape[0]:
                    return ROOM_FOR_ROWS
            following, status = (start + 1, DONE) if length == 0 else next_start(tables, skip, skip_to, start, length, path)
            if status != DONE:
                return status
            state[NUMBER] += 1
            output.start[state[MATCHES]] = start
            output.number[state[MATCHES]] = state[NUMBER]
            output.partition[state[MATCHES]] = state[PARTITION]
            output.first[state[MATCHES]] = state[MAPPED]
            state[MATCHES] += 1
            state[MAPPED] += length
            state[ROW] = following
            if 2 * state[MAPPED] > output.path.shape[0] and state[MATCHES] > 1:
                return PAUSE
        state[PARTITION] += 1
        state[ROW] = end
        state[NUMBER] = 0
    return DONE
