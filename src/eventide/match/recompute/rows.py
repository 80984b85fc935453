"""Bit rows: which events of one step fit one event of another, computed once and kept while their window lasts.

A row does not depend on the trigger, so triggers that share events share rows. They lie in a table with a place for as many
events as a window holds; where that would be too large the table is smaller, and rows that were overwritten are computed again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from eventide.match.jit import inner_kernel
from eventide.match.recompute.bits import ALL_BITS
from eventide.match.recompute.words import lanes_where
from eventide.match.recompute.zorder import ONE, ZERO


class Rows(NamedTuple):
    """The table of rows of every family; `owner` is the event that a row belongs to, `start` and `end` its words."""

    words: npt.NDArray[np.uint64]
    first: npt.NDArray[np.int64]
    """[family]: where its words begin."""
    width: npt.NDArray[np.int64]
    places: npt.NDArray[np.int64]
    """[family]: how many rows there is room for, a power of two."""
    place_first: npt.NDArray[np.int64]
    owner: npt.NDArray[np.int64]
    start: npt.NDArray[np.int64]
    end: npt.NDArray[np.int64]


def new_rows(widths: list[int], places: list[int]) -> Rows:
    """Return empty tables."""
    sizes = np.array(widths, np.int64) * np.array(places, np.int64)
    total = int(np.sum(places))
    return Rows(
        np.empty(int(sizes.sum()), np.uint64),
        np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)]),
        np.array(widths, np.int64),
        np.array(places, np.int64),
        np.concatenate([np.zeros(1, np.int64), np.cumsum(np.array(places, np.int64))]),
        np.full(total, -1, np.int64),
        np.zeros(total, np.int64),
        np.zeros(total, np.int64),
    )


@inner_kernel
def row_word(shape, window, family, event, word):
    """Return which of the 64 candidates of a word fit an event by all comparisons of a family."""
    bits = ALL_BITS
    for term in range(shape.term_first[family], shape.term_first[family + 1]):
        own, other = shape.term_from[term], shape.term_to[term]
        if (window.usable[own, event >> 6] >> np.uint64(event & 63)) & ONE == ZERO:
            return ZERO
        bound = window.blocks[own, event >> 6, event & 63]
        bits &= window.usable[other, word] & lanes_where(shape.term_compare[term], bound, window.blocks, other, word)
        if bits == ZERO:
            break
    return bits


@inner_kernel
def row_of(shape, rows, window, family, event, begin, end):
    """Return where the row of an event lies, after seeing to it that it covers begin to end, which is not empty.

    Rows are made of whole words, so that they say something about candidates before begin and after end as well.
    """
    place = event & (rows.places[family] - 1)
    entry = rows.place_first[family] + place
    first, last = begin >> 6, ((end - 1) >> 6) + 1
    if rows.owner[entry] != event or first < rows.start[entry]:
        rows.owner[entry] = event
        rows.start[entry] = first
        rows.end[entry] = first
    at = rows.first[family] + place * rows.width[family] - rows.start[entry]
    for word in range(rows.end[entry], last):
        rows.words[at + word] = row_word(shape, window, family, event, word)
    rows.end[entry] = max(rows.end[entry], last)
    return at
