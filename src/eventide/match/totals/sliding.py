"""Vectors of all matches that end at each event, where every condition looks at one event: linear in the events.

Each event is a sparse matrix of vectors over automaton states. The matches that end at an event are a sum of matrix products over
the starts inside the window; two stacks of partial products slide the window with a constant number of products per event.
"""

from __future__ import annotations

import numpy as np

from eventide.compilation import copy_start, inner_kernel, kernel
from eventide.match.totals.semiring import add, add_extended, add_product, clear, is_empty, make_one

NO_WINDOW = np.iinfo(np.int64).min


@inner_kernel
def carry(tables, symbol, event, rows, at, result, states, weights):
    """Carry the partial matches of each state, whose row of vectors begins at a place, over an event into `result`."""
    channels = weights.channels
    clear(result, 0, states * channels, weights)
    for state in range(1, states):
        place = at + state * channels
        if is_empty(rows, place, weights):
            continue
        first = tables.first[state, symbol]
        for move in range(first, first + tables.moves[state, symbol]):
            target = tables.target[move]
            if target >= 0:
                add_extended(result, target * channels, rows, place, event, tables.label[move], weights)
        target = tables.unmarked[state, symbol]
        if target >= 0:
            add(result, target * channels, rows, place, weights)


@inner_kernel
def begin(tables, symbol, event, row, one, weights):
    """Add the partial matches that begin at an event."""
    first = tables.first[0, symbol]
    for move in range(first, first + tables.moves[0, symbol]):
        target = tables.target[move]
        if target >= 0:
            add_extended(row, target * weights.channels, one, 0, event, tables.label[move], weights)
    target = tables.unmarked[0, symbol]
    if target >= 0:
        add(row, target * weights.channels, one, 0, weights)


@inner_kernel
def complete(tables, symbol, event, row, ends, states, weights):
    """Add the matches that end at an event, given the partial matches before it; state 0 holds the one without events."""
    channels = weights.channels
    for state in range(states):
        place = state * channels
        if is_empty(row, place, weights):
            continue
        first = tables.first[state, symbol]
        for move in range(first, first + tables.moves[state, symbol]):
            if tables.accepting[move]:
                add_extended(ends, event * channels, row, place, event, tables.label[move], weights)
        if tables.unmarked_accepting[state, symbol]:
            add(ends, event * channels, row, place, weights)


@inner_kernel
def make_identity(matrix, states, weights):
    """Make a matrix that changes nothing."""
    clear(matrix, 0, states * states * weights.channels, weights)
    for state in range(states):
        make_one(matrix, (state * states + state) * weights.channels, weights)


@inner_kernel
def flip(tables, symbols, front_begin, back_end, offset, fronts, one, states, weights):
    """Turn the events front_begin..back_end into the front stack: that of i holds all starts from i on, carried to the end."""
    channels = weights.channels
    row = states * channels
    suffix = np.empty(states * row, np.int64)
    product = np.empty(states * row, np.int64)
    start = np.empty(row, np.int64)
    carried = np.empty(row, np.int64)
    clear(carried, 0, row, weights)
    make_identity(suffix, states, weights)
    for index in range(back_end - 1, front_begin - 1, -1):
        symbol = symbols[index]
        clear(start, 0, row, weights)
        begin(tables, symbol, offset + index, start, one, weights)
        for state in range(states):
            if not is_empty(start, state * channels, weights):
                for target in range(states):
                    add_product(
                        carried, target * channels, start, state * channels, suffix, state * row + target * channels, weights
                    )
        for at in range(row):
            fronts[index * row + at] = carried[at]
        clear(product, 0, states * row, weights)
        for state in range(1, states):
            first = tables.first[state, symbol]
            moves = tables.moves[state, symbol]
            for number in range(moves + 1):
                middle = tables.target[first + number] if number < moves else tables.unmarked[state, symbol]
                if middle < 0:
                    continue
                for target in range(states):
                    to, place = state * row + target * channels, middle * row + target * channels
                    if is_empty(suffix, place, weights):
                        continue
                    if number < moves:
                        add_extended(product, to, suffix, place, offset + index, tables.label[first + number], weights)
                    else:
                        add(product, to, suffix, place, weights)
        copy_start(suffix, product, states * row)


@inner_kernel
def sum_key(tables, symbols, clocks, lows, offset, weights, ends, states):
    """Write the vector of the matches that end at each event of one key, whose first event is number `offset`, to `ends`."""
    events, channels = symbols.shape[0], weights.channels
    width = states * channels
    row = np.empty(width, np.int64)
    other = np.empty(width, np.int64)
    one = np.empty(channels, np.int64)
    back = np.empty(width, np.int64)
    make_one(one, 0, weights)
    clear(back, 0, width, weights)
    windowed = False
    for index in range(events):
        if lows[index] != NO_WINDOW:
            windowed = True
            break
    fronts = np.empty(events * width if windowed else 0, np.int64)
    product = np.empty(states * width, np.int64)
    front_begin = 0
    front_end = 0
    for index in range(events):
        while windowed and front_begin < index and clocks[front_begin] < lows[index]:
            if front_begin >= front_end:
                flip(tables, symbols, front_begin, index, offset, fronts, one, states, weights)
                front_end = index
                make_identity(product, states, weights)
                clear(back, 0, width, weights)
            front_begin += 1
        copy_start(row, back, width)
        if front_begin < front_end:
            for state in range(states):
                for target in range(states):
                    add_product(
                        row, target * channels, fronts, front_begin * width + state * channels, product,
                        state * width + target * channels, weights,
                    )  # fmt: skip
        make_one(row, 0, weights)
        complete(tables, symbols[index], offset + index, row, ends, states, weights)
        if front_begin < front_end:
            for state in range(1, states):
                carry(tables, symbols[index], offset + index, product, state * width, other, states, weights)
                for at in range(width):
                    product[state * width + at] = other[at]
        carry(tables, symbols[index], offset + index, back, 0, other, states, weights)
        copy_start(back, other, width)
        begin(tables, symbols[index], offset + index, back, one, weights)


@kernel
def sum_keys(tables, symbols, clocks, lows, offsets, weights, ends, states, key, steps):
    """Write the vectors of the keys from `key` on, whose events are those from offsets[key] on; returns the key to go on with."""
    if key == 0:
        clear(ends, 0, ends.shape[0], weights)
    while key < offsets.shape[0] - 1 and steps[0] > 0:
        first, last = offsets[key], offsets[key + 1]
        steps[0] -= (last - first + 1) * states * weights.channels
        sum_key(tables, symbols[first:last], clocks[first:last], lows[first:last], first, weights, ends, states)
        key += 1
    return key


@kernel
def unfold(tables, symbols, first, last, rows, states, weights):
    """Write the partial matches of each state after each of the events first..last, begun at one of them, to `rows`."""
    width = states * weights.channels
    row = np.empty(width, np.int64)
    other = np.empty(width, np.int64)
    one = np.empty(weights.channels, np.int64)
    make_one(one, 0, weights)
    clear(row, 0, width, weights)
    for event in range(first, last):
        carry(tables, symbols[event], event, row, 0, other, states, weights)
        copy_start(row, other, width)
        begin(tables, symbols[event], event, row, one, weights)
        for at in range(width):
            rows[(event - first) * width + at] = row[at]
