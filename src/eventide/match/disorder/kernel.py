"""The disorder-native operator over a batch: every event is placed, then the matches that it completes are built."""

from __future__ import annotations

import numpy as np

from eventide.compilation import inner_kernel, kernel
from eventide.match.budget import SPENT
from eventide.match.dag.enumeration import FINISHED, FULL
from eventide.match.disorder.building import fulfils, next_match, suffix_holds
from eventide.match.disorder.holding import deadline_of, hold, retract, write_match
from eventide.match.disorder.rules import window_begin
from eventide.match.disorder.stacks import (
    enter_forbidden,
    enter_step,
    know_forbidden,
    new_instance,
)
from eventide.match.disorder.state import (
    BUILT,
    CLOCK,
    LATE,
    LIVE,
    LOWEST,
    NONE,
    PLACE,
    SEQUENCE,
    STEP,
    TIE,
    TIME,
    WAITS,
    WATERMARK,
)
from eventide.match.programs.programs import new_scratch

NEED_HOLDING = 3
NEED_INSTANCES = 4


@inner_kernel
def follows_latest(latest, order, slot, row):
    """Return whether an event is later than all in the stacks of its slot (AIS-CLOCK of the slot)."""
    if order[row, TIME] != latest[slot, TIME]:
        return order[row, TIME] > latest[slot, TIME]
    if order[row, TIE] != latest[slot, TIE]:
        return order[row, TIE] > latest[slot, TIE]
    return order[row, SEQUENCE] > latest[slot, SEQUENCE]


@inner_kernel
def forbid(query, absences, programs, pool, stacks, holding, counters, slot, mask, row, follows, partial, rows, scratch):
    """Buffer an event where it is a forbidden one, and drop the held matches that it forbids."""
    steps = query.bit.shape[0]
    for at in range(query.forbidden_bit.shape[0]):
        if mask >> query.forbidden_bit[at] & 1:
            own = new_instance(
                pool.order, pool.link, pool.before, pool.row, pool.used, counters, rows.order, row, query.number[at] >= 0
            )
            enter_forbidden(query, pool, stacks, counters, slot, at, own)
            # What comes after all events of the key can only stand behind a match.
            if stacks.held[slot] != NONE and (query.gap[at] == steps or not follows):
                retract(query, absences, programs, stacks, holding, counters, slot, at, row, partial, rows, scratch)


@kernel
def advance(
    query, absences, programs, pool, stacks, holding, counters, masks, slots, offset, begin, end, partial, rows, found, left
):
    """Take the events of rows in the order of arrival; returns (status, next row, matches written).

    `masks` and `slots` begin at the row `offset`. A status other than FINISHED asks for room or steps; the call is then repeated.
    Where conditions are judged nowhere, `absences` and `programs` are None.
    """
    scratch = new_scratch()
    # Arrays are taken out of their tuples once: kernels count references whenever they hand a tuple on.
    order, link, before, named, used = pool.order, pool.link, pool.before, pool.row, pool.used
    oldest, newest, latest, row_order = stacks.oldest, stacks.newest, stacks.latest, rows.order
    bit, label, gap_first, column, conditions = query.bit, query.label, query.gap_first, query.column, query.number
    instances, chosen, path_row, path_label = partial.own, partial.chosen, partial.path_row, partial.path_label
    steps = bit.shape[0]
    window, paused = query.window, partial.paused
    simple = query.gap.shape[0] == 0 and programs is None
    holds = query.deadline_step >= 0
    wanted = np.int64(0)
    forbidden = np.int64(0)
    for step in range(steps):
        wanted |= np.int64(1) << bit[step]
    for at in range(query.forbidden_bit.shape[0]):
        forbidden |= np.int64(1) << query.forbidden_bit[at]
    most = steps + query.forbidden_bit.shape[0]
    capacity = named.shape[0]
    number = 0
    row = begin
    while row < end:
        slot = slots[row - offset]
        if counters[STEP] == NONE:
            if left[0] <= 0:
                return SPENT, row, number
            left[0] -= 1
            clock = row_order[row, TIME]
            mask = masks[row - offset]
            if clock < counters[WATERMARK]:
                counters[LATE] += 1
                row += 1
                continue
            counters[CLOCK] = max(counters[CLOCK], clock)
            if counters[LIVE] + most > capacity:
                return NEED_INSTANCES, row, number
            follows = follows_latest(latest, row_order, slot, row)
            if mask & forbidden:
                forbid(
                    query, absences, programs, pool, stacks, holding, counters, slot, mask, row, follows, partial, rows, scratch
                )
            if not mask & wanted:
                row += 1
                continue
            # The last step first: an event must not find itself in the stack of the step before.
            for step in range(steps - 1, -1, -1):
                instances[step] = NONE
                if not mask >> bit[step] & 1:
                    continue
                own = new_instance(order, link, before, named, used, counters, row_order, row, True)
                enter_step(order, link, oldest, newest, counters, slot, step, steps, own, follows)
                if forbidden:
                    know_forbidden(order, link, before, newest, query.step, column, slot, step, steps, own)
                if step == steps - 1 or not follows:
                    instances[step] = own
                    counters[STEP] = max(counters[STEP], step)
                if follows:
                    for part in range(3):
                        latest[slot, part] = row_order[row, part]
        while counters[STEP] >= 0:
            step = counters[STEP]
            waits = counters[WAITS] != 0
            counters[WAITS] = 0
            if instances[step] != NONE:
                beginning = not waits and paused[PLACE] == 0
                possible = True
                if beginning:
                    chosen[step] = instances[step]
                    path_row[steps - 1 - step] = row
                    if programs is not None:
                        if step == steps - 1:
                            possible = suffix_holds(programs, path_row, path_label, 1, rows, scratch)
                while possible:
                    outcome = 1
                    if not waits:
                        outcome = next_match(
                            order,
                            link,
                            before,
                            named,
                            gap_first,
                            column,
                            conditions,
                            chosen,
                            path_row,
                            path_label,
                            programs,
                            rows,
                            scratch,
                            counters,
                            step,
                            beginning,
                            window,
                            paused,
                            left,
                        )
                    if outcome == SPENT:
                        return SPENT, row, number
                    if outcome == 0:
                        break
                    waits = beginning = False
                    counters[BUILT] += 1
                    if order[chosen[0], TIME] < window_begin(window, order[chosen[steps - 1], TIME]):
                        continue
                    if not simple and not fulfils(query, absences, programs, pool, stacks, slot, partial, rows, scratch):
                        continue
                    status = FINISHED
                    deadline = deadline_of(query, order, chosen) if holds else LOWEST
                    if holds and deadline >= counters[WATERMARK]:
                        if not hold(query, stacks, holding, counters, slot, partial, deadline):
                            status = NEED_HOLDING
                    elif write_match(found, number, label, path_row, 0, True):
                        number += 1
                    else:
                        status = FULL
                    if status != FINISHED:
                        counters[BUILT] -= 1
                        counters[WAITS] = 1
                        return status, row, number
            counters[STEP] -= 1
        row += 1
    return FINISHED, row, number
