"""The state of the disorder-native operator in flat arrays: instances, stacks, held matches, counters."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

NONE = -1
TIME, TIE, SEQUENCE = 0, 1, 2
OLDER, NEWER = 0, 1
"""The neighbours in a list."""
RIP, RIN = 2, 3
"""The latest instance of the step before that precedes this one; the earliest of the next step that follows it."""
LOWEST = np.iinfo(np.int64).min
HIGHEST = np.iinfo(np.int64).max

PLACE, ENTERING = 0, 1

# Counters that belong to the algorithm.
TOP = 0
FREE = 1
LIVE = 2
CLOCK = 3
WATERMARK = 4
HELD_TOP = 5
HELD_FREE = 6
HELD_LIVE = 7
EARLIEST = 8
"""No held match has an earlier deadline."""
# 9 and 23 are left free: states that were kept before hold something there.
STEP = 10
"""The step that the arriving event is building matches for, or -1 between events."""
WAITS = 11
"""1 when a whole match waits for room."""
# Counters that only report.
INSERTIONS = 12
APPENDED = 13
DISPLACED = 14
RIP_RESETS = 15
RIN_RESETS = 16
PROBES = 17
BUILT = 18
PURGED = 19
HELD = 20
RELEASED = 21
RETRACTED = 22
LATE = 24
COUNTERS = 25

REPORTED = {
    "insertions": INSERTIONS,
    "appended": APPENDED,
    "displaced": DISPLACED,
    "rip_resets": RIP_RESETS,
    "rin_resets": RIN_RESETS,
    "probes": PROBES,
    "built": BUILT,
    "purged": PURGED,
    "held": HELD,
    "released": RELEASED,
    "retracted": RETRACTED,
    "late": LATE,
    "instances": LIVE,
    "holding": HELD_LIVE,
}


class Sequence(NamedTuple):
    """The query as kernels read it. Lists of a slot: one for each step, then one for each forbidden event."""

    bit: npt.NDArray[np.int64]
    label: npt.NDArray[np.int32]
    forbidden_bit: npt.NDArray[np.int64]
    gap: npt.NDArray[np.int32]
    """[forbidden]: the step that it stands before, ascending."""
    gap_first: npt.NDArray[np.int32]
    """[steps + 2]: where the forbidden events of each gap begin."""
    number: npt.NDArray[np.int32]
    """[forbidden]: its number among the absences with conditions, or -1."""
    step: npt.NDArray[np.int32]
    """[forbidden]: the step whose instances know the latest such event before them."""
    column: npt.NDArray[np.int32]
    """[forbidden]: the column of `before` that holds it."""
    window: np.int64
    deadline_step: np.int64
    """The step that a match is held for; -1 when nothing is held, the number of steps when a NOT stands at the end."""
    tie_margin: np.int64
    """1 when an event at the time of another can only follow it, so that a match may leave at the deadline itself."""


class Pool(NamedTuple):
    """Instances: an event in the list of a step or of a forbidden event.

    The pool, not the row, holds the order of an event: forbidden events without conditions need no row. Few arrays with several
    columns, because kernels pay for every array that they hand on.
    """

    order: npt.NDArray[np.int64]
    """[instance, (TIME, TIE, SEQUENCE)]"""
    link: npt.NDArray[np.int32]
    """[instance, (OLDER, NEWER, RIP, RIN)]; OLDER is the link of the free list as well."""
    before: npt.NDArray[np.int32]
    """[instance, column]: the latest forbidden event that precedes this one."""
    row: npt.NDArray[np.int32]
    used: npt.NDArray[np.uint8]


class Stacks(NamedTuple):
    """The lists of every slot, its latest event (AIS-CLOCK) and its held matches."""

    oldest: npt.NDArray[np.int32]
    newest: npt.NDArray[np.int32]
    latest: npt.NDArray[np.int64]
    """[slot, (TIME, TIE, SEQUENCE)]"""
    held: npt.NDArray[np.int32]


class Holding(NamedTuple):
    """Matches that a late negated event may still forbid; those of a slot are linked."""

    row: npt.NDArray[np.int32]
    """[match * steps + step]"""
    deadline: npt.NDArray[np.int64]
    """The match is certain as soon as the watermark is beyond it."""
    following: npt.NDArray[np.int32]
    used: npt.NDArray[np.uint8]


class ArrivedEvents(NamedTuple):
    """The events that matches may name, by row."""

    order: npt.NDArray[np.int64]
    """[row, (TIME, TIE, SEQUENCE)]"""
    values: npt.NDArray[np.int64]
    floats: npt.NDArray[np.float64]
    """The same memory as `values`, seen as doubles."""
    valid: npt.NDArray[np.uint8]


class Partial(NamedTuple):
    """The match that is being built: its instances by step, and its events from the latest on as conditions read them."""

    own: npt.NDArray[np.int32]
    """[step]: the instance of the arriving event, or -1."""
    chosen: npt.NDArray[np.int32]
    path_row: npt.NDArray[np.int32]
    path_label: npt.NDArray[np.int32]
    paused: npt.NDArray[np.int64]
    """[(PLACE, ENTERING)]: where the walk through the stacks stopped for want of steps; place 0 where it did not."""


def new_pool(capacity: int, columns: int) -> Pool:
    """Return room for instances."""
    return Pool(
        np.zeros((capacity, 3), np.int64),
        np.full((capacity, 4), NONE, np.int32),
        np.full((capacity, columns), NONE, np.int32),
        np.full(capacity, NONE, np.int32),
        np.zeros(capacity, np.uint8),
    )


def new_stacks(slots: int, lists: int) -> Stacks:
    """Return empty lists."""
    return Stacks(
        np.full((slots, lists), NONE, np.int32),
        np.full((slots, lists), NONE, np.int32),
        np.full((slots, 3), LOWEST, np.int64),
        np.full(slots, NONE, np.int32),
    )


def new_holding(capacity: int, steps: int) -> Holding:
    """Return room for held matches."""
    return Holding(
        np.zeros(capacity * steps, np.int32),
        np.zeros(capacity, np.int64),
        np.full(capacity, NONE, np.int32),
        np.zeros(capacity, np.uint8),
    )


def no_arrived_events(columns: int) -> ArrivedEvents:
    """Return no rows."""
    values = np.empty((columns, 0), np.int64)
    return ArrivedEvents(np.empty((0, 3), np.int64), values, values.view(np.float64), np.empty((columns, 0), np.uint8))


def new_partial(steps: int, labels: npt.NDArray[np.int32]) -> Partial:
    """Return the work space; labels never change, a match lays them out from its last step on."""
    return Partial(
        np.full(steps, NONE, np.int32),
        np.full(steps, NONE, np.int32),
        np.zeros(steps, np.int32),
        np.ascontiguousarray(labels[::-1]),
        np.zeros(2, np.int64),
    )


def new_counters() -> npt.NDArray[np.int64]:
    """Return the counters of an operator that has seen nothing."""
    counters = np.zeros(COUNTERS, np.int64)
    counters[[CLOCK, WATERMARK]] = LOWEST
    counters[EARLIEST] = HIGHEST
    counters[[FREE, HELD_FREE, STEP]] = NONE
    return counters
