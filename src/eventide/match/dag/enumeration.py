"""Enumeration of matches from accepted nodes, with output-linear delay (Abella 2022, 5.4, erratum slice-guard).

The walk goes from the last event of a match to its first. `checking.py` enumerates with conditions and in slices.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from eventide.compilation import kernel
from eventide.match.budget import SPENT
from eventide.match.dag.nodes import BOTTOM, UNION

FINISHED = 0
FULL = 1
GROW = 2
COUNT_LIMIT = 1 << 61
"""More matches than anybody enumerates."""


class Accepts(NamedTuple):
    """Where matches end: the row of the last event, the node that holds them, the window's bound, the latest NOT events after."""

    row: npt.NDArray[np.int32]
    node: npt.NDArray[np.int32]
    low: npt.NDArray[np.int64]
    key: npt.NDArray[np.int64]
    """A number for the key of the match, ascending with every restart."""
    tail: npt.NDArray[np.int32]
    """[accept, absence]"""


def new_accepts(capacity: int, absences: int) -> Accepts:
    """Return room for accepts."""
    return Accepts(
        np.empty(capacity, np.int32),
        np.empty(capacity, np.int32),
        np.empty(capacity, np.int64),
        np.empty(capacity, np.int64),
        np.full((capacity, absences), -1, np.int32),
    )


class Absences(NamedTuple):
    """The NOTs that are checked on found matches."""

    leading: npt.NDArray[np.int32]
    trailing: npt.NDArray[np.int32]
    condition_first: npt.NDArray[np.int32]
    """[absence + 1]: where its conditions begin; an absence without conditions forbids every event of its bit."""
    condition: npt.NDArray[np.int32]
    check_first: npt.NDArray[np.int32]
    """[label + 1]: where the absences to check on the gap before an event with that label begin."""
    check: npt.NDArray[np.int32]
    decided: npt.NDArray[np.uint8]
    """[absence, label]: 1 when an event with the label, joining as the earliest, leaves the conditions nothing to wait for."""
    inside: npt.NDArray[np.uint8]
    """[absence, label]: 1 when the gap of the absence reaches back to an event with the label (0: of another operand of AND)."""


class Store(NamedTuple):
    """The events that matches may still refer to, by row."""

    clock: npt.NDArray[np.int64]
    low: npt.NDArray[np.int64]
    values: npt.NDArray[np.int64]
    """[column, row]; doubles are kept as their bits."""
    floats: npt.NDArray[np.float64]
    """The same memory as `values`, seen as doubles."""
    valid: npt.NDArray[np.uint8]
    previous: npt.NDArray[np.int32]
    """[absence, row]: the latest forbidden event of the same key before the row, or -1."""


class MatchBatch(NamedTuple):
    """Matches as flat arrays; the events of match m are `row[offset[m]:offset[m + 1]]`, in event order."""

    start: npt.NDArray[np.int32]
    end: npt.NDArray[np.int32]
    offset: npt.NDArray[np.int64]
    row: npt.NDArray[np.int32]
    label: npt.NDArray[np.int32]


class Walk(NamedTuple):
    """The suspended state of an enumeration: a stack of branches still to take, and the path so far."""

    node: npt.NDArray[np.int32]
    depth: npt.NDArray[np.int32]
    position: npt.NDArray[np.float64]
    """Of the first path below a branch, among all; `begin` and `end` say which positions are wanted."""
    begin: npt.NDArray[np.float64]
    end: npt.NDArray[np.float64]
    value: npt.NDArray[np.int32]
    """The number of the value on which the paths must agree, where slices are counted by value."""
    path_row: npt.NDArray[np.int32]
    path_label: npt.NDArray[np.int32]


def new_walk(capacity: int = 1024) -> Walk:
    """Return an empty walk."""
    return Walk(
        np.empty(capacity, np.int32),
        np.empty(capacity, np.int32),
        np.empty(capacity, np.float64),
        np.empty(capacity, np.float64),
        np.empty(capacity, np.float64),
        np.empty(capacity, np.int32),
        np.empty(capacity, np.int32),
        np.empty(capacity, np.int32),
    )


def new_found(matches: int, positions: int) -> MatchBatch:
    """Return room for matches."""
    return MatchBatch(
        np.empty(matches, np.int32),
        np.empty(matches, np.int32),
        np.zeros(matches + 1, np.int64),
        np.empty(positions, np.int32),
        np.empty(positions, np.int32),
    )


def grow_walk(walk: Walk) -> Walk:
    """Return the walk with twice the room. The path is kept at both ends, for the two ways to lay it out."""
    size = len(walk.node)
    larger = new_walk(2 * size)
    for name, column in larger._asdict().items():
        column[:size] = getattr(walk, name)
    larger.path_row[size:], larger.path_label[size:] = walk.path_row, walk.path_label
    return larger


@kernel
def enumerate_plain(nodes, accepts, accept, last_accept, size, walk, found, limit, quota, taken, one_each, steps):
    """Enumerate without conditions; returns (status, accept, stack size, matches written).

    With `one_each` one match is enough for an end event. A key yields at most `quota` matches; `taken[key]` counts them from
    call to call. FULL asks for room for matches, GROW for a larger walk, SPENT for steps; the call is then repeated with what was
    returned. One place of the stack is always spare, so that the node at hand can be put back. The path is laid out from the
    end of its arrays, which makes it a plain copy into the result.
    """
    label_of, row_of, left_of, right_of, start_of = nodes.label, nodes.row, nodes.left, nodes.right, nodes.start
    stack, depths, path_row, path_label = walk.node, walk.depth, walk.path_row, walk.path_label
    starts, ends, offsets, rows, labels = found.start, found.end, found.offset, found.row, found.label
    spare = stack.shape[0] - 1
    reach = path_row.shape[0]
    room = rows.shape[0]
    number = 0
    satisfied = -1
    written = offsets[0]
    # Every branch leads to a match, so matches and their positions are the steps: no counter but the bounds of the result.
    most, most_written = min(np.int64(limit), steps[0]), min(np.int64(room), written + steps[0])
    while accept < last_accept or size > 0:
        if size == 0:
            root = accepts.node[accept]
            accept += 1
            if one_each and accepts.row[accept - 1] == satisfied:
                continue
            if start_of[root] < accepts.low[accept - 1] or taken[accepts.key[accept - 1]] >= quota:
                continue
            stack[0] = root
            depths[0] = 0
            size = 1
        low = accepts.low[accept - 1]
        end = accepts.row[accept - 1]
        key = accepts.key[accept - 1]
        left_to_take = quota - taken[key]
        first = number
        while size > 0:
            if number - first >= left_to_take:
                size = 0
                break
            if number == most:
                taken[key] += number - first
                steps[0] -= number + written - offsets[0]
                return FULL if number == limit else SPENT, accept, size, number
            size -= 1
            node = stack[size]
            depth = depths[size]
            while True:
                label = label_of[node]
                if label == UNION:
                    right = right_of[node]
                    if start_of[right] >= low:
                        if size == spare:
                            stack[size] = node
                            depths[size] = depth
                            taken[key] += number - first
                            steps[0] -= number + written - offsets[0]
                            return GROW, accept, size + 1, number
                        stack[size] = right
                        depths[size] = depth
                        size += 1
                    node = left_of[node]
                    continue
                row = row_of[node]
                if label != BOTTOM:
                    if depth == reach:
                        stack[size] = node
                        depths[size] = depth
                        taken[key] += number - first
                        steps[0] -= number + written - offsets[0]
                        return GROW, accept, size + 1, number
                    depth += 1
                    path_row[reach - depth] = row
                    path_label[reach - depth] = label
                    if left_of[node] >= 0:
                        node = left_of[node]
                        continue
                if written + depth > most_written and (number > 0 or written + depth > room):
                    # Come back to this leaf with more room, or more steps.
                    stack[size] = node
                    depths[size] = depth if label == BOTTOM else depth - 1
                    taken[key] += number - first
                    steps[0] -= number + written - offsets[0]
                    return FULL if written + depth > room else SPENT, accept, size + 1, number
                starts[number] = row
                ends[number] = end
                source = reach - depth
                for index in range(depth):
                    rows[written + index] = path_row[source + index]
                    labels[written + index] = path_label[source + index]
                written += depth
                number += 1
                offsets[number] = written
                if one_each:
                    satisfied = end
                    size = 0
                break
        taken[key] += number - first
    steps[0] -= number + written - offsets[0]
    return FINISHED, accept, size, number
