"""A flow that runs: each batch is prepared, driven through the buckets and finished, by queries that are planned once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from eventide.plan.expressions.schema import CLOCK_COLUMN
from eventide.records import record
from eventide.runtime.relational.arrays import arrow_array, filled
from eventide.runtime.relational.functions import kept
from eventide.runtime.streams.live.driver import StreamDriver
from eventide.runtime.streams.live.flow import OWN_PREFIX, result_columns
from eventide.runtime.streams.output import ORDERED, RESULT_ORDER
from eventide.runtime.streams.reorder import sorted_rows

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eventide.runtime.relational.duckdb import DuckRelation
    from eventide.runtime.streams.bucket import Counters
    from eventide.runtime.streams.live.driver import DriverOutput
    from eventide.runtime.streams.live.flow import Flow


@record
class Prepared:
    """A batch that the driver can take."""

    events: pa.Table
    late: pa.Table | None
    """Those of them that come too late, with their own columns."""


@record
class Step:
    """What one call puts out."""

    rows: pa.Table
    late: pa.Table
    counters: Counters


class RunningFlow:
    """A flow with its driver. `shown` are the results where a statement makes something else of them."""

    def __init__(self, flow: Flow, shown: DuckRelation | None = None) -> None:
        self._flow = flow
        self.hashes = flow.engine.hash_sample()
        engine, prepared = flow.engine, flow.prepare()
        self._prepare = engine.standing(prepared)
        self.driver = StreamDriver(flow.job(self._prepare.schema), self._prepare.schema)
        found = flow.match(prepared)
        self._found = {name: engine.schema(relation) for name, relation in found.items()}
        results = flow.results(found) if shown is None else dict.fromkeys(found, shown)
        self._finish = {name: engine.standing(relation) for name, relation in results.items()}
        self._copied = {name: self._copies(name) if shown is None else None for name in self._finish}
        self._late = engine.standing(flow.events_with_clock())
        self._ordered = flow.work.output == ORDERED
        self.schema = self._result_schema()
        self.late_schema = _without_own(self._late.schema)
        self._none_late, self._no_rows = self.late_schema.empty_table(), self.schema.empty_table()

    def _result_schema(self) -> pa.Schema:
        schemas = {name: query.schema for name, query in self._finish.items()}
        whole = result_columns(schemas) if self._flow.together else next(iter(schemas.values()))
        return _without_own(whole)

    def _copies(self, name: str) -> list[str] | None:
        """Return the columns that are results as they are; where the database would convert one it is asked to."""
        columns = self._flow.copied(name, self._found[name])
        own, result = self._found[name], self._finish[name].schema
        same = columns is not None and [own.field(column).type for column in columns] == result.types
        return columns if same else None

    def prepared(self, tables: Mapping[str, pa.Table]) -> Prepared:
        """Return a batch of each stream as the driver takes it; what cannot be prepared changes nothing."""
        prepared = self._prepare.run(tables)
        return Prepared(prepared, self._late_of(tables, prepared, self.driver.watermark))

    def take(self, batch: Prepared) -> Step:
        """Take a prepared batch."""
        return self._step(self.driver.take(batch.events), batch.late)

    def advance(self, clocks: Mapping[int, int]) -> Step:
        """Let streams come to a time without events."""
        return self._step(self.driver.advance(clocks))

    def finish(self) -> Step:
        """Let the streams come to their end."""
        return self._step(self.driver.finish())

    def close(self) -> None:
        """Let the queries go."""
        for query in (self._prepare, self._late, *self._finish.values()):
            query.close()

    def _late_of(self, tables: Mapping[str, pa.Table], prepared: pa.Table, watermark: int | None) -> pa.Table | None:
        """Return the events below the watermark, with their own columns."""
        if watermark is None:
            return None
        if not (filled(prepared.column(self.driver.job.clock), watermark) < watermark).any():
            return None
        events = self._late.run(tables)
        late = filled(events.column(CLOCK_COLUMN), watermark) < watermark
        return _without_own(kept(events, arrow_array(late)))

    def _step(self, output: DriverOutput, late: pa.Table | None = None) -> Step:
        rows = [self._finished(name, tables) for name, tables in output.tables.items()]
        rows = [table for table in rows if table.num_rows]
        return Step(self._joined(rows), self._none_late if late is None else late, output.counters)

    def _finished(self, name: str, tables: list[pa.Table]) -> pa.Table:
        schema = self._found[name]
        found = pa.concat_tables(tables)
        if self._ordered and len(tables) > 1:
            # Each bucket is in order; results of later steps end later.
            found = found.combine_chunks()
            found = found.take(pa.array(sorted_rows(found, RESULT_ORDER)))
        # The database has bound the declared columns, and would misread others.
        found = found if found.schema.equals(schema) else found.cast(schema)
        copied = self._copied[name]
        if copied is None:
            return self._finish[name].run({name: found})
        return pa.table([found.column(column) for column in copied], schema=self._finish[name].schema)

    def _joined(self, tables: list[pa.Table]) -> pa.Table:
        if not self._flow.together:
            return tables[0] if tables else self._no_rows
        if not tables:
            return self._no_rows
        whole = pa.concat_tables([_filled(table, self._ordered_schema) for table in tables])
        if self._ordered:
            whole = whole.combine_chunks()
            whole = whole.take(pa.array(sorted_rows(whole, RESULT_ORDER)))
        return _without_own(whole)

    @property
    def _ordered_schema(self) -> pa.Schema:
        times = [pa.field(key.name, pa.int64()) for key in RESULT_ORDER] if self._ordered else []
        return pa.schema([*self.schema, *times])


def _filled(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return the rows with all columns, null where a query does not have one."""
    own = {name.lower(): name for name in table.column_names}
    columns = [
        table.column(own[field.name.lower()]) if field.name.lower() in own else pa.nulls(table.num_rows, field.type)
        for field in schema
    ]
    return pa.table(columns, schema=schema)


def _without_own(table: pa.Table | pa.Schema) -> pa.Table | pa.Schema:
    """Return only the columns that a user knows."""
    if isinstance(table, pa.Schema):
        return pa.schema([field for field in table if not field.name.startswith(OWN_PREFIX)])
    return table.select([name for name in table.column_names if not name.startswith(OWN_PREFIX)])
