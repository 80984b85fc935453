"""What the conditions of a query still want to know of a path, in a few numbers: its *summary*.

A path grows from the last event of a match to its first. Two paths with the same summary that reach the same node of the shared
DAG have the same ways to go on, so one of them is enough. A summary has *registers*, two numbers each (marks and a value), which
belong to one condition: the smallest or largest value that it compares, a count, a sum, the latest value, or as a last resort a
list of values, which makes the summary no smaller than the path. What no event to come can ask for is dropped.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from eventide.compilation import inner_kernel

SMALLEST, LARGEST, SAME, NEWEST, OLDEST, COUNT, COUNT_VALUE, SUM, ADDED, SMALLEST_KNOWN, LARGEST_KNOWN, LISTED, SEEN = range(13)
"""Kinds of registers. NEWEST is the event that joined last, OLDEST the one that joined first; the KNOWN ones skip nulls.

ADDED is a sum of doubles in units so small that they do not matter, which makes it the same in every order.
"""
KNOWN, NULL, NAN, INFINITE, MINUS_INFINITE, DIFFERENT, SETTLED = 1, 2, 4, 8, 16, 32, 64
"""Marks of a register: which values there are besides the one that it holds, or that nobody asks any more."""
SETTLE, EMPTY = 1, 2
"""How a register is dropped: for good, or because the next event fills it anew."""
LARGEST_KEY = np.iinfo(np.int64).max


class Summaries(NamedTuple):
    """The registers of a query."""

    kind: npt.NDArray[np.int32]
    column: npt.NDArray[np.int32]
    """[register]: the value column that it reads, -1 where events are counted."""
    floats: npt.NDArray[np.uint8]
    updates: npt.NDArray[np.uint8]
    """[label, register]: 1 where an event with the label changes the register."""
    drops: npt.NDArray[np.uint8]
    """[label, register]: SETTLE where nothing that may come before an event with the label asks for it, or EMPTY."""


class Cells(NamedTuple):
    """Lists of values, each a value in front of another list; equal lists have equal numbers, 0 is the empty one."""

    rest: npt.NDArray[np.int64]
    mark: npt.NDArray[np.int64]
    value: npt.NDArray[np.int64]
    slot: npt.NDArray[np.int32]
    """The hash table, a power of two of places; -1 is free."""


def new_cells(capacity: int) -> Cells:
    """Return room for lists."""
    return Cells(
        np.zeros(capacity, np.int64),
        np.zeros(capacity, np.int64),
        np.zeros(capacity, np.int64),
        np.full(2 * capacity, -1, np.int32),
    )


@inner_kernel
def mixed(seed, value):
    """Return a hash of a hash and a number."""
    seed = (seed ^ np.uint64(value)) * np.uint64(0x9E3779B97F4A7C15)
    return seed ^ (seed >> np.uint64(29))


@inner_kernel
def place_of_cell(cells, rest, mark, value):
    """Return the place of a list in the hash table, or where it would stand."""
    places = cells.slot.shape[0] - 1
    place = np.int64(mixed(mixed(mixed(np.uint64(17), rest), mark), value) & np.uint64(places))
    while cells.slot[place] >= 0:
        known = cells.slot[place]
        if cells.rest[known] == rest and cells.mark[known] == mark and cells.value[known] == value:
            return place
        place = (place + 1) & places
    return place


@inner_kernel
def put_in_front(cells, top, rest, mark, value):
    """Return (the number of a list, how many there are); there must be room for one more."""
    place = place_of_cell(cells, rest, mark, value)
    if cells.slot[place] >= 0:
        return np.int64(cells.slot[place]), top
    cells.slot[place] = top
    cells.rest[top] = rest
    cells.mark[top] = mark
    cells.value[top] = value
    return np.int64(top), top + 1


@inner_kernel
def order_key(bits, real, is_float):
    """Return a whole number that orders as the value does, NaN above all."""
    if not is_float:
        return bits
    if np.isnan(real):
        return LARGEST_KEY
    if real == 0.0:
        return np.int64(0)
    return bits if bits >= 0 else bits ^ np.int64(0x7FFFFFFFFFFFFFFF)


@inner_kernel
def summarise(summaries, label, row, values, floats, valid, quanta, marks, held, cells, top):
    """Add an event to the summary in `marks` and `held`; returns how many lists there are. Each register may need one more."""
    for register in range(summaries.kind.shape[0]):
        if summaries.updates[label, register] and not marks[register] & SETTLED:
            kind = summaries.kind[register]
            column = summaries.column[register]
            if kind == SEEN:
                marks[register] = KNOWN
            elif kind == COUNT:
                held[register] += 1
            else:
                known = valid[column, row] == 1
                is_float = summaries.floats[register] == 1
                real = floats[column, row]
                key = order_key(values[column, row], real, is_float)
                if kind == LISTED:
                    mark = KNOWN if known else NULL
                    held[register], top = put_in_front(cells, top, held[register], np.int64(mark), key if known else np.int64(0))
                elif kind == NEWEST:
                    marks[register] = KNOWN if known else NULL
                    held[register] = key if known else 0
                elif kind == OLDEST:
                    if marks[register] == 0:
                        marks[register] = KNOWN if known else NULL
                        held[register] = key if known else 0
                elif kind == COUNT_VALUE:
                    if known:
                        held[register] += 1
                elif kind == SUM:
                    if known:
                        marks[register] = KNOWN
                        held[register] += values[column, row]
                elif kind == ADDED:
                    if known and np.isfinite(real):
                        marks[register] |= KNOWN
                        held[register] += np.int64(np.rint(real / quanta[register]))
                    elif known:
                        marks[register] |= NAN if np.isnan(real) else INFINITE if real > 0 else MINUS_INFINITE
                elif kind == SMALLEST_KNOWN:
                    if known and (marks[register] == 0 or key < held[register]):
                        marks[register] = KNOWN
                        held[register] = key
                elif kind == LARGEST_KNOWN:
                    if known and (marks[register] == 0 or key > held[register]):
                        marks[register] = KNOWN
                        held[register] = key
                elif not known:
                    marks[register] |= NULL
                elif kind == SAME:
                    if marks[register] & KNOWN and held[register] != key:
                        marks[register] |= DIFFERENT
                        held[register] = 0
                    elif not marks[register] & DIFFERENT:
                        marks[register] |= KNOWN
                        held[register] = key
                elif is_float and np.isnan(real):
                    marks[register] |= NAN
                elif is_float and np.isinf(real):
                    marks[register] |= INFINITE if real > 0 else MINUS_INFINITE
                elif not marks[register] & KNOWN:
                    marks[register] |= KNOWN
                    held[register] = key
                elif kind == SMALLEST:
                    held[register] = min(held[register], key)
                else:
                    held[register] = max(held[register], key)
    return top


@inner_kernel
def drop(summaries, label, marks, held):
    """Leave out what nothing to come asks for."""
    for register in range(summaries.kind.shape[0]):
        if summaries.drops[label, register] and not marks[register] & SETTLED:
            marks[register] = SETTLED if summaries.drops[label, register] == SETTLE else 0
            held[register] = 0
