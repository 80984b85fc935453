"""From the shared DAG to the judged one: each node once for each summary with which a path reaches it, and no dead ends.

What can be asked of the shared DAG without conditions (the matches, the preferred one, how many there are) can be asked of the
judged one in the same way. Work and memory grow with the pairs of nodes and summaries, not with the candidates.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from eventide.compilation import inner_kernel, kernel
from eventide.match.budget import SPENT
from eventide.match.dag.checking import surroundings_are_clean
from eventide.match.dag.judged.bounds import foresee, too_close
from eventide.match.dag.judged.summaries import drop, mixed, place_of_cell, put_in_front, summarise
from eventide.match.dag.nodes import BOTTOM, UNION
from eventide.match.programs.operators import STACK
from eventide.match.programs.programs import closes, joins, new_scratch

DONE, NEED_STACK, NEED_PATH, NEED_NODES, NEED_PAIRS, NEED_SUMMARIES, NEED_CELLS = range(7)
DEAD, AGAIN = -1, -2
"""Results that are no nodes: there is no match; and there may be one for another path with the same summary."""
SIZE, TOP, PAIRS, SUMMARIES, CELLS, RETURNED, UNSURE, LEAVES, VISITS, STOPPED, COUNTERS = range(11)
"""Places of the counters: the stack, judged nodes, pairs, summaries, lists, the last result and whether it is for this path
alone, leaves found, pairs visited, and whether to stop."""
ENOUGH, TOO_MUCH = 1, 2
EVENTS_OF_A_STEP = 8
"""A condition is judged for so many events of a path in the time of one step."""
MOST_VISITS = 2
"""How often a pair may be visited on average, where sums of doubles want it."""
ENTER, LEFT_DONE, RIGHT_DONE, CHILD_DONE = range(4)
"""How far the work at a place of the stack has come."""


class Stack(NamedTuple):
    """The nodes that are being judged, from the root to the one at hand."""

    node: npt.NDArray[np.int32]
    summary: npt.NDArray[np.int32]
    shown: npt.NDArray[np.int64]
    """The list of what the result shows of the path, where one match for each is enough."""
    depth: npt.NDArray[np.int32]
    stage: npt.NDArray[np.int32]
    left: npt.NDArray[np.int32]
    """What the left side gave, and the pair that is being made."""
    pair: npt.NDArray[np.int32]
    unsure: npt.NDArray[np.int32]


class Pairs(NamedTuple):
    """What was found for a node and a summary."""

    node: npt.NDArray[np.int32]
    summary: npt.NDArray[np.int32]
    shown: npt.NDArray[np.int64]
    result: npt.NDArray[np.int32]
    slot: npt.NDArray[np.int32]


class KnownSummaries(NamedTuple):
    """Summaries by number."""

    marks: npt.NDArray[np.int64]
    held: npt.NDArray[np.int64]
    slot: npt.NDArray[np.int32]


def new_stack(capacity: int) -> Stack:
    """Return an empty stack."""
    node, summary, depth, stage, left, pair, unsure = (np.zeros(capacity, np.int32) for _ in range(7))
    return Stack(node, summary, np.zeros(capacity, np.int64), depth, stage, left, pair, unsure)


def new_pairs(capacity: int) -> Pairs:
    """Return room for pairs."""
    node, summary, result = (np.zeros(capacity, np.int32) for _ in range(3))
    return Pairs(node, summary, np.zeros(capacity, np.int64), result, np.full(2 * capacity, -1, np.int32))


def new_known(capacity: int, registers: int) -> KnownSummaries:
    """Return room for summaries."""
    return KnownSummaries(
        np.zeros((capacity, registers), np.int64), np.zeros((capacity, registers), np.int64), np.full(2 * capacity, -1, np.int32)
    )


@inner_kernel
def hash_of_summary(known, number):
    """Return the hash of a summary."""
    hashed = np.uint64(23)
    for register in range(known.marks.shape[1]):
        hashed = mixed(mixed(hashed, known.marks[number, register]), known.held[number, register])
    return hashed


@inner_kernel
def place_of_summary(known, number):
    """Return the place in the hash table of a summary that equals one, or where it would stand."""
    places = known.slot.shape[0] - 1
    place = np.int64(hash_of_summary(known, number) & np.uint64(places))
    while known.slot[place] >= 0:
        other = known.slot[place]
        same = True
        for register in range(known.marks.shape[1]):
            if (
                known.marks[other, register] != known.marks[number, register]
                or known.held[other, register] != known.held[number, register]
            ):
                same = False
                break
        if same:
            return place
        place = (place + 1) & places
    return place


@inner_kernel
def number_of_summary(known, top):
    """Return (the number of the summary that is written at `top`, how many there are)."""
    place = place_of_summary(known, top)
    if known.slot[place] >= 0:
        return np.int64(known.slot[place]), top
    known.slot[place] = top
    return np.int64(top), top + 1


@inner_kernel
def hash_of_pair(node, summary, shown):
    """Return the hash of a pair."""
    return mixed(mixed(mixed(np.uint64(5), node), summary), shown)


@inner_kernel
def place_of_pair(pairs, node, summary, shown):
    """Return the place of a pair in the hash table, or where it would stand."""
    places = pairs.slot.shape[0] - 1
    place = np.int64(hash_of_pair(node, summary, shown) & np.uint64(places))
    while pairs.slot[place] >= 0:
        other = pairs.slot[place]
        if pairs.node[other] == node and pairs.summary[other] == summary and pairs.shown[other] == shown:
            return place
        place = (place + 1) & places
    return place


@kernel
def spread_out(pairs, known, cells, counters):
    """Fill the hash tables anew, after they have grown."""
    for number in range(counters[PAIRS]):
        node, summary, shown = np.int64(pairs.node[number]), np.int64(pairs.summary[number]), pairs.shown[number]
        pairs.slot[place_of_pair(pairs, node, summary, shown)] = number
    for number in range(counters[SUMMARIES]):
        number_of_summary(known, np.int64(number))
    for number in range(1, counters[CELLS]):
        put_in_front(cells, np.int64(number), cells.rest[number], cells.mark[number], cells.value[number])


@kernel
def forget(pairs, known, cells, counters):
    """Empty everything for the next end. The last to come leaves first, so that the others are found where they stand."""
    for number in range(counters[PAIRS] - 1, -1, -1):
        node, summary, shown = np.int64(pairs.node[number]), np.int64(pairs.summary[number]), pairs.shown[number]
        pairs.slot[place_of_pair(pairs, node, summary, shown)] = -1
    for number in range(counters[SUMMARIES] - 1, -1, -1):
        known.slot[place_of_summary(known, np.int64(number))] = -1
    for number in range(counters[CELLS] - 1, 0, -1):
        cells.slot[place_of_cell(cells, cells.rest[number], cells.mark[number], cells.value[number])] = -1
    for place in range(COUNTERS):
        counters[place] = 0
    counters[CELLS] = 1


@kernel
def judge(
    nodes,
    accepts,
    accept,
    walk,
    programs,
    absences,
    store,
    summaries,
    bounded,
    quanta,
    below,
    visible,
    judged,
    stack,
    pairs,
    known,
    cells,
    counters,
    witnesses,
    enough,
    most_pairs,
    steps,
):
    """Judge what lies below the root of an accept, from where the counters say; the result is a judged node, or DEAD.

    With `witnesses` a path that shows what another has shown before, and can go on in the same ways, is left out: each match
    of the result is found, most of them once. At `enough` matches the rest is left out. Returns DONE, SPENT, or what needs room.
    """
    label_of, row_of, left_of, right_of, start_of = nodes.label, nodes.row, nodes.left, nodes.right, nodes.start
    path_row, path_label = walk.path_row, walk.path_label
    values, floats, valid = store.values, store.floats, store.valid
    registers = summaries.kind.shape[0]
    low = accepts.low[accept]
    surrounded = absences.leading.shape[0] + absences.trailing.shape[0] > 0
    scratch = new_scratch()
    lows, highs, bits = np.zeros(STACK), np.zeros(STACK), np.zeros(1, np.int64)
    foreseeing = bounded.first.shape[0] > 1
    adding = bounded.adds.sum() > 0
    left_steps = steps[0]
    if counters[SIZE] == 0:
        # The first summary knows nothing.
        if counters[SUMMARIES] == 0:
            for register in range(registers):
                known.marks[0, register] = 0
                known.held[0, register] = 0
            number_of_summary(known, np.int64(0))
            counters[SUMMARIES] = 1
        stack.node[0] = accepts.node[accept]
        stack.summary[0] = 0
        stack.shown[0] = 0
        stack.depth[0] = 0
        stack.stage[0] = ENTER
        counters[SIZE] = 1
    while counters[SIZE] > 0:
        at = counters[SIZE] - 1
        depth = np.int64(stack.depth[at])
        if left_steps <= 0:
            steps[0] = left_steps
            return SPENT
        if at + 1 == stack.node.shape[0]:
            steps[0] = left_steps
            return NEED_STACK
        if depth + 1 >= path_row.shape[0]:
            steps[0] = left_steps
            return NEED_PATH
        if counters[TOP] + 1 >= judged.label.shape[0]:
            steps[0] = left_steps
            return NEED_NODES
        if counters[PAIRS] == pairs.node.shape[0]:
            steps[0] = left_steps
            return NEED_PAIRS
        if counters[SUMMARIES] + 1 >= known.marks.shape[0]:
            steps[0] = left_steps
            return NEED_SUMMARIES
        if counters[CELLS] + registers + 1 >= cells.rest.shape[0]:
            steps[0] = left_steps
            return NEED_CELLS
        left_steps -= 1
        node = np.int64(stack.node[at])
        stage = stack.stage[at]
        label = label_of[node]
        result = np.int64(DEAD)
        top = counters[TOP]
        if stage == ENTER:
            counters[UNSURE] = 0
            if counters[STOPPED]:
                counters[RETURNED] = DEAD
                counters[SIZE] = at
                continue
            summary, shown = np.int64(stack.summary[at]), stack.shown[at]
            place = place_of_pair(pairs, node, summary, shown)
            number = np.int64(pairs.slot[place])
            if number >= 0 and pairs.result[number] != AGAIN:
                result = np.int64(pairs.result[number])
                if result != DEAD:
                    counters[LEAVES] += 1
                    if counters[LEAVES] >= enough:
                        counters[STOPPED] = ENOUGH
                counters[RETURNED] = DEAD if witnesses else result
                counters[SIZE] = at
                continue
            if number < 0:
                number = counters[PAIRS]
                counters[PAIRS] = number + 1
                pairs.slot[place] = number
                pairs.node[number] = node
                pairs.summary[number] = summary
                pairs.shown[number] = shown
            counters[VISITS] += 1
            if counters[PAIRS] > most_pairs or counters[VISITS] > MOST_VISITS * most_pairs:
                counters[STOPPED] = TOO_MUCH
            pairs.result[number] = DEAD
            stack.pair[at] = number
            stack.unsure[at] = 0
            if label == UNION:
                stack.stage[at] = LEFT_DONE
                stack.node[at + 1] = left_of[node]
                stack.summary[at + 1] = summary
                stack.shown[at + 1] = shown
                stack.depth[at + 1] = depth
                stack.stage[at + 1] = ENTER
                counters[SIZE] = at + 2
                continue
            row = np.int64(row_of[node])
            holding = True
            if label != BOTTOM:
                path_row[depth] = row
                path_label[depth] = label
                depth += 1
                if programs.judged[label]:
                    left_steps -= depth // EVENTS_OF_A_STEP
                    holding = joins(programs, depth - 1, path_row, path_label, depth, values, floats, valid, scratch)
                fresh = counters[SUMMARIES]
                # A sum of doubles may be what failed: in another order it may not.
                if registers and (adding or (holding and left_of[node] >= 0)):
                    for register in range(registers):
                        known.marks[fresh, register] = known.marks[summary, register]
                        known.held[fresh, register] = known.held[summary, register]
                    marks, held = known.marks[fresh], known.held[fresh]
                    counters[CELLS] = summarise(
                        summaries, label, row, values, floats, valid, quanta, marks, held, cells, counters[CELLS]
                    )
                    last = np.int64(label) if left_of[node] >= 0 else np.int64(-1)
                    if adding and too_close(bounded, last, marks, held, quanta, below, lows, highs, bits):
                        stack.unsure[at] = 1
                    if holding and left_of[node] >= 0:
                        drop(summaries, label, marks, held)
                        if foreseeing:
                            child = np.int64(left_of[node])
                            holding = foresee(bounded, marks, held, quanta, below, child, lows, highs, bits)
                if holding and left_of[node] >= 0:
                    if registers:
                        summary, counters[SUMMARIES] = number_of_summary(known, fresh)
                    if witnesses and visible[label] >= 0:
                        shown, counters[CELLS] = put_in_front(cells, counters[CELLS], shown, row, np.int64(visible[label]))
                    stack.stage[at] = CHILD_DONE
                    stack.node[at + 1] = left_of[node]
                    stack.summary[at + 1] = summary
                    stack.shown[at + 1] = shown
                    stack.depth[at + 1] = depth
                    stack.stage[at + 1] = ENTER
                    counters[SIZE] = at + 2
                    continue
            elif adding and too_close(
                bounded, np.int64(-1), known.marks[summary], known.held[summary], quanta, below, lows, highs, bits
            ):
                stack.unsure[at] = 1
            if holding and programs.closing.shape[0]:
                left_steps -= depth // EVENTS_OF_A_STEP
                outermost = path_label[depth - 1] if depth > 0 else np.int32(0)
                holding = closes(programs, outermost, path_row, path_label, depth, values, floats, valid, scratch)
            if holding and surrounded:
                holding = surroundings_are_clean(
                    programs, absences, accepts, np.int64(accept), row, walk, depth, store, scratch
                )
            if holding:
                judged.label[top] = label
                judged.row[top] = row
                judged.left[top] = -1
                judged.right[top] = -1
                judged.start[top] = start_of[node]
                counters[TOP] = top + 1
                result = top
                counters[LEAVES] += 1
                if counters[LEAVES] >= enough:
                    counters[STOPPED] = ENOUGH
        elif stage == LEFT_DONE:
            stack.left[at] = counters[RETURNED]
            stack.unsure[at] |= counters[UNSURE]
            right = right_of[node]
            if start_of[right] >= low and not counters[STOPPED]:
                stack.stage[at] = RIGHT_DONE
                stack.node[at + 1] = right
                stack.summary[at + 1] = stack.summary[at]
                stack.shown[at + 1] = stack.shown[at]
                stack.depth[at + 1] = depth
                stack.stage[at + 1] = ENTER
                counters[SIZE] = at + 2
                continue
            result = np.int64(stack.left[at])
        elif stage == RIGHT_DONE:
            left, right = np.int64(stack.left[at]), counters[RETURNED]
            result = left if right == DEAD else right
            if left != DEAD and right != DEAD:
                judged.label[top] = UNION
                judged.row[top] = 0
                judged.left[top] = left
                judged.right[top] = right
                judged.start[top] = max(judged.start[left], judged.start[right])
                counters[TOP] = top + 1
                result = top
        elif counters[RETURNED] != DEAD:
            judged.label[top] = label
            judged.row[top] = row_of[node]
            judged.left[top] = counters[RETURNED]
            judged.right[top] = -1
            judged.start[top] = judged.start[counters[RETURNED]]
            counters[TOP] = top + 1
            result = top
        if stage == RIGHT_DONE or stage == CHILD_DONE:
            stack.unsure[at] |= counters[UNSURE]
        # A leaf that was not looked for, because there is enough, makes no pair dead.
        pairs.result[stack.pair[at]] = AGAIN if stack.unsure[at] or counters[STOPPED] else result
        counters[RETURNED] = result
        counters[UNSURE] = stack.unsure[at]
        counters[SIZE] = at
    steps[0] = left_steps
    return DONE
