"""Streams in this process: the runs of each kind of pattern over events that are pushed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from eventide.plan.expressions.schema import StreamSchema
from eventide.plan.sequences.output import TIME_COLUMN
from eventide.runtime.relational.duckdb import DuckAdapter
from eventide.runtime.streams.live.flow import Flow
from eventide.runtime.streams.planning.jobs import bound_options
from eventide.runtime.streams.planning.row_patterns import row_work
from eventide.runtime.streams.planning.sequences import sequence_work
from eventide.runtime.streams.planning.timeouts import timeout_work

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from eventide.plan.plan import Plan
    from eventide.plan.row_patterns.plan import RowPlan
    from eventide.plan.timeouts.plans import TimeoutPlans
    from eventide.runtime.inputs import EventInput, RowInput
    from eventide.runtime.options import RunOptions
    from eventide.runtime.streams.planning.jobs import StreamOptions

ONLY = "match"
"""The name of the query in a run of one."""


def matching_events(source: EventInput, plan: Plan, options: RunOptions) -> Flow:
    """Return the run that finds the matches of a stream."""
    engine = _duckdb_of(source)
    bound = _bound(options, [schema for _, schema in plan.streams])
    return Flow(engine, source.events, sequence_work({ONLY: plan}, engine.dialect, bound))


def matching_queries(source: EventInput, plans: Mapping[str, Plan], options: RunOptions) -> Flow:
    """Return the run that finds the matches of several queries in one pass."""
    engine = _duckdb_of(source)
    bound = _bound(options, [schema for _, schema in next(iter(plans.values())).streams])
    return Flow(engine, source.events, sequence_work(plans, engine.dialect, bound, registry=True))


def matching_rows(source: RowInput, plan: RowPlan, options: RunOptions) -> Flow:
    """Return the run of a clause over a stream."""
    engine = _duckdb_of(source)
    bound = _bound(options, [StreamSchema(plan.columns, plan.order[0])])
    return Flow(engine, source.rows, row_work(plan, engine.dialect, bound, options.max_steps))


def timing_out(source: EventInput, planned: TimeoutPlans, options: RunOptions) -> Flow:
    """Return the run that finds the partial matches of a stream that time out."""
    engine = _duckdb_of(source)
    bound = _bound(options, [schema for _, schema in planned.plans[-1].streams])
    time = engine.schema(source.events).field(TIME_COLUMN).type
    return Flow(engine, source.events, timeout_work(planned, engine.dialect, bound, time))


def _bound(options: RunOptions, schemas: Sequence[StreamSchema]) -> StreamOptions:
    """Return the settings in the units of the time columns; one process needs one bucket."""
    return bound_options(replace(options, buckets=1 if options.buckets is None else options.buckets), schemas)


def _duckdb_of(source: EventInput | RowInput) -> DuckAdapter:
    assert isinstance(source.engine, DuckAdapter)
    return source.engine
