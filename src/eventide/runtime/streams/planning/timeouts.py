"""From a query to the run that finds its timed-out partial matches."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa
from sqlglot import exp

from eventide.pattern.sequence_printing import ceql_clauses
from eventide.plan.timeouts.queries import EXPIRED_AT, LAST_STEP_AT
from eventide.runtime.prepare.sequences import CLOCK, STREAM
from eventide.runtime.prepare.timeouts import shown_steps
from eventide.runtime.streams.bucket_query import END
from eventide.runtime.streams.job import StreamJob, StreamQuery
from eventide.runtime.streams.planning.jobs import Projection, Spreading, event_query, roles_of, stream_layout
from eventide.runtime.streams.planning.sequences import query_work
from eventide.runtime.streams.planning.work import QueryWork, StreamWork
from eventide.runtime.streams.queries.events import EventBucketQuery, start_parts
from eventide.runtime.streams.queries.timeouts import LAST_STEP, REACHED, TimeoutBucketQuery
from eventide.runtime.streams.state_owner import StateOwner

if TYPE_CHECKING:
    from eventide.pattern import Query
    from eventide.plan.timeouts.plans import TimeoutPlans
    from eventide.runtime.relational.dialect import Dialect
    from eventide.runtime.streams.planning.jobs import StreamOptions

TIMEOUTS = "timeouts"


def timeout_work(planned: TimeoutPlans, dialect: Dialect, options: StreamOptions, time: pa.DataType) -> StreamWork:
    """Return the run of a query's prefixes; `time` is the type of event times."""
    asked, plans = planned.asked, planned.plans
    streams = plans[-1].streams
    projection = Projection()
    spreading = Spreading(projection, dialect, options.buckets)
    clock = projection.add(CLOCK)
    parts = [
        replace(
            event_query(str(number), plan, dialect, options, projection, spreading),
            make_bucket_query=partial(EventBucketQuery, start_parts, plan, stream_layout(plan)),
        )
        for number, plan in enumerate(plans)
    ]
    stream = projection.add(STREAM) if len(streams) > 1 else None
    window = plans[-1].window
    assert window is not None
    columns = projection.columns()
    own = [name for name, _ in columns if not _is_hash(name, spreading)]
    whole = StreamQuery(
        TIMEOUTS,
        # Starts wait with the columns of their rows, so nothing that they hold may change.
        StateOwner({**_clauses(planned.query), **roles_of(plans[-1])}, {name: sql for name, sql in columns if name in own}, {}),
        tuple((name, name) for name in own),
        clock,
        parts[0].hashing,
        partial(TimeoutBucketQuery, parts, int(window.size), trailing=bool(plans[-1].trailing)),
        timeouts=True,
    )
    job = StreamJob(
        (whole,),
        tuple(spreading.hashings),
        clock,
        len(streams),
        stream,
        options.lateness,
        options.buckets,
        options.max_state,
        options.overflow,
        engine=dialect.name,
        idle=options.idle,
        finish=options.finish,
    )
    starts = query_work(parts[0], plans[0])
    further = [
        (EXPIRED_AT, dialect.moment(END, time)),
        *shown_steps(dialect, asked, REACHED),
        (LAST_STEP_AT, dialect.time(LAST_STEP, time)),
    ]
    results = [*starts.columns(pa.schema([])), *((name, exp.var(sql)) for name, sql in further)]
    work = QueryWork(whole, lambda own: _leaving(starts, own), lambda _: results)
    return StreamWork(job, columns, {TIMEOUTS: work})


def _leaving(starts: QueryWork, own: pa.Schema) -> pa.Schema:
    """Return the columns of a start, and how far it came."""
    further = [pa.field(REACHED, pa.int64()), pa.field(LAST_STEP, pa.int64())]
    return pa.schema([*starts.leaving(own), *further])


def _clauses(query: Query) -> dict[str, str]:
    """Return the clauses that time-outs depend on: all but SELECT, which they do not show."""
    clauses: dict[str, str] = {}
    for word, text in ceql_clauses(query):
        if word != "SELECT":
            clauses[word] = f"{clauses[word]} AND {text}" if word in clauses else text
    return clauses


def _is_hash(name: str, spreading: Spreading) -> bool:
    return any(name in (hashing.key, hashing.check) for hashing in spreading.hashings)
