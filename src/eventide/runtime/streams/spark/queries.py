"""Many event queries over one stream in one pass: one shuffle, one state for each bucket, one result."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from sqlglot import exp

from eventide.errors import BindError, warn
from eventide.executors.workers import through_workers
from eventide.runtime.relational.spark_types import spark_schema
from eventide.runtime.streams.output import ORDERED
from eventide.runtime.streams.planning.results import shown_columns, with_identity
from eventide.runtime.streams.spark.checkpoints import refuse_state_of_others
from eventide.runtime.streams.spark.processor import QUERY
from eventide.runtime.streams.spark.run import emit, in_order, with_types
from eventide.runtime.streams.state_bytes import table_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from pyspark.sql import DataFrame
    from pyspark.sql import types as st

    from eventide.runtime.relational.adapter import Batches
    from eventide.runtime.relational.dialect import Dialect
    from eventide.runtime.relational.spark import SparkAdapter
    from eventide.runtime.streams.planning.work import QueryWork, StreamWork

    Trees = list[tuple[str, exp.Expression]]


class QueriesRun:
    """The run of several queries over a streaming DataFrame.

    A column `query` names the query of a result, and columns that it does not have are null.
    """

    def __init__(self, engine: SparkAdapter, events: DataFrame, work: StreamWork) -> None:
        self._engine = engine
        self._events = events
        self._work = work
        for warning in work.warnings:
            warn(warning)

    def prepare(self) -> DataFrame:
        """Return the prepared events."""
        return self._engine.select(self._events, self._work.columns)

    def match(self, prepared: DataFrame) -> DataFrame:
        """Return what leaves the buckets, the columns of each query in a struct."""
        schema = self._engine.schema(prepared)
        leaving = {name: query.leaving(schema) for name, query in self._work.queries.items()}
        return _unpacked(emit(prepared, self._work.job), leaving, prepared.schema, self._work.output)

    def finish(self, found: DataFrame) -> DataFrame:
        """Return the rows of the result."""
        structs = self._engine.schema(found)
        results = {
            name: query.columns(pa.schema(list(structs.field(_struct(number)).type)))
            for number, (name, query) in enumerate(self._work.queries.items())
        }
        _refuse_other_types(self._engine, found, results)
        shown = shown_columns(_columns(self._engine.dialect, results), self._work.output)
        kept = _condition(self._engine.dialect, self._work.queries)
        return self._engine.select(found, [("query", QUERY), *shown], kept)

    def refuse_checkpoint(self, checkpoint: str) -> None:
        """Refuse a checkpoint with other settings; queries may come, change and go."""
        refuse_state_of_others(self._engine.session, with_types(self._work.job, self.prepare()), checkpoint)

    def explained(self) -> str:
        """Return Spark's own plan."""
        return self._engine.explained(self.finish(self.match(self.prepare())))


def _unpacked(emitted: DataFrame, leaving: Mapping[str, pa.Schema], known: st.StructType, output: str) -> DataFrame:
    """Return a row for each result, with the columns of its query in a struct and nulls in those of the others."""
    structs = [pa.field(_struct(number), pa.struct(list(stage))) for number, stage in enumerate(leaving.values())]
    columns = with_identity(pa.schema([pa.field(QUERY, pa.string()), *structs]), output)
    schema = spark_schema(columns, known)
    zone = emitted.sparkSession.conf.get("spark.sql.session.timeZone")
    found = through_workers(emitted, _struct_function(list(leaving), to_arrow_schema(schema, timezone=zone)), schema)
    return through_workers(found.repartition(1), in_order, schema) if output == ORDERED else found


def _struct_function(names: list[str], schema: pa.Schema) -> Callable[[Batches], Batches]:
    structs = {name: schema.field(_struct(number)).type for number, name in enumerate(names)}
    behind = schema.names[1 + len(names) :]

    def run(batches: Batches) -> Batches:
        for batch in batches:
            for name, body in zip(batch.column(0).to_pylist(), batch.column(1), strict=True):
                table = table_of(body.as_buffer()).combine_chunks()
                rows = table.num_rows
                own = [table.column(field.name).combine_chunks().cast(field.type) for field in structs[name]]
                arrays = [pa.array([name] * rows, pa.string())]
                for other, kind in structs.items():
                    arrays.append(pa.StructArray.from_arrays(own, fields=list(kind)) if other == name else pa.nulls(rows, kind))
                arrays += [table.column(column).combine_chunks() for column in behind]
                yield pa.RecordBatch.from_arrays(arrays, schema=schema)

    return run


def _struct(number: int) -> str:
    return f"q{number}"


def _inside(tree: exp.Expression, number: int) -> exp.Expression:
    """Return an expression over the columns of a stage as one over the struct that holds them."""
    holder = exp.Paren(this=tree.copy())
    for column in list(holder.find_all(exp.Column)):
        if not column.table:
            column.replace(exp.column(column.this.copy(), table=_struct(number)))
    return holder


def _by_query(dialect: Dialect, queries: Iterable[str], trees: Mapping[str, exp.Expression]) -> str:
    """Return SQL that takes the expression of the query that a row belongs to."""
    cases = [
        f"WHEN {QUERY} = {dialect.text(name)} THEN {dialect.sql(_inside(trees[name], number))}"
        for number, name in enumerate(queries)
        if name in trees
    ]
    return f"CASE {' '.join(cases)} END"


def _columns(dialect: Dialect, results: Mapping[str, Trees]) -> list[tuple[str, str]]:
    trees: dict[str, dict[str, exp.Expression]] = {}
    shown: dict[str, str] = {}
    for name, columns in results.items():
        for column, tree in columns:
            # Spark tells names apart by their letters, not by their case.
            trees.setdefault(shown.setdefault(column.lower(), column), {})[name] = tree
    return [(column, _by_query(dialect, results, by_query)) for column, by_query in trees.items()]


def _condition(dialect: Dialect, queries: Mapping[str, QueryWork]) -> str | None:
    """Return the conditions that no kernel knows; queries without any keep all of their rows."""
    if all(query.where is None for query in queries.values()):
        return None
    return _by_query(dialect, queries, {name: query.where or exp.true() for name, query in queries.items()})


def _refuse_other_types(engine: SparkAdapter, found: DataFrame, results: Mapping[str, Trees]) -> None:
    """Refuse columns that have the same name and different types in two queries."""
    kinds: dict[str, tuple[str, st.DataType]] = {}
    for number, (name, columns) in enumerate(results.items()):
        inside = [(column, engine.dialect.sql(_inside(tree, number))) for column, tree in columns]
        for field in engine.select(found, inside).schema:
            other, kind = kinds.setdefault(field.name.lower(), (name, field.dataType))
            if kind != field.dataType:
                raise BindError(
                    "QUERY_COLUMNS_DIFFER",
                    f"The column {field.name} is {kind.simpleString()} in {other} and {field.dataType.simpleString()} in {name}.",
                    hint=f"Give it another name in one of them: SELECT ... AS {field.name}_2, or convert it.",
                )
