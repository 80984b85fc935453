"""Which events belong to which key, across batches."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from eventide.errors import DataError
from eventide.records import record
from eventide.runtime.relational.arrays import filled, numpy_values
from eventide.runtime.relational.functions import cast, dictionary, is_null, not_equal

if TYPE_CHECKING:
    from collections.abc import Sequence

Number = TypeVar("Number", bound=np.generic)


@record
class KeySpans:
    """The keys of a batch: `restart` marks where the next key begins (sorted), or `key` numbers them (interleaved)."""

    row_count: int
    restart: npt.NDArray[np.uint8] | None = None
    key: npt.NDArray[np.int32] | None = None

    def offsets(self) -> npt.NDArray[np.int64]:
        """Return the borders of sorted keys of which every one is complete."""
        assert self.restart is not None
        return np.append(np.flatnonzero(self.restart), self.row_count).astype(np.int64)


class KeyTracker(ABC):
    """Follows the keys that some columns hold from batch to batch."""

    def __init__(self, columns: Sequence[str]) -> None:
        self._columns = list(columns)

    def spans(self, table: pa.Table) -> KeySpans:
        """Find the keys of the next batch."""
        return self._spans(table.select(self._columns))

    @abstractmethod
    def _spans(self, keys: pa.Table) -> KeySpans:
        """Find the keys, given their columns alone."""

    @abstractmethod
    def positions(self, spans: KeySpans) -> npt.NDArray[np.int64]:
        """Return the position of each event inside its key."""

    @abstractmethod
    def decreases(self, spans: KeySpans, values: npt.NDArray[np.int64]) -> bool:
        """Return whether the values decrease anywhere inside a key."""


class SortedKeys(KeyTracker):
    """Keys that come one after the other."""

    def __init__(self, columns: Sequence[str]) -> None:
        super().__init__(columns)
        self._last_key: pa.Table | None = None
        self._position = 0
        self._last_value: int | None = None

    def _spans(self, keys: pa.Table) -> KeySpans:
        """Mark the rows at which a new key begins."""
        restart = np.zeros(keys.num_rows, np.uint8)
        if self._last_key is None:
            restart[0] = 1
        elif keys.num_columns:
            restart[0] = changes(pa.concat_tables([self._last_key, keys.slice(0, 1)])).any()
        if keys.num_columns:
            restart[1:] = changes(keys)
        self._last_key = keys.slice(keys.num_rows - 1, 1)
        return KeySpans(keys.num_rows, restart=restart)

    def positions(self, spans: KeySpans) -> npt.NDArray[np.int64]:
        """Count from the last restart."""
        assert spans.restart is not None
        number = np.arange(spans.row_count, dtype=np.int64)
        begins = np.maximum.accumulate(np.where(spans.restart, number, -1))
        position = np.where(begins >= 0, number - begins, number + self._position)
        self._position = int(position[-1]) + 1
        return position

    def decreases(self, spans: KeySpans, values: npt.NDArray[np.int64]) -> bool:
        """Compare each value with the one before."""
        assert spans.restart is not None
        previous = np.empty_like(values)
        previous[1:] = values[:-1]
        previous[0] = values[0] if self._last_value is None else self._last_value
        self._last_value = int(values[-1])
        return bool(((values < previous) & (spans.restart == 0)).any())


class NumberedKeys(KeyTracker):
    """Keys in the order of time, each with a number."""

    def __init__(self, columns: Sequence[str]) -> None:
        super().__init__(columns)
        self._counts = np.zeros(0, np.int64)
        self._last = np.zeros(0, np.int64)

    @abstractmethod
    def known(self) -> int:
        """Return how many keys have a number."""

    def positions(self, spans: KeySpans) -> npt.NDArray[np.int64]:
        """Count the events of each key."""
        assert spans.key is not None
        order, begins = self._grouped(spans.key)
        rank = np.arange(spans.row_count) - begins
        position = np.empty(spans.row_count, np.int64)
        position[order] = rank + self._counts[spans.key[order]]
        self._counts += np.bincount(spans.key, minlength=len(self._counts))
        return position

    def decreases(self, spans: KeySpans, values: npt.NDArray[np.int64]) -> bool:
        """Compare each value with the one before of the same key."""
        assert spans.key is not None
        order, begins = self._grouped(spans.key)
        ordered, keys = values[order], spans.key[order]
        previous = np.empty_like(ordered)
        previous[1:] = ordered[:-1]
        first = begins == np.arange(spans.row_count)
        previous[first] = self._last[keys[first]]
        last = np.append(first[1:], True)
        self._last[keys[last]] = ordered[last]
        return bool((ordered < previous).any())

    def _grouped(self, key: npt.NDArray[np.int32]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return an order that puts keys together, and for each row of it where its key begins."""
        missing = self.known() - len(self._counts)
        self._counts = np.append(self._counts, np.zeros(missing, np.int64))
        self._last = np.append(self._last, np.full(missing, np.iinfo(np.int64).min, np.int64))
        order = np.argsort(key, kind="stable")
        ordered = key[order]
        number = np.arange(len(key))
        starts = np.append(True, ordered[1:] != ordered[:-1])
        return order, np.maximum.accumulate(np.where(starts, number, 0))


class InterleavedKeys(NumberedKeys):
    """Keys found by the values of their columns."""

    def __init__(self, columns: Sequence[str]) -> None:
        super().__init__(columns)
        self._numbers_of_keys: dict[tuple[object, ...], int] = {}

    def known(self) -> int:
        """Return how many keys have a number."""
        return len(self._numbers_of_keys)

    def _spans(self, keys: pa.Table) -> KeySpans:
        """Number the keys; new ones get new numbers."""
        codes = np.zeros((keys.num_rows, keys.num_columns), np.int64)
        values = []
        for number, column in enumerate(keys.columns):
            encoded = dictionary(column.combine_chunks(), nulls="encode")
            codes[:, number] = numpy_values(encoded.indices)
            values.append(encoded.dictionary.to_pylist())
        combinations, inverse = np.unique(codes, axis=0, return_inverse=True)
        numbers = np.empty(len(combinations), np.int32)
        for row, combination in enumerate(combinations.tolist()):
            key = tuple(_hashable(values[column][code]) for column, code in enumerate(combination))
            numbers[row] = self._numbers_of_keys.setdefault(key, len(self._numbers_of_keys))
        return KeySpans(keys.num_rows, key=numbers[inverse.reshape(-1)])


class HashedKeys(NumberedKeys):
    """Keys found by two hashes of their columns, which the relational engine computes; keys can be given up again."""

    def __init__(self, columns: Sequence[str]) -> None:
        super().__init__(columns)
        self._hashes = np.zeros(0, np.int64)
        self._checks = np.zeros(0, np.int64)
        self._numbers = np.zeros(0, np.int32)

    def known(self) -> int:
        """Return how many keys have a number."""
        return len(self._hashes)

    def _spans(self, keys: pa.Table) -> KeySpans:
        """Number the keys of a table of two columns, hash and check; new ones get new numbers."""
        hashes, checks = (np.ascontiguousarray(numpy_values(column)) for column in keys.columns)
        distinct, first, inverse = np.unique(hashes, return_index=True, return_inverse=True)
        place = np.searchsorted(self._hashes, distinct)
        known = np.zeros(len(distinct), np.bool_)
        inside = place < len(self._hashes)
        known[inside] = self._hashes[place[inside]] == distinct[inside]
        numbers = np.empty(len(distinct), np.int32)
        numbers[known] = self._numbers[place[known]]
        fresh = np.flatnonzero(~known)
        numbers[fresh] = len(self._hashes) + np.arange(len(fresh), dtype=np.int32)
        if len(fresh):
            stays = np.ones(len(self._hashes) + len(fresh), np.bool_)
            stays[place[fresh] + np.arange(len(fresh))] = False
            self._hashes = _merged(stays, self._hashes, distinct[fresh])
            self._checks = _merged(stays, self._checks, checks[first[fresh]])
            self._numbers = _merged(stays, self._numbers, numbers[fresh])
        expected = self._checks[np.searchsorted(self._hashes, distinct)]
        if (checks != expected[inverse.reshape(-1)]).any():
            raise DataError(
                "KEY_COLLISION",
                "Two keys have the same hash of 64 bits, so their events cannot be distinguished.",
                hint="Put another column into PARTITION BY that depends on the key.",
            )
        return KeySpans(keys.num_rows, key=numbers[inverse.reshape(-1)])

    def compact(self, kept: npt.NDArray[np.int64]) -> None:
        """Forget all keys but those with these numbers (ascending), which are numbered anew in their order."""
        renumbered = np.full(len(self._hashes), -1, np.int32)
        renumbered[kept] = np.arange(len(kept), dtype=np.int32)
        numbers = renumbered[self._numbers]
        stays = numbers >= 0
        self._hashes, self._checks, self._numbers = self._hashes[stays], self._checks[stays], numbers[stays]
        # Keys that were never counted have no place there yet.
        self._counts = self._counts[kept[kept < len(self._counts)]]
        self._last = self._last[kept[kept < len(self._last)]]

    def dump(self) -> dict[str, npt.NDArray[np.generic]]:
        """Return all that is known, by name."""
        return {name: getattr(self, f"_{name}") for name in ("hashes", "checks", "numbers", "counts", "last")}

    def load(self, arrays: dict[str, npt.NDArray[np.generic]]) -> None:
        """Go on from a dump."""
        for name in ("hashes", "checks", "numbers", "counts", "last"):
            setattr(self, f"_{name}", arrays[name])


def _merged(stays: npt.NDArray[np.bool_], old: npt.NDArray[Number], new: npt.NDArray[Number]) -> npt.NDArray[Number]:
    """Return old values where they stay and new ones in the places between."""
    merged = np.empty(len(stays), old.dtype)
    merged[stays], merged[~stays] = old, new
    return merged


def _hashable(value: object) -> object:
    # NaN equals itself as a key.
    return "NaN" if isinstance(value, float) and math.isnan(value) else value


def changes(keys: pa.Table) -> npt.NDArray[np.bool_]:
    """Return for each row but the first whether its key differs from the row before; null equals null, NaN equals NaN."""
    changed = np.zeros(keys.num_rows - 1, np.bool_)
    for column in keys.columns:
        array = column.combine_chunks()
        if pa.types.is_null(array.type):
            continue
        if pa.types.is_dictionary(array.type):
            array = cast(array, array.type.value_type)
        one, other = array.slice(0, len(array) - 1), array.slice(1)
        differs = filled(not_equal(one, other), False)
        if pa.types.is_floating(array.type):
            unknown = np.isnan(numpy_values(array))
            differs = differs & ~(unknown[:-1] & unknown[1:])
        nulls = numpy_values(is_null(array))
        changed |= differs | (nulls[:-1] != nulls[1:])
    return changed
