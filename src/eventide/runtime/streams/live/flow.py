"""The run of a stream in this process: Prepare and Finish are queries over rows that are pushed, with the driver between them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
from sqlglot import exp

from eventide.errors import BindError, warn
from eventide.plan.expressions.schema import CLOCK_COLUMN
from eventide.runtime.streams.bucket_query import END, START
from eventide.runtime.streams.output import EARLY, ORDERED
from eventide.runtime.streams.planning.jobs import typed_job
from eventide.runtime.streams.planning.results import shown_columns, with_identity, without_identity

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eventide.runtime.relational.duckdb import DuckAdapter, DuckRelation
    from eventide.runtime.streams.job import StreamJob
    from eventide.runtime.streams.planning.work import StreamWork

QUERY = "query"
OWN_PREFIX = "__et_"
"""How the names of columns begin that no user sees."""


class Flow:
    """The run of one query over events that are pushed, or of several that share one pass."""

    def __init__(self, engine: DuckAdapter, events: DuckRelation, work: StreamWork) -> None:
        self.engine = engine
        self.work = work
        self._events = events
        for warning in work.warnings:
            warn(warning)

    @property
    def together(self) -> bool:
        """Whether a first column of the result names the query."""
        return self.work.job.registry

    def prepare(self) -> DuckRelation:
        """Return the prepared events."""
        return self.engine.select(self._events, self.work.columns)

    def events_with_clock(self) -> DuckRelation:
        """Return the events with their own columns, and their time as the clock has it."""
        names = [name for name in self.engine.schema(self._events).names if not name.startswith(OWN_PREFIX)]
        clock = dict(self.work.columns)[self.work.job.clock]
        own = [(name, self.engine.dialect.quote(name)) for name in names]
        return self.engine.select(self._events, [*own, (CLOCK_COLUMN, clock)])

    def match(self, prepared: DuckRelation) -> dict[str, DuckRelation]:
        """Return what leaves the buckets for each query: rows that the driver pushes."""
        schema = self.engine.schema(prepared)
        return {
            name: self.engine.stream(name, with_identity(query.leaving(schema), self.work.output))
            for name, query in self.work.queries.items()
        }

    def finish(self, found: Mapping[str, DuckRelation]) -> DuckRelation:
        """Return the rows of the result."""
        return self.engine.union(list(self.results(found).values()))

    def results(self, found: Mapping[str, DuckRelation]) -> dict[str, DuckRelation]:
        """Return the rows of each query; where several are put in order, their times stand behind them."""
        results = {name: self._shown(name, relation) for name, relation in found.items()}
        if self.together:
            result_columns({name: self.engine.schema(relation) for name, relation in results.items()})
        return results

    def _shown(self, name: str, found: DuckRelation) -> DuckRelation:
        dialect, query = self.engine.dialect, self.work.queries[name]
        leaving = without_identity(self.engine.schema(found))
        columns = list(shown_columns(query.shown(leaving, dialect), self.work.output))
        if self.together:
            columns = [(QUERY, dialect.text(name)), *columns]
            columns += [(time, time) for time in (END, START)] if self.work.output == ORDERED else []
        return self.engine.select(found, columns, query.kept(dialect))

    def copied(self, name: str, found: pa.Schema) -> list[str] | None:
        """Return the columns of which a result is a copy, one by one, or None where the database has to compute something."""
        query = self.work.queries[name]
        if self.together or self.work.output == EARLY or query.where is not None:
            return None
        trees = [tree for _, tree in query.columns(without_identity(found))]
        plain = all(isinstance(tree, exp.Column) and tree.name in found.names for tree in trees)
        return [tree.name for tree in trees] if plain else None

    def job(self, prepared: pa.Schema) -> StreamJob:
        """Return what the driver runs, given the columns that are prepared."""
        return typed_job(self.work.job, {column.name: str(column.type) for column in prepared})

    def explained(self) -> str:
        """Return how DuckDB prepares a batch."""
        return self.engine.explained(self.prepare())


def result_columns(schemas: Mapping[str, pa.Schema]) -> pa.Schema:
    """Return the columns of several queries; refuses those that have the same name and different types in two of them."""
    known: dict[str, tuple[str, pa.Field]] = {}
    for name, schema in schemas.items():
        for column in schema:
            # Relational engines tell names apart by their letters, not by their case.
            other, first = known.setdefault(column.name.lower(), (name, column))
            if first.type != column.type:
                raise BindError(
                    "QUERY_COLUMNS_DIFFER",
                    f"The column {column.name} is {first.type} in {other} and {column.type} in {name}.",
                    hint=f"Give it another name in one of them: SELECT ... AS {column.name}_2, or convert it.",
                )
    return pa.schema([column for _, column in known.values()])
