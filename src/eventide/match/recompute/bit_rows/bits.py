"""Sets of events as bits of 64-bit words, in flat arrays.

Bit `number & 63` of word `at + (number >> 6)` says whether event `number` is in the set at `at`; a set that does not begin with
event 0 has an `at` that is moved back accordingly.
"""

from __future__ import annotations

import numpy as np

from eventide.compilation import inner_kernel
from eventide.index.zorder import ONE, ZERO

LANES = 64
"""Bits of a word."""
ALL_BITS = np.uint64(0xFFFFFFFFFFFFFFFF)


def words_for(count: int) -> int:
    """Return how many words hold so many bits.

    >>> words_for(64), words_for(65)
    (1, 2)
    """
    return -(-count // LANES)


@inner_kernel
def ones_of(word):
    """Return the number of bits that are set."""
    word -= (word >> ONE) & np.uint64(0x5555555555555555)
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    word += word >> np.uint64(8)
    word += word >> np.uint64(16)
    word += word >> np.uint64(32)
    return np.int64(word & np.uint64(127))


@inner_kernel
def lowest_bit(word):
    """Return the place of the lowest bit of a word that is not zero."""
    return ones_of((word & (~word + ONE)) - ONE)


@inner_kernel
def from_bit(number):
    """Return a word with all bits from that of an event on."""
    return ALL_BITS << np.uint64(number & 63)


@inner_kernel
def up_to_bit(number):
    """Return a word with all bits up to that of an event, it included."""
    return ALL_BITS >> np.uint64(63 - (number & 63))


@inner_kernel
def has_bit(words, at, number):
    """Return whether an event is in a set."""
    return (words[at + (number >> 6)] >> np.uint64(number & 63)) & ONE != ZERO


@inner_kernel
def add_bit(words, at, number):
    """Put an event into a set."""
    words[at + (number >> 6)] |= ONE << np.uint64(number & 63)


@inner_kernel
def fill_bits(words, at, begin, end):
    """Make a set of all events from begin to end; words that these touch are overwritten."""
    if begin >= end:
        return
    first, last = begin >> 6, (end - 1) >> 6
    for word in range(first, last + 1):
        words[at + word] = ALL_BITS
    words[at + first] &= from_bit(begin)
    words[at + last] &= up_to_bit(end - 1)


@inner_kernel
def clear_bits(words, at, begin, end):
    """Make an empty set over the words of these events."""
    if begin >= end:
        return
    for word in range(begin >> 6, ((end - 1) >> 6) + 1):
        words[at + word] = ZERO


@inner_kernel
def remove_bits(words, at, begin, end):
    """Take the events from begin to end out of a set."""
    if begin >= end:
        return
    first, last = begin >> 6, (end - 1) >> 6
    for word in range(first, last + 1):
        taken = ALL_BITS
        if word == first:
            taken &= from_bit(begin)
        if word == last:
            taken &= up_to_bit(end - 1)
        words[at + word] &= ~taken


@inner_kernel
def copy_bits(words, at, source, source_at, begin, end):
    """Copy the events from begin to end; other bits of the words that these touch are cleared."""
    if begin >= end:
        return
    first, last = begin >> 6, (end - 1) >> 6
    for word in range(first, last + 1):
        words[at + word] = source[source_at + word]
    words[at + first] &= from_bit(begin)
    words[at + last] &= up_to_bit(end - 1)


@inner_kernel
def keep_bits(words, at, source, source_at, begin, end):
    """Keep of a set what is also in another one; both cover begin to end."""
    if begin >= end:
        return
    for word in range(begin >> 6, ((end - 1) >> 6) + 1):
        words[at + word] &= source[source_at + word]


@inner_kernel
def first_common(words, at, others, others_at, begin, end):
    """Return the first event of two sets from begin on and before end, or -1."""
    if begin >= end:
        return np.int64(-1)
    word, last = begin >> 6, (end - 1) >> 6
    bits = words[at + word] & others[others_at + word] & from_bit(begin)
    while True:
        if word == last:
            bits &= up_to_bit(end - 1)
        if bits != ZERO:
            return np.int64((word << 6) + lowest_bit(bits))
        if word == last:
            return np.int64(-1)
        word += 1
        bits = words[at + word] & others[others_at + word]


@inner_kernel
def first_of(words, at, begin, end):
    """Return the first event of a set from begin on and before end, or -1."""
    return first_common(words, at, words, at, begin, end)


@inner_kernel
def count_of(words, at, begin, end, enough):
    """Count the events of a set from begin to end, not further than `enough`."""
    if begin >= end:
        return np.int64(0)
    word, last = begin >> 6, (end - 1) >> 6
    bits = words[at + word] & from_bit(begin)
    count = np.int64(0)
    while True:
        if word == last:
            return count + ones_of(bits & up_to_bit(end - 1))
        # Sets that long rows leave are mostly empty.
        if bits != ZERO:
            count += ones_of(bits)
            if count >= enough:
                return count
        word += 1
        bits = words[at + word]
