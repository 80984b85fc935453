"""Sorted stacks under disorder: insertion with RIP, RIN and forbidden events, and purging (Li 2010, 4.5.2 and 4.5.3)."""

from __future__ import annotations

from eventide.compilation import inner_kernel, kernel
from eventide.match.disorder.state import (
    APPENDED,
    DISPLACED,
    FREE,
    INSERTIONS,
    LIVE,
    NEWER,
    NONE,
    OLDER,
    PURGED,
    RIN,
    RIN_RESETS,
    RIP,
    RIP_RESETS,
    SEQUENCE,
    TIE,
    TIME,
    TOP,
)


@inner_kernel
def precedes(order, one, other):
    """Return whether an event comes strictly before another."""
    if order[one, TIME] != order[other, TIME]:
        return order[one, TIME] < order[other, TIME]
    if order[one, TIE] != order[other, TIE]:
        return order[one, TIE] < order[other, TIE]
    return order[one, SEQUENCE] < order[other, SEQUENCE]


@inner_kernel
def new_instance(order, link, before, named, used, counters, row_order, row, keeps_row):
    """Take a free instance for the event of a row; the caller has made sure that there is one."""
    own = counters[FREE]
    if own != NONE:
        counters[FREE] = link[own, OLDER]
    else:
        own = counters[TOP]
        counters[TOP] += 1
    counters[LIVE] += 1
    for column in range(3):
        order[own, column] = row_order[row, column]
    for column in range(4):
        link[own, column] = NONE
    for column in range(before.shape[1]):
        before[own, column] = NONE
    named[own] = row if keeps_row else NONE
    used[own] = 1
    return own


@inner_kernel
def put(order, link, oldest, newest, counters, slot, number, own, on_top):
    """Put an instance into a list: on top, or in its place among the others."""
    older = newest[slot, number]
    newer = NONE
    if not on_top:
        while older != NONE and precedes(order, own, older):
            newer = older
            older = link[older, OLDER]
            counters[DISPLACED] += 1
    link[own, OLDER] = older
    link[own, NEWER] = newer
    if older == NONE:
        oldest[slot, number] = own
    else:
        link[older, NEWER] = own
    if newer == NONE:
        newest[slot, number] = own
    else:
        link[newer, OLDER] = own
    counters[INSERTIONS] += 1
    return newer


@inner_kernel
def latest_before(order, link, own, candidate):
    """Go back in a list from a candidate to the latest instance that precedes this one."""
    while candidate != NONE and not precedes(order, candidate, own):
        candidate = link[candidate, OLDER]
    return candidate


@inner_kernel
def enter_step(order, link, oldest, newest, counters, slot, step, steps, own, in_order):
    """Put an instance into the stack of a step, set its RIP and RIN and repair those of its neighbours."""
    newer = put(order, link, oldest, newest, counters, slot, step, own, in_order)
    if in_order:
        counters[APPENDED] += 1
    if step > 0:
        start = newest[slot, step - 1] if newer == NONE else link[newer, RIP]
        link[own, RIP] = start if in_order else latest_before(order, link, own, start)
        # Also in order: those of the step before that nothing followed yet are followed by this one.
        earlier = link[own, RIP]
        while earlier != NONE and (link[earlier, RIN] == NONE or precedes(order, own, link[earlier, RIN])):
            link[earlier, RIN] = own
            counters[RIN_RESETS] += 1
            earlier = link[earlier, OLDER]
    if in_order or step == steps - 1:
        return
    later = NONE if newer == NONE else link[newer, RIN]
    candidate = newest[slot, step + 1] if later == NONE else link[later, OLDER]
    while candidate != NONE and precedes(order, own, candidate):
        later = candidate
        candidate = link[candidate, OLDER]
    link[own, RIN] = later
    while later != NONE and (link[later, RIP] == NONE or precedes(order, link[later, RIP], own)):
        link[later, RIP] = own
        counters[RIP_RESETS] += 1
        later = link[later, NEWER]


@inner_kernel
def know_forbidden(order, link, before, newest, attached, columns, slot, step, steps, own):
    """Let an instance of a step know the latest forbidden events before it."""
    newer = link[own, NEWER]
    for at in range(attached.shape[0]):
        if attached[at] == step:
            column = columns[at]
            start = newest[slot, steps + at] if newer == NONE else before[newer, column]
            before[own, column] = latest_before(order, link, own, start)


@inner_kernel
def enter_forbidden(query, pool, stacks, counters, slot, at, own):
    """Put a forbidden event into its buffer and tell the later events of its step of it."""
    order, link, before = pool.order, pool.link, pool.before
    put(order, link, stacks.oldest, stacks.newest, counters, slot, query.bit.shape[0] + at, own, False)
    column = query.column[at]
    later = stacks.newest[slot, query.step[at]]
    while later != NONE and precedes(order, own, later):
        known = before[later, column]
        if known == NONE or precedes(order, known, own):
            before[later, column] = own
        later = link[later, OLDER]


@inner_kernel
def drop_oldest(pool, stacks, counters, slot, number, bound):
    """Drop the instances of a list that are below the bound; returns how many."""
    order, link, used, named = pool.order, pool.link, pool.used, pool.row
    dropped = 0
    own = stacks.oldest[slot, number]
    while own != NONE and order[own, TIME] < bound:
        newer = link[own, NEWER]
        used[own] = 0
        named[own] = NONE
        link[own, OLDER] = counters[FREE]
        counters[FREE] = own
        dropped += 1
        own = newer
    if dropped > 0:
        stacks.oldest[slot, number] = own
        if own == NONE:
            stacks.newest[slot, number] = NONE
        else:
            link[own, OLDER] = NONE
        counters[LIVE] -= dropped
        counters[PURGED] += dropped
    return dropped


@inner_kernel
def forget_dropped(pool, stacks, slot, step, column):
    """Clear the links of a step to instances that are gone: its RIP (column -1), or a column of forbidden events.

    Links never go back along a sorted stack, so those to clear are the oldest.
    """
    link, before, used = pool.link, pool.before, pool.used
    own = stacks.oldest[slot, step]
    while own != NONE:
        target = link[own, RIP] if column < 0 else before[own, column]
        if target != NONE and used[target] == 0:
            if column < 0:
                link[own, RIP] = NONE
            else:
                before[own, column] = NONE
        elif target != NONE:
            break
        own = link[own, NEWER]


@inner_kernel
def purge_forbidden(query, pool, stacks, counters, slot, bound):
    """Drop the forbidden events of a slot that are below the bound."""
    steps = query.bit.shape[0]
    for at in range(query.step.shape[0]):
        if drop_oldest(pool, stacks, counters, slot, steps + at, bound) > 0:
            forget_dropped(pool, stacks, slot, query.step[at], query.column[at])


@inner_kernel
def purge_steps(query, pool, stacks, counters, slot, bound):
    """Drop the events of all steps of a slot that are below the bound."""
    steps = query.bit.shape[0]
    # From the last step on: what is left of the next step is not below the bound, so its links are cleared in one go.
    for step in range(steps - 1, -1, -1):
        if drop_oldest(pool, stacks, counters, slot, step, bound) > 0 and step < steps - 1:
            forget_dropped(pool, stacks, slot, step + 1, NONE)


@kernel
def purge_all(query, pool, stacks, counters, bound):
    """Drop what is below the bound from every slot."""
    for slot in range(stacks.oldest.shape[0]):
        purge_forbidden(query, pool, stacks, counters, slot, bound)
        purge_steps(query, pool, stacks, counters, slot, bound)
