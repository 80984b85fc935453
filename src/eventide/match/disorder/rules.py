"""What a whole match must fulfil beside its order: the window, and no forbidden event in its gaps."""

from __future__ import annotations

import numpy as np

from eventide.match.disorder.stacks import precedes
from eventide.match.disorder.state import HIGHEST, LOWEST, NONE
from eventide.match.jit import kernel
from eventide.match.programs import all_hold


@kernel
def window_begin(query, clock):
    """Return the earliest time that lies inside the window of an event."""
    # Asked before subtracting: compilers take it that sums do not wrap around.
    return LOWEST if clock < LOWEST + query.window else clock - query.window


@kernel
def window_end(query, clock):
    """Return the latest time that lies inside the window of an event."""
    return HIGHEST if clock > HIGHEST - query.window else clock + query.window


@kernel
def separated(query, pool, step, earlier, later):
    """Return whether a forbidden event without conditions lies between two neighbours; `later` is of the step."""
    for at in range(query.gap_first[step], query.gap_first[step + 1]):
        if query.number[at] < 0:
            between = pool.before[later, query.column[at]]
            if between != NONE and precedes(pool, earlier, between):
                return True
    return False


@kernel
def forbids(absences, programs, number, row, partial, depth, rows, scratch):
    """Return whether the conditions of a NOT, if it has any, hold for an event beside the match."""
    if number < 0:
        return True
    for at in range(absences.condition_first[number], absences.condition_first[number + 1]):
        if not all_hold(
            programs,
            np.int64(absences.condition[at]),
            np.int64(-1),
            np.int64(-1),
            np.int64(row),
            partial.path_row,
            partial.path_label,
            np.int64(depth),
            rows.values,
            rows.floats,
            rows.valid,
            scratch,
        ):
            return False
    return True


@kernel
def surroundings_are_clean(query, absences, programs, pool, stacks, slot, partial, rows, scratch):
    """Check a whole match for forbidden events: before it, after it, and those with conditions inside it."""
    steps = query.bit.shape[0]
    chosen = partial.chosen
    first, last = chosen[0], chosen[steps - 1]
    low = window_begin(query, pool.clock[last])
    high = window_end(query, pool.clock[first])
    for at in range(query.gap.shape[0]):
        gap, column, number = query.gap[at], query.column[at], query.number[at]
        if gap == steps:
            candidate = pool.before[last, column]
            candidate = stacks.oldest[slot, steps + at] if candidate == NONE else pool.newer[candidate]
            while candidate != NONE and pool.clock[candidate] <= high:
                # The last event itself may be of the forbidden type; it does not come after itself.
                if precedes(pool, last, candidate) and forbids(
                    absences, programs, number, pool.row[candidate], partial, steps, rows, scratch
                ):
                    return False
                candidate = pool.newer[candidate]
        elif gap == 0 or number >= 0:
            candidate = pool.before[chosen[gap], column]
            while candidate != NONE:
                if gap == 0:
                    if pool.clock[candidate] < low:
                        break
                elif not precedes(pool, chosen[gap - 1], candidate):
                    break
                if forbids(absences, programs, number, pool.row[candidate], partial, steps, rows, scratch):
                    return False
                candidate = pool.older[candidate]
    return True


@kernel
def row_precedes(rows, one, other):
    """Return whether the event of a row comes strictly before another in the order of events."""
    if rows.clock[one] != rows.clock[other]:
        return rows.clock[one] < rows.clock[other]
    if rows.tie[one] != rows.tie[other]:
        return rows.tie[one] < rows.tie[other]
    return rows.sequence[one] < rows.sequence[other]


@kernel
def lies_in_gap(query, rows, gap, row, event_rows, at):
    """Return whether an event lies where a NOT of that gap looks, for a match whose rows begin at `at`."""
    steps = query.bit.shape[0]
    first, last = event_rows[at], event_rows[at + steps - 1]
    if gap == 0:
        return row_precedes(rows, row, first) and rows.clock[row] >= window_begin(query, rows.clock[last])
    if gap == steps:
        return row_precedes(rows, last, row) and rows.clock[row] <= window_end(query, rows.clock[first])
    return row_precedes(rows, event_rows[at + gap - 1], row) and row_precedes(rows, row, event_rows[at + gap])
