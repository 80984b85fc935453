"""The update step of the shared-DAG automaton: constant work per event, many keys in one call (Abella 2022, 5.3)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from eventide.compilation import inner_kernel, kernel
from eventide.match.budget import SPENT
from eventide.match.dag.checking import enumerate_checked
from eventide.match.dag.enumeration import COUNT_LIMIT, FULL, GROW
from eventide.match.dag.nodes import BOTTOM, NONE, insert, merge
from eventide.match.transitions import UNKNOWN

DONE = 0
NEED_TRANSITION = 1
NEED_NODES = 2
NEED_ACCEPTS = 3
NEED_LISTS = 4
CONFIRM = 5
NEED_WALK = 6

TOP = 0
ACCEPTED = 1
WANTED_STATE = 2
WANTED_SYMBOL = 3
EPOCH = 4
OPEN_ACCEPT = 5
KEY = 6
CONFIRM_FROM = 7
KEPT_COUNTERS = 8
"""The counters behind these mean something in the middle of a batch only."""
WALK_SIZE = 8
CONFIRMS = 9
MIDWAY = 10
RUN, RUN_BEFORE, FRESH_RUN, ACCEPTED_BEFORE = 11, 12, 13, 14
COUNTERS = 15

CONSUME_NONE = 0
CONSUME_SLOT = 1
CONSUME_ALL = 2


class Lists(NamedTuple):
    """The union-lists of every key slot: `node[slot, position, :length]` belongs to automaton state `state[slot, position]`."""

    active: npt.NDArray[np.int32]
    state: npt.NDArray[np.int32]
    length: npt.NDArray[np.int32]
    node: npt.NDArray[np.int32]
    low: npt.NDArray[np.int64]
    epoch: npt.NDArray[np.int64]
    last: npt.NDArray[np.int32]
    """[slot, absence]: the latest event that the absence forbids, or -1."""


def new_lists(slots: int, states: int, width: int, absences: int) -> Lists:
    """Return empty lists."""
    return Lists(
        np.zeros(slots, np.int32),
        np.zeros((slots, states), np.int32),
        np.zeros((slots, states), np.int32),
        np.zeros((slots, states, width), np.int32),
        np.full(slots, np.iinfo(np.int64).min, np.int64),
        np.zeros(slots, np.int64),
        np.full((slots, absences), -1, np.int32),
    )


class DagEvents(NamedTuple):
    """The columns of the events by row, as kernels read them."""

    slot: npt.NDArray[np.int32]
    restart: npt.NDArray[np.uint8]
    """1 where the slot is given to a new key."""
    symbol: npt.NDArray[np.int32]
    clock: npt.NDArray[np.int64]
    low: npt.NDArray[np.int64]
    home: npt.NDArray[np.uint8]
    """1 where matches may end (a slab reports the matches that end in it)."""
    forbids: npt.NDArray[np.uint8]
    """[absence, row]: 1 where the event is one that the absence forbids."""


@inner_kernel
def link_absences(events, lists, previous, slot, row):
    """Remember the forbidden events before the row, and the row itself if it is one; the window moves on with every event."""
    lists.low[slot] = events.low[row]
    for absence in range(previous.shape[0]):
        if lists.last[slot, absence] == row:
            # The call is repeated for this row.
            continue
        previous[absence, row] = lists.last[slot, absence]
        if events.forbids[absence, row]:
            lists.last[slot, absence] = row


@inner_kernel
def restart_slot(lists, accepts, counters, slot):
    """Give the slot of lists or runs, which the caller empties, to a new key.

    Accepts still open learn the last forbidden events of the old key.
    """
    lists.low[slot] = np.iinfo(np.int64).min
    counters[KEY] += 1
    absences = lists.last.shape[1]
    for accept in range(counters[OPEN_ACCEPT], counters[ACCEPTED] if absences else counters[OPEN_ACCEPT]):
        for absence in range(absences):
            accepts.tail[accept, absence] = lists.last[slot, absence]
    counters[OPEN_ACCEPT] = counters[ACCEPTED]
    for absence in range(absences):
        lists.last[slot, absence] = -1


@inner_kernel
def add_node(label, left_of, right_of, start, top, states, lengths, lists_of, count, target, node):
    """Add a node to the list of a target state; returns (count, top), count -1 when there is no room."""
    for position in range(count):
        if states[position] == target:
            length, top = insert(label, left_of, right_of, start, top, lists_of, position, lengths[position], node)
            if length < 0:
                return -1, top
            lengths[position] = length
            return count, top
    if count == states.shape[0]:
        return -1, top
    states[count] = target
    lengths[count] = 1
    lists_of[count, 0] = node
    return count + 1, top


@inner_kernel
def write_output(nodes, top, label, row, child, start):
    """Write an output node at `top`."""
    nodes.label[top] = label
    nodes.row[top] = row
    nodes.left[top] = child
    nodes.right[top] = NONE
    nodes.start[top] = start


@inner_kernel
def record(accepts, counters, slot, row, node, low):
    """Note that matches end at the row."""
    number = counters[ACCEPTED]
    accepts.row[number] = row
    accepts.node[number] = node
    accepts.low[number] = low
    accepts.key[number] = counters[KEY] + slot
    counters[ACCEPTED] = number + 1


@kernel
def advance(tables, nodes, lists, events, previous, accepts, counters, consume, confirm, begin, end, steps):
    """Take the events of rows begin..end into the automaton; returns (status, row to go on with).

    A status other than DONE asks the caller for room, for a transition, for steps, or (CONFIRM) whether the accepts just recorded
    hold a match at all; the call is then repeated from the returned row.
    """
    # Arrays are unpacked once, so that the loop reads plain names.
    label, row_of, left_of, right_of, start_of = nodes.label, nodes.row, nodes.left, nodes.right, nodes.start
    first_move, move_count, unmarked, quiet_accepting = tables.first, tables.moves, tables.unmarked, tables.unmarked_accepting
    move_label, move_target, move_accepting, idle = tables.label, tables.target, tables.accepting, tables.idle
    list_count, list_state, list_length, list_node = lists.active, lists.state, lists.length, lists.node
    slots, restarts, symbols, clocks, lows, homes = (
        events.slot,
        events.restart,
        events.symbol,
        events.clock,
        events.low,
        events.home,
    )
    capacity = label.shape[0]
    room = accepts.row.shape[0]
    width = list_node.shape[2]
    most_states = list_state.shape[1]
    new_state = np.zeros(most_states, np.int32)
    new_length = np.zeros(most_states, np.int32)
    new_node = np.zeros((most_states, width), np.int32)
    absences = previous.shape[0]
    top = counters[TOP]
    for row in range(begin, end):
        if steps[0] <= 0:
            counters[TOP] = top
            return SPENT, row
        steps[0] -= 1
        if restarts[row]:
            list_count[slots[row]] = 0
            restart_slot(lists, accepts, counters, slots[row])
            restarts[row] = 0
        if absences:
            link_absences(events, lists, previous, slots[row], row)
        symbol = symbols[row]
        if idle[symbol]:
            continue
        slot = slots[row]
        active = list_count[slot]
        if consume == CONSUME_ALL and lists.epoch[slot] != counters[EPOCH]:
            active = 0
            list_count[slot] = 0
            lists.epoch[slot] = counters[EPOCH]
        if first_move[0, symbol] == UNKNOWN:
            counters[TOP] = top
            counters[WANTED_STATE] = 0
            counters[WANTED_SYMBOL] = symbol
            return NEED_TRANSITION, row
        starts = move_count[0, symbol]
        quiet_start = unmarked[0, symbol]
        quiet_accept = quiet_accepting[0, symbol]
        if active == 0 and starts == 0 and quiet_start < 0 and not quiet_accept:
            continue
        moves = starts + 1
        steps[0] -= active
        for position in range(active):
            state = list_state[slot, position]
            if first_move[state, symbol] == UNKNOWN:
                counters[TOP] = top
                counters[WANTED_STATE] = state
                counters[WANTED_SYMBOL] = symbol
                return NEED_TRANSITION, row
            moves += move_count[state, symbol] + 1
        # The most nodes one event can need: a merge for each list, and an output and a union (three nodes) for each move.
        if top + active * width + 4 * moves + 2 > capacity:
            counters[TOP] = top
            return NEED_NODES, row
        if counters[ACCEPTED] + moves > room:
            counters[TOP] = top
            return NEED_ACCEPTS, row
        top_before = top
        accepted_before = counters[ACCEPTED]
        clock = clocks[row]
        low = lows[row]
        home = homes[row]
        count = 0
        for move in range(first_move[0, symbol], first_move[0, symbol] + starts):
            label[top] = move_label[move]
            row_of[top] = row
            left_of[top] = NONE
            start_of[top] = clock
            node = top
            top += 1
            if move_accepting[move] and home:
                record(accepts, counters, slot, row, node, low)
            if move_target[move] >= 0 and count >= 0:
                count, top = add_node(
                    label, left_of, right_of, start_of, top, new_state, new_length, new_node, count, move_target[move], node
                )
        if quiet_start >= 0 or quiet_accept:
            label[top] = BOTTOM
            row_of[top] = row
            left_of[top] = NONE
            start_of[top] = clock
            node = top
            top += 1
            if quiet_accept and home:
                record(accepts, counters, slot, row, node, low)
            if quiet_start >= 0 and count >= 0:
                count, top = add_node(
                    label, left_of, right_of, start_of, top, new_state, new_length, new_node, count, quiet_start, node
                )
        for position in range(active):
            if count < 0:
                break
            length = list_length[slot, position]
            while length > 0 and start_of[list_node[slot, position, length - 1]] < low:
                length -= 1
            if length == 0:
                continue
            state = list_state[slot, position]
            first = first_move[state, symbol]
            last = first + move_count[state, symbol]
            merged = -1
            if last > first or quiet_accepting[state, symbol]:
                merged, top = merge(label, left_of, right_of, start_of, top, list_node, slot, position, length)
                start = start_of[merged]
                for move in range(first, last):
                    if move_target[move] < 0 and not home:
                        continue
                    label[top] = move_label[move]
                    row_of[top] = row
                    left_of[top] = merged
                    start_of[top] = start
                    node = top
                    top += 1
                    if move_accepting[move] and home:
                        record(accepts, counters, slot, row, node, low)
                    if move_target[move] >= 0 and count >= 0:
                        count, top = add_node(
                            label,
                            left_of,
                            right_of,
                            start_of,
                            top,
                            new_state,
                            new_length,
                            new_node,
                            count,
                            move_target[move],
                            node,
                        )
                if quiet_accepting[state, symbol] and home:
                    record(accepts, counters, slot, row, merged, low)
            target = unmarked[state, symbol]
            if target >= 0 and count >= 0:
                known = False
                for other in range(count):
                    if new_state[other] == target:
                        known = True
                        break
                if known:
                    if merged < 0:
                        merged, top = merge(label, left_of, right_of, start_of, top, list_node, slot, position, length)
                    count, top = add_node(
                        label, left_of, right_of, start_of, top, new_state, new_length, new_node, count, target, merged
                    )
                elif count == most_states:
                    count = -1
                else:
                    # Nothing else reaches the target yet: the list moves over as it is.
                    new_state[count] = target
                    new_length[count] = length
                    for index in range(length):
                        new_node[count, index] = list_node[slot, position, index]
                    count += 1
        if count < 0:
            counters[ACCEPTED] = accepted_before
            counters[TOP] = top_before
            return NEED_LISTS, row
        lists.low[slot] = low
        list_count[slot] = count
        for position in range(count):
            list_state[slot, position] = new_state[position]
            length = new_length[position]
            list_length[slot, position] = length
            for index in range(length):
                list_node[slot, position, index] = new_node[position, index]
        if consume != CONSUME_NONE and counters[ACCEPTED] > accepted_before:
            if confirm:
                counters[TOP] = top
                counters[CONFIRM_FROM] = accepted_before
                return CONFIRM, row + 1
            list_count[slot] = 0
            if consume == CONSUME_ALL:
                counters[EPOCH] += 1
    counters[TOP] = top
    return DONE, end


@inner_kernel
def consume_matches(lists, counters, consume, slot):
    """Forget the partial matches that a match has consumed."""
    lists.active[slot] = 0
    if consume == CONSUME_ALL:
        counters[EPOCH] += 1


@inner_kernel
def confirm_accepts(nodes, accepts, counters, walk, found, taken, programs, absences, store, steps):
    """Look for a match among the accepts since CONFIRM_FROM; returns (status, whether there is one).

    SPENT and NEED_WALK ask for steps and for a larger walk; the walk then goes on.
    """
    bits = np.zeros(1, np.int64)
    counts = np.zeros((1, 1), np.float64)
    counted = np.zeros((1, 1), np.int64)
    possible = np.zeros((0, 0), np.int64)
    found.offset[0] = 0
    status, accept, size, number = enumerate_checked(
        nodes,
        accepts,
        counters[CONFIRM_FROM],
        counters[ACCEPTED],
        counters[WALK_SIZE],
        walk,
        found,
        1,
        COUNT_LIMIT,
        taken,
        True,
        programs,
        absences,
        store,
        0,
        1,
        bits,
        counts,
        counted,
        possible,
        steps,
    )
    # FULL without a match written means that one did not fit.
    exists = number > 0 or status == FULL
    counters[CONFIRM_FROM] = accept
    counters[WALK_SIZE] = 0 if exists else size
    if exists or status not in (SPENT, GROW):
        return DONE, exists
    return SPENT if status == SPENT else NEED_WALK, False


@kernel
def advance_confirming(
    tables,
    nodes,
    lists,
    events,
    previous,
    accepts,
    counters,
    consume,
    begin,
    end,
    walk,
    found,
    taken,
    programs,
    absences,
    store,
    steps,
):
    """Advance where only a look at the conditions tells whether an accept holds a match that consumes."""
    while True:
        if not counters[CONFIRMS]:
            status, begin = advance(tables, nodes, lists, events, previous, accepts, counters, consume, True, begin, end, steps)
            if status != CONFIRM:
                return status, begin
        counters[CONFIRMS] = 1
        status, exists = confirm_accepts(nodes, accepts, counters, walk, found, taken, programs, absences, store, steps)
        if status != DONE:
            return status, begin
        counters[CONFIRMS] = 0
        if exists:
            consume_matches(lists, counters, consume, events.slot[begin - 1])


@kernel
def gather_roots(lists, slots, roots, lows):
    """List the nodes that the union-lists hold with the bound of their windows; returns how many."""
    number = 0
    for slot in range(slots):
        for position in range(lists.active[slot]):
            for index in range(lists.length[slot, position]):
                roots[number] = lists.node[slot, position, index]
                lows[number] = lists.low[slot]
                number += 1
    return number


@kernel
def renumber_lists(lists, slots, marked, moved):
    """Point the union-lists at the moved nodes and drop what has expired."""
    for slot in range(slots):
        kept = 0
        for position in range(lists.active[slot]):
            length = 0
            for index in range(lists.length[slot, position]):
                node = lists.node[slot, position, index]
                if marked[node]:
                    lists.node[slot, kept, length] = moved[node]
                    length += 1
            if length > 0:
                lists.state[slot, kept] = lists.state[slot, position]
                lists.length[slot, kept] = length
                kept += 1
        lists.active[slot] = kept


@kernel
def mark_forbidden(last, clock, previous, bounds, needed):
    """Mark the rows of forbidden events that a window may still see."""
    for slot in range(last.shape[0]):
        for absence in range(previous.shape[0]):
            row = last[slot, absence]
            while row >= 0 and clock[row] >= bounds[slot]:
                needed[row] = 1
                row = previous[absence, row]
