"""Timed-out partial matches of streaming DataFrames."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import types as st

from eventide.plan.sequences.output import TIME_COLUMN
from eventide.plan.timeouts.queries import EXPIRED_AT, LAST_STEP_AT
from eventide.runtime.prepare.sequences import finish_columns
from eventide.runtime.streams.bucket_query import END
from eventide.runtime.streams.output import FINAL
from eventide.runtime.streams.planning.jobs import bound_options
from eventide.runtime.streams.planning.timeouts import TIMEOUTS, timeout_job
from eventide.runtime.streams.queries.timeouts import LAST_STEP, REACHED
from eventide.runtime.streams.spark.events import stage_types
from eventide.runtime.streams.spark.run import DIALECT, run_job, selected, unpacked
from eventide.runtime.tables.spark_timeouts import moment_of, shown_steps, time_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from eventide.plan.plan import Plan
    from eventide.plan.schema import KindsOf
    from eventide.runtime.tables.source import StreamSettings


def timeout_stream(
    merged: DataFrame, plan: Plan, describe: KindsOf, settings: StreamSettings
) -> DataFrame:
    """Return the starts that have timed out as a streaming DataFrame."""
    streams = dict(plan.streams)
    options = bound_options(settings, list(streams.values()))
    planned = timeout_job(plan.query, streams, describe, DIALECT, options)
    stage = st.StructType(
        [
            *stage_types(merged, planned.starts, planned.beginning, planned.columns).fields,
            st.StructField(REACHED, st.LongType()),
            st.StructField(LAST_STEP, st.LongType()),
        ]
    )
    found = unpacked(run_job(merged, planned.job, planned.columns), TIMEOUTS, stage, FINAL)
    kind = merged.schema[TIME_COLUMN].dataType
    shown = [
        *finish_columns(planned.starts, DIALECT),
        (EXPIRED_AT, moment_of(END, kind)),
        *shown_steps(planned.asked, REACHED),
        (LAST_STEP_AT, time_of(LAST_STEP, kind)),
    ]
    return selected(found, shown)
