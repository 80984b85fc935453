"""Between numpy and Arrow without pandas.

`pa.array`, `pa.scalar` and `to_numpy` import pandas where it is installed, in case they meet any of it. That takes longer than a
small match, so numbers go by their buffers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from eventide.runtime.relational.functions import cast, with_default

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt


def arrow_array(values: npt.NDArray[Any], missing: npt.NDArray[np.bool_] | None = None) -> pa.Array:
    """Return numbers or booleans as an Arrow array, null where they are `missing`. It shares the memory of numbers.

    >>> arrow_array(np.array([1, 2, 3]), np.array([False, True, False])).to_pylist()
    [1, None, 3]
    >>> arrow_array(np.array([True, False])).to_pylist()
    [True, False]
    """
    held = packed_bits(values) if values.dtype == np.bool_ else pa.py_buffer(np.ascontiguousarray(values))
    valid = None if missing is None else packed_bits(~missing)
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [valid, held])


def arrow_numbers(numbers: Sequence[float | None], dtype: npt.DTypeLike = np.float64) -> pa.Array:
    """Return numbers of Python as an Arrow array; None is null.

    >>> arrow_numbers([1.5, None]).to_pylist()
    [1.5, None]
    """
    missing = np.array([number is None for number in numbers], np.bool_)
    return arrow_array(np.array([0 if number is None else number for number in numbers], dtype), missing)


def arrow_digits(texts: Sequence[str | None]) -> pa.Array:
    """Return numbers that are written in ASCII, however long they are, as an Arrow array; None is null.

    >>> arrow_digits(["1", None, "-23"]).to_pylist()
    ['1', None, '-23']
    """
    written = [text or "" for text in texts]
    ends = np.zeros(len(written) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, written), np.int64, len(written)), out=ends[1:])
    valid = packed_bits(np.array([text is not None for text in texts], np.bool_))
    data = pa.py_buffer("".join(written).encode("ascii"))
    return cast(pa.Array.from_buffers(pa.large_string(), len(written), [valid, pa.py_buffer(ends), data]), pa.string())


def numpy_values(column: pa.Array | pa.ChunkedArray) -> npt.NDArray[Any]:
    """Return a column as numpy values, as `to_numpy` does: a view that cannot be written where one array holds them.

    >>> numpy_values(arrow_array(np.array([1, 2])).slice(1))
    array([2])
    """
    if column.null_count or not _is_plain(column.type):
        values: npt.NDArray[Any] = column.to_numpy(zero_copy_only=False)
        return values
    if isinstance(column, pa.Array):
        return _view(column)
    if column.num_chunks == 1:
        return _view(column.chunk(0))
    return np.concatenate([np.zeros(0, column.type.to_pandas_dtype()), *map(_view, column.chunks)])


def filled(column: pa.Array | pa.ChunkedArray, value: float = 0) -> npt.NDArray[Any]:
    """Return a column as numpy values, with this one for its nulls.

    >>> filled(arrow_array(np.array([1, 2]), np.array([True, False])), 7)
    array([7, 2])
    """
    if column.null_count:
        kind = column.type
        if _is_plain(kind):
            # A scalar that comes out of an array is one that Arrow need not look at.
            column = with_default(column, arrow_array(np.array([value], kind.to_pandas_dtype()))[0])
        else:
            column = column.fill_null(value)
    return numpy_values(column)


def _is_plain(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind))


def _view(array: pa.Array) -> npt.NDArray[Any]:
    held, kind = array.buffers()[1], np.dtype(array.type.to_pandas_dtype())
    if not len(array):
        held = b""
    if kind == np.bool_:
        bits = np.unpackbits(np.frombuffer(held, np.uint8), count=array.offset + len(array), bitorder="little")
        return bits[array.offset :].view(np.bool_)
    values = np.frombuffer(held, kind, len(array), array.offset * kind.itemsize if len(array) else 0)
    # Arrow's data must not change, whoever owns the memory.
    values.flags.writeable = False
    return values


def packed_bits(values: npt.NDArray[np.bool_]) -> pa.Buffer:
    """Return booleans as the bits that Arrow has for them."""
    return pa.py_buffer(np.packbits(values, bitorder="little"))
