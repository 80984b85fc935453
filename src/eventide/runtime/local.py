"""The embedded runtime: Arrow in, Arrow out, DuckDB for the relational part. No JVM."""

from __future__ import annotations

import atexit
import warnings
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import pyarrow as pa

from eventide.errors import BindError, DataError, EventideWarning
from eventide.plan.schema import Kind
from eventide.runtime.counting import APPROXIMATE, MATCHES, CountStage, count_schema
from eventide.runtime.prepare import (
    ARRIVAL,
    CLOCK,
    ORDER,
    DuckDialect,
    finish_columns,
    finish_filter,
    layout_of,
    prepared_columns,
    role_columns,
    row_filter,
    select_list,
)
from eventide.runtime.slots import stage_schema
from eventide.runtime.source import Options, Source
from eventide.runtime.stage import MatchStage, StageOptions

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sqlglot import exp

    from eventide.plan.plan import Plan
    from eventide.plan.schema import StreamSchema

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


class LocalSource(Source):
    """Tables in memory, run by DuckDB and the match stage in this process."""

    def __init__(self, streams: Mapping[str, tuple[StreamSchema, pa.Table]] | None, table: pa.Table) -> None:
        self._table = table
        self._streams = streams

    @classmethod
    def of(cls, data: Any) -> LocalSource:
        """Read anything with the Arrow C stream interface."""
        return cls(None, read_arrow(data))

    def columns(self) -> dict[str, Kind]:
        """Return the columns with their kinds."""
        return arrow_columns(self._table)

    def with_streams(self, streams: Mapping[str, tuple[Source, StreamSchema]]) -> Source:
        """Return a source over several tables."""
        tables = {}
        for name, (source, schema) in streams.items():
            assert isinstance(source, LocalSource)
            tables[name] = (schema, source._table)  # noqa: SLF001 - the same class
        return LocalSource(tables, self._table)

    def describe(self, trees: Sequence[exp.Expression]) -> list[Kind]:
        """Return the kinds of expressions over one event."""
        columns = ", ".join(f"{DIALECT.sql(tree)} AS c{number}" for number, tree in enumerate(trees))
        with self._connect() as connection:
            schema = _table(connection, f"SELECT {columns} FROM ({self._merged()}) LIMIT 0").schema
        return [arrow_kind(field.type) for field in schema]

    def match(self, plan: Plan, options: Options) -> pa.Table:
        """Run a plan and return its matches as a table."""
        with self._connect() as connection:
            self._report_left_out(connection, plan)
            return self._finish(connection, plan, self._found(connection, plan, options))

    def output_schema(self, plan: Plan) -> pa.Schema:
        """Return the schema of the result."""
        with self._connect() as connection:
            prepared = _table(connection, f"{self._prepared(plan)} LIMIT 0").schema
            empty = stage_schema(plan, layout_of(plan), prepared).empty_table()
            return self._finish(connection, plan, empty).schema

    def count(self, plan: Plan) -> pa.Table:
        """Count the matches of each key."""
        layout = layout_of(plan)
        names = [name.text for name in plan.query.partition_by]
        with self._connect() as connection, _explained():
            reader = connection.sql(self._prepared(plan)).to_arrow_reader(PREPARED_ROWS)
            stage = CountStage(plan, layout)
            counted = pa.Table.from_batches(stage.run(iter(reader)), count_schema(plan, layout, reader.schema))
        return counted.rename_columns([*names, MATCHES, APPROXIMATE])

    def physical(self, plan: Plan) -> str | None:
        """Return DuckDB's plan of Prepare."""
        with self._connect() as connection:
            explained = connection.execute(f"EXPLAIN {self._prepared(plan)}").fetchall()
        return "\n".join(str(row[-1]) for row in explained)

    @contextmanager
    def _connect(self) -> Iterator[duckdb.DuckDBPyConnection]:
        connection = _database().cursor()
        try:
            connection.execute("SET TimeZone = 'UTC'")
            for number, (_, table) in enumerate(self._tables()):
                arrival = pa.array(np.arange(table.num_rows, dtype=np.int64))
                with _explained():
                    connection.register(f"stream{number}", table.append_column(ARRIVAL, arrival))
            yield connection
        finally:
            connection.close()

    def _tables(self) -> list[tuple[StreamSchema, pa.Table]]:
        assert self._streams is not None
        return list(self._streams.values())

    def _merged(self) -> str:
        parts = []
        for number, (schema, _) in enumerate(self._tables()):
            roles = select_list(role_columns(schema, number, DIALECT, ARRIVAL), DIALECT)
            parts.append(f"SELECT * EXCLUDE ({ARRIVAL}), {roles} FROM stream{number}")
        return " UNION ALL BY NAME ".join(parts)

    def _prepared(self, plan: Plan) -> str:
        layout = layout_of(plan)
        columns = select_list(prepared_columns(plan, layout, DIALECT), DIALECT)
        by_key = () if plan.interleaved else layout.keys
        order = ", ".join(f"{column} NULLS FIRST" for column in (*by_key, *ORDER))
        return f"SELECT {columns} FROM ({self._merged()}) WHERE {row_filter(plan, DIALECT)} ORDER BY {order}"

    def _found(self, connection: duckdb.DuckDBPyConnection, plan: Plan, options: Options) -> pa.Table:
        layout = layout_of(plan)
        stage = MatchStage(plan, layout, StageOptions(options.max_matches))
        with _explained():
            reader = connection.sql(self._prepared(plan)).to_arrow_reader(PREPARED_ROWS)
            return pa.Table.from_batches(stage.run(iter(reader)), stage_schema(plan, layout, reader.schema))

    def _finish(self, connection: duckdb.DuckDBPyConnection, plan: Plan, found: pa.Table) -> pa.Table:
        connection.register("found", found)
        sql = f"SELECT {select_list(finish_columns(plan, DIALECT), DIALECT)} FROM found"
        condition = finish_filter(plan, DIALECT)
        if condition:
            sql += f" WHERE {condition}"
        if plan.query.limit is not None:
            sql += f" ORDER BY t, o0 NULLS FIRST, o1, o2 LIMIT {plan.query.limit}"
        return _table(connection, sql)

    def _report_left_out(self, connection: duckdb.DuckDBPyConnection, plan: Plan) -> None:
        needed = [("a time", CLOCK)]
        if plan.window is not None and plan.window.attribute is not None:
            needed.append((plan.window.attribute, DIALECT.quote(plan.window.attribute)))
        for name, column in needed:
            counted = _table(connection, f"SELECT count(*) AS n FROM ({self._merged()}) WHERE {column} IS NULL")["n"][0].as_py()
            if counted:
                warnings.warn(f"{counted} events without {name} were left out.", EventideWarning, stacklevel=4)


@cache
def _database() -> duckdb.DuckDBPyConnection:
    """Return the one database of this process; a cursor of it has its own views and costs a fraction of a new database."""
    database = duckdb.connect(":memory:")
    # Closed and let go before the interpreter ends, or DuckDB reports leaked objects on the terminal.
    atexit.register(_forget, database)
    return database


def _forget(database: duckdb.DuckDBPyConnection) -> None:
    database.close()
    _database.cache_clear()


@contextmanager
def _explained() -> Iterator[None]:
    """Turn DuckDB's errors into ours; its relations are lazy, so they come where results are read."""
    try:
        yield
    except duckdb.Error as error:
        raise _bad_expression(error) from None


def _table(connection: duckdb.DuckDBPyConnection, sql: str) -> pa.Table:
    with _explained():
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
