"""Streaming DataFrames: the runs that Spark hosts, for each kind of pattern."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eventide.plan.expressions.schema import StreamSchema
from eventide.plan.sequences.output import TIME_COLUMN
from eventide.runtime.relational.spark import SparkAdapter
from eventide.runtime.streams.planning.jobs import bound_options, reorder_reason
from eventide.runtime.streams.planning.row_patterns import row_work
from eventide.runtime.streams.planning.sequences import sequence_work
from eventide.runtime.streams.planning.slices import distribute_stream
from eventide.runtime.streams.planning.timeouts import timeout_work
from eventide.runtime.streams.spark.late import LateRun
from eventide.runtime.streams.spark.queries import QueriesRun
from eventide.runtime.streams.spark.run import StreamRun
from eventide.runtime.streams.spark.watermarks import heard, warn_of_lateness

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame

    from eventide.plan.plan import Plan
    from eventide.plan.row_patterns.plan import RowPlan
    from eventide.plan.timeouts.plans import TimeoutPlans
    from eventide.runtime.inputs import EventInput, RowInput
    from eventide.runtime.options import RunOptions
    from eventide.runtime.streams.planning.jobs import StreamOptions
    from eventide.runtime.streams.spark.watermarks import Streams

ONLY = "match"
"""The name of the query in a run of one."""


def matching_events(source: EventInput, plan: Plan, options: RunOptions) -> StreamRun:
    """Return the run that finds the matches of a stream."""
    engine = _spark_of(source)
    distribution = distribute_stream(plan, options, engine.default_tasks())
    bound = _bound(engine, options, streams_of(source), distribution.slices)
    reason = reorder_reason(plan, slices=distribution.slices)
    order = "events are matched as they arrive" if reason is None else f"events wait for the watermark ({reason})"
    work = sequence_work({ONLY: plan}, engine.dialect, bound)
    warn_of_lateness(options, streams_of(source))
    return StreamRun(engine, source.events, work, told=f"distribution: {distribution}; {order}")


def matching_queries(source: EventInput, plans: Mapping[str, Plan], options: RunOptions) -> QueriesRun:
    """Return the run that finds the matches of several queries in one pass."""
    engine = _spark_of(source)
    work = sequence_work(plans, engine.dialect, _bound(engine, options, streams_of(source)), registry=True)
    warn_of_lateness(options, streams_of(source))
    return QueriesRun(engine, source.events, work)


def matching_rows(source: RowInput, plan: RowPlan, options: RunOptions) -> StreamRun:
    """Return the run of a clause over a stream."""
    engine = _spark_of(source)
    schema = StreamSchema(plan.columns, plan.order[0])
    streams = [(source.rows, schema)]
    work = row_work(plan, engine.dialect, _bound(engine, options, streams), options.max_steps)
    warn_of_lateness(options, streams)
    told = "a stream, in buckets by key; rows wait for the watermark"
    return StreamRun(engine, source.rows, work, source.clause, told)


def timing_out(source: EventInput, planned: TimeoutPlans, options: RunOptions) -> StreamRun:
    """Return the run that finds the partial matches of a stream that time out."""
    engine = _spark_of(source)
    bound = _bound(engine, options, streams_of(source))
    warn_of_lateness(options, streams_of(source))
    time = engine.schema(source.events).field(TIME_COLUMN).type
    return StreamRun(engine, source.events, timeout_work(planned, engine.dialect, bound, time))


def being_late(source: EventInput, options: RunOptions) -> LateRun:
    """Return the run that finds the late events of a stream."""
    engine = _spark_of(source)
    warn_of_lateness(options, streams_of(source))
    return LateRun(engine, source, _bound(engine, options, streams_of(source)))


def streams_of(source: EventInput) -> list[tuple[DataFrame, StreamSchema]]:
    """Return the streams of an input with the roles of their columns."""
    return [(source.relations[name], schema) for name, schema in source.schema.items()]


def _bound(engine: SparkAdapter, options: RunOptions, streams: Streams, slices: int = 1) -> StreamOptions:
    """Return the settings in the units of the time columns, with what Spark says besides: watermarks and cores."""
    return bound_options(heard(options, streams), [schema for _, schema in streams], slices, engine.cores())


def _spark_of(source: EventInput | RowInput) -> SparkAdapter:
    assert isinstance(source.engine, SparkAdapter)
    return source.engine
