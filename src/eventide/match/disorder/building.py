"""All matches that an arriving event completes: suffixes through RIN, prefixes through RIP (Li 2010, 4.5.2).

The events of later steps are chosen first, then those of earlier steps, so that conditions are judged from the last event back as
in enumeration, and forbidden events end a walk through a stack as the window does.
"""

from __future__ import annotations

import numpy as np

from eventide.compilation import inner_kernel
from eventide.match.budget import SPENT
from eventide.match.disorder.rules import separated, surroundings_are_clean, window_begin, window_end
from eventide.match.disorder.state import ENTERING, NEWER, NONE, OLDER, PLACE, PROBES, RIN, RIP, TIME
from eventide.match.programs.programs import closes, joins


@inner_kernel
def suffix_holds(programs, path_row, path_label, events, rows, scratch):
    """Judge the conditions between the last events of a match as if they had joined one by one."""
    for at in range(events):
        if not joins(
            programs, np.int64(at), path_row, path_label, np.int64(at + 1), rows.values, rows.floats, rows.valid, scratch
        ):
            return False
    return True


@inner_kernel
def next_match(
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
):
    """Go on to the next whole match in which the arriving event takes the step; returns 1, 0 when there is none, or SPENT.

    Places 1, 2, ... stand for the steps behind the arriving event and then for those before it, nearest first; `beginning`,
    going on from a whole match, or from where `paused` says. Without conditions `programs` is None, for which kernels are
    compiled on their own.
    """
    steps = chosen.shape[0]
    high = window_end(window, order[chosen[step], TIME])
    # What stands at the last step is left over when the match is begun from another one; it is chosen before it is asked for.
    known = chosen[step] if beginning else chosen[steps - 1]
    low = window_begin(window, order[known, TIME])
    probes = 0
    entering = beginning
    place = np.int64(1 if beginning else steps - 1)
    if paused[PLACE] > 0:
        place = paused[PLACE]
        entering = paused[ENTERING] == 1
        paused[PLACE] = 0
    while 0 < place < steps:
        if probes >= left[0]:
            counters[PROBES] += probes
            left[0] = 0
            paused[PLACE] = place
            paused[ENTERING] = 1 if entering else 0
            return SPENT
        probes += 1
        behind = place < steps - step
        if behind:
            at = step + place
            earlier = chosen[at - 1]
            candidate = link[earlier, RIN] if entering else link[chosen[at], NEWER]
            # Candidates come in order, and what ends the walk at this one ends it at all that are still later.
            if candidate != NONE and (
                order[candidate, TIME] > high
                or separated(order, before, gap_first[at], gap_first[at + 1], column, conditions, earlier, candidate)
            ):
                candidate = NONE
        else:
            at = steps - 1 - place
            later = chosen[at + 1]
            candidate = link[later, RIP] if entering else link[chosen[at], OLDER]
            if candidate != NONE and (
                order[candidate, TIME] < low
                or separated(order, before, gap_first[at + 1], gap_first[at + 2], column, conditions, candidate, later)
            ):
                candidate = NONE
        if candidate == NONE:
            place -= 1
            entering = False
            continue
        chosen[at] = candidate
        path_row[steps - 1 - at] = named[candidate]
        entering = True
        if at == steps - 1:
            low = window_begin(window, order[candidate, TIME])
        if programs is not None:
            joined = steps - 1 - at
            if not behind:
                entering = joins(
                    programs,
                    np.int64(joined),
                    path_row,
                    path_label,
                    np.int64(joined + 1),
                    rows.values,
                    rows.floats,
                    rows.valid,
                    scratch,
                )
            elif joined == 0:
                entering = suffix_holds(programs, path_row, path_label, steps - step, rows, scratch)
        if entering:
            place += 1
    counters[PROBES] += probes
    left[0] -= probes
    return 1 if place == steps else 0


@inner_kernel
def fulfils(query, absences, programs, pool, stacks, slot, partial, rows, scratch):
    """Judge what is left to judge of a whole match: the forbidden events around it and the conditions on all of it."""
    if query.gap.shape[0] > 0:
        if not surroundings_are_clean(query, absences, programs, pool, stacks, slot, partial, rows, scratch):
            return False
    if programs is not None:
        steps = query.bit.shape[0]
        return closes(
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
    return True
