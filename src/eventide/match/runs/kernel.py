"""The update step of the runs matcher (Körber 2021, 2.3.5 and Table 4.1): each partial match takes, skips or dies."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from eventide.compilation import copy_start, inner_kernel, kernel
from eventide.match.budget import SPENT
from eventide.match.dag.kernel import (
    ACCEPTED,
    ACCEPTED_BEFORE,
    CONFIRM,
    CONFIRM_FROM,
    CONFIRMS,
    CONSUME_ALL,
    CONSUME_NONE,
    DONE,
    EPOCH,
    FRESH_RUN,
    MIDWAY,
    NEED_ACCEPTS,
    NEED_LISTS,
    NEED_NODES,
    NEED_TRANSITION,
    RUN,
    RUN_BEFORE,
    TOP,
    WANTED_STATE,
    WANTED_SYMBOL,
    confirm_accepts,
    link_absences,
    record,
    restart_slot,
    write_output,
)
from eventide.match.dag.nodes import NONE
from eventide.match.programs.programs import joins, new_scratch
from eventide.match.transitions import UNKNOWN

FREE = 0
USED = 1


class Runs(NamedTuple):
    """The partial matches of every slot, as linked lists over flat arrays. `meta` holds the free list and the high-water mark."""

    head: npt.NDArray[np.int32]
    low: npt.NDArray[np.int64]
    epoch: npt.NDArray[np.int64]
    last: npt.NDArray[np.int32]
    state: npt.NDArray[np.int32]
    node: npt.NDArray[np.int32]
    following: npt.NDArray[np.int32]
    meta: npt.NDArray[np.int64]


def new_runs(slots: int, capacity: int, absences: int) -> Runs:
    """Return no runs."""
    return Runs(
        np.full(slots, -1, np.int32),
        np.full(slots, np.iinfo(np.int64).min, np.int64),
        np.zeros(slots, np.int64),
        np.full((slots, absences), -1, np.int32),
        np.empty(capacity, np.int32),
        np.empty(capacity, np.int32),
        np.empty(capacity, np.int32),
        np.array([-1, 0], np.int64),
    )


@inner_kernel
def drop_runs(runs, slot):
    """Forget all partial matches of a slot."""
    run = runs.head[slot]
    while run >= 0:
        following = runs.following[run]
        runs.following[run] = runs.meta[FREE]
        runs.meta[FREE] = run
        run = following
    runs.head[slot] = -1


@inner_kernel
def new_run(runs, state, node, following):
    """Return a run from the free list or from fresh room, which the caller has seen to."""
    run = runs.meta[FREE]
    if run >= 0:
        runs.meta[FREE] = runs.following[run]
    else:
        run = runs.meta[USED]
        runs.meta[USED] += 1
    runs.state[run] = state
    runs.node[run] = node
    runs.following[run] = following
    return run


@inner_kernel
def path_of(nodes, node, rows, labels):
    """Write the events of a run behind index 0, which is left for the event that may join; returns (depth, rows, labels)."""
    depth = 1
    while node >= 0:
        if depth == rows.shape[0]:
            more_rows = np.empty(2 * depth, np.int32)
            more_labels = np.empty(2 * depth, np.int32)
            copy_start(more_rows, rows, depth)
            copy_start(more_labels, labels, depth)
            rows = more_rows
            labels = more_labels
        rows[depth] = nodes.row[node]
        labels[depth] = nodes.label[node]
        depth += 1
        node = nodes.left[node]
    return depth, rows, labels


@inner_kernel
def room_for_event(tables, nodes, runs, accepts, counters, slot, symbol):
    """Return DONE, or what an event lacks that every run of its key may have to answer."""
    if tables.first[0, symbol] == UNKNOWN:
        counters[WANTED_STATE] = 0
        counters[WANTED_SYMBOL] = symbol
        return NEED_TRANSITION
    moves = tables.moves[0, symbol]
    run = runs.head[slot]
    while run >= 0:
        state = runs.state[run]
        if tables.first[state, symbol] == UNKNOWN:
            counters[WANTED_STATE] = state
            counters[WANTED_SYMBOL] = symbol
            return NEED_TRANSITION
        moves += tables.moves[state, symbol]
        run = runs.following[run]
    if counters[TOP] + moves > nodes.label.shape[0]:
        return NEED_NODES
    if counters[ACCEPTED] + moves > accepts.row.shape[0]:
        return NEED_ACCEPTS
    if runs.meta[USED] + moves > runs.state.shape[0]:
        return NEED_LISTS
    return DONE


@kernel
def advance_runs(
    tables, nodes, runs, events, previous, accepts, counters, consume, confirm, begin, end, programs, store, steps
):
    """Take the events of rows begin..end; returns (status, row to go on with) as the kernel of the DAG does.

    There may be many runs, so SPENT comes in the middle of an event as well, whose room has been seen to by then.
    """
    scratch = new_scratch()
    rows = np.empty(64, np.int32)
    labels = np.empty(64, np.int32)
    absences = previous.shape[0]
    for row in range(begin, end):
        slot = events.slot[row]
        symbol = events.symbol[row]
        low = events.low[row]
        home = events.home[row]
        if counters[MIDWAY]:
            counters[MIDWAY] = 0
            run, before = counters[RUN], counters[RUN_BEFORE]
            fresh, accepted_before = counters[FRESH_RUN], counters[ACCEPTED_BEFORE]
        else:
            if steps[0] <= 0:
                return SPENT, row
            steps[0] -= 1
            if events.restart[row]:
                drop_runs(runs, slot)
                restart_slot(runs, accepts, counters, slot)
                events.restart[row] = 0
            if absences:
                link_absences(events, runs, previous, slot, row)
            if tables.idle[symbol]:
                continue
            if consume == CONSUME_ALL and runs.epoch[slot] != counters[EPOCH]:
                drop_runs(runs, slot)
                runs.epoch[slot] = counters[EPOCH]
            status = room_for_event(tables, nodes, runs, accepts, counters, slot, symbol)
            if status != DONE:
                return status, row
            accepted_before = counters[ACCEPTED]
            runs.low[slot] = low
            fresh = np.int64(-1)
            before = np.int64(-1)
            run = np.int64(runs.head[slot])
        while run >= 0:
            if steps[0] <= 0:
                counters[MIDWAY] = 1
                counters[RUN], counters[RUN_BEFORE] = run, before
                counters[FRESH_RUN], counters[ACCEPTED_BEFORE] = fresh, accepted_before
                return SPENT, row
            steps[0] -= 1
            following = runs.following[run]
            node = runs.node[run]
            state = runs.state[run]
            target = -1
            if nodes.start[node] >= low:
                first = tables.first[state, symbol]
                eligible = 0
                if tables.moves[state, symbol] > 0:
                    depth, rows, labels = path_of(nodes, node, rows, labels)
                    steps[0] -= depth
                    rows[0] = row
                    for move in range(tables.moves[state, symbol]):
                        labels[0] = tables.label[first + move]
                        if not joins(
                            programs,
                            np.int64(0),
                            rows,
                            labels,
                            np.int64(depth),
                            store.values,
                            store.floats,
                            store.valid,
                            scratch,
                        ):
                            continue
                        eligible |= 1 << move
                        top = counters[TOP]
                        counters[TOP] = top + 1
                        write_output(nodes, top, labels[0], row, node, nodes.start[node])
                        if tables.accepting[first + move] and home:
                            record(accepts, counters, slot, row, top, low)
                        if tables.target[first + move] >= 0:
                            fresh = new_run(runs, tables.target[first + move], top, fresh)
                target = tables.skip[tables.skip_first[state, symbol] + eligible]
            if target >= 0:
                runs.state[run] = target
                before = run
            else:
                if before >= 0:
                    runs.following[before] = following
                else:
                    runs.head[slot] = following
                runs.following[run] = runs.meta[FREE]
                runs.meta[FREE] = run
            run = np.int64(following)
        first = tables.first[0, symbol]
        rows[0] = row
        for move in range(tables.moves[0, symbol]):
            labels[0] = tables.label[first + move]
            if not joins(
                programs, np.int64(0), rows, labels, np.int64(1), store.values, store.floats, store.valid, scratch
            ):
                continue
            top = counters[TOP]
            counters[TOP] = top + 1
            write_output(nodes, top, labels[0], row, NONE, events.clock[row])
            if tables.accepting[first + move] and home:
                record(accepts, counters, slot, row, top, low)
            if tables.target[first + move] >= 0:
                fresh = new_run(runs, tables.target[first + move], top, fresh)
        while fresh >= 0:
            following = runs.following[fresh]
            runs.following[fresh] = runs.head[slot]
            runs.head[slot] = fresh
            fresh = following
        if consume != CONSUME_NONE and counters[ACCEPTED] > accepted_before:
            if confirm:
                counters[CONFIRM_FROM] = accepted_before
                return CONFIRM, row + 1
            drop_runs(runs, slot)
            if consume == CONSUME_ALL:
                counters[EPOCH] += 1
    return DONE, end


@kernel
def advance_runs_confirming(
    tables,
    nodes,
    runs,
    events,
    previous,
    accepts,
    counters,
    consume,
    begin,
    end,
    programs,
    store,
    walk,
    found,
    taken,
    closing_programs,
    absences,
    steps,
):
    """Advance where only a look at whole matches tells whether an accept holds a match that consumes."""
    while True:
        if not counters[CONFIRMS]:
            status, begin = advance_runs(
                tables, nodes, runs, events, previous, accepts, counters, consume, True, begin, end, programs, store, steps
            )
            if status != CONFIRM:
                return status, begin
        counters[CONFIRMS] = 1
        status, exists = confirm_accepts(nodes, accepts, counters, walk, found, taken, closing_programs, absences, store, steps)
        if status != DONE:
            return status, begin
        counters[CONFIRMS] = 0
        if exists:
            drop_runs(runs, events.slot[begin - 1])
            if consume == CONSUME_ALL:
                counters[EPOCH] += 1


@kernel
def gather_run_roots(runs, roots, lows):
    """List the nodes that runs hold, with the bounds of their windows; returns how many."""
    number = 0
    for slot in range(runs.head.shape[0]):
        run = runs.head[slot]
        while run >= 0:
            roots[number] = runs.node[run]
            lows[number] = runs.low[slot]
            number += 1
            run = runs.following[run]
    return number


@kernel
def renumber_runs(runs, marked, moved):
    """Point the runs at the moved nodes and drop what has expired."""
    for slot in range(runs.head.shape[0]):
        before = -1
        run = runs.head[slot]
        while run >= 0:
            following = runs.following[run]
            node = runs.node[run]
            if marked[node]:
                runs.node[run] = moved[node]
                before = run
            else:
                if before >= 0:
                    runs.following[before] = following
                else:
                    runs.head[slot] = following
                runs.following[run] = runs.meta[FREE]
                runs.meta[FREE] = run
            run = following


@kernel
def count_runs(runs):
    """Return the number of runs of every slot."""
    counts = np.zeros(runs.head.shape[0], np.int32)
    for slot in range(runs.head.shape[0]):
        run = runs.head[slot]
        while run >= 0:
            counts[slot] += 1
            run = runs.following[run]
    return counts
