"""The matches of several searches together: what shows the same comes once, and LIMIT sees their ends in order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from eventide.match.dag.enumeration import MatchBatch, new_found
from eventide.match.dag.matching.enumerator import (
    chosen_found,
    found_in_room,
    larger_found,
    next_size,
    room_bytes,
    trimmed_found,
    without_duplicates,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

CHUNK_MATCHES = 1 << 16
FIRST_BLOCK = 16
LARGEST_BLOCK = 1 << 12


class Gathered:
    """Matches as they are found; `visible` says what labels show, where matches may show the same, and is None elsewhere."""

    def __init__(self, visible: npt.NDArray[np.int32] | None) -> None:
        self._visible = visible
        self._found = _new_room()
        self.written = 0

    def room(self) -> MatchBatch:
        """Return the room behind the matches; offsets stay those of the whole."""
        found, written = self._found, self.written
        return MatchBatch(found.start[written:], found.end[written:], found.offset[written:], found.row, found.label)

    def more_room(self) -> None:
        """Make room: by dropping what shows the same as another where that frees half of it, otherwise by growing."""
        if self._visible is not None:
            room, positions = len(self._found.start), len(self._found.row)
            left, before = self._shown_once(), self.written
            self.written = len(left.start)
            self._found = found_in_room(left, self.written, room, positions)
            # Where nothing was dropped, one match alone may want more room than there is.
            if self.written < before and 2 * self.written <= room and 2 * len(left.row) <= positions:
                return
        self._found = larger_found(self._found, self.written)

    def take(self) -> MatchBatch:
        """Return the matches so far and begin anew."""
        taken = self._shown_once()
        self._found, self.written = _new_room(), 0
        return taken

    @property
    def size(self) -> int:
        """The bytes of all room."""
        return room_bytes(self._found)

    @property
    def half_full(self) -> bool:
        """Whether what is there is worth handing on."""
        return 2 * self.written >= CHUNK_MATCHES

    def _shown_once(self) -> MatchBatch:
        if self._visible is None:
            return trimmed_found(self._found, self.written)
        return without_duplicates(self._found, self.written, self._visible, np.ones(self.written, np.uint8))


class Blocks:
    """Cuts triggers into blocks that have neither too few nor too many matches together."""

    def __init__(self, triggers: npt.NDArray[np.int64]) -> None:
        self._triggers = triggers
        self._size = FIRST_BLOCK

    def __iter__(self) -> Iterator[npt.NDArray[np.int64]]:
        begin = 0
        while begin < len(self._triggers):
            end = begin + self._size
            yield self._triggers[begin:end]
            begin = end

    def learn(self, matches: int) -> None:
        """Learn how many matches the last block had."""
        self._size = next_size(self._size, matches, CHUNK_MATCHES, LARGEST_BLOCK)


def within_quota(found: MatchBatch, key_of: npt.NDArray[np.int32], taken: npt.NDArray[np.int64], quota: int) -> MatchBatch:
    """Return the matches that end first, as many of each key as its quota leaves, and count them as taken.

    >>> ends = np.array([5, 3, 4], np.int32)
    >>> found = MatchBatch(ends, ends, np.arange(4), ends, ends)
    >>> within_quota(found, np.zeros(6, np.int32), np.array([1]), 3).end.tolist()
    [3, 4]
    """
    by_end = np.argsort(found.end, kind="stable")
    by_key = by_end[np.argsort(key_of[found.end[by_end]], kind="stable")]
    keys = key_of[found.end[by_key]]
    before = np.arange(len(keys)) - np.searchsorted(keys, keys)
    kept = by_key[before + taken[keys] < quota]
    kept = kept[np.argsort(found.end[kept], kind="stable")]
    np.add.at(taken, key_of[found.end[kept]], 1)
    return chosen_found(found, kept)


def _new_room() -> MatchBatch:
    return new_found(CHUNK_MATCHES, 4 * CHUNK_MATCHES)
