"""Bit rows: which events of one step fit one event of another, computed once and kept while their window lasts.

A row does not depend on the trigger, so triggers that share events share rows. They lie in a table with a place for as many
events as a window holds; where that would be too large the table is smaller, and rows that were overwritten are computed again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from eventide.compilation import inner_kernel
from eventide.index.zorder import ONE, ZERO
from eventide.match.recompute.bit_rows.bits import ALL_BITS
from eventide.match.recompute.bit_rows.comparisons import OPERATOR, OTHER, OWN, lanes_where
from eventide.match.recompute.bit_rows.row_trees import LONG, MADE, PRICE, SPENT, WANTED, RowTrees, filled_from_tree

FIRST, WIDTH, PLACES, FIRST_PLACE = 0, 1, 2, 3
OWNER, START, END = 0, 1, 2


class BitRows(NamedTuple):
    """The table of rows of every family."""

    words: npt.NDArray[np.uint64]
    layout: npt.NDArray[np.int64]
    """[family, 4]: where its words begin, how many a row has, how many rows there is room for (a power of two), and the first."""
    held: npt.NDArray[np.int64]
    """[place, 3]: the event that a row belongs to, its first word and the one behind its last."""
    trees: RowTrees


def new_bit_rows(widths: list[int], places: list[int], trees: RowTrees) -> BitRows:
    """Return empty tables."""
    layout = np.zeros((len(widths), 4), np.int64)
    layout[:, WIDTH], layout[:, PLACES] = widths, places
    sizes = layout[:, WIDTH] * layout[:, PLACES]
    layout[:, FIRST] = np.cumsum(sizes) - sizes
    layout[:, FIRST_PLACE] = np.cumsum(layout[:, PLACES]) - layout[:, PLACES]
    held = np.zeros((sum(places), 3), np.int64)
    held[:, OWNER] = -1
    return BitRows(np.empty(int(sizes.sum()), np.uint64), layout, held, trees)


@inner_kernel
def row_word(shape, window, family, event, word):
    """Return which of the 64 candidates of a word fit an event by all comparisons of a family."""
    bits = ALL_BITS
    for term in range(shape.term_first[family], shape.term_first[family + 1]):
        own, other = shape.terms[term, OWN], shape.terms[term, OTHER]
        if (window.usable[own, event >> 6] >> np.uint64(event & 63)) & ONE == ZERO:
            return ZERO
        bound = window.blocks[own, event >> 6, event & 63]
        bits &= window.usable[other, word] & lanes_where(shape.terms[term, OPERATOR], bound, window.blocks, other, word)
        if bits == ZERO:
            break
    return bits


@inner_kernel
def row_of(shape, rows, window, family, event, begin, end):
    """Return where the row of an event lies, after seeing to it that it covers begin to end, which is not empty.

    Rows are made of whole words, so that they say something about candidates before begin and after end as well.
    """
    held = rows.held
    place = event & (rows.layout[family, PLACES] - 1)
    entry = rows.layout[family, FIRST_PLACE] + place
    first, last = begin >> 6, ((end - 1) >> 6) + 1
    if held[entry, OWNER] != event or first < held[entry, START]:
        held[entry, OWNER] = event
        held[entry, START] = first
        held[entry, END] = first
    at = rows.layout[family, FIRST] + place * rows.layout[family, WIDTH] - held[entry, START]
    known = held[entry, END]
    if last > known:
        asked = rows.trees.asked
        if last - known >= asked[family, LONG] and asked[family, MADE] == 0:
            asked[family, SPENT] += last - known
            if asked[family, SPENT] >= asked[family, PRICE]:
                asked[asked.shape[0] - 1, WANTED] = family + 1
        for word in range(known, last):
            rows.words[at + word] = row_word(shape, window, family, event, word)
        held[entry, END] = last
    return at


@inner_kernel
def ask_tree(shape, rows, window, family, event, begin, end):
    """Let the tree of a family, where there is one, fill a long row that `row_of` is about to be asked for.

    Apart from `row_of`, because that is part of most kernels of a search, and each is compiled with all that it calls.
    """
    asked, held = rows.trees.asked, rows.held
    first, last = begin >> 6, ((end - 1) >> 6) + 1
    if asked[family, MADE] == 0 or last - first < asked[family, LONG]:
        return
    place = event & (rows.layout[family, PLACES] - 1)
    entry = rows.layout[family, FIRST_PLACE] + place
    known = first
    if held[entry, OWNER] == event and held[entry, START] <= first:
        known = held[entry, END]
        first = held[entry, START]
    if last - known >= asked[family, LONG]:
        at = rows.layout[family, FIRST] + place * rows.layout[family, WIDTH] - first
        if filled_from_tree(shape, window, rows.trees, rows.words, at, family, event, known, last):
            held[entry, OWNER] = event
            held[entry, START] = first
            held[entry, END] = last
