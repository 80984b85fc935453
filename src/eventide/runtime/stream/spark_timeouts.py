"""Timed-out partial matches of streaming DataFrames."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import types as st
from sqlglot import exp

from eventide.plan.output import TIME_COLUMN
from eventide.plan.timeouts import EXPIRED_AT, LAST_STEP_AT, MISSING, REACHED_STEPS, STEPS
from eventide.plan.timeouts import REACHED as REACHED_COLUMN
from eventide.runtime.prepare import finish_columns
from eventide.runtime.stream.engine import END
from eventide.runtime.stream.output import FINAL
from eventide.runtime.stream.planning import bound_options
from eventide.runtime.stream.spark import DIALECT, run_job, selected, unpacked
from eventide.runtime.stream.spark_events import stage_types
from eventide.runtime.stream.timeout_planning import TIMEOUTS, timeout_job
from eventide.runtime.stream.timeouts import LAST_STEP, REACHED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame

    from eventide.plan.plan import Describe, Plan
    from eventide.runtime.source import StreamSettings

DAY = 86_400_000_000


def timeout_stream(
    merged: DataFrame, plan: Plan, describe: Describe, settings: StreamSettings
) -> DataFrame:
    """Return the starts that have timed out as a streaming DataFrame."""
    streams = dict(plan.streams)
    options = bound_options(settings, list(streams.values()))
    planned = timeout_job(plan.query, streams, describe, DIALECT, options)
    asked = planned.asked
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
        (EXPIRED_AT, _moment(END, kind)),
        (REACHED_COLUMN, f"CAST({REACHED} AS INT)"),
        (STEPS, str(len(asked.steps))),
        (REACHED_STEPS, f"slice({_texts(asked.steps)}, 1, CAST({REACHED} AS INT))"),
        (MISSING, f"element_at({_texts(asked.missing)}, CAST({REACHED} + 1 AS INT))"),
        (LAST_STEP_AT, _time(LAST_STEP, kind)),
    ]
    return selected(found, shown)


def _time(clock: str, kind: st.DataType) -> str:
    """Return a clock as a time of the events' own kind."""
    if isinstance(kind, st.DateType):
        return f"date_from_unix_date(CAST({clock} DIV {DAY} AS INT))"
    return f"CAST({clock} AS {kind.simpleString()})" if isinstance(kind, st.IntegralType) else _moment(clock, kind)


def _moment(clock: str, kind: st.DataType) -> str:
    """Return a clock as a moment; a window may end in the middle of a day."""
    if isinstance(kind, st.IntegralType):
        return clock
    if isinstance(kind, st.TimestampType):
        return f"timestamp_micros({clock})"
    # Dates and times without a zone count from midnight of their own calendar, whatever the session's zone is.
    rest = f"make_dt_interval(0, 0, 0, CAST(pmod({clock}, {DAY}) AS DECIMAL(18, 6)) / 1000000)"
    return f"CAST(date_from_unix_date(CAST(floor({clock} / {DAY}) AS INT)) AS TIMESTAMP_NTZ) + {rest}"


def _texts(texts: Sequence[str]) -> str:
    return f"array({', '.join(exp.Literal.string(text).sql(dialect=DIALECT.name) for text in texts)})"
