"""Enumeration that judges conditions and absences as events join the path.

The walk goes from the last event of a match to its first, so a failing end of a match cuts the whole subtree below it. What is
asked of every event is kept short: kernels that take whole tuples of arrays are called only for labels that have something to
judge.
"""

from __future__ import annotations

import numpy as np

from eventide.compilation import inner_kernel, kernel
from eventide.match.budget import SPENT
from eventide.match.dag.agreement import ANY_VALUE, agreed_value, bit_of
from eventide.match.dag.enumeration import FINISHED, FULL, GROW
from eventide.match.dag.nodes import BOTTOM, UNION
from eventide.match.dag.slicing import counted_paths, push_slice, rounding
from eventide.match.programs.programs import SIMPLY, all_hold, closes, compares, joins, new_scratch


@inner_kernel
def forbidden(programs, absences, absence, candidate, walk, depth, store, scratch):
    """Return whether all conditions of a NOT hold for a candidate event."""
    for at in range(absences.condition_first[absence], absences.condition_first[absence + 1]):
        if not all_hold(
            programs,
            np.int64(absences.condition[at]),
            np.int64(-1),
            np.int64(-1),
            np.int64(candidate),
            walk.path_row,
            walk.path_label,
            np.int64(depth),
            store.values,
            store.floats,
            store.valid,
            scratch,
        ):
            return False
    return True


@inner_kernel
def gap_is_clean(programs, absences, index, joining, walk, depth, store, scratch):
    """Check the absences on the gap between path index `index` and the event that it reaches back to.

    While the earlier event joins, those that it decides are checked; on the whole match, the others.
    """
    label = walk.path_label[index]
    for at in range(absences.check_first[label], absences.check_first[label + 1]):
        absence = absences.check[at]
        if absences.decided[absence, walk.path_label[index + 1]] != joining:
            continue
        earlier = index + 1
        while earlier < depth - 1 and not absences.inside[absence, walk.path_label[earlier]]:
            earlier += 1
        candidate = store.previous[absence, walk.path_row[index]]
        while candidate > walk.path_row[earlier]:
            if forbidden(programs, absences, absence, candidate, walk, depth, store, scratch):
                return False
            candidate = store.previous[absence, candidate]
    return True


@inner_kernel
def surroundings_are_clean(programs, absences, accepts, accept, start, walk, depth, store, scratch):
    """Check the absences on all gaps, before the first and after the last event of a whole match."""
    for index in range(depth - 1):
        if not gap_is_clean(programs, absences, np.int64(index), np.int64(0), walk, np.int64(depth), store, scratch):
            return False
    low = accepts.low[accept]
    for number in range(absences.leading.shape[0]):
        absence = absences.leading[number]
        candidate = store.previous[absence, start]
        while candidate >= 0 and store.clock[candidate] >= low:
            if forbidden(programs, absences, absence, candidate, walk, depth, store, scratch):
                return False
            candidate = store.previous[absence, candidate]
    for number in range(absences.trailing.shape[0]):
        absence = absences.trailing[number]
        candidate = accepts.tail[accept, absence]
        while candidate > accepts.row[accept]:
            if store.clock[start] >= store.low[candidate] and forbidden(
                programs, absences, absence, candidate, walk, depth, store, scratch
            ):
                return False
            candidate = store.previous[absence, candidate]
    return True


@inner_kernel
def agree(programs, store, path_row, path_label, at, anchors, needs, known):
    """Judge the agreements of the event at path index `at`, given those of the events before it in the path."""
    label = path_label[at]
    row = path_row[at]
    for group in range(anchors.shape[0]):
        anchors[group, at + 1] = anchors[group, at]
        needs[group, at + 1] = needs[group, at]
        known[group, at + 1] = known[group, at]
    for entry in range(programs.agree_first[label], programs.agree_first[label + 1]):
        group, column = programs.agree_group[entry], programs.agree_column[entry]
        if not store.valid[column, row]:
            return False
        value = agreed_value(store.values, store.floats, column, row, programs.agree_float[group])
        if not known[group, at + 1]:
            if needs[group, at + 1] & bit_of(value) == 0:
                return False
            anchors[group, at + 1] = value
            needs[group, at + 1] = bit_of(value)
            known[group, at + 1] = 1
        elif anchors[group, at + 1] != value:
            return False
    return True


@inner_kernel
def reachable(possible, needs, node, depth):
    """Return whether any path from the node down can agree with the path so far."""
    for group in range(possible.shape[0]):
        if possible[group, node] & needs[group, depth] == 0:
            return False
    return True


@kernel
def enumerate_checked(
    nodes,
    accepts,
    accept,
    last_accept,
    size,
    walk,
    found,
    limit,
    quota,
    taken,
    one_each,
    programs,
    absences,
    store,
    slice_index,
    slices,
    bits,
    counts,
    counted,
    possible,
    steps,
):
    """Enumerate with conditions, absences and slices; returns (status, accept, stack size, matches written).

    `counts` and `counted` have a place for every value of `bits` and every node (`slicing.py`); they are used when `slices` is
    above 1. `possible` is that of `possible_values`, with no groups where nothing must agree. The path is laid out from the
    latest event on. FULL, GROW and SPENT ask for room for matches, a larger walk and steps; the call is then repeated with what
    was returned.
    """
    label_of, row_of, left_of, right_of, start_of = nodes.label, nodes.row, nodes.left, nodes.right, nodes.start
    stack, depths, positions, begins, limits = walk.node, walk.depth, walk.position, walk.begin, walk.end
    path_row, path_label = walk.path_row, walk.path_label
    offsets, rows, labels, starts, ends = found.offset, found.row, found.label, found.start, found.end
    values, floats, valid = store.values, store.floats, store.valid
    label_has, simple, slots = programs.label_has, programs.simple, programs.slots
    pair_first, pair_condition, pair_slot = programs.pair_first, programs.pair_condition, programs.pair_slot
    judged, check_first = programs.judged, absences.check_first
    agree_first, agree_column = programs.agree_first, programs.agree_column
    spare = stack.shape[0] - 1
    reach = path_row.shape[0]
    room = rows.shape[0]
    number = 0
    satisfied = -1
    left_steps = steps[0]
    scratch = new_scratch()
    groups = possible.shape[0]
    # One group is the common case, and kept in the simplest arrays.
    alone = groups == 1
    only = possible[0] if alone else possible.reshape(-1)
    only_float = programs.agree_float[0] if alone else np.uint8(0)
    anchors = np.zeros((groups, reach + 1 if groups else 1), np.int64)
    needs = np.full((groups, reach + 1 if groups else 1), ANY_VALUE, np.int64)
    known = np.zeros((groups, reach + 1 if groups else 1), np.uint8)
    anchor = anchors[0] if alone else anchors.reshape(-1)
    need = needs[0] if alone else needs.reshape(-1)
    found_one = known[0] if alone else known.reshape(-1)
    position = begin = limit_position = slack = 0.0
    value_number = np.int64(0)
    if size > 0:
        # A suspended walk goes on; what its path agrees on is found again.
        if slices > 1:
            slack = rounding(counted_paths(accepts.node[accept - 1], bits, only, counts))
            if alone:
                need[0] = bits[walk.value[size - 1]]
        for index in range(depths[size - 1] if groups else 0):
            agree(programs, store, path_row, path_label, np.int64(index), anchors, needs, known)
    surrounded = absences.leading.shape[0] + absences.trailing.shape[0] + absences.check.shape[0] > 0
    closing = programs.closing.shape[0] > 0
    while accept < last_accept or size > 0:
        if size == 0:
            root = accepts.node[accept]
            accept += 1
            if one_each and accepts.row[accept - 1] == satisfied:
                continue
            if start_of[root] < accepts.low[accept - 1] or taken[accepts.key[accept - 1]] >= quota:
                continue
            if alone:
                need[0] = ANY_VALUE
            if groups and not reachable(possible, needs, root, 0):
                continue
            if slices > 1:
                size, slack = push_slice(
                    nodes, root, accepts.low[accept - 1], bits, only, counts, counted, slice_index, slices, walk
                )
            else:
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
            if number == limit or left_steps <= 0:
                taken[key] += number - first
                steps[0] = left_steps
                return FULL if number == limit else SPENT, accept, size, number
            left_steps -= 1
            size -= 1
            node = stack[size]
            depth = depths[size]
            if slices > 1:
                position, begin, limit_position = positions[size], begins[size], limits[size]
                value_number = np.int64(walk.value[size])
                if alone:
                    need[0] = bits[value_number]
            while True:
                label = label_of[node]
                if (label == UNION and size == spare) or (label >= 0 and depth == reach):
                    stack[size] = node
                    depths[size] = depth
                    positions[size], begins[size], limits[size] = position, begin, limit_position
                    walk.value[size] = value_number
                    taken[key] += number - first
                    steps[0] = left_steps
                    return GROW, accept, size + 1, number
                if label == UNION:
                    left = left_of[node]
                    right = right_of[node]
                    go_left = True
                    go_right = start_of[right] >= low
                    if alone:
                        go_left = only[left] & need[depth] != 0
                        go_right = go_right and only[right] & need[depth] != 0
                    elif groups:
                        go_left = reachable(possible, needs, left, depth)
                        go_right = go_right and reachable(possible, needs, right, depth)
                    right_position = position
                    if slices > 1:
                        # Paths that were not counted, because they cannot agree, have no position.
                        if bits[value_number] == ANY_VALUE or go_left:
                            right_position = position + counts[value_number, left]
                        # Where a count is lost in the rounding, all paths below have the position of the first.
                        left_reaches = right_position + slack > begin if right_position > position else position >= begin
                        go_left = go_left and position < limit_position and left_reaches
                        right_end = right_position + counts[value_number, right]
                        right_reaches = right_end + slack > begin if right_end > right_position else right_position >= begin
                        go_right = go_right and right_position < limit_position and right_reaches
                    if go_right:
                        if not go_left:
                            node = right
                            position = right_position
                            continue
                        stack[size] = right
                        depths[size] = depth
                        if slices > 1:
                            positions[size], begins[size], limits[size] = right_position, begin, limit_position
                            walk.value[size] = value_number
                        size += 1
                    if not go_left:
                        break
                    node = left
                    continue
                row = row_of[node]
                if label != BOTTOM:
                    left_steps -= 1
                    path_row[depth] = row
                    path_label[depth] = label
                    depth += 1
                    if alone:
                        entry = agree_first[label]
                        if agree_first[label + 1] == entry:
                            need[depth] = need[depth - 1]
                            anchor[depth] = anchor[depth - 1]
                            found_one[depth] = found_one[depth - 1]
                        elif agree_first[label + 1] == entry + 1:
                            if not valid[agree_column[entry], row]:
                                break
                            value = agreed_value(values, floats, agree_column[entry], row, only_float)
                            if found_one[depth - 1]:
                                if anchor[depth - 1] != value:
                                    break
                                need[depth] = need[depth - 1]
                            else:
                                need[depth] = bit_of(value) & need[depth - 1]
                                if need[depth] == 0:
                                    break
                            anchor[depth] = value
                            found_one[depth] = 1
                        elif not agree(programs, store, path_row, path_label, np.int64(depth - 1), anchors, needs, known):
                            break
                    elif groups:
                        if not agree(programs, store, path_row, path_label, np.int64(depth - 1), anchors, needs, known):
                            break
                    if judged[label] == SIMPLY:
                        holding = True
                        for pair in range(pair_first[label], pair_first[label + 1]):
                            if not compares(
                                simple,
                                slots,
                                label_has,
                                np.int64(pair_condition[pair]),
                                np.int64(pair_slot[pair]),
                                np.int64(depth - 1),
                                path_row,
                                path_label,
                                np.int64(depth),
                                values,
                                floats,
                                valid,
                            ):
                                holding = False
                                break
                        if not holding:
                            break
                    elif judged[label] and not joins(
                        programs,
                        np.int64(depth - 1),
                        path_row,
                        path_label,
                        np.int64(depth),
                        values,
                        floats,
                        valid,
                        scratch,
                    ):
                        break
                    if surrounded and depth > 1:
                        before = path_label[depth - 2]
                        if check_first[before] < check_first[before + 1] and not gap_is_clean(
                            programs, absences, np.int64(depth - 2), np.int64(1), walk, np.int64(depth), store, scratch
                        ):
                            break
                    if left_of[node] >= 0:
                        node = left_of[node]
                        continue
                if slices > 1 and (position < begin or position >= limit_position):
                    break
                if closing:
                    outermost = path_label[depth - 1] if depth > 0 else 0
                    if not closes(
                        programs, outermost, path_row, path_label, np.int64(depth), values, floats, valid, scratch
                    ):
                        break
                if surrounded and not surroundings_are_clean(
                    programs, absences, accepts, accept - 1, row, walk, depth, store, scratch
                ):
                    break
                written = offsets[number]
                if written + depth > room:
                    # Come back to this leaf with more room.
                    stack[size] = node
                    depths[size] = depth if label == BOTTOM else depth - 1
                    positions[size], begins[size], limits[size] = position, begin, limit_position
                    walk.value[size] = value_number
                    taken[key] += number - first
                    steps[0] = left_steps
                    return FULL, accept, size + 1, number
                starts[number] = row
                ends[number] = end
                last = written + depth - 1
                for index in range(depth):
                    rows[last - index] = path_row[index]
                    labels[last - index] = path_label[index]
                number += 1
                offsets[number] = written + depth
                if one_each:
                    satisfied = end
                    size = 0
                break
        taken[key] += number - first
    steps[0] = left_steps
    return FINISHED, accept, size, number
