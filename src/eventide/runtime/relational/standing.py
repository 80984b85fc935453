"""A query that stands while its tables change: planned once, run over whatever rows its sources hold at the time."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from eventide.runtime.relational.arrays import arrow_array

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager

ROWS_AT_ONCE = 1 << 18
FEW_ROWS = 2_000
"""So many are fetched as numpy arrays where that loses nothing: an Arrow result takes DuckDB half a millisecond more."""
_NAME = "standing"


class Pushed:
    """Rows that come one batch after the other: what is known beforehand are their name and their columns."""

    def __init__(self, name: str, schema: pa.Schema) -> None:
        self.name = name
        self.schema = schema


class _Slot:
    """Where a database finds the rows of the moment: it asks for a new Arrow stream each time that a query is run."""

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema
        self._nothing = self.table = schema.empty_table()

    def empty(self) -> None:
        self.table = self._nothing

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.table.__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> Any:
        return self.schema.__arrow_c_schema__()


class StandingQuery:
    """A prepared query on a connection of its own; planning costs ten times what 100 rows do."""

    def __init__(
        self,
        connection: Any,
        sql: str,
        sources: Mapping[str, Pushed],
        views: Mapping[str, str],
        errors: Callable[[], AbstractContextManager[None]],
    ) -> None:
        self._connection = connection
        self._errors = errors
        self._slots: dict[str, _Slot] = {}
        with errors():
            connection.execute("SET TimeZone = 'UTC'")
            for name, source in sources.items():
                slot = self._slots[source.name] = _Slot(source.schema)
                connection.register(name, slot)
            for name, view in views.items():
                connection.execute(f"CREATE TEMP VIEW {name} AS {view}")
            connection.execute(f"PREPARE {_NAME} AS {sql}")
            (self._statement,) = connection.extract_statements(f"EXECUTE {_NAME}")
            self.schema: pa.Schema = self._rows().schema
            self._plain = self._is_plain()

    def run(self, tables: Mapping[str, pa.Table]) -> pa.Table:
        """Return the rows of the query over the tables of this moment; a source without one has no rows."""
        for name, table in tables.items():
            self._slots[name].table = table
        try:
            with self._errors():
                few = self._plain and sum(table.num_rows for table in tables.values()) <= FEW_ROWS
                return self._few_rows() if few else self._rows()
        finally:
            # What was read is not kept alive until the next call.
            for name in tables:
                self._slots[name].empty()

    def close(self) -> None:
        """Let the connection go."""
        self._connection.close()

    def _rows(self) -> pa.Table:
        result = self._connection.execute(self._statement)
        with warnings.catch_warnings():
            # DuckDB recommends sql() instead, which copies small results once less and takes twice as long for them.
            warnings.filterwarnings("ignore", "Arrow output on a DB-API result", UserWarning)
            return result.to_arrow_reader(ROWS_AT_ONCE).read_all()

    def _few_rows(self) -> pa.Table:
        columns = self._connection.execute(self._statement).fetchnumpy()
        arrays = [_arrow(columns[field.name], field.type) for field in self.schema]
        return pa.Table.from_arrays(arrays, schema=self.schema)

    def _is_plain(self) -> bool:
        """Return whether numpy holds every column as it is."""
        found = self._connection.execute(self._statement).fetchnumpy()
        return len(found) == len(self.schema) and all(_held_alike(found[field.name].dtype, field.type) for field in self.schema)


def _held_alike(kind: np.dtype[Any], type_of: pa.DataType) -> bool:
    if pa.types.is_string(type_of):
        return bool(kind == np.object_)
    if pa.types.is_timestamp(type_of):
        return bool(kind == np.dtype(f"datetime64[{type_of.unit}]"))
    plain = pa.types.is_integer(type_of) or pa.types.is_floating(type_of) or pa.types.is_boolean(type_of)
    return bool(plain and kind == np.dtype(type_of.to_pandas_dtype()))


def _arrow(values: Any, kind: pa.DataType) -> pa.Array:
    missing = np.ma.getmaskarray(values) if isinstance(values, np.ma.MaskedArray) else None
    values = np.asarray(values)
    if values.dtype == np.object_:
        # What is missing is None.
        return pa.array(values.tolist(), kind)
    if values.dtype.kind == "M":
        return arrow_array(values.view(np.int64), missing).view(kind)
    return arrow_array(values, missing)
