"""A query that stands while its tables change: planned once, run over whatever rows its sources hold at the time."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager

    import pyarrow as pa

ROWS_AT_ONCE = 1 << 18
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
            self.schema: pa.Schema = self._rows().schema

    def run(self, tables: Mapping[str, pa.Table]) -> pa.Table:
        """Return the rows of the query over the tables of this moment; a source without one has no rows."""
        for name, table in tables.items():
            self._slots[name].table = table
        try:
            with self._errors():
                return self._rows()
        finally:
            # What was read is not kept alive until the next call.
            for name in tables:
                self._slots[name].empty()

    def close(self) -> None:
        """Let the connection go."""
        self._connection.close()

    def _rows(self) -> pa.Table:
        result = self._connection.execute(f"EXECUTE {_NAME}")
        with warnings.catch_warnings():
            # DuckDB recommends sql() instead, which copies small results once less and takes twice as long for them.
            warnings.filterwarnings("ignore", "Arrow output on a DB-API result", UserWarning)
            return result.to_arrow_reader(ROWS_AT_ONCE).read_all()
