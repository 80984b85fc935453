"""The rows that a query reads: one relation of one engine, with the roles of its columns."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from eventide.errors import BindError
from eventide.records import record
from eventide.runtime.prepare.sequences import merged
from eventide.runtime.relational.arrow import kinds_of_columns
from eventide.runtime.relational.engines import engine_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlglot import exp

    from eventide.pattern import Query
    from eventide.plan.expressions.schema import Kind, StreamSchema
    from eventide.runtime.relational.adapter import Adapter, Relation


def read_events(data: Any) -> tuple[Adapter, Relation, dict[str, Kind]]:
    """Return the engine for data that a user gave, the data as a relation of it, and the columns with their kinds."""
    engine, relation = engine_of(data)
    return engine, relation, kinds_of_columns(engine.schema(relation))


@record
class RowInput:
    """The rows of one relation."""

    engine: Adapter
    rows: Relation
    schema: Mapping[str, Kind]
    """The columns with their kinds."""
    streaming: bool
    """Whether the rows never end."""
    clause: int
    """Which clause of its statement reads them; counters of streams have names with its number."""

    @classmethod
    def of(cls, engine: Adapter, rows: Relation, clause: int = 1) -> RowInput:
        """Return the rows of a relation."""
        return cls(engine, rows, kinds_of_columns(engine.schema(rows)), engine.is_stream(rows), clause)

    def kinds_of(self, trees: Sequence[exp.Expression]) -> list[Kind]:
        """Return the kinds of expressions over one row."""
        return self.engine.kinds(self.rows, trees)

    def refuse_nested(self, keys: Sequence[str]) -> None:
        """Refuse keys that hold several values."""
        _refuse_nested(keys, [self.engine.schema(self.rows)])


@record
class EventInput:
    """The events of one or several streams."""

    engine: Adapter
    schema: Mapping[str, StreamSchema]
    """The columns of each stream and their roles."""
    relations: Mapping[str, Relation]
    streaming: bool
    """Whether the events never end."""

    @classmethod
    def of(cls, given: Mapping[str, tuple[Adapter, Relation, StreamSchema]], query: Query) -> EventInput:
        """Return the streams that a query reads of those given, which must be of one engine."""
        wanted = [name.text for name in query.streams]
        # One stream needs no name; where one is missing, binding says so and names those that there are.
        named = len(given) > 1 and bool(wanted) and given.keys() >= set(wanted)
        chosen = {name: given[name] for name in wanted} if named else given
        engines = [engine for engine, _, _ in given.values()]
        if len({type(engine) for engine in engines}) > 1:
            raise BindError(
                "MIXED_ENGINES",
                "Some streams are Spark DataFrames and some are Arrow data.",
                hint="Give all streams in one form, for example spark.createDataFrame(table.to_pandas()).",
            )
        streaming = {engines[0].is_stream(relation) for _, relation, _ in chosen.values()}
        if len(streaming) > 1:
            raise BindError(
                "MIXED_STREAMS",
                "Some DataFrames are streams and some are not.",
                hint="Read all of them with spark.readStream, or all with spark.read.",
            )
        return cls(
            engines[0],
            {name: schema for name, (_, _, schema) in chosen.items()},
            {name: relation for name, (_, relation, _) in chosen.items()},
            streaming.pop(),
        )

    @cached_property
    def events(self) -> Relation:
        """The events of all streams with the columns of their roles."""
        return merged(self.engine, [(self.schema[name], relation) for name, relation in self.relations.items()])

    def kinds_of(self, trees: Sequence[exp.Expression]) -> list[Kind]:
        """Return the kinds of expressions over one event."""
        return self.engine.kinds(self.events, trees)

    def refuse_nested(self, keys: Sequence[str]) -> None:
        """Refuse keys that hold several values."""
        _refuse_nested(keys, [self.engine.schema(relation) for relation in self.relations.values()])

    def count_missing(self, column: str | None = None) -> int | None:
        """Return how many events have no value in a column (None: no time), or None where that would have to be counted."""
        counted = 0
        for name, relation in self.relations.items():
            nulls = self.engine.count_nulls(relation, self.schema[name].time if column is None else column)
            if nulls is None:
                return None
            counted += nulls
        return counted


def _refuse_nested(keys: Sequence[str], schemas: Sequence[pa.Schema]) -> None:
    # Neither engine compares such keys as Spark's GROUP BY does, and the hash of a stream does not tell their nulls apart.
    for name in keys:
        if any(pa.types.is_nested(schema.field(name).type) for schema in schemas if name in schema.names):
            raise BindError(
                "TYPE_MISMATCH",
                f"PARTITION BY cannot use {name}: it holds several values.",
                hint="Partition by a number, text or time; extract one into a separate column.",
            )
