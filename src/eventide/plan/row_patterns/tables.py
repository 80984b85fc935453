"""The automaton of a clause in the flat arrays that kernels read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from eventide.match.row_pattern.tables import ACCEPT, WORD, RowTables

if TYPE_CHECKING:
    from collections.abc import Sequence


def make_tables(
    states: Sequence[Sequence[int]],
    bits: Sequence[int],
    programs: Sequence[int],
    variables: Sequence[int],
    excluded: Sequence[int],
) -> RowTables:
    """Lay the moves of all states and the properties of the positions out in arrays.

    >>> tables = make_tables([(0, ACCEPT), (0,), (0,)], [1], [-1], [0], [False])
    >>> tables.before[0], tables.ends[0]
    (array([7], dtype=uint64), np.uint64(1))
    """
    positions = len(bits)
    words = (len(states) + WORD - 1) // WORD
    before = np.zeros((max(1, positions), words), np.uint64)
    ends = np.zeros(words, np.uint64)
    ends_last = np.zeros(words, np.uint64)
    for state, moves in enumerate(states):
        word, flag = state // WORD, np.uint64(1) << np.uint64(state % WORD)
        for move in moves:
            if move >= 0:
                before[move, word] |= flag
            else:
                ends_last[word] |= flag
                if move == ACCEPT:
                    ends[word] |= flag
    return RowTables(
        np.cumsum([0, *map(len, states)]).astype(np.int32),
        np.array([move for moves in states for move in moves] or [ACCEPT], np.int32),
        np.array(bits or [0], np.int64),
        np.array(programs or [-1], np.int32),
        np.array(variables or [0], np.int16),
        np.array(excluded or [0], np.uint8),
        before,
        ends,
        ends_last,
    )
