"""MATCH_RECOGNIZE on streaming DataFrames."""

from __future__ import annotations

import warnings
from functools import partial
from typing import TYPE_CHECKING

from eventide.errors import BindError, EventideWarning
from eventide.plan.schema import CLOCK_COLUMN, StreamSchema
from eventide.runtime.prepare.row_patterns import ARRIVAL, RowPreparation
from eventide.runtime.streams.job import DROP_OLDEST, StreamJob, StreamQuery
from eventide.runtime.streams.output import ORDERED
from eventide.runtime.streams.planning.jobs import Projection, Spreading, bound_options, fingerprint
from eventide.runtime.streams.queries.row_patterns import RowStreamEngine, check_streamable, hold_of, stream_warnings
from eventide.runtime.streams.spark.run import DIALECT, OBSERVATION, refuse_nested, run_job, selected, shown_columns, unpacked
from eventide.runtime.tables.spark_row_types import found_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from eventide.plan.row_patterns.plan import RowPlan
    from eventide.runtime.stage.row_stage import RowOptions
    from eventide.runtime.streams.planning.jobs import StreamOptions


def recognize_stream(frame: DataFrame, plan: RowPlan, options: RowOptions) -> DataFrame:
    """Return the rows of a clause over a stream as a streaming DataFrame."""
    check_streamable(plan)
    if options.max_matches is not None:
        raise BindError(
            "ONLY_ON_TABLES",
            "max_matches is for tables; a stream has no end at which its matches could be counted.",
            hint="Cap the state with max_state.",
        )
    if options.stream is not None and options.stream.overflow == DROP_OLDEST:
        raise BindError(
            "DROP_NOT_SOUND",
            "Without its oldest rows a row pattern would find matches that begin later and are none.",
            hint='Use overflow="error".',
        )
    refuse_nested(frame, plan.partition)
    settings = bound_options(options.stream, [StreamSchema(plan.columns, plan.order[0])])
    for warning in stream_warnings(plan) if settings.max_state is None else ():
        warnings.warn(warning, EventideWarning, stacklevel=5)
    preparation = RowPreparation(plan, DIALECT)
    job, columns = _row_job(plan, preparation, settings, options)
    payload = selected(frame, [(name, sql) for name, sql in preparation.narrow() if name in preparation.payload]).schema
    stage = found_schema(plan, [payload[name].dataType for name in preparation.payload])
    number = options.clause
    emitted = run_job(frame, job, columns, OBSERVATION if number == 1 else f"{OBSERVATION}_{number}")
    return unpacked(emitted, job.queries[0].name, stage, settings.output).selectExpr(
        *shown_columns(preparation.finish(), settings.output)
    )


def _row_job(
    plan: RowPlan, preparation: RowPreparation, settings: StreamOptions, options: RowOptions
) -> tuple[StreamJob, list[tuple[str, str]]]:
    hold = hold_of(plan)
    if settings.output == ORDERED and hold is None:
        raise BindError(
            "ORDER_WITHOUT_TIME",
            "How long a match can take to become certain is not bounded, so neither is the wait for its turn.",
            hint='Add WITHIN and take NEXT out of conditions and measures, or use output="final".',
        )
    projection = Projection()
    spreading = Spreading(projection, DIALECT, settings.buckets)
    time = plan.order[0]
    clock = DIALECT.micros(DIALECT.quote(time), plan.columns[time])
    own = [(name, sql) for name, sql in preparation.narrow() if name != ARRIVAL]
    columns = [*own, (CLOCK_COLUMN, clock)]
    shared = tuple((name, projection.add(sql)) for name, sql in columns)
    query = StreamQuery(
        "match",
        fingerprint(repr(plan.query), columns, "rows"),
        shared,
        dict(shared)[CLOCK_COLUMN],
        spreading.group(plan.partition, together=False),
        partial(RowStreamEngine, plan, preparation.order, preparation.payload, max_steps=options.max_steps),
        output=settings.output,
        hold=hold or 0,
    )
    job = StreamJob(
        (query,),
        tuple(spreading.groups),
        query.clock,
        1,
        None,
        settings.lateness,
        settings.buckets,
        settings.max_state,
        settings.overflow,
    )
    return job, projection.columns()
