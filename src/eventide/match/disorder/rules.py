"""What a whole match must fulfil beside its order: the window, and no forbidden event in its gaps."""

from __future__ import annotations

from eventide.compilation import inner_kernel
from eventide.match.dag.checking import forbidden
from eventide.match.disorder.stacks import precedes
from eventide.match.disorder.state import HIGHEST, LOWEST, NEWER, NONE, OLDER, TIME


@inner_kernel
def window_begin(window, clock):
    """Return the earliest time that lies inside the window of an event."""
    # Asked before subtracting: compilers take it that sums do not wrap around.
    return LOWEST if clock < LOWEST + window else clock - window


@inner_kernel
def window_end(window, clock):
    """Return the latest time that lies inside the window of an event."""
    return HIGHEST if clock > HIGHEST - window else clock + window


@inner_kernel
def separated(order, before, first, end, column, number, earlier, later):
    """Return whether a forbidden event without conditions, of those from `first` to `end`, lies between two neighbours."""
    for at in range(first, end):
        if number[at] < 0:
            between = before[later, column[at]]
            if between != NONE and precedes(order, earlier, between):
                return True
    return False


@inner_kernel
def forbids(absences, programs, number, row, partial, depth, rows, scratch):
    """Return whether the conditions of a NOT, if it has any, hold for an event beside the match."""
    if programs is None or number < 0:
        return True
    return forbidden(programs, absences, number, row, partial, depth, rows, scratch)


@inner_kernel
def surroundings_are_clean(query, absences, programs, pool, stacks, slot, partial, rows, scratch):
    """Check a whole match for forbidden events: before it, after it, and those with conditions inside it."""
    order, link, before, named = pool.order, pool.link, pool.before, pool.row
    steps = query.bit.shape[0]
    chosen = partial.chosen
    first, last = chosen[0], chosen[steps - 1]
    low = window_begin(query.window, order[last, TIME])
    high = window_end(query.window, order[first, TIME])
    for at in range(query.gap.shape[0]):
        gap, column, number = query.gap[at], query.column[at], query.number[at]
        if gap == steps:
            candidate = before[last, column]
            candidate = stacks.oldest[slot, steps + at] if candidate == NONE else link[candidate, NEWER]
            while candidate != NONE and order[candidate, TIME] <= high:
                # The last event itself may be of the forbidden type; it does not come after itself.
                if precedes(order, last, candidate) and forbids(
                    absences, programs, number, named[candidate], partial, steps, rows, scratch
                ):
                    return False
                candidate = link[candidate, NEWER]
        elif gap == 0 or number >= 0:
            candidate = before[chosen[gap], column]
            while candidate != NONE:
                if gap == 0:
                    if order[candidate, TIME] < low:
                        break
                elif not precedes(order, chosen[gap - 1], candidate):
                    break
                if forbids(absences, programs, number, named[candidate], partial, steps, rows, scratch):
                    return False
                candidate = link[candidate, OLDER]
    return True


@inner_kernel
def lies_in_gap(order, steps, window, gap, row, event_rows, at):
    """Return whether an event lies where a NOT of that gap looks, for a match whose rows begin at `at`."""
    first, last = event_rows[at], event_rows[at + steps - 1]
    if gap == 0:
        return precedes(order, row, first) and order[row, TIME] >= window_begin(window, order[last, TIME])
    if gap == steps:
        return precedes(order, last, row) and order[row, TIME] <= window_end(window, order[first, TIME])
    return precedes(order, event_rows[at + gap - 1], row) and precedes(order, row, event_rows[at + gap])
