"""The baseline of Kammoun 2019, 3.5: leaves hold events, nested loops join them at every trigger, loops take all of a powerset.

Written for the canonical queries alone, `a ; b+` and `a ; b+ ; c`, to be compared with; nobody should run it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numba
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

RISING_THEN_LOW, FALLING, PASSIVE = 0, 1, 2


@numba.njit(cache=True)
def fits(kind, first, one):
    """Return whether an event of the loop joins a first event."""
    if kind == RISING_THEN_LOW:
        return first < one
    if kind == FALLING:
        return first >= 5 * one
    return 2 * first < one


@numba.njit(cache=True)
def follows(kind, one, other):
    """Return whether two events may stand next to each other in the loop."""
    return one > other if kind == FALLING else one < other


@numba.njit(cache=True)
def count_matches(kind, values, can_first, can_loop, window):
    """Count the matches of one key: each trigger joins by nested loops and tries every subset of what the loop may take."""
    total = 0
    loop = np.empty(window + 1, np.int64)
    for trigger in range(values.shape[0]):
        begin = max(0, trigger - window)
        if kind != RISING_THEN_LOW and not can_loop[trigger]:
            continue
        for first in range(begin, trigger):
            if not can_first[first]:
                continue
            taken = 0
            for event in range(first + 1, trigger):
                if can_loop[event] and fits(kind, values[first], values[event]):
                    loop[taken] = event
                    taken += 1
            if kind != RISING_THEN_LOW:
                # The trigger is the last event of the loop; any subset of the others may stand before it.
                if fits(kind, values[first], values[trigger]):
                    for subset in range(1 << taken):
                        total += is_chain(kind, values, loop, taken, subset, trigger)
                continue
            for subset in range(1, 1 << taken):
                low = 0
                while not (subset >> low) & 1:
                    low += 1
                if values[trigger] < values[loop[low]]:
                    total += is_chain(kind, values, loop, taken, subset, -1)
    return total


@numba.njit(cache=True)
def is_chain(kind, values, loop, taken, subset, last):
    """Return 1 when the events of a subset, and the last one, follow each other as they must."""
    before = -1
    for place in range(taken):
        if (subset >> place) & 1:
            if before >= 0 and not follows(kind, values[before], values[loop[place]]):
                return 0
            before = loop[place]
    if last >= 0 and before >= 0 and not follows(kind, values[before], values[last]):
        return 0
    return 1


def counter(query: str, window: int) -> Callable[[pa.Table], int]:
    """Return what counts the matches of a canonical query in a table."""

    def count(rows: pa.Table) -> int:
        if "stock" in query:
            kind, key, value = RISING_THEN_LOW, np.array(rows["company"].to_pylist()), rows["price"].to_numpy()
            can_first = can_loop = np.ones(rows.num_rows, np.bool_)
        elif "cards" in query:
            kind, key, value = FALLING, rows["card"].to_numpy(), rows["amount"].to_numpy()
            can_loop = np.ones(rows.num_rows, np.bool_)
            can_first = value % 17 == 0 if "17" in query else can_loop
        else:
            kind, key, value = PASSIVE, rows["person"].to_numpy(), rows["rate"].to_numpy()
            can_first = np.ones(rows.num_rows, np.bool_)
            can_loop = np.array(rows["state"].to_pylist()) == "passive"
        total = 0
        for one in np.unique(key):
            mine = key == one
            values = value[mine].astype(np.float64)
            total += int(count_matches(kind, values, can_first[mine], can_loop[mine], window))
        return total

    return count
