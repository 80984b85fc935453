"""Sorted stacks under disorder: insertion with RIP, RIN and the forbidden events before, and purging (li.md 3.4.1 to 3.4.6)."""

from __future__ import annotations

from eventide.match.disorder.settings import Naive
from eventide.match.disorder.state import (
    APPENDED,
    DISPLACED,
    FREE,
    INSERTIONS,
    LIVE,
    LOWEST,
    NONE,
    PURGED,
    RIN_RESETS,
    RIP_RESETS,
    TOP,
)
from eventide.match.jit import kernel

APPEND = int(Naive.APPEND)


@kernel
def precedes(pool, one, other):
    """Return whether an instance comes strictly before another in the order of events."""
    if pool.clock[one] != pool.clock[other]:
        return pool.clock[one] < pool.clock[other]
    if pool.tie[one] != pool.tie[other]:
        return pool.tie[one] < pool.tie[other]
    return pool.sequence[one] < pool.sequence[other]


@kernel
def new_instance(pool, counters, rows, row, named):
    """Take a free instance for the event of a row; the caller has made sure that there is one."""
    own = counters[FREE]
    if own != NONE:
        counters[FREE] = pool.older[own]
    else:
        own = counters[TOP]
        counters[TOP] += 1
    counters[LIVE] += 1
    pool.clock[own] = rows.clock[row]
    pool.tie[own] = rows.tie[row]
    pool.sequence[own] = rows.sequence[row]
    pool.row[own] = row if named else NONE
    pool.older[own] = pool.newer[own] = pool.rip[own] = pool.rin[own] = NONE
    for column in range(pool.before.shape[1]):
        pool.before[own, column] = NONE
    pool.used[own] = 1
    return own


@kernel
def link(pool, stacks, counters, slot, number, own, on_top):
    """Put an instance into a list: on top, or in its place among the others."""
    older = stacks.newest[slot, number]
    newer = NONE
    if not on_top:
        while older != NONE and precedes(pool, own, older):
            newer = older
            older = pool.older[older]
            counters[DISPLACED] += 1
    pool.older[own] = older
    pool.newer[own] = newer
    if older == NONE:
        stacks.oldest[slot, number] = own
    else:
        pool.newer[older] = own
    if newer == NONE:
        stacks.newest[slot, number] = own
    else:
        pool.older[newer] = own
    counters[INSERTIONS] += 1


@kernel
def latest_before(pool, own, candidate):
    """Go back in a list from a candidate to the latest instance that precedes this one."""
    while candidate != NONE and not precedes(pool, candidate, own):
        candidate = pool.older[candidate]
    return candidate


@kernel
def enter_step(query, pool, stacks, counters, slot, step, own, in_order):
    """Put an instance into the stack of a step, set its RIP and RIN and repair those of its neighbours."""
    steps = query.bit.shape[0]
    naive = query.naive & APPEND != 0
    on_top = in_order or naive
    link(pool, stacks, counters, slot, step, own, on_top)
    if on_top:
        counters[APPENDED] += 1
    newer = pool.newer[own]
    if step > 0:
        start = stacks.newest[slot, step - 1] if newer == NONE else pool.rip[newer]
        pool.rip[own] = start if on_top else latest_before(pool, own, start)
    for at in range(query.step.shape[0]):
        if query.step[at] == step:
            column = query.column[at]
            start = stacks.newest[slot, steps + at] if newer == NONE else pool.before[newer, column]
            pool.before[own, column] = latest_before(pool, own, start)
    if naive:
        return
    if query.use_rin and step > 0:
        # Also in order: those of the step before that nothing followed yet are followed by this one.
        earlier = pool.rip[own]
        while earlier != NONE and (pool.rin[earlier] == NONE or precedes(pool, own, pool.rin[earlier])):
            pool.rin[earlier] = own
            counters[RIN_RESETS] += 1
            earlier = pool.older[earlier]
    if in_order or step == steps - 1:
        return
    if query.use_rin:
        later = NONE if newer == NONE else pool.rin[newer]
        candidate = stacks.newest[slot, step + 1] if later == NONE else pool.older[later]
        while candidate != NONE and precedes(pool, own, candidate):
            later = candidate
            candidate = pool.older[candidate]
        pool.rin[own] = later
        while later != NONE and (pool.rip[later] == NONE or precedes(pool, pool.rip[later], own)):
            pool.rip[later] = own
            counters[RIP_RESETS] += 1
            later = pool.newer[later]
    else:
        later = stacks.newest[slot, step + 1]
        while later != NONE and precedes(pool, own, later):
            if pool.rip[later] == NONE or precedes(pool, pool.rip[later], own):
                pool.rip[later] = own
                counters[RIP_RESETS] += 1
            later = pool.older[later]


@kernel
def enter_forbidden(query, pool, stacks, counters, slot, at, own):
    """Put a forbidden event into its buffer and tell the later events of its step of it."""
    link(pool, stacks, counters, slot, query.bit.shape[0] + at, own, False)
    column = query.column[at]
    unsorted = query.naive & APPEND != 0
    later = stacks.newest[slot, query.step[at]]
    while later != NONE:
        if precedes(pool, own, later):
            known = pool.before[later, column]
            if known == NONE or precedes(pool, known, own):
                pool.before[later, column] = own
        elif not unsorted:
            break
        later = pool.older[later]


@kernel
def drop_oldest(pool, stacks, counters, slot, number, bound, last):
    """Drop the instances of a list that are below the bound, or up to the last one named; returns how many."""
    dropped = 0
    own = stacks.oldest[slot, number]
    going = own != NONE and (last != NONE or pool.clock[own] < bound)
    while going:
        newer = pool.newer[own]
        pool.used[own] = 0
        pool.row[own] = NONE
        pool.older[own] = counters[FREE]
        counters[FREE] = own
        dropped += 1
        going = newer != NONE and (own != last if last != NONE else pool.clock[newer] < bound)
        own = newer
    if dropped > 0:
        stacks.oldest[slot, number] = own
        if own == NONE:
            stacks.newest[slot, number] = NONE
        else:
            pool.older[own] = NONE
        counters[LIVE] -= dropped
        counters[PURGED] += dropped
    return dropped


@kernel
def forget_dropped(query, pool, stacks, slot, step, column):
    """Clear the links of a step to instances that are gone: its RIP (column -1), or a column of forbidden events.

    Links never go back along a sorted stack, so those to clear are the oldest.
    """
    unsorted = query.naive & APPEND != 0
    own = stacks.oldest[slot, step]
    while own != NONE:
        target = pool.rip[own] if column < 0 else pool.before[own, column]
        if target != NONE and pool.used[target] == 0:
            if column < 0:
                pool.rip[own] = NONE
            else:
                pool.before[own, column] = NONE
        elif target != NONE and not unsorted:
            break
        own = pool.newer[own]


@kernel
def purge_forbidden(query, pool, stacks, counters, slot, bound):
    """Drop the forbidden events of a slot that are below the bound."""
    steps = query.bit.shape[0]
    for at in range(query.step.shape[0]):
        if drop_oldest(pool, stacks, counters, slot, steps + at, bound, NONE) > 0:
            forget_dropped(query, pool, stacks, slot, query.step[at], query.column[at])


@kernel
def purge_steps(query, pool, stacks, counters, slot, bound):
    """Drop the events of all steps of a slot that are below the bound."""
    steps = query.bit.shape[0]
    # From the last step on: what is left of the next step is not below the bound, so its links are cleared in one go.
    for step in range(steps - 1, -1, -1):
        if drop_oldest(pool, stacks, counters, slot, step, bound, NONE) > 0 and step < steps - 1:
            forget_dropped(query, pool, stacks, slot, step + 1, -1)


@kernel
def purge_chains(query, pool, stacks, counters, slot, bound):
    """Drop the last step's events below the bound, and along RIP all that came before them (lazy purge, li.md 3.4.6)."""
    step = query.bit.shape[0] - 1
    own = stacks.oldest[slot, step]
    last = NONE
    while own != NONE and pool.clock[own] < bound:
        last = own
        own = pool.newer[own]
    while last != NONE:
        # Read before the drop gives the instance away.
        before = pool.rip[last]
        drop_oldest(pool, stacks, counters, slot, step, LOWEST, last)
        if step < query.bit.shape[0] - 1:
            forget_dropped(query, pool, stacks, slot, step + 1, -1)
        last = before
        step -= 1


@kernel
def purge_all(query, pool, stacks, counters, bound, chains_only):
    """Purge every slot: forbidden events always, events of steps all or along RIP only."""
    for slot in range(stacks.oldest.shape[0]):
        purge_forbidden(query, pool, stacks, counters, slot, bound)
        if chains_only:
            purge_chains(query, pool, stacks, counters, slot, bound)
        else:
            purge_steps(query, pool, stacks, counters, slot, bound)
