"""DuckDB, the relational engine of the embedded runtime: one database a process, and Arrow tables as its views."""

from __future__ import annotations

import atexit
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa

from eventide.errors import BindError, DataError
from eventide.plan.schema import Kind
from eventide.runtime.prepare.sequences import DuckDialect

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

DIALECT = DuckDialect()
PREPARED_ROWS = 1 << 18


def arrow_kind(kind: pa.DataType) -> Kind:
    """Return what conditions can do with an Arrow type.

    >>> arrow_kind(pa.int32()), arrow_kind(pa.timestamp("us"))
    (<Kind.INTEGER: 'integer'>, <Kind.TIMESTAMP: 'timestamp'>)
    """
    types = pa.types
    if types.is_dictionary(kind):
        return arrow_kind(kind.value_type)
    if types.is_integer(kind):
        # 64-bit unsigned numbers do not fit the kernels' integers.
        return Kind.OTHER if kind == pa.uint64() else Kind.INTEGER
    if types.is_floating(kind):
        return Kind.FLOAT
    if types.is_decimal(kind):
        return Kind.DECIMAL if kind.precision <= 15 else Kind.OTHER
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return Kind.STRING
    if types.is_boolean(kind):
        return Kind.BOOLEAN
    if types.is_timestamp(kind):
        return Kind.TIMESTAMP
    return Kind.DATE if types.is_date(kind) else Kind.OTHER


def arrow_columns(data: pa.Table) -> dict[str, Kind]:
    """Return the columns of a table with their kinds."""
    return {field.name: arrow_kind(field.type) for field in data.schema}


def read_arrow(data: Any) -> pa.Table:
    """Return anything with the Arrow C stream interface as a table."""
    if isinstance(data, pa.Table):
        table = data
    elif isinstance(data, pa.RecordBatch):
        table = pa.Table.from_batches([data])
    else:
        table = pa.RecordBatchReader.from_stream(data).read_all()
    if len(set(table.column_names)) != table.num_columns:
        twice = next(name for name in table.column_names if table.column_names.count(name) > 1)
        raise BindError(
            "AMBIGUOUS_COLUMN", f"The events have several columns {twice}.", hint="Rename or leave out all but one of them."
        )
    return _in_microseconds(table)


def _in_microseconds(table: pa.Table) -> pa.Table:
    # DuckDB has no functions for nanoseconds with a zone; times are microseconds on Spark as well.
    for number, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type) and field.type.unit == "ns" and field.type.tz is not None:
            kind = pa.timestamp("us", field.type.tz)
            table = table.set_column(number, field.with_type(kind), table.column(number).cast(kind, safe=False))
    return table


@cache
def database() -> duckdb.DuckDBPyConnection:
    """Return the one database of this process; a cursor of it has its own views and costs a fraction of a new database."""
    opened = duckdb.connect(":memory:")
    # Closed and let go before the interpreter ends, or DuckDB reports leaked objects on the terminal.
    atexit.register(_forget, opened)
    return opened


def _forget(opened: duckdb.DuckDBPyConnection) -> None:
    opened.close()
    database.cache_clear()


@contextmanager
def connected(tables: Mapping[str, pa.Table]) -> Iterator[duckdb.DuckDBPyConnection]:
    """Give a connection that knows tables by name."""
    connection = database().cursor()
    try:
        connection.execute("SET TimeZone = 'UTC'")
        for name, table in tables.items():
            with explained():
                connection.register(name, table)
        yield connection
    finally:
        connection.close()


@contextmanager
def explained() -> Iterator[None]:
    """Turn DuckDB's errors into ours; its relations are lazy, so they come where results are read."""
    try:
        yield
    except duckdb.Error as error:
        raise _bad_expression(error) from None


def fetch(connection: duckdb.DuckDBPyConnection, sql: str) -> pa.Table:
    """Return the result of a query."""
    with explained():
        return connection.sql(sql).to_arrow_table()


def _bad_expression(error: duckdb.Error) -> BindError | DataError:
    message = str(error).splitlines()[0]
    if isinstance(error, duckdb.BinderException | duckdb.CatalogException | duckdb.ParserException):
        return BindError(
            "BAD_EXPRESSION",
            f"The embedded engine cannot evaluate an expression: {message}",
            hint="Use functions that Spark SQL and DuckDB both have, or run the query on Spark.",
        )
    return DataError("BAD_VALUE", f"An expression failed on the data: {message}", hint="Use TRY_CAST or filter such events.")
