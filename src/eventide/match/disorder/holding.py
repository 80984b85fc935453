"""Matches on their way out: given out at once, or held until no late negated event can forbid them (Li 2010, 4.5.4)."""

from __future__ import annotations

from eventide.compilation import inner_kernel, kernel
from eventide.match.dag.enumeration import FINISHED, FULL
from eventide.match.disorder.rules import forbids, lies_in_gap, window_end
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
    TIME,
)


@inner_kernel
def write_match(found, number, label, event_rows, at, reverse):
    """Write a match from the rows of its steps, which begin at `at`; steps that show nothing have label 0.

    Returns False when there is no room.
    """
    start, end, offset, row_of, label_of = found.start, found.end, found.offset, found.row, found.label
    steps = label.shape[0]
    written = offset[number] if number < start.shape[0] else row_of.shape[0]
    if written + steps > row_of.shape[0]:
        return False
    for step in range(steps):
        row = event_rows[at + (steps - 1 - step if reverse else step)]
        if step == 0:
            start[number] = row
        end[number] = row
        if label[step] != 0:
            row_of[written] = row
            label_of[written] = label[step]
            written += 1
    offset[number + 1] = written
    return True


@inner_kernel
def deadline_of(query, order, chosen):
    """Return the time that the watermark must pass before a match is certain."""
    if query.deadline_step == chosen.shape[0]:
        return window_end(query.window, order[chosen[0], TIME])
    clock = order[chosen[query.deadline_step], TIME]
    return clock if clock == LOWEST else clock - query.tie_margin


@inner_kernel
def hold(query, stacks, holding, counters, slot, partial, deadline):
    """Hold a match; returns False when there is no room."""
    steps = query.bit.shape[0]
    place = counters[HELD_FREE]
    if place != NONE:
        counters[HELD_FREE] = holding.following[place]
    else:
        place = counters[HELD_TOP]
        if place == holding.deadline.shape[0]:
            return False
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
    return True


@inner_kernel
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


@inner_kernel
def retract(query, absences, programs, stacks, holding, counters, slot, forbidden, row, partial, rows, scratch):
    """Drop the held matches of a slot that a negated event forbids."""
    steps = query.bit.shape[0]
    previous = NONE
    place = stacks.held[slot]
    while place != NONE:
        begin = place * steps
        hit = lies_in_gap(rows.order, steps, query.window, query.gap[forbidden], row, holding.row, begin)
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
                if not write_match(found, number, query.label, holding.row, place * steps, False):
                    return FULL, slot, number
                number += 1
                counters[RELEASED] += 1
                place = unhold(stacks, holding, counters, slot, previous, place)
            else:
                counters[EARLIEST] = min(counters[EARLIEST], holding.deadline[place])
                previous = place
                place = holding.following[place]
        slot += 1
    return FINISHED, slot, number
