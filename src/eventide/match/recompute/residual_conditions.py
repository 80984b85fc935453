"""What bit rows do not decide: programs over bound events, and forbidden events in gaps."""

from __future__ import annotations

import numpy as np

from eventide.compilation import inner_kernel
from eventide.match.programs.programs import all_hold, every_instance_holds
from eventide.match.recompute.frames import place_of


@inner_kernel
def write_path(shape, window, search, bound, walk):
    """Lay out the events of the bound steps from the latest to the earliest; returns how many there are."""
    depth = 0
    for step in range(search.base.shape[0] - 1, -1, -1):
        if not (bound >> step) & 1:
            continue
        for index in range(search.depth[step] + 1):
            walk.path_row[depth] = window.row[place_of(window, step, search.chosen[step, index])]
            walk.path_label[depth] = shape.label[step, 0 if index == search.depth[step] else 1]
            depth += 1
    return np.int64(depth)


@inner_kernel
def residuals_hold(shape, window, search, frame, step, programs, walk, store, scratch):
    """Judge the programs that read nothing but bound steps now, and did not before this step was bound."""
    before, after = search.bound[frame], search.bound[frame] | (np.int64(1) << step)
    depth = np.int64(0)
    for number in range(shape.residual.shape[0]):
        needed = shape.residual_steps[number]
        if needed & ~after or not needed & ~before or (shape.residual_by_event[number] and shape.loop[step]):
            continue
        if depth == 0:
            depth = write_path(shape, window, search, after, walk)
        condition = np.int64(shape.residual[number])
        if not every_instance_holds(
            programs, condition, walk.path_row, walk.path_label, depth, store.values, store.floats, store.valid, scratch
        ):
            return False
    return True


@inner_kernel
def event_holds(shape, window, search, frame, step, programs, walk, store, scratch):
    """Judge the instances of programs that the event which has just joined the chain of a loop decides."""
    reached = search.bound[frame] | (np.int64(1) << step)
    depth = np.int64(0)
    index = np.int64(0)
    for number in range(shape.residual.shape[0]):
        needed = shape.residual_steps[number]
        if not shape.residual_by_event[number] or needed & ~reached or not (needed >> step) & 1:
            continue
        if depth == 0:
            depth = write_path(shape, window, search, reached, walk)
            for later in range(step + 1, search.base.shape[0]):
                if (reached >> later) & 1:
                    index += search.depth[later] + 1
            index += search.depth[step]
        condition = np.int64(shape.residual[number])
        label = walk.path_label[index]
        for slot in range(programs.slots.shape[1]):
            variable = programs.slots[condition, slot]
            if variable < 0:
                break
            if not programs.label_has[label, variable]:
                continue
            if not all_hold(
                programs,
                condition,
                np.int64(slot),
                index,
                np.int64(-1),
                walk.path_row,
                walk.path_label,
                depth,
                store.values,
                store.floats,
                store.valid,
                scratch,
            ):
                return False
    return True


@inner_kernel
def gaps_are_clean(shape, window, search, frame, step, place):
    """Return whether no forbidden event lies between a step of one event and its bound neighbours."""
    last = search.base.shape[0] - 1
    if shape.gap_forbids[step] and (search.bound[frame] >> (step - 1)) & 1:
        if place_of(window, step - 1, search.chosen[step - 1, 0]) < window.forbidden[step, place]:
            return False
    if step < last and shape.gap_forbids[step + 1]:
        if (search.bound[frame] >> (step + 1)) & 1:
            after = search.chosen[step + 1, search.depth[step + 1]]
            return place >= window.forbidden[step + 1, place_of(window, step + 1, after)]
    return True
