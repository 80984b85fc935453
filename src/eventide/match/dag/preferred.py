"""The NEXT and LAST selectors without enumerating all matches: the winning support is found by a greedy walk over the DAG.

Of two supports the one with the earliest (latest) event in which they differ wins, so the winner is found event by event: LAST
goes from the end of the matches back, always to the latest event that any live path offers; NEXT goes from the starts
forward, always to the earliest. Each walk looks at every live node of the DAG at most once, where enumeration could take
exponential time.
"""

from __future__ import annotations

import numpy as np

from eventide.compilation import copy_start, inner_kernel, kernel
from eventide.match.budget import SPENT
from eventide.match.dag.enumeration import FINISHED, FULL, GROW
from eventide.match.dag.nodes import UNION


@inner_kernel
def outputs_below(label_of, left_of, right_of, start_of, sources, size, low, seen, stamp, found):
    """Collect the output nodes that the sources reach through live unions; returns (how many, found)."""
    stack = np.empty(64, np.int32)
    number = 0
    for index in range(size):
        top = 1
        stack[0] = sources[index]
        while top > 0:
            top -= 1
            node = stack[top]
            while seen[node] != stamp:
                seen[node] = stamp
                if label_of[node] != UNION:
                    if number == found.shape[0]:
                        larger = np.empty(2 * number, np.int32)
                        copy_start(larger, found, number)
                        found = larger
                    found[number] = node
                    number += 1
                    break
                right = right_of[node]
                if start_of[right] >= low:
                    if top == stack.shape[0]:
                        more = np.empty(2 * top, np.int32)
                        copy_start(more, stack, top)
                        stack = more
                    stack[top] = right
                    top += 1
                node = left_of[node]
    return number, found


@inner_kernel
def latest_support(nodes, roots, root_count, low, seen, stamp, support):
    """Write the winning support of LAST, latest event first; returns (its length, the next stamp, support, nodes looked at)."""
    label_of, row_of, left_of, right_of, start_of = nodes.label, nodes.row, nodes.left, nodes.right, nodes.start
    sources = roots[:root_count].copy()
    size = root_count
    found = np.empty(64, np.int32)
    length = 0
    looked = 0
    while size > 0:
        stamp += 1
        number, found = outputs_below(label_of, left_of, right_of, start_of, sources, size, low, seen, stamp, found)
        looked += number
        best = -1
        for index in range(number):
            best = max(best, row_of[found[index]])
        if length == support.shape[0]:
            larger = np.empty(2 * length, np.int32)
            copy_start(larger, support, length)
            support = larger
        support[length] = best
        length += 1
        if number > sources.shape[0]:
            sources = np.empty(2 * number, np.int32)
        size = 0
        for index in range(number):
            node = found[index]
            if row_of[node] == best and left_of[node] >= 0:
                sources[size] = left_of[node]
                size += 1
    return length, stamp, support, looked


@inner_kernel
def earliest_support(nodes, roots, root_count, low, seen, stamp, support):
    """Write the winning support of NEXT, latest event first; returns (its length, the next stamp, support, nodes looked at)."""
    label_of, row_of, left_of, right_of, start_of = nodes.label, nodes.row, nodes.left, nodes.right, nodes.start
    # The live nodes below the roots, then their edges turned around.
    stamp += 1
    reached = np.empty(256, np.int32)
    size = 0
    for index in range(root_count):
        if seen[roots[index]] != stamp:
            seen[roots[index]] = stamp
            reached[size] = roots[index]
            size += 1
            if size == reached.shape[0]:
                larger = np.empty(2 * size, np.int32)
                copy_start(larger, reached, size)
                reached = larger
    at = 0
    while at < size:
        node = reached[at]
        at += 1
        for side in range(2):
            child = left_of[node] if side == 0 else -1
            if side == 1 and label_of[node] == UNION and start_of[right_of[node]] >= low:
                child = right_of[node]
            if child >= 0 and seen[child] != stamp:
                seen[child] = stamp
                if size == reached.shape[0]:
                    more = np.empty(2 * size, np.int32)
                    copy_start(more, reached, size)
                    reached = more
                reached[size] = child
                size += 1
    nodes_here = np.sort(reached[:size])
    first = np.zeros(size + 1, np.int64)
    for phase in range(2):
        if phase == 1:
            for index in range(size):
                first[index + 1] += first[index]
            parents = np.empty(first[size], np.int32)
            filled = first.copy()
        for index in range(size):
            node = nodes_here[index]
            for side in range(2):
                child = left_of[node] if side == 0 else -1
                if side == 1 and label_of[node] == UNION and start_of[right_of[node]] >= low:
                    child = right_of[node]
                if child >= 0:
                    place = np.searchsorted(nodes_here, child)
                    if phase == 0:
                        first[place + 1] += 1
                    else:
                        parents[filled[place]] = index
                        filled[place] += 1
    # Start with the earliest first event, then always the earliest event above the frontier.
    frontier = np.zeros(size, np.int32)
    frontier_size = 0
    best = -1
    for index in range(size):
        node = nodes_here[index]
        if label_of[node] != UNION and left_of[node] < 0 and (best < 0 or row_of[node] < best):
            best = row_of[node]
    for index in range(size):
        node = nodes_here[index]
        if label_of[node] != UNION and left_of[node] < 0 and row_of[node] == best:
            frontier[frontier_size] = index
            frontier_size += 1
    above = np.zeros(size, np.int32)
    queue = np.empty(size, np.int32)
    visited = np.zeros(size, np.int64)
    turn = 0
    length = 0
    while frontier_size > 0:
        if length == support.shape[0]:
            wider = np.empty(2 * length, np.int32)
            copy_start(wider, support, length)
            support = wider
        support[length] = best
        length += 1
        turn += 1
        above_size = 0
        queue_size = frontier_size
        copy_start(queue, frontier, frontier_size)
        at = 0
        best = -1
        while at < queue_size:
            index = queue[at]
            at += 1
            for edge in range(first[index], first[index + 1]):
                parent = parents[edge]
                if visited[parent] == turn:
                    continue
                visited[parent] = turn
                node = nodes_here[parent]
                if label_of[node] == UNION:
                    queue[queue_size] = parent
                    queue_size += 1
                else:
                    above[above_size] = parent
                    above_size += 1
                    if best < 0 or row_of[node] < best:
                        best = row_of[node]
        frontier_size = 0
        for index in range(above_size):
            if row_of[nodes_here[above[index]]] == best:
                frontier[frontier_size] = above[index]
                frontier_size += 1
    for index in range(length // 2):
        support[index], support[length - 1 - index] = support[length - 1 - index], support[index]
    return length, stamp, support, size


@inner_kernel
def write_bindings(nodes, roots, root, root_count, size, walk, low, support, length, end, found, number, steps):
    """Write every match with exactly this support (they differ in variables only), from a root and a suspended walk on.

    Returns (status, root, stack size, matches written).
    """
    label_of, row_of, left_of, right_of, start_of = nodes.label, nodes.row, nodes.left, nodes.right, nodes.start
    stack, depths, labels = walk.node, walk.depth, walk.path_label
    spare = stack.shape[0] - 1
    if length >= labels.shape[0]:
        return GROW, root, size, number
    while root < root_count or size > 0:
        if size == 0:
            stack[0] = roots[root]
            depths[0] = 0
            size = 1
            root += 1
        if steps[0] <= 0:
            return SPENT, root, size, number
        size -= 1
        node = stack[size]
        depth = depths[size]
        while True:
            steps[0] -= 1
            if label_of[node] == UNION:
                right = right_of[node]
                if start_of[right] >= low:
                    if size == spare:
                        stack[size] = node
                        depths[size] = depth
                        return GROW, root, size + 1, number
                    stack[size] = right
                    depths[size] = depth
                    size += 1
                node = left_of[node]
                continue
            if depth == length or row_of[node] != support[depth]:
                break
            labels[depth] = label_of[node]
            depth += 1
            if left_of[node] >= 0:
                node = left_of[node]
                continue
            if depth < length:
                break
            written = found.offset[number]
            if number == found.start.shape[0] or written + length > found.row.shape[0]:
                # Come back to this leaf with more room.
                stack[size] = node
                depths[size] = depth - 1
                return FULL, root, size + 1, number
            found.start[number] = row_of[node]
            found.end[number] = end
            for place in range(length):
                found.row[written + place] = support[length - 1 - place]
                found.label[written + place] = labels[length - 1 - place]
            number += 1
            found.offset[number] = written + length
            break
    return FINISHED, root, size, number


@kernel
def enumerate_preferred(nodes, accepts, accept, last_accept, root, size, walk, found, number, limit, latest, seen, steps):
    """Write the matches that win at each end event behind the `number` in `found`.

    Returns (status, accept, root, stack size, matches in `found`). It stops between two end events where there are `limit`
    matches or no steps are left. In the middle of one, `root` and the stack are not 0: the support is found again, the walk
    goes on.
    """
    stamp = np.int64(0)
    support = np.empty(64, np.int32)
    for node in range(seen.shape[0]):
        seen[node] = 0
    while accept < last_accept:
        if root == 0 and size == 0:
            if number >= limit:
                return FULL, accept, root, size, number
            if steps[0] <= 0:
                return SPENT, accept, root, size, number
        end = accept + 1
        while end < last_accept and accepts.row[end] == accepts.row[accept]:
            end += 1
        roots = accepts.node[accept:end].copy()
        low = accepts.low[accept]
        if latest:
            length, stamp, support, looked = latest_support(nodes, roots, end - accept, low, seen, stamp, support)
        else:
            length, stamp, support, looked = earliest_support(nodes, roots, end - accept, low, seen, stamp, support)
        if root == 0 and size == 0:
            steps[0] -= looked
        status, root, size, number = write_bindings(
            nodes, roots, root, end - accept, size, walk, low, support, length, accepts.row[accept], found, number, steps
        )
        if status != FINISHED:
            return status, accept, root, size, number
        root = 0
        accept = end
    return FINISHED, accept, root, size, number
