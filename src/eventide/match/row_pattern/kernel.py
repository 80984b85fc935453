"""The walk over the rows of many partitions: the preferred match at each row, and where to go on behind it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from eventide.compilation import inner_kernel, kernel
from eventide.match.budget import SPENT
from eventide.match.programs.operators import STACK
from eventide.match.row_pattern.completable import earliest_ends, is_member
from eventide.match.row_pattern.programs import add_row, observed, row_holds
from eventide.match.row_pattern.tables import ACCEPT, WORD

NO_MATCH = -1
UNDECIDED = -2
DONE, PAUSE, ROOM_FOR_ROWS, ROOM_FOR_MATCHES, ROOM_FOR_DEPTH, ROOM_FOR_MEMORY = range(6)
SKIP_TO_FIRST_ROW, SKIP_TO_NO_ROW, OVERFLOW = range(6, 9)
SKIP_PAST_LAST, SKIP_TO_NEXT, SKIP_TO_FIRST, SKIP_TO_LAST = range(4)
PARTITION, ROW, NUMBER, MATCHES, MAPPED, WALKED = range(6)
STATES = 6
SMALLEST_STRETCH = 1 << 14
LARGEST_MEMORY = 1 << 22
"""Failed steps that are remembered, twice."""


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
    first: npt.NDArray[np.int64]
    """[partition]: the row where the walk begins; in the end, the first row at which nothing is decided."""
    number: npt.NDArray[np.int64]
    """[partition]: how many matches there are before it; in the end, in all."""
    opening: npt.NDArray[np.uint8]
    """[partition]: whether its first row is the first of all."""
    end: npt.NDArray[np.int64]
    """[partition]: the border of the rows that can be judged."""
    beyond: npt.NDArray[np.uint64]
    """[word]: the states that rows behind `end` may complete; none where no rows are to come."""
    reach: int
    """How many rows behind a match must be known."""


class Scratch(NamedTuple):
    """The way of the search: by depth, the next move to try and the registers; and the steps that led nowhere."""

    choice: npt.NDArray[np.int32]
    registers: npt.NDArray[np.int64]
    reals: npt.NDArray[np.float64]
    failed: npt.NDArray[np.uint64]
    """[slot, 3]: two hashes of a step that led nowhere, and the generation that remembered it; older slots are free."""
    kept: npt.NDArray[np.int64]
    """The number of failed steps that are remembered, the generation, and the last row of them."""


class RowMatchBatch(NamedTuple):
    """Matches in the order of the walk."""

    start: npt.NDArray[np.int64]
    number: npt.NDArray[np.int64]
    partition: npt.NDArray[np.int64]
    first: npt.NDArray[np.int64]
    """[match]: where its positions begin in `path`; in what the matcher yields, one entry more for the end."""
    path: npt.NDArray[np.int16]
    """The positions that took the rows of the matches."""


@inner_kernel
def completes(state, row, end, limit, at, sets, earliest, base):
    """Return whether a match that reached the state before the row can be completed."""
    if earliest.shape[0] > 0:
        return earliest[row - base, state] <= limit
    number = 0 if row == end else at[row]
    return (sets[number, state // WORD] >> np.uint64(state % WORD)) & np.uint64(1) != 0


@inner_kernel
def takes(bit, mask, position, row, end, limit, at, sets, earliest, base):
    """Return whether a position may take a row, as far as rows alone tell, and the match be completed behind it."""
    if row >= end or (earliest.shape[0] > 0 and row > limit):
        return False
    needed = bit[position]
    if needed != 0 and mask[row] & needed == 0:
        return False
    return completes(position, row + 1, end, limit, at, sets, earliest, base)


@inner_kernel
def walk(firsts, moves, bit, mask, at, sets, start, first, end, beyond, path, begin):
    """Follow the preferred match where conditions look at rows only; returns its length, or more than the room for it.

    It is UNDECIDED where a row to come could be preferred. Arrays come one by one: handed over in a tuple, each call would count
    references to all of them.
    """
    state = first
    row = start
    place = begin
    words = sets.shape[1]
    flat = sets.reshape(-1)
    while True:
        chosen = NO_MATCH
        symbols = mask[row] if row < end else 0
        later = np.int64(at[row + 1]) * words if row + 1 < end else np.int64(0)
        for number in range(firsts[state], firsts[state + 1]):
            move = moves[number]
            if move < 0:
                if move == ACCEPT or row == end:
                    return row - start
            elif row == end:
                if is_member(beyond, move):
                    return UNDECIDED
            elif bit[move] == 0 or symbols & bit[move] != 0:
                if (flat[later + move // WORD] >> np.uint64(move % WORD)) & np.uint64(1) != 0:
                    chosen = move
                    break
        if place == path.shape[0]:
            return row - start + 1
        path[place] = chosen
        place += 1
        row += 1
        state = chosen


@inner_kernel
def walk_within(firsts, moves, bit, mask, earliest, base, start, first, end, limit, beyond, path, begin):
    """Do the same where WITHIN sets a limit: a move is good when the match can end before it."""
    state = first
    row = start
    place = begin
    while True:
        chosen = NO_MATCH
        for number in range(firsts[state], firsts[state + 1]):
            move = moves[number]
            if move < 0:
                if move == ACCEPT or row == end:
                    return row - start
            elif row > limit:
                continue
            elif row == end:
                if is_member(beyond, move):
                    return UNDECIDED
            elif bit[move] == 0 or mask[row] & bit[move] != 0:
                if earliest[row + 1 - base, move] <= limit:
                    chosen = move
                    break
        if place == path.shape[0]:
            return row - start + 1
        path[place] = chosen
        place += 1
        row += 1
        state = chosen


@inner_kernel
def remembers(failed, kept, one, two):
    """Return the slot of a failed step, or -1 - slot where it would stand."""
    slot = np.int64(one & np.uint64(failed.shape[0] - 1))
    while failed[slot, 2] == np.uint64(kept[1]):
        if failed[slot, 0] == one and failed[slot, 1] == two:
            return slot
        slot = (slot + 1) & (failed.shape[0] - 1)
    return -1 - slot


@inner_kernel
def remember(failed, kept, one, two):
    """Keep a failed step."""
    slot = remembers(failed, kept, one, two)
    if slot < 0:
        failed[-1 - slot, 0] = one
        failed[-1 - slot, 1] = two
        failed[-1 - slot, 2] = kept[1]
        kept[0] += 1


@inner_kernel
def forget(kept):
    """Forget all failed steps: that may cost time but changes nothing."""
    kept[0] = 0
    kept[1] += 1


@kernel
def remember_all(failed, kept, more):
    """Copy failed steps into a larger table."""
    kept[0] = 0
    for slot in range(failed.shape[0]):
        if failed[slot, 2] == np.uint64(kept[1]):
            remember(more, kept, failed[slot, 0], failed[slot, 1])


@inner_kernel
def clear_registers(registers, reals, set_base, sum_base):
    """Make the registers those of a match without rows."""
    for register in range(registers.shape[1]):
        registers[0, register] = -1
    for number in range(set_base.shape[0]):
        registers[0, set_base[number]] = 0
    for number in range(sum_base.shape[0]):
        registers[0, sum_base[number]] = 0
        registers[0, sum_base[number] + 1] = 0
        reals[0, number] = 0.0


@inner_kernel
def next_start(variable, skip, skip_to, start, length, path, place):
    """Return (row where the search goes on, status) behind a match that mapped rows."""
    if skip == SKIP_PAST_LAST:
        return start + length, DONE
    if skip == SKIP_TO_NEXT:
        return start + 1, DONE
    found = -1
    for number in range(length):
        if skip_to[variable[path[place + number]]]:
            found = number
            if skip == SKIP_TO_FIRST:
                break
    if found < 0:
        return start, SKIP_TO_NO_ROW
    if found == 0:
        return start, SKIP_TO_FIRST_ROW
    return start + found, DONE


@inner_kernel
def stretch(tables, rows, start, end):
    """Return (first row behind the stretch, earliest ends in it): as many rows as make looking ahead by WITHIN worth it."""
    states = tables.first.shape[0] - 1
    behind = min(end, max(start + max(1, SMALLEST_STRETCH // states), rows.horizon[start] + 1))
    last = min(end, rows.horizon[behind - 1] + 1)
    earliest = np.empty((last - start + 1, states), np.int32)
    earliest_ends(tables, rows.mask, start, end, last, rows.beyond, earliest)
    return behind, earliest


@inner_kernel
def put_match(variable, skip, skip_to, state, output, start, length):
    """Write a match behind those in the output and move on; returns a status."""
    following = start + 1
    if length > 0:
        following, status = next_start(variable, skip, skip_to, start, length, output.path, state[MAPPED])
        if status != DONE:
            return status
    match = state[MATCHES]
    state[NUMBER] += 1
    output.start[match] = start
    output.number[match] = state[NUMBER]
    output.partition[match] = state[PARTITION]
    output.first[match] = state[MAPPED]
    state[MATCHES] += 1
    state[MAPPED] += length
    state[ROW] = following
    if 2 * state[MAPPED] > output.path.shape[0] and state[MATCHES] > 1:
        return PAUSE
    return DONE


@kernel
def enter_partition(state, first, number):
    """Go to where the walk of the partition begins, if there is one left."""
    if state[PARTITION] < first.shape[0]:
        state[ROW] = first[state[PARTITION]]
        state[NUMBER] = number[state[PARTITION]]


@inner_kernel
def leave_partition(state, first, number):
    """Note how far the partition is decided and go on with the next one."""
    first[state[PARTITION]] = state[ROW]
    number[state[PARTITION]] = state[NUMBER]
    state[PARTITION] += 1
    enter_partition(state, first, number)


@kernel
def recognize_rows(tables, rows, skip, skip_to, state, output):
    """Walk on from where `state` is, with conditions that look at rows only; returns a status. DONE: all partitions are walked.

    A partition is left where a row to come could change the match; `rows.first` keeps where. Room that is missing is asked for by
    the status; calling again goes on at the same row. `state` holds partition, row, match number, matches and mapped rows in the
    output, and one more than the rows of a search that stopped in its middle.
    """
    # Taken out of their tuples once: in the loop, references to all of them would be counted each time.
    firsts, moves, bit, variable = tables.first, tables.move, tables.bit, tables.variable
    offset, mask, horizon, sets, at = rows.offset, rows.mask, rows.horizon, rows.sets, rows.at
    ends, openings, beyond, reach = rows.end, rows.opening, rows.beyond, rows.reach
    path = output.path
    starts = np.int64(firsts.shape[0] - 3)
    earliest = np.empty((0, 1), np.int32)
    while state[PARTITION] < offset.shape[0] - 1:
        begin = offset[state[PARTITION]]
        border = offset[state[PARTITION] + 1]
        end = ends[state[PARTITION]]
        opening = openings[state[PARTITION]]
        base = begin
        behind = np.int64(-1)
        while state[ROW] < end:
            start = state[ROW]
            first = starts + 1 if start == begin and opening else starts
            limit = np.int64(0)
            if horizon.shape[0] > 0:
                limit = horizon[start]
                if start >= behind:
                    behind, earliest = stretch(tables, rows, start, end)
                    base = start
            if not completes(first, start, end, limit, at, sets, earliest, base):
                state[ROW] += 1
                continue
            if state[MATCHES] == output.start.shape[0]:
                return ROOM_FOR_MATCHES
            if horizon.shape[0] > 0:
                length = walk_within(
                    firsts, moves, bit, mask, earliest, base, start, first, end, limit, beyond, path, state[MAPPED]
                )
            else:
                length = walk(firsts, moves, bit, mask, at, sets, start, first, end, beyond, path, state[MAPPED])
            if length > path.shape[0] - state[MAPPED]:
                return ROOM_FOR_ROWS
            if length == UNDECIDED or (length > 0 and start + length + reach > border):
                break
            status = put_match(variable, skip, skip_to, state, output, start, length)
            if status != DONE:
                return status
        leave_partition(state, rows.first, rows.number)
    return DONE


@kernel
def recognize_search(tables, programs, rows, skip, skip_to, state, output, scratch, steps):
    """Do the same with conditions on the match so far: try mappings in the order of preferment.

    SPENT leaves the search in its middle: the next call goes on with the same output and scratch.

    It is a kernel of its own, for it takes far longer to compile. Arrays are taken out of their tuples once; in the loop, or
    handed to a function for each start, references to all of them would be counted each time.
    """
    firsts, moves, bit, program, variable = tables.first, tables.move, tables.bit, tables.program, tables.variable
    offset, mask, horizon, sets, at = rows.offset, rows.mask, rows.horizon, rows.sets, rows.at
    ends, openings, beyond, reach = rows.end, rows.opening, rows.beyond, rows.reach
    values, floats, valid = rows.values, rows.floats, rows.valid
    choice, registers, reals = scratch.choice, scratch.registers, scratch.reals
    failed, kept, merges = scratch.failed, scratch.kept, programs.merges
    set_has, set_base, set_firsts, set_lasts = programs.set_has, programs.set_base, programs.set_firsts, programs.set_lasts
    sum_set, sum_op, sum_column, sum_base = programs.sum_set, programs.sum_op, programs.sum_column, programs.sum_base
    code, code_first, constants, label_code = programs.code, programs.first, programs.constants, programs.label_code
    watch, live, counts_matches = programs.watch, programs.live, programs.counts_matches
    wholes, stack_reals, nulls = np.zeros(STACK, np.int64), np.zeros(STACK), np.zeros(STACK, np.int64)
    real_constants, real_bits = constants.view(np.float64), reals.view(np.int64)
    path = output.path
    earliest = np.empty((0, 1), np.int32)
    starts = np.int64(firsts.shape[0] - 3)
    while state[PARTITION] < offset.shape[0] - 1:
        begin = offset[state[PARTITION]]
        border = offset[state[PARTITION] + 1]
        end = ends[state[PARTITION]]
        opening = openings[state[PARTITION]]
        base = begin
        behind = np.int64(-1)
        while state[ROW] < end:
            start = state[ROW]
            first = starts + 1 if start == begin and opening else starts
            limit = np.int64(0)
            if horizon.shape[0] > 0:
                limit = horizon[start]
                if start >= behind:
                    behind, earliest = stretch(tables, rows, start, end)
                    base = start
            number = state[NUMBER] + 1
            place = state[MAPPED]
            room = path.shape[0] - place
            # One type for all arguments: a kernel is compiled again for every mix of integer types.
            length = np.int64(0)
            current = np.int64(first)
            if state[WALKED] > 0:
                length = state[WALKED] - 1
                state[WALKED] = 0
                if length > 0:
                    current = np.int64(path[place + length - 1])
            else:
                if not completes(first, start, end, limit, at, sets, earliest, base):
                    state[ROW] += 1
                    continue
                if state[MATCHES] == output.start.shape[0]:
                    return ROOM_FOR_MATCHES
                clear_registers(registers, reals, set_base, sum_base)
                if kept[2] < start:
                    # No failed step is ahead; without any, steps need not be looked up.
                    forget(kept)
                choice[0] = firsts[first]
            searching = True
            while searching:
                if steps[0] <= 0:
                    state[WALKED] = length + 1
                    return SPENT
                row = start + length
                advanced = False
                while choice[length] < firsts[current + 1]:
                    move = np.int64(moves[choice[length]])
                    choice[length] += 1
                    if move < 0:
                        if move == ACCEPT or row == end:
                            searching = False
                            break
                        continue
                    if row == end and (horizon.shape[0] == 0 or row <= limit) and is_member(beyond, move):
                        length = np.int64(UNDECIDED)
                        searching = False
                        break
                    if not takes(bit, mask, move, row, end, limit, at, sets, earliest, base):
                        continue
                    steps[0] -= 1
                    if length == room:
                        return ROOM_FOR_ROWS
                    if length + 2 > choice.shape[0]:
                        return ROOM_FOR_DEPTH
                    path[place + length] = move
                    fits = add_row(
                        set_has, set_base, set_firsts, set_lasts, sum_set, sum_op, sum_column, sum_base,
                        np.int64(variable[move]), row, registers, reals, length, values, floats, valid,
                    )  # fmt: skip
                    if not fits:
                        return OVERFLOW
                    condition = np.int64(program[move])
                    if condition >= 0 and not row_holds(
                        code, code_first, constants, real_constants, set_has, set_base, sum_base, label_code, variable,
                        condition, row, start, begin, border, number, path, place, registers, reals, length + 1, values, floats,
                        valid, wholes, stack_reals, nulls,
                    ):  # fmt: skip
                        continue
                    if merges and kept[0] > 0:
                        one, two = observed(
                            watch, live, counts_matches, set_has, set_base, sum_base, label_code, variable, move, row, start,
                            begin, border, limit, number, path, place, registers, real_bits, length + 1, values, valid,
                        )  # fmt: skip
                        if remembers(failed, kept, one, two) >= 0:
                            continue
                    length += 1
                    current = move
                    choice[length] = firsts[move]
                    advanced = True
                    break
                if advanced or not searching:
                    continue
                if length == 0:
                    length = np.int64(NO_MATCH)
                    break
                length -= 1
                if merges:
                    if 2 * kept[0] >= failed.shape[0]:
                        if failed.shape[0] < LARGEST_MEMORY:
                            return ROOM_FOR_MEMORY
                        forget(kept)
                    # The registers of the step that led nowhere are still there.
                    one, two = observed(
                        watch, live, counts_matches, set_has, set_base, sum_base, label_code, variable, current, row - 1, start,
                        begin, border, limit, number, path, place, registers, real_bits, length + 1, values, valid,
                    )  # fmt: skip
                    remember(failed, kept, one, two)
                    kept[2] = max(kept[2], row)
                current = np.int64(path[place + length - 1]) if length > 0 else np.int64(first)
            if length == NO_MATCH:
                state[ROW] += 1
                continue
            if length == UNDECIDED or (length > 0 and start + length + reach > border):
                break
            status = put_match(variable, skip, skip_to, state, output, start, length)
            if status != DONE:
                return status
        leave_partition(state, rows.first, rows.number)
    return DONE
