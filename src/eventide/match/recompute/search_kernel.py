"""The search for all matches that end at a trigger (Kammoun 2019, 3.5 to 3.7).

Steps of one event are bound first, the one with the fewest candidates before the others; every bound event leaves of the other
steps' candidates those that fit its row. Loops follow from right to left, and their chains are written out as they are found. The
whole search is held in arrays: when there is no room for another match it stops, and goes on in the next call.
"""

from __future__ import annotations

import numpy as np

from eventide.compilation import inner_kernel, kernel
from eventide.match.budget import SPENT
from eventide.match.dag.checking import surroundings_are_clean
from eventide.match.dag.enumeration import FINISHED, FULL
from eventide.match.programs.programs import new_scratch
from eventide.match.recompute.bit_rows.bits import first_of
from eventide.match.recompute.bit_rows.row_trees import MADE, WANTED
from eventide.match.recompute.chain_writer import chain_rows, write_chains
from eventide.match.recompute.frames import (
    ALL_HEADS,
    CURRENT,
    EMIT,
    ENTER,
    FRAME,
    FRAMES,
    MODE,
    NEXT,
    NEXT_HEAD,
    NUMBER,
    STEPS,
    TRIGGER,
    ask_trees,
    bind,
    candidates_of,
    feasible,
    inner_at,
    place_of,
    restrict_all,
    set_at,
)
from eventide.match.recompute.loops import begin_chain, begin_loop, walk_chain
from eventide.match.recompute.residual_conditions import gaps_are_clean, residuals_hold, write_path

WANTS_TREE = 2
"""The status of a search that goes on when the tree that its rows want has been made."""


@inner_kernel
def begin_trigger(shape, window, rows, search, trigger):
    """Bind the trigger as the last event and order the steps by their candidates; returns whether a match is possible."""
    steps = search.base.shape[0]
    last = steps - 1
    begin = np.int64(window.begin[trigger])
    if begin > trigger:
        return False
    search.bound[0] = 0
    for step in range(steps):
        search.low[0, step] = window.rank[step, begin]
        search.high[0, step] = window.rank[step, trigger]
        search.base[step] = search.low[0, step] >> 6
        search.depth[step] = -1
        search.head[step] = -1
    search.high[0, last] += 1
    for target in range(3 * steps):
        search.owner[0, target] = -1
    for step in range(steps):
        if search.high[0, step] - search.low[0, step] < shape.minimum[step]:
            return False
    own = np.int64(window.rank[last, trigger])
    search.chosen[last, 0] = own
    # The trigger itself is one of the events that the last step binds, whichever others follow.
    search.bound[0] = np.int64(1) << last
    asked = rows.trees.asked
    if asked[asked.shape[0] - 1, MADE] > 0:
        ask_trees(shape, window, rows, search, np.int64(0), np.int64(last), own)
    restrict_all(shape, window, rows, search, np.int64(0), np.int64(last), own)
    if shape.loop[last]:
        restrict_all(shape, window, rows, search, np.int64(0), np.int64(2 * steps + last), own)
        search.bound[0] = 0
    else:
        search.depth[last] = 0
    if not feasible(shape, search, np.int64(0)):
        return False
    frames = 0
    for step in range(steps - 1, -1, -1):
        if shape.loop[step] or step == last:
            continue
        held = candidates_of(search, np.int64(0), np.int64(step))
        at = frames
        while at > 0 and candidates_of(search, np.int64(0), np.int64(search.frame_step[at - 1])) > held:
            search.frame_step[at] = search.frame_step[at - 1]
            at -= 1
        search.frame_step[at] = step
        frames += 1
    for step in range(steps - 1, -1, -1):
        if shape.loop[step]:
            search.frame_step[frames] = step
            frames += 1
    search.state[FRAMES] = frames
    return True


@inner_kernel
def next_single(shape, window, rows, search, frame, step, programs, walk, store, scratch, judges):
    """Bind the next candidate of a step of one event; returns 1 when there is one that can be completed, 0 if none, or SPENT."""
    low, high = search.low[frame, step], search.high[frame, step]
    owner = search.owner[frame, step]
    candidate = max(search.chosen[step, 0] + 1, low)
    asked = rows.trees.asked
    asking = asked[asked.shape[0] - 1, MADE] > 0 and frame + 1 < search.state[FRAMES]
    left_steps, price = search.state[STEPS], search.width[0]
    while True:
        if left_steps <= 0:
            search.chosen[step, 0] = candidate - 1
            search.state[STEPS] = left_steps
            return SPENT
        left_steps -= price
        if owner >= 0:
            candidate = first_of(search.sets, set_at(search, np.int64(owner), step), candidate, high)
            if candidate < 0:
                search.state[STEPS] = left_steps
                return 0
        elif candidate >= high:
            search.state[STEPS] = left_steps
            return 0
        search.chosen[step, 0] = candidate
        place = place_of(window, step, candidate)
        if asking:
            ask_trees(shape, window, rows, search, frame, step, candidate)
        if (
            gaps_are_clean(shape, window, search, frame, step, place)
            and (frame + 1 == search.state[FRAMES] or bind(shape, window, rows, search, frame, step, place, place))
            and (
                not judges
                or residuals_hold(shape, window, search, frame, step, programs, walk, store, scratch)
            )
        ):
            search.state[STEPS] = left_steps
            return 1
        candidate += 1


@kernel
def search_matches(
    shape, window, rows, search, triggers, low_of, taken, quota, found, programs, absences, accepts, walk, store
):
    """Write the matches of triggers; returns (status, matches written).

    After FULL the call is repeated with more room, after WANTS_TREE with the tree that is wanted, after SPENT with new steps.
    """
    state, asked = search.state, rows.trees.asked
    steps = search.base.shape[0]
    last = steps - 1
    limit, room = found.start.shape[0], found.row.shape[0]
    scratch = new_scratch()
    number = 0
    judges = shape.residual.shape[0] > 0
    cleans = absences.check.shape[0] > 0 or absences.leading.shape[0] > 0
    fast = not judges and not cleans
    while True:
        mode, frame = state[MODE], state[FRAME]
        if state[STEPS] <= 0:
            return SPENT, number
        if mode == TRIGGER:
            if state[NUMBER] == triggers.shape[0]:
                return FINISHED, number
            if asked[asked.shape[0] - 1, WANTED] > 0:
                return WANTS_TREE, number
            trigger = np.int64(triggers[state[NUMBER]])
            state[NUMBER] += 1
            state[STEPS] -= search.width[0]
            state[CURRENT] = trigger
            if taken[window.key[trigger]] >= quota:
                continue
            if not begin_trigger(shape, window, rows, search, trigger):
                continue
            if judges and not shape.loop[last]:
                # Programs that read the last event alone have no step of their own to wait for.
                search.bound[steps + 1] = 0
                if not residuals_hold(shape, window, search, np.int64(steps + 1), np.int64(last), programs, walk, store, scratch):
                    continue
            state[FRAME] = np.int64(0)
            state[MODE] = ENTER
        elif mode == ENTER:
            state[STEPS] -= search.width[0]
            if frame == state[FRAMES]:
                state[MODE] = EMIT
                continue
            step = np.int64(search.frame_step[frame])
            if shape.loop[step]:
                begin_loop(shape, window, search, frame, step)
                if shape.from_first[step] >= 0:
                    search.head[step] = search.low[frame, step] - 1
                    state[MODE] = NEXT_HEAD
                    continue
                begin_chain(shape, window, rows, search, frame, step, search.low[frame, step], np.int64(-1))
            else:
                search.chosen[step, 0] = search.low[frame, step] - 1
                search.depth[step] = 0
            state[MODE] = NEXT
        elif mode == NEXT_HEAD:
            state[STEPS] -= search.width[0]
            step = np.int64(search.frame_step[frame])
            head = first_of(
                search.inner, inner_at(search, step, ALL_HEADS), search.head[step] + 1, search.high[frame, step]
            )
            if head < 0:
                search.head[step] = -1
                state[FRAME] = frame - 1
                state[MODE] = NEXT if frame > 0 else TRIGGER
                continue
            search.head[step] = head
            begin_chain(shape, window, rows, search, frame, step, head, head)
            state[MODE] = NEXT
        elif mode == NEXT:
            step = np.int64(search.frame_step[frame])
            if fast and frame + 1 == state[FRAMES] and shape.loop[step] and chain_rows(shape, window, rows, search, step):
                key = window.key[state[CURRENT]]
                left = quota - taken[key]
                status, written_now = write_chains(shape, window, rows, search, frame, step, found, np.int64(number), left)
                number += written_now
                taken[key] += written_now
                if status != FINISHED:
                    return status, number
                if taken[key] >= quota:
                    state[MODE] = TRIGGER
                    continue
                outcome = 0
            elif shape.loop[step]:
                outcome = walk_chain(shape, window, rows, search, frame, step, programs, walk, store, scratch, judges)
            else:
                outcome = next_single(shape, window, rows, search, frame, step, programs, walk, store, scratch, judges)
            if outcome == SPENT:
                return SPENT, number
            if outcome == 1:
                state[FRAME] = frame + 1
                state[MODE] = ENTER
            elif search.head[step] >= 0:
                state[MODE] = NEXT_HEAD
            else:
                state[FRAME] = frame - 1
                state[MODE] = NEXT if frame > 0 else TRIGGER
        else:
            state[STEPS] -= steps
            trigger = state[CURRENT]
            key = window.key[trigger]
            written = found.offset[number]
            needed = written
            for bound_step in range(steps):
                needed += search.depth[bound_step] + 1
            if number == limit or needed > room:
                return FULL, number
            state[MODE] = NEXT if frame > 0 else TRIGGER
            state[FRAME] = frame - 1
            start = window.row[place_of(window, 0, search.chosen[0, search.depth[0]])]
            if cleans:
                depth = write_path(shape, window, search, (np.int64(1) << steps) - 1, walk)
                accepts.low[0] = low_of[window.row[trigger]]
                accepts.row[0] = window.row[trigger]
                if not surroundings_are_clean(
                    programs, absences, accepts, np.int64(0), start, walk, depth, store, scratch
                ):
                    continue
            for bound_step in range(steps):
                label = shape.label[bound_step, 0]
                for index in range(search.depth[bound_step], -1, -1):
                    found.row[written] = window.row[place_of(window, bound_step, search.chosen[bound_step, index])]
                    found.label[written] = label
                    label = shape.label[bound_step, 1]
                    written += 1
            found.start[number] = start
            found.end[number] = window.row[trigger]
            number += 1
            found.offset[number] = written
            taken[key] += 1
            if taken[key] >= quota:
                state[MODE] = TRIGGER
