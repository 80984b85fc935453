"""The disorder-native operator over a batch: every event is placed, then the matches that it completes are built."""

from __future__ import annotations

from eventide.match.disorder.building import build
from eventide.match.disorder.holding import retract
from eventide.match.disorder.rules import window_begin
from eventide.match.disorder.settings import Naive
from eventide.match.disorder.stacks import enter_forbidden, enter_step, new_instance, purge_forbidden, purge_steps
from eventide.match.disorder.state import CLOCK, DISCARDED, LATE, LIVE, NONE, RESUMED, STEP, WATERMARK
from eventide.match.enumeration import FINISHED
from eventide.match.jit import kernel
from eventide.match.programs import new_scratch

NEED_INSTANCES = 4
DISCARD = int(Naive.DISCARD)
APPEND = int(Naive.APPEND)
PURGE_STACKS = int(Naive.PURGE_STACKS)
PURGE_FORBIDDEN = int(Naive.PURGE_FORBIDDEN)


@kernel
def follows_latest(stacks, rows, slot, row):
    """Return whether an event is later than all in the stacks of its slot (AIS-CLOCK of the slot)."""
    latest = stacks.latest
    if rows.clock[row] != latest[slot, 0]:
        return rows.clock[row] > latest[slot, 0]
    if rows.tie[row] != latest[slot, 1]:
        return rows.tie[row] > latest[slot, 1]
    return rows.sequence[row] > latest[slot, 2]


@kernel
def purge_naively(query, pool, stacks, counters, slot):
    """Purge as if no event came late."""
    bound = window_begin(query, counters[CLOCK])
    if query.naive & PURGE_STACKS:
        purge_steps(query, pool, stacks, counters, slot, bound)
    if query.naive & PURGE_FORBIDDEN:
        purge_forbidden(query, pool, stacks, counters, slot, bound)


@kernel
def place(query, absences, programs, pool, stacks, holding, counters, slot, mask, row, partial, rows, scratch):
    """Put an event into the lists it belongs to; `partial.own` gets its instance for each step to build from.

    Returns whether there is any.
    """
    steps = query.bit.shape[0]
    follows = follows_latest(stacks, rows, slot, row)
    for at in range(query.forbidden_bit.shape[0]):
        if mask >> query.forbidden_bit[at] & 1:
            own = new_instance(pool, counters, rows, row, query.number[at] >= 0)
            enter_forbidden(query, pool, stacks, counters, slot, at, own)
            # What comes after all events of the key can only stand behind a match.
            if stacks.held[slot] != NONE and (query.gap[at] == steps or not follows):
                retract(query, absences, programs, stacks, holding, counters, slot, at, row, partial, rows, scratch)
    in_order = follows and query.fast_path
    builds = False
    entered = False
    # The last step first: an event must not find itself in the stack of the step before.
    for step in range(steps - 1, -1, -1):
        partial.own[step] = NONE
        if mask >> query.bit[step] & 1:
            if step > 0 and query.naive & DISCARD and stacks.newest[slot, step - 1] == NONE:
                counters[DISCARDED] += 1
                continue
            own = new_instance(pool, counters, rows, row, True)
            enter_step(query, pool, stacks, counters, slot, step, own, in_order)
            entered = True
            if step == steps - 1 or not (in_order or query.naive & APPEND):
                partial.own[step] = own
                builds = True
    if entered and follows:
        stacks.latest[slot, 0] = rows.clock[row]
        stacks.latest[slot, 1] = rows.tie[row]
        stacks.latest[slot, 2] = rows.sequence[row]
    return builds


@kernel
def advance(query, absences, programs, pool, stacks, holding, counters, masks, slots, offset, begin, end, partial, rows, found):
    """Take the events of rows in the order of arrival; returns (status, next row, matches written).

    `masks` and `slots` begin at the row `offset`. A status other than FINISHED asks for room; the call is then repeated.
    """
    scratch = new_scratch()
    steps = query.bit.shape[0]
    most = steps + query.forbidden_bit.shape[0]
    number = 0
    row = begin
    while row < end:
        slot = slots[row - offset]
        if counters[RESUMED] == 0:
            clock = rows.clock[row]
            if clock < counters[WATERMARK]:
                counters[LATE] += 1
                row += 1
                continue
            counters[CLOCK] = max(counters[CLOCK], clock)
            if query.naive & (PURGE_STACKS | PURGE_FORBIDDEN):
                purge_naively(query, pool, stacks, counters, slot)
            if masks[row - offset] == 0:
                row += 1
                continue
            if counters[LIVE] + most > pool.clock.shape[0]:
                return NEED_INSTANCES, row, number
            if not place(
                query, absences, programs, pool, stacks, holding, counters, slot, masks[row - offset], row, partial, rows, scratch
            ):
                row += 1
                continue
            counters[STEP] = steps - 1
            counters[RESUMED] = 1
        while counters[STEP] >= 0:
            step = counters[STEP]
            if partial.own[step] != NONE:
                status, number = build(
                    query, absences, programs, pool, stacks, holding, counters, slot, step, partial, rows, found, number, scratch
                )
                if status != FINISHED:
                    return status, row, number
            counters[STEP] -= 1
        counters[RESUMED] = 0
        row += 1
    return FINISHED, row, number
