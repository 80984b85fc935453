"""Making the parts of maximal matches that have one configuration, each of them once (Abella 2022, A.2, ENUMERATE).

A trie holds the parts that came out: a branch is a node and the next event. All parts have the same length, so a part is new when
its way through the trie needed a new branch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from eventide.compilation import inner_kernel, kernel
from eventide.match.budget import SPENT, Account, Budget
from eventide.match.dag.enumeration import FINISHED, FULL, GROW, MatchBatch, new_found

if TYPE_CHECKING:
    from collections.abc import Iterator

CHUNK_MATCHES = 1 << 16
FIRST_BRANCHES = 1 << 12


class Trie(NamedTuple):
    """Branches in an open hash table; -1 marks an empty place."""

    node: npt.NDArray[np.int32]
    row: npt.NDArray[np.int32]
    child: npt.NDArray[np.int32]


def new_trie(places: int) -> Trie:
    """Return an empty trie; the number of places is a power of two."""
    return Trie(np.full(places, -1, np.int32), np.empty(places, np.int32), np.empty(places, np.int32))


@inner_kernel
def place_of(trie, node, row):
    """Return where a branch is, or where it would be put."""
    mask = trie.node.shape[0] - 1
    place = (np.int64(row) * 2654435761 + np.int64(node) * 40503) & mask
    while trie.node[place] >= 0 and (trie.node[place] != node or trie.row[place] != row):
        place = (place + 1) & mask
    return place


@kernel
def move_branches(trie, larger):
    """Put all branches into a larger trie."""
    for at in range(trie.node.shape[0]):
        if trie.node[at] >= 0:
            place = place_of(larger, trie.node[at], trie.row[at])
            larger.node[place] = trie.node[at]
            larger.row[place] = trie.row[at]
            larger.child[place] = trie.child[at]


@inner_kernel
def next_choice(chosen, begin, size, group_size):
    """Move a choice of `size` events out of a group on; returns False, and the first choice again, behind the last."""
    index = size - 1
    while index >= 0 and chosen[begin + index] == group_size - size + index:
        index -= 1
    if index < 0:
        for at in range(size):
            chosen[begin + at] = at
        return False
    chosen[begin + index] += 1
    for at in range(index + 1, size):
        chosen[begin + at] = chosen[begin + at - 1] + 1
    return True


@kernel
def make_parts(offset, row_of, size_of, configuration, label, trie, state, chosen, found, left):
    """Write new parts; returns (status, how many). `state` holds the maximal match at hand, the nodes, and the duplicates."""
    steps = configuration.shape[0]
    length = chosen.shape[0]
    number = 0
    written = 0
    while state[0] < offset.shape[0] - 1:
        if number == found.start.shape[0] or written + length > found.row.shape[0]:
            return FULL, number
        if 2 * (state[1] + length) > trie.node.shape[0]:
            return GROW, number
        if left[0] <= 0:
            return SPENT, number
        left[0] -= length
        match = state[0]
        node = np.int64(0)
        fresh = False
        group_begin = offset[match]
        at = 0
        for step in range(steps):
            for _ in range(configuration[step]):
                row = row_of[group_begin + chosen[at]]
                found.row[written + at] = row
                found.label[written + at] = label[step]
                at += 1
                place = place_of(trie, node, row)
                if trie.node[place] < 0:
                    trie.node[place] = node
                    trie.row[place] = row
                    state[1] += 1
                    trie.child[place] = state[1]
                    fresh = True
                node = np.int64(trie.child[place])
            group_begin += size_of[match, step]
        if fresh:
            found.start[number] = found.row[written]
            found.end[number] = found.row[written + length - 1]
            written += length
            number += 1
            found.offset[number] = written
        else:
            state[2] += 1
        step = steps - 1
        begin = length - configuration[step]
        while step >= 0 and not next_choice(chosen, begin, configuration[step], size_of[match, step]):
            step -= 1
            begin -= configuration[step] if step >= 0 else 0
        if step < 0:
            state[0] += 1
    return FINISHED, number


class Parts:
    """The parts of maximal matches that have one configuration; `duplicates` counts those that were suppressed."""

    def __init__(
        self,
        offset: npt.NDArray[np.int64],
        row: npt.NDArray[np.int32],
        size: npt.NDArray[np.int32],
        configuration: npt.NDArray[np.int32],
        label: npt.NDArray[np.int32],
    ) -> None:
        self._given = (offset, row, size, configuration, label)
        self._state = np.zeros(3, np.int64)
        self._chosen = np.concatenate([np.arange(number, dtype=np.int64) for number in configuration])

    @property
    def duplicates(self) -> int:
        """How many parts were made and suppressed so far."""
        return int(self._state[2])

    def __iter__(self) -> Iterator[MatchBatch]:
        trie = new_trie(FIRST_BRANCHES)
        length = len(self._chosen)
        while 2 * length > len(trie.node):
            trie = new_trie(2 * len(trie.node))
        status, account = GROW, Account(Budget())
        while status != FINISHED:
            found = new_found(CHUNK_MATCHES, length * CHUNK_MATCHES)
            status, number = make_parts(*self._given, trie, self._state, self._chosen, found, account.slice())
            if status == GROW:
                larger = new_trie(4 * len(trie.node))
                move_branches(trie, larger)
                trie = larger
            if number:
                yield MatchBatch(
                    found.start[:number],
                    found.end[:number],
                    found.offset[: number + 1],
                    found.row[: number * length],
                    found.label[: number * length],
                )
