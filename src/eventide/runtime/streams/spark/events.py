"""Event queries on streaming DataFrames."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from pyspark.errors import PySparkException
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from sqlglot import exp

from eventide.errors import EventideWarning
from eventide.plan.totals.results import Groups
from eventide.runtime.collect.group_schema import group_schema
from eventide.runtime.prepare.sequences import CLOCK, STREAM, finish_filter
from eventide.runtime.relational.spark_errors import bad_expression
from eventide.runtime.streams.job import Group, StreamJob
from eventide.runtime.streams.planning.jobs import Projection, bound_options, event_job, stream_layout, stream_warnings
from eventide.runtime.streams.spark.processor import BODY
from eventide.runtime.streams.spark.run import DIALECT, refuse_nested, run_job, selected, shown_columns, tables_of, unpacked
from eventide.runtime.tables.spark_batch import found_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import pyarrow as pa
    from pyspark.sql import DataFrame
    from pyspark.sql import types as st

    from eventide.plan.plan import Plan
    from eventide.plan.schema import StreamSchema
    from eventide.runtime.streams.job import StreamQuery
    from eventide.runtime.tables.source import Options, StreamSettings

ONLY = "match"
"""The name of the query in a run of one."""


def match_stream(merged: DataFrame, plan: Plan, options: Options, slices: int = 1) -> DataFrame:
    """Return the matches of a stream as a streaming DataFrame; each bucket's are found by so many slices."""
    bound = bound_options(options.stream, [schema for _, schema in plan.streams], slices)
    refuse_nested(merged, [*plan.keys, *plan.derived_keys])
    job, columns = event_job({ONLY: plan}, DIALECT, bound)
    if options.stream is not None:
        for warning in stream_warnings(plan, bound):
            warnings.warn(warning, EventideWarning, stacklevel=4)
    emitted = run_job(merged, job, columns)
    return finished(emitted, ONLY, plan, stage_types(merged, plan, job.queries[0], columns), bound.output)


def stage_types(merged: DataFrame, plan: Plan, query: StreamQuery, columns: Sequence[tuple[str, str]]) -> st.StructType:
    """Return the columns of a plan's match stage in Spark's types."""
    sql = dict(columns)
    own = selected(merged, [(name, sql[shared]) for name, shared in query.columns]).schema
    if isinstance(plan.results, Groups):
        return from_arrow_schema(group_schema(plan, stream_layout(plan), to_arrow_schema(own, timezone="UTC")))
    return found_schema(plan, stream_layout(plan), own)


def result_columns(plan: Plan, stage: st.StructType) -> list[tuple[str, exp.Expression]]:
    """Return the columns of the result as expressions over those of the stage; the rows of groups are finished."""
    if isinstance(plan.results, Groups):
        return [(field.name, exp.column(exp.to_identifier(field.name, quoted=True))) for field in stage]
    return [(column.name, column.tree) for column in plan.output.columns]


def finished(emitted: DataFrame, name: str, plan: Plan, stage: st.StructType, output: str) -> DataFrame:
    """Return the rows that a user asked for."""
    found = unpacked(emitted, name, stage, output)
    condition = finish_filter(plan, DIALECT)
    if condition:
        found = found.where(condition)
    try:
        columns = [(column, DIALECT.sql(tree)) for column, tree in result_columns(plan, stage)]
        return found.selectExpr(*shown_columns(columns, output))
    except PySparkException as error:
        raise bad_expression(error) from None



def late_stream(
    merged: DataFrame, columns: Sequence[str], schemas: Sequence[StreamSchema], settings: StreamSettings
) -> DataFrame:
    """Return the events of a stream that come later than the lateness allows, with their own columns."""
    bound = bound_options(settings, schemas)
    projection = Projection()
    names = {projection.add(DIALECT.quote(column)): column for column in columns}
    clock = projection.add(CLOCK)
    stream = projection.add(STREAM) if len(schemas) > 1 else None
    job = StreamJob((), (Group(None, None),), clock, len(schemas), stream, bound.lateness, bound.buckets, late=True)
    emitted = run_job(merged, job, projection.columns())
    own = [(name, DIALECT.quote(column)) for name, column in names.items()]
    found = emitted.select(BODY).mapInArrow(_late_function(list(names)), selected(merged, own).schema)
    return found.toDF(*names.values())


def _late_function(names: list[str]) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in tables_of(batches):
            yield batch.select(names)

    return run
