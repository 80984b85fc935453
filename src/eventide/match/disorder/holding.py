"""Matches on their way out: given out at once, or held until no late negated event can forbid them (li.md 3.4.7, 3.4.8)."""

from __future__ import annotations

import numpy as np

from eventide.match.disorder.rules import forbids, lies_in_gap, window_end
from eventide.match.disorder.settings import Naive
from eventide.match.disorder.state import (
    EARLIEST,
    HELD,
    HELD_FREE,
    HELD_LIVE,
    HELD_TOP,
    LOWEST,
    NONE,
    RELEASED,
    RETRACTED,
    WATERMARK,
)
from eventide.match.enumeration import FINISHED, FULL
from eventide.match.jit import kernel

NEED_HOLDING = 3
UNHELD = int(Naive.UNHELD)


@kernel
def has_room(query, found, number):
    """Return whether one more match fits."""
    return number < found.start.shape[0] and found.offset[number] + query.bit.shape[0] <= found.row.shape[0]


@kernel
def write_match(query, found, number, event_rows, at, reverse):
    """Write a match from the rows of its steps, which begin at `at`; steps that show nothing have label 0."""
    steps = query.bit.shape[0]
    written = found.offset[number]
    for step in range(steps):
        row = event_rows[at + (steps - 1 - step if reverse else step)]
        if step == 0:
            found.start[number] = row
        found.end[number] = row
        if query.label[step] != 0:
            found.row[written] = row
            found.label[written] = query.label[step]
            written += 1
    found.offset[number + 1] = written


@kernel
def deadline_of(query, pool, partial):
    """Return the time that the watermark must pass before a match is certain."""
    steps = query.bit.shape[0]
    if query.deadline_step == steps:
        return window_end(query, pool.clock[partial.chosen[0]])
    clock = pool.clock[partial.chosen[query.deadline_step]]
    return clock if clock == LOWEST else clock - query.tie_margin


@kernel
def deliver(query, pool, stacks, holding, counters, slot, partial, found, number):
    """Give a match out when it is certain, else hold it; returns (status, matches written)."""
    steps = query.bit.shape[0]
    deadline = np.int64(LOWEST)
    held = query.deadline_step >= 0 and query.naive & UNHELD == 0
    if held:
        deadline = deadline_of(query, pool, partial)
        held = deadline >= counters[WATERMARK]
    if not held:
        if not has_room(query, found, number):
            return FULL, number
        write_match(query, found, number, partial.path_row, 0, True)
        return FINISHED, number + 1
    place = counters[HELD_FREE]
    if place != NONE:
        counters[HELD_FREE] = holding.following[place]
    else:
        place = counters[HELD_TOP]
        if place == holding.deadline.shape[0]:
            return NEED_HOLDING, number
        counters[HELD_TOP] += 1
    for step in range(steps):
        holding.row[place * steps + step] = partial.path_row[steps - 1 - step]
    holding.deadline[place] = deadline
    holding.used[place] = 1
    holding.following[place] = stacks.held[slot]
    stacks.held[slot] = place
    counters[HELD_LIVE] += 1
    counters[HELD] += 1
    counters[EARLIEST] = min(counters[EARLIEST], deadline)
    return FINISHED, number


@kernel
def unhold(stacks, holding, counters, slot, previous, place):
    """Take a held match out of the list of its slot; returns the one that follows it."""
    following = holding.following[place]
    if previous == NONE:
        stacks.held[slot] = following
    else:
        holding.following[previous] = following
    holding.used[place] = 0
    holding.following[place] = counters[HELD_FREE]
    counters[HELD_FREE] = place
    counters[HELD_LIVE] -= 1
    return following


@kernel
def retract(query, absences, programs, stacks, holding, counters, slot, forbidden, row, partial, rows, scratch):
    """Drop the held matches of a slot that a negated event forbids."""
    steps = query.bit.shape[0]
    previous = NONE
    place = stacks.held[slot]
    while place != NONE:
        begin = place * steps
        hit = lies_in_gap(query, rows, query.gap[forbidden], row, holding.row, begin)
        if hit and query.number[forbidden] >= 0:
            for step in range(steps):
                partial.path_row[steps - 1 - step] = holding.row[begin + step]
            hit = forbids(absences, programs, query.number[forbidden], row, partial, steps, rows, scratch)
        if hit:
            place = unhold(stacks, holding, counters, slot, previous, place)
            counters[RETRACTED] += 1
        else:
            previous = place
            place = holding.following[place]


@kernel
def release(query, stacks, holding, counters, watermark, everything, slot, found):
    """Give out the held matches that are certain, from a slot on; returns (status, slot, matches written)."""
    steps = query.bit.shape[0]
    number = 0
    while slot < stacks.held.shape[0]:
        previous = NONE
        place = stacks.held[slot]
        while place != NONE:
            if everything or holding.deadline[place] < watermark:
                if not has_room(query, found, number):
                    return FULL, slot, number
                write_match(query, found, number, holding.row, place * steps, False)
                number += 1
                counters[RELEASED] += 1
                place = unhold(stacks, holding, counters, slot, previous, place)
            else:
                counters[EARLIEST] = min(counters[EARLIEST], holding.deadline[place])
                previous = place
                place = holding.following[place]
        slot += 1
    return FINISHED, slot, number
