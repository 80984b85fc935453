"""What is known of each partition of a bucket between two steps."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from eventide.records import record

NOT_DUE = np.iinfo(np.int64).max


def _nothing() -> npt.NDArray[np.int64]:
    return np.zeros(0, np.int64)


@record
class Partitions:
    """The partitions in the order of the two hashes of their keys; the rows that are held stand in the same order."""

    key: npt.NDArray[np.int64]
    check: npt.NDArray[np.int64]
    rows: npt.NDArray[np.int64]
    """How many rows are held."""
    decided: npt.NDArray[np.int64]
    """How many of them begin no match any more and are held for PREV alone; they come first."""
    covered: npt.NDArray[np.int64]
    """How many of the others are rows of a match that was found."""
    number: npt.NDArray[np.int64]
    """How many matches were found."""
    opening: npt.NDArray[np.int64]
    """Whether the first row that is held is the first of all."""
    due: npt.NDArray[np.int64]
    """The first row that is not decided is, once the watermark is above this."""

    @classmethod
    def none(cls) -> Partitions:
        """Return no partitions.

        >>> len(Partitions.none())
        0
        """
        return cls(*(_nothing() for _ in fields(cls)))

    def __len__(self) -> int:
        return len(self.key)

    def taken(self, kept: npt.NDArray[Any]) -> Partitions:
        """Return some of the partitions."""
        return Partitions(*(getattr(self, item.name)[kept] for item in fields(self)))

    def updated(self, chosen: npt.NDArray[np.int64], **columns: npt.NDArray[np.int64]) -> Partitions:
        """Return the partitions with new values in some columns of the chosen ones."""
        changed = {}
        for name, values in columns.items():
            column = getattr(self, name).copy()
            column[chosen] = values
            changed[name] = column
        return replace(self, **changed)

    def found(
        self, key: npt.NDArray[np.int64], check: npt.NDArray[np.int64]
    ) -> tuple[Partitions, npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return the partitions with those of the given keys, which come in order, the number of each key, and the new numbers.

        >>> partitions, numbers, _ = Partitions.none().found(np.array([4, 4, 7]), np.array([1, 1, 0]))
        >>> partitions.key.tolist(), numbers.tolist()
        ([4, 7], [0, 0, 1])
        """
        if not len(key):
            return self, _nothing(), np.arange(len(self))
        begins = np.append(True, (key[1:] != key[:-1]) | (check[1:] != check[:-1]))
        key, check = key[begins], check[begins]
        place = self._place(key, check)
        fresh = np.ones(len(place), np.bool_)
        if len(self):
            at = np.minimum(place, len(self) - 1)
            fresh = (place == len(self)) | (self.key[at] != key) | (self.check[at] != check)
        numbers = place + np.cumsum(fresh) - fresh
        merged, moved = self, np.arange(len(self))
        if fresh.any():
            merged = self._with_fresh(place[fresh], key[fresh], check[fresh])
            # Every new key moves those behind it by one.
            moved += np.searchsorted(place[fresh], moved, "right")
        return merged, numbers[np.cumsum(begins) - 1], moved

    def _with_fresh(
        self, place: npt.NDArray[np.int64], key: npt.NDArray[np.int64], check: npt.NDArray[np.int64]
    ) -> Partitions:
        zero = np.zeros(len(key), np.int64)
        first = {"key": key, "check": check, "opening": zero + 1, "due": zero + NOT_DUE}
        return Partitions(
            *(np.insert(getattr(self, item.name), place, first.get(item.name, zero)) for item in fields(self))
        )

    def _place(self, key: npt.NDArray[np.int64], check: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return where keys stand or would stand."""
        place = np.searchsorted(self.key, key)
        while True:
            at = np.minimum(place, max(0, len(self) - 1))
            # Keys with the same first hash are rare, so this goes round once or twice.
            behind = place < len(self)
            if len(self):
                behind &= (self.key[at] == key) & (self.check[at] < check)
            if not behind.any():
                return place
            place = place + behind

    def dump(self) -> dict[str, npt.NDArray[np.int64]]:
        """Return the columns by name."""
        return {item.name: getattr(self, item.name) for item in fields(self)}

    @classmethod
    def load(cls, parts: dict[str, Any]) -> Partitions:
        """Return the partitions of a dump."""
        return cls(*(parts[item.name] for item in fields(cls)))
