"""The embedded runtime: Arrow in, Arrow out, DuckDB for the relational part. No JVM."""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from eventide.errors import EventideWarning
from eventide.plan.totals.results import Groups
from eventide.runtime.collect.counts import APPROXIMATE, MATCHES, CountStage, count_schema
from eventide.runtime.collect.group_schema import group_schema
from eventide.runtime.collect.groups import GroupStage
from eventide.runtime.collect.matches import stage_schema
from eventide.runtime.collect.ranked import RANK, chosen_stage, with_seed
from eventide.runtime.prepare.sequences import (
    ARRIVAL,
    CLOCK,
    ORDER,
    finish_columns,
    finish_filter,
    layout_of,
    prepared_columns,
    role_columns,
    row_filter,
    select_list,
)
from eventide.runtime.relational.duckdb import (
    DIALECT,
    PREPARED_ROWS,
    arrow_columns,
    arrow_kind,
    connected,
    explained,
    fetch,
    read_arrow,
)
from eventide.runtime.stage.stage import MatchStage, StageOptions
from eventide.runtime.tables.source import Options, Source
from eventide.runtime.tables.timeouts import combined_sql, started_view, timeout_plans

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import duckdb
    from sqlglot import exp

    from eventide.plan.plan import Plan
    from eventide.plan.schema import Kind, StreamSchema
    from eventide.runtime.tables.source import StreamSettings

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
            schema = fetch(connection, f"SELECT {columns} FROM ({self._merged()}) LIMIT 0").schema
        return [arrow_kind(field.type) for field in schema]

    def match(self, plan: Plan, options: Options) -> pa.Table:
        """Run a plan and return its matches as a table."""
        plan = with_seed(plan)
        with self._connect() as connection:
            self._report_left_out(connection, plan)
            if isinstance(plan.results, Groups):
                return self._grouped(connection, plan, options)
            return self._finish(connection, plan, self._found(connection, plan, options))

    def match_all(self, plans: Mapping[str, Plan], options: Options) -> pa.Table:
        """Run several plans over these tables, one after the other."""
        tables = []
        for name, plan in plans.items():
            table = self.match(plan, options)
            tables.append(table.add_column(0, "query", pa.array([name] * table.num_rows, pa.string())))
        return pa.concat_tables(tables, promote_options="default")

    def output_schema(self, plan: Plan) -> pa.Schema:
        """Return the schema of the result."""
        with self._connect() as connection:
            prepared = fetch(connection, f"{self._prepared(plan)} LIMIT 0").schema
            if isinstance(plan.results, Groups):
                return group_schema(plan, layout_of(plan), prepared)
            empty = stage_schema(plan, layout_of(plan), prepared).empty_table()
            return self._finish(connection, plan, empty).schema

    def count(self, plan: Plan) -> pa.Table:
        """Count the matches of each key."""
        layout = layout_of(plan)
        names = [name.text for name in plan.query.partition_by]
        with self._connect() as connection, explained():
            reader = connection.sql(self._prepared(plan)).to_arrow_reader(PREPARED_ROWS)
            stage = CountStage(plan, layout)
            counted = pa.Table.from_batches(stage.run(iter(reader)), count_schema(plan, layout, reader.schema))
        return counted.rename_columns([*names, MATCHES, APPROXIMATE])

    def find_timeouts(self, plan: Plan, settings: StreamSettings) -> pa.Table:  # noqa: ARG002 - all events are here
        """Run the plans of all prefixes and of the whole query, and put together which events timed out."""
        asked, plans = timeout_plans(plan, self.describe)
        with self._connect() as connection:
            self._report_left_out(connection, plans[-1])
            for number, part in enumerate(plans):
                started = self._finish(connection, part, self._found(connection, part, Options()))
                connection.register(started_view(number), started)
            return fetch(connection, combined_sql(asked, plans[-1], self._merged()))

    def physical(self, plan: Plan, options: Options | None = None) -> str | None:  # noqa: ARG002 - one process
        """Return DuckDB's plan of Prepare."""
        with self._connect() as connection:
            explained = connection.execute(f"EXPLAIN {self._prepared(plan)}").fetchall()
        return "\n".join(str(row[-1]) for row in explained)

    @contextmanager
    def _connect(self) -> Iterator[duckdb.DuckDBPyConnection]:
        tables = {}
        for number, (_, table) in enumerate(self._tables()):
            arrival = pa.array(np.arange(table.num_rows, dtype=np.int64))
            tables[f"stream{number}"] = table.append_column(ARRIVAL, arrival)
        with connected(tables) as connection:
            yield connection

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
        settings = StageOptions(options.max_matches)
        stage = MatchStage(plan, layout, settings) if plan.results is None else chosen_stage(plan, layout, settings)
        with explained():
            reader = connection.sql(self._prepared(plan)).to_arrow_reader(PREPARED_ROWS)
            return pa.Table.from_batches(stage.run(iter(reader)), stage_schema(plan, layout, reader.schema))

    def _grouped(self, connection: duckdb.DuckDBPyConnection, plan: Plan, options: Options) -> pa.Table:
        layout = layout_of(plan)
        with explained():
            reader = connection.sql(self._prepared(plan)).to_arrow_reader(PREPARED_ROWS)
            stage = GroupStage(plan, layout, reader.schema, StageOptions(options.max_matches))
            return pa.Table.from_batches(stage.run(iter(reader)), group_schema(plan, layout, reader.schema))

    def _finish(self, connection: duckdb.DuckDBPyConnection, plan: Plan, found: pa.Table) -> pa.Table:
        connection.register("found", found)
        sql = f"SELECT {select_list(finish_columns(plan, DIALECT), DIALECT)} FROM found"
        condition = finish_filter(plan, DIALECT)
        if condition:
            sql += f" WHERE {condition}"
        if plan.most_rows is not None:
            chosen = "" if plan.results is None else f"{RANK}, "
            sql += f" ORDER BY {chosen}t, o0 NULLS FIRST, o1, o2 LIMIT {plan.most_rows}"
        return fetch(connection, sql)

    def _report_left_out(self, connection: duckdb.DuckDBPyConnection, plan: Plan) -> None:
        needed = [("a time", CLOCK)]
        if plan.window is not None and plan.window.attribute is not None:
            needed.append((plan.window.attribute, DIALECT.quote(plan.window.attribute)))
        for name, column in needed:
            counted = fetch(connection, f"SELECT count(*) AS n FROM ({self._merged()}) WHERE {column} IS NULL")["n"][0].as_py()
            if counted:
                warnings.warn(f"{counted} events without {name} were left out.", EventideWarning, stacklevel=4)
