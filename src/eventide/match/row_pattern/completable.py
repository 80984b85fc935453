"""From which row and state a match can still be completed: a backward pass before any match is looked for.

Without WITHIN, the states that can be completed at a row are a set, and there are few different sets: they are numbered as they
appear (a lazily determinised automaton that reads the rows backwards), and a row keeps a number. With WITHIN the *earliest* row
at which a match can end is kept for each state instead, for a stretch of rows at a time.
"""

from __future__ import annotations

import numpy as np

from eventide.compilation import inner_kernel, kernel
from eventide.match.row_pattern.tables import ACCEPT, WORD

NEVER = np.int32(2**31 - 1)
FULL = 0.5


@inner_kernel
def mix(value):
    """Scatter the bits of a number over all of its 64 bits."""
    value = np.uint64(value)
    value ^= value >> np.uint64(30)
    value *= np.uint64(0xBF58476D1CE4E5B9)
    value ^= value >> np.uint64(27)
    value *= np.uint64(0x94D049BB133111EB)
    value ^= value >> np.uint64(31)
    return value


@inner_kernel
def is_member(members, state):
    """Return whether a set of states holds the state."""
    return (members[state // WORD] >> np.uint64(state % WORD)) & np.uint64(1) != 0


@inner_kernel
def states_before(tables, later, mask, result):
    """Fill `result` with the states that can be completed when the next row has the mask and `later` holds behind it."""
    words = result.shape[0]
    for word in range(words):
        result[word] = tables.ends[word]
    for word in range(words):
        rest = later[word]
        number = word * WORD
        while rest != 0:
            if rest & np.uint64(1):
                if number < tables.before.shape[0] and number < tables.bit.shape[0]:
                    needed = tables.bit[number]
                    if needed == 0 or mask & needed != 0:
                        for other in range(words):
                            result[other] |= tables.before[number, other]
            rest >>= np.uint64(1)
            number += 1


@inner_kernel
def find_set(sets, slots, wanted):
    """Return (number, slot) of a set of states; the number is -1 when it is new."""
    words = wanted.shape[0]
    digest = np.uint64(0)
    for word in range(words):
        digest = mix(digest ^ wanted[word])
    slot = np.int64(digest & np.uint64(slots.shape[0] - 1))
    while slots[slot] >= 0:
        same = True
        for word in range(words):
            if sets[slots[slot], word] != wanted[word]:
                same = False
                break
        if same:
            return slots[slot], slot
        slot = (slot + 1) & (slots.shape[0] - 1)
    return np.int64(-1), slot


@inner_kernel
def grown_sets(sets, slots):
    """Return twice the room for sets, with the hash table filled anew."""
    more = np.zeros((2 * sets.shape[0], sets.shape[1]), np.uint64)
    for number in range(sets.shape[0]):
        for word in range(sets.shape[1]):
            more[number, word] = sets[number, word]
    fresh = np.full(2 * slots.shape[0], -1, np.int64)
    for number in range(sets.shape[0]):
        _, slot = find_set(more, fresh, more[number])
        fresh[slot] = number
    return more, fresh


@inner_kernel
def grown_steps(known, masks, targets):
    """Return twice the room for steps between sets."""
    size = 2 * known.shape[0]
    known2 = np.full(size, -1, np.int64)
    masks2 = np.zeros(size, np.int64)
    targets2 = np.zeros(size, np.int32)
    for old in range(known.shape[0]):
        if known[old] >= 0:
            slot = np.int64(mix(np.uint64(masks[old]) + mix(np.uint64(known[old]))) & np.uint64(size - 1))
            while known2[slot] >= 0:
                slot = (slot + 1) & (size - 1)
            known2[slot] = known[old]
            masks2[slot] = masks[old]
            targets2[slot] = targets[old]
    return known2, masks2, targets2


@kernel
def completable_beyond(tables):
    """Return the states from which some rows or other can complete a match, as bits: what holds where rows are still to come."""
    words = tables.ends.shape[0]
    result = np.zeros(words, np.uint64)
    fresh = np.zeros(words, np.uint64)
    pending = np.zeros(words * WORD, np.int64)
    waiting = 0
    for word in range(words):
        fresh[word] = tables.ends[word]
    while True:
        for word in range(words):
            rest = fresh[word] & ~result[word]
            result[word] |= rest
            number = word * WORD
            while rest != 0:
                if rest & np.uint64(1):
                    pending[waiting] = number
                    waiting += 1
                rest >>= np.uint64(1)
                number += 1
        if waiting == 0:
            return result
        waiting -= 1
        position = pending[waiting]
        # The starts are states as well, and nothing moves there.
        for word in range(words):
            fresh[word] = tables.before[position, word] if position < tables.first.shape[0] - 3 else np.uint64(0)


@kernel
def completable(tables, mask, first, end, last):
    """Return the sets of states that can be completed, and the set of each row.

    `first` and `end` are the borders of the rows of each partition, and `last` are the states that can be completed at its end.
    """
    words = tables.ends.shape[0]
    sets = np.zeros((16, words), np.uint64)
    slots = np.full(64, -1, np.int64)
    for word in range(words):
        sets[0, word] = last[word]
    _, slot = find_set(sets, slots, sets[0])
    slots[slot] = 0
    count = 1
    known = np.full(256, -1, np.int64)
    masks = np.zeros(256, np.int64)
    targets = np.zeros(256, np.int32)
    steps = 0
    at = np.zeros(mask.shape[0], np.int32)
    wanted = np.zeros(words, np.uint64)
    for partition in range(first.shape[0]):
        current = np.int64(0)
        for row in range(end[partition] - 1, first[partition] - 1, -1):
            size = known.shape[0]
            slot = np.int64(mix(np.uint64(mask[row]) + mix(np.uint64(current))) & np.uint64(size - 1))
            while known[slot] >= 0 and not (known[slot] == current and masks[slot] == mask[row]):
                slot = (slot + 1) & (size - 1)
            if known[slot] >= 0:
                current = np.int64(targets[slot])
            else:
                states_before(tables, sets[current], mask[row], wanted)
                number, free = find_set(sets, slots, wanted)
                if number < 0:
                    if count == sets.shape[0]:
                        sets, slots = grown_sets(sets, slots)
                        _, free = find_set(sets, slots, wanted)
                    number = np.int64(count)
                    for word in range(words):
                        sets[count, word] = wanted[word]
                    slots[free] = count
                    count += 1
                known[slot] = current
                masks[slot] = mask[row]
                targets[slot] = number
                steps += 1
                if steps > FULL * size:
                    known, masks, targets = grown_steps(known, masks, targets)
                current = number
            at[row] = current
    return sets[:count].copy(), at


@inner_kernel
def earliest_ends(tables, mask, begin, end, last, beyond, earliest):
    """Fill `earliest[row - begin, state]` with the first row at which a match can end that has reached the state before the row.

    Rows from `begin` to `last - 1` are looked at, and no match ends behind them; `end` is the border of the partition. States
    that rows `beyond` it may complete end at the border at the earliest.
    """
    states = tables.first.shape[0] - 1
    for row in range(last, begin - 1, -1):
        for state in range(states):
            best = NEVER
            for number in range(tables.first[state], tables.first[state + 1]):
                move = tables.move[number]
                if move >= 0:
                    if row < last and (tables.bit[move] == 0 or mask[row] & tables.bit[move] != 0):
                        best = min(best, earliest[row + 1 - begin, move])
                    elif row == end and is_member(beyond, move):
                        best = min(best, np.int32(end))
                elif move == ACCEPT or row == end:
                    best = min(best, np.int32(row - 1))
            earliest[row - begin, state] = best
