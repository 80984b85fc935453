"""Functions of Arrow without `pyarrow.compute`.

That module writes the documentation of 280 functions when it is imported, which takes longer than a small match, and methods
such as `take` and `cast` import it. They all end in `call_function`, which an extension module has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa

try:
    import pyarrow._compute as arrow
except ImportError:  # another pyarrow may keep it elsewhere
    import pyarrow.compute as arrow

if TYPE_CHECKING:
    from collections.abc import Sequence

Rows = TypeVar("Rows", pa.Array, pa.ChunkedArray, pa.Table)


def take(rows: Rows, places: pa.Array) -> Rows:
    """Return the rows at some places; a null stands for a row of nulls.

    >>> take(pa.array(["a", "b"]), pa.array([1, None])).to_pylist()
    ['b', None]
    """
    return _call("take", [rows, places], arrow.TakeOptions())


def kept(rows: Rows, mask: pa.Array) -> Rows:
    """Return the rows where a mask is true.

    >>> kept(pa.array([1, 2, 3]), pa.array([True, False, True])).to_pylist()
    [1, 3]
    """
    return _call("filter", [rows, mask], arrow.FilterOptions())


def cast(column: Rows, kind: pa.DataType, *, safe: bool = True) -> Rows:
    """Return a column as another type; a safe cast refuses to lose anything.

    >>> cast(pa.array([1, None]), pa.float64()).to_pylist()
    [1.0, None]
    """
    return _call("cast", [column], arrow.CastOptions.safe(kind) if safe else arrow.CastOptions.unsafe(kind))


def is_valid(column: Rows) -> Rows:
    """Return where a column is not null.

    >>> is_valid(pa.array([1, None])).to_pylist()
    [True, False]
    """
    return _call("is_valid", [column])


def is_null(column: Rows) -> Rows:
    """Return where a column is null; NaN is a value.

    >>> is_null(pa.array([1, None])).to_pylist()
    [False, True]
    """
    return _call("is_null", [column])


def not_equal(left: Rows, right: Rows) -> Rows:
    """Return where two columns differ; null where one of them is.

    >>> not_equal(pa.array([1, 2, None]), pa.array([1, 3, 4])).to_pylist()
    [False, True, None]
    """
    return _call("not_equal", [left, right])


def with_default(column: Rows, value: pa.Scalar) -> Rows:
    """Return a column with a value of its own type for nulls.

    >>> with_default(pa.array([1, None]), pa.scalar(7)).to_pylist()
    [1, 7]
    """
    return _call("coalesce", [column, value])


def dictionary(column: Rows, *, nulls: str = "mask") -> Rows:
    """Return a column as numbers of its distinct values; nulls are "mask" (they stay) or "encode" (a value like others).

    >>> dictionary(pa.array(["a", "b", "a"])).indices.to_pylist()
    [0, 1, 0]
    """
    return _call("dictionary_encode", [column], arrow.DictionaryEncodeOptions(nulls))


def dense_ranks(column: Rows) -> Rows:
    """Return the place of each value among the distinct ones, from 1, nulls at the end.

    >>> dense_ranks(pa.array(["b", "a", "b"])).to_pylist()
    [2, 1, 2]
    """
    return _call("rank", [column], arrow.RankOptions("ascending", tiebreaker="dense"))


def sorted_places(table: pa.Table, names: Sequence[str]) -> pa.Array:
    """Return the places of the rows in the order of some columns, nulls at the end.

    >>> sorted_places(pa.table({"x": [3, None, 1]}), ["x"]).to_pylist()
    [2, 0, 1]
    """
    return _call("sort_indices", [table], arrow.SortOptions([(name, "ascending") for name in names]))


def _call(name: str, given: list[Any], options: Any = None) -> Any:
    return arrow.call_function(name, given, options)
