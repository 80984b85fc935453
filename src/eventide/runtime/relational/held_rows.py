"""Rows that are held while more come: a few new ones are put behind many without copying all of them each time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from eventide.runtime.relational.arrays import numpy_values, packed_bits
from eventide.runtime.relational.functions import is_valid

if TYPE_CHECKING:
    import numpy.typing as npt

    Bytes = npt.NDArray[np.uint8]


class HeldRows:
    """A table that grows. What was handed out stays as it was: new rows are written behind it."""

    def __init__(self) -> None:
        self._table: pa.Table | None = None
        self._columns: list[_Column] | None = None

    @property
    def table(self) -> pa.Table | None:
        """All rows; None before the first ones."""
        return self._table

    @table.setter
    def table(self, table: pa.Table | None) -> None:
        self._table = table
        self._columns = None

    def add(self, rows: pa.Table) -> pa.Table:
        """Put rows behind those that are held and return all of them, each column in one chunk.

        >>> held = HeldRows()
        >>> first = held.add(pa.table({"x": [1, 2]}))
        >>> held.add(pa.table({"x": [3]}))["x"].to_pylist(), first["x"].to_pylist()
        ([1, 2, 3], [1, 2])
        """
        if self._table is None or not self._table.num_rows:
            self.table = rows.combine_chunks()
            return self._table
        if not rows.schema.equals(self._table.schema):
            # Arrow says what does not fit.
            self.table = pa.concat_tables([self._table, rows]).combine_chunks()
            return self._table
        if self._columns is None:
            self._columns = [_column(name) for name in self._table.columns]
        arrays = [column.add(_array(fresh)) for column, fresh in zip(self._columns, rows.columns, strict=True)]
        self._table = pa.Table.from_arrays(arrays, schema=self._table.schema)
        return self._table


class _Room:
    """Bytes with room behind them."""

    def __init__(self, held: Bytes) -> None:
        self._bytes = held
        self._size = len(held)

    def add(self, fresh: Bytes) -> None:
        if not len(fresh):
            return
        end = self._size + len(fresh)
        if end > len(self._bytes):
            larger = np.empty(end + end // 2, np.uint8)
            larger[: self._size] = self._bytes[: self._size]
            self._bytes = larger
        self._bytes[self._size : end] = fresh
        self._size = end

    @property
    def buffer(self) -> pa.Buffer:
        return pa.py_buffer(self._bytes)

    @property
    def filled(self) -> Bytes:
        return self._bytes[: self._size]


class _Column:
    """A column that can only be put together anew."""

    def __init__(self, held: pa.Array) -> None:
        self._held = held

    def add(self, fresh: pa.Array) -> pa.Array:
        self._held = pa.concat_arrays([self._held, fresh])
        return self._held


class _Wide(_Column):
    """Values of so many bytes each."""

    def __init__(self, held: pa.Array) -> None:
        self._kind = held.type
        self._width = held.type.bit_width // 8
        self._count = len(held)
        self._values = _Room(self._bytes(held))
        self._valid = _Room(_validity(held)) if held.null_count else None

    def _bytes(self, values: pa.Array) -> Bytes:
        return _bytes_of(values, 1)[values.offset * self._width : (values.offset + len(values)) * self._width]

    def add(self, fresh: pa.Array) -> pa.Array:
        if fresh.null_count and self._valid is None:
            self._valid = _Room(np.ones(self._count, np.uint8))
        if self._valid is not None:
            self._valid.add(_validity(fresh))
        self._count += len(fresh)
        return pa.Array.from_buffers(self._kind, self._count, [self._bits(), *self._parts(fresh)])

    def _parts(self, fresh: pa.Array) -> list[pa.Buffer]:
        self._values.add(self._bytes(fresh))
        return [self._values.buffer]

    def _bits(self) -> pa.Buffer | None:
        return None if self._valid is None else packed_bits(self._valid.filled.view(np.bool_))


class _Text(_Wide):
    """Texts, or bytes: where each ends, and all of them one behind the other."""

    def __init__(self, held: pa.Array) -> None:
        self._kind = held.type
        self._count = len(held)
        ends, data = _text(held)
        self._end = int(ends[-1])
        self._ends = _Room(ends.view(np.uint8))
        self._data = _Room(data)
        self._valid = _Room(_validity(held)) if held.null_count else None

    def _parts(self, fresh: pa.Array) -> list[pa.Buffer]:
        ends, data = _text(fresh)
        self._ends.add((ends[1:] + np.int32(self._end)).view(np.uint8))
        self._data.add(data)
        self._end += len(data)
        return [self._ends.buffer, self._data.buffer]


def _column(held: pa.ChunkedArray) -> _Column:
    array, kind = _array(held), held.type
    if pa.types.is_primitive(kind) and not pa.types.is_boolean(kind) and not pa.types.is_null(kind):
        return _Wide(array)
    # Texts that are longer together than their offsets can count are refused by Arrow, as they are elsewhere.
    small = array.nbytes < np.iinfo(np.int32).max // 4
    return _Text(array) if small and (pa.types.is_string(kind) or pa.types.is_binary(kind)) else _Column(array)


def _array(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays([pa.array([], column.type), *column.chunks])


def _text(texts: pa.Array) -> tuple[npt.NDArray[np.int32], Bytes]:
    """Return where texts end, from a leading 0 on, and their bytes."""
    if not len(texts):
        return np.zeros(1, np.int32), np.zeros(0, np.uint8)
    ends = _bytes_of(texts, 1).view(np.int32)[texts.offset : texts.offset + len(texts) + 1]
    return ends - ends[0], _bytes_of(texts, 2)[ends[0] : ends[-1]]


def _bytes_of(array: pa.Array, number: int) -> Bytes:
    held: Any = array.buffers()[number]
    return np.frombuffer(b"" if held is None else held, np.uint8)


def _validity(array: pa.Array) -> Bytes:
    return numpy_values(is_valid(array)).view(np.uint8)
