"""Many event queries over one stream in one pass: one shuffle, one state for each bucket, one result."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import types as st
from pyspark.sql.pandas.types import to_arrow_schema
from sqlglot import exp

from eventide.errors import BindError, EventideWarning
from eventide.runtime.relational.spark_errors import bad_expression
from eventide.runtime.streams.bucket_query import RESULT_COLUMNS
from eventide.runtime.streams.output import CHANGE, EARLY, ORDERED
from eventide.runtime.streams.planning.jobs import bound_options, event_job, stream_warnings
from eventide.runtime.streams.spark.events import result_columns, stage_types
from eventide.runtime.streams.spark.processor import QUERY
from eventide.runtime.streams.spark.run import DIALECT, in_order, run_job, selected, shown_columns
from eventide.runtime.streams.state_bytes import table_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from pyspark.sql import DataFrame

    from eventide.plan.plan import Plan
    from eventide.runtime.tables.source import Options

    Batches = Iterator[pa.RecordBatch]
    Columns = Sequence[tuple[str, exp.Expression]]


def match_queries(merged: DataFrame, plans: Mapping[str, Plan], options: Options) -> DataFrame:
    """Return the matches of all queries; `query` names the query, and columns that it does not have are null."""
    schemas = [schema for _, schema in next(iter(plans.values())).streams]
    bound = bound_options(options.stream, schemas)
    job, columns = event_job(plans, DIALECT, bound, registry=True)
    for name, plan in plans.items():
        for warning in stream_warnings(plan, bound):
            warnings.warn(f"{name}: {warning}", EventideWarning, stacklevel=4)
    emitted = run_job(merged, job, columns)
    stages = {query.name: stage_types(merged, plans[query.name], query, columns) for query in job.queries}
    found = _unpacked(emitted, stages, bound.output)
    kept = _condition(plans)
    if kept is not None:
        found = found.where(kept)
    results = {name: result_columns(plan, stages[name]) for name, plan in plans.items()}
    _refuse_other_types(found, results)
    try:
        return found.selectExpr(f"{QUERY} AS query", *shown_columns(_columns(results), bound.output))
    except PySparkException as error:
        raise bad_expression(error) from None


def _unpacked(emitted: DataFrame, stages: Mapping[str, st.StructType], output: str) -> DataFrame:
    """Return a row for each result, with the columns of its query in a struct and nulls in those of the others."""
    fields = [st.StructField(QUERY, st.StringType())]
    fields += [st.StructField(_struct(number), stage) for number, stage in enumerate(stages.values())]
    fields += [st.StructField(name, st.LongType()) for name in RESULT_COLUMNS]
    if output == EARLY:
        fields.append(st.StructField(CHANGE, st.StringType()))
    schema = st.StructType(fields)
    zone = emitted.sparkSession.conf.get("spark.sql.session.timeZone")
    found = emitted.mapInArrow(_struct_function(list(stages), to_arrow_schema(schema, timezone=zone)), schema)
    return found.repartition(1).mapInArrow(in_order, schema) if output == ORDERED else found


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


def _by_query(queries: Iterable[str], trees: Mapping[str, exp.Expression]) -> str:
    """Return SQL that takes the expression of the query that a row belongs to."""
    cases = []
    for number, name in enumerate(queries):
        if name in trees:
            literal = exp.Literal.string(name).sql(dialect=DIALECT.name)
            cases.append(f"WHEN {QUERY} = {literal} THEN {DIALECT.sql(_inside(trees[name], number))}")
    return f"CASE {' '.join(cases)} END"


def _columns(results: Mapping[str, Columns]) -> list[tuple[str, str]]:
    trees: dict[str, dict[str, exp.Expression]] = {}
    shown: dict[str, str] = {}
    for name, columns in results.items():
        for column, tree in columns:
            # Spark tells names apart by their letters, not by their case.
            trees.setdefault(shown.setdefault(column.lower(), column), {})[name] = tree
    return [(column, _by_query(results, by_query)) for column, by_query in trees.items()]


def _condition(plans: Mapping[str, Plan]) -> str | None:
    """Return the conditions that no kernel knows; queries without any keep all of their rows."""
    if not any(plan.output.refine for plan in plans.values()):
        return None
    return _by_query(plans, {name: exp.Paren(this=exp.and_(*plan.output.refine, exp.true())) for name, plan in plans.items()})


def _refuse_other_types(found: DataFrame, results: Mapping[str, Columns]) -> None:
    """Refuse columns that have the same name and different types in two queries."""
    kinds: dict[str, tuple[str, st.DataType]] = {}
    for number, (name, columns) in enumerate(results.items()):
        trees = [(column, DIALECT.sql(_inside(tree, number))) for column, tree in columns]
        for field in selected(found, trees).schema:
            other, kind = kinds.setdefault(field.name.lower(), (name, field.dataType))
            if kind != field.dataType:
                raise BindError(
                    "QUERY_COLUMNS_DIFFER",
                    f"The column {field.name} is {kind.simpleString()} in {other} and {field.dataType.simpleString()} in {name}.",
                    hint=f"Give it another name in one of them: SELECT ... AS {field.name}_2, or convert it.",
                )
