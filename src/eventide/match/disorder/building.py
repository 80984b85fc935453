"""All matches that an arriving event completes: suffixes through RIN, prefixes through RIP (li.md 3.4.1, step 4).

The events of later steps are chosen first, then those of earlier steps, so that conditions are judged from the last event back as
in enumeration, and forbidden events end a walk through a stack as the window does.
"""

from __future__ import annotations

import numpy as np

from eventide.match.disorder.holding import deliver
from eventide.match.disorder.rules import separated, surroundings_are_clean, window_begin, window_end
from eventide.match.disorder.settings import Naive
from eventide.match.disorder.stacks import precedes
from eventide.match.disorder.state import AT, BUILT, NONE, PROBES
from eventide.match.enumeration import FINISHED
from eventide.match.jit import kernel
from eventide.match.programs import closes, joins

APPEND = int(Naive.APPEND)


@kernel
def suffix_holds(query, programs, partial, step, rows, scratch):
    """Judge the conditions between the events of a step and all later ones, as if they had joined one by one."""
    for at in range(query.bit.shape[0] - step):
        if not joins(
            programs,
            np.int64(at),
            partial.path_row,
            partial.path_label,
            np.int64(at + 1),
            rows.values,
            rows.floats,
            rows.valid,
            scratch,
        ):
            return False
    return True


@kernel
def next_later(query, pool, stacks, counters, slot, step, partial, entering, high):
    """Return the next choice for a step behind the arriving event, or -1."""
    earlier = partial.chosen[step - 1]
    if query.use_rin:
        candidate = pool.rin[earlier] if entering else pool.newer[partial.chosen[step]]
        if candidate == NONE:
            return candidate
        counters[PROBES] += 1
        # Both go on to hold for all that is still later.
        if query.partition and pool.clock[candidate] > high:
            return NONE
        return NONE if separated(query, pool, step, earlier, candidate) else candidate
    candidate = stacks.newest[slot, step] if entering else pool.older[partial.chosen[step]]
    while candidate != NONE:
        counters[PROBES] += 1
        if not precedes(pool, earlier, candidate):
            return NONE
        if not (query.partition and pool.clock[candidate] > high) and not separated(query, pool, step, earlier, candidate):
            break
        candidate = pool.older[candidate]
    return candidate


@kernel
def next_earlier(query, pool, counters, step, partial, entering, low):
    """Return the next choice for a step before the arriving event, or -1."""
    later = partial.chosen[step + 1]
    candidate = pool.rip[later] if entering else pool.older[partial.chosen[step]]
    while candidate != NONE:
        counters[PROBES] += 1
        if query.partition and pool.clock[candidate] < low:
            return NONE
        if not separated(query, pool, step + 1, candidate, later):
            break
        if query.naive & APPEND == 0:
            return NONE
        candidate = pool.older[candidate]
    return candidate


@kernel
def build(query, absences, programs, pool, stacks, holding, counters, slot, step, partial, rows, found, number, scratch):
    """Build all matches in which the arriving event takes the step; returns (status, matches written).

    A status other than FINISHED asks for room; the call is then repeated, and AT says that a whole match waits.
    """
    steps = query.bit.shape[0]
    chosen, path_row = partial.chosen, partial.path_row
    own = partial.own[step]
    high = window_end(query, pool.clock[own])
    # Places 1, 2, ... stand for the steps behind the arriving event and then for those before it, nearest first.
    place = counters[AT]
    entering = True
    if place == 0:
        chosen[step] = own
        path_row[steps - 1 - step] = pool.row[own]
        if step == steps - 1 and query.checked and not suffix_holds(query, programs, partial, step, rows, scratch):
            return FINISHED, number
        place = 1
    counters[AT] = 0
    while place > 0:
        if place == steps:
            status, number = judge(
                query, absences, programs, pool, stacks, holding, counters, slot, partial, rows, found, number, scratch
            )
            if status != FINISHED:
                counters[AT] = place
                return status, number
            place -= 1
            entering = False
            continue
        behind = place < steps - step
        if behind:
            at = step + place
            candidate = next_later(query, pool, stacks, counters, slot, at, partial, entering, high)
        else:
            at = steps - 1 - place
            low = window_begin(query, pool.clock[chosen[steps - 1]])
            candidate = next_earlier(query, pool, counters, at, partial, entering, low)
        if candidate == NONE:
            place -= 1
            entering = False
            continue
        chosen[at] = candidate
        path_row[steps - 1 - at] = pool.row[candidate]
        holds = True
        if query.checked and behind:
            holds = at < steps - 1 or suffix_holds(query, programs, partial, step, rows, scratch)
        elif query.checked:
            joined = np.int64(steps - 1 - at)
            holds = joins(
                programs,
                joined,
                path_row,
                partial.path_label,
                joined + 1,
                rows.values,
                rows.floats,
                rows.valid,
                scratch,
            )
        entering = holds
        if holds:
            place += 1
    return FINISHED, number


@kernel
def judge(query, absences, programs, pool, stacks, holding, counters, slot, partial, rows, found, number, scratch):
    """Judge a whole match, then give it out or hold it; returns (status, matches written)."""
    steps = query.bit.shape[0]
    first, last = partial.chosen[0], partial.chosen[steps - 1]
    inside = pool.clock[first] >= window_begin(query, pool.clock[last])
    if inside and query.gap.shape[0] > 0:
        inside = surroundings_are_clean(query, absences, programs, pool, stacks, slot, partial, rows, scratch)
    if inside and query.checked:
        inside = closes(
            programs,
            partial.path_label[steps - 1],
            partial.path_row,
            partial.path_label,
            np.int64(steps),
            rows.values,
            rows.floats,
            rows.valid,
            scratch,
        )
    status = FINISHED
    if inside:
        status, number = deliver(query, pool, stacks, holding, counters, slot, partial, found, number)
    if status == FINISHED:
        counters[BUILT] += 1
    return status, number
