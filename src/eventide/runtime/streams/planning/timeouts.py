"""From a query to the run that finds its timed-out partial matches."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from eventide.language.parts.columns import parse_columns
from eventide.pattern.sequence_printing import quote_name, to_ceql
from eventide.plan.planning import make_plan
from eventide.plan.rewrite import RULES, partition_by_equality
from eventide.plan.sequences.output import MATCH_START
from eventide.plan.timeouts.queries import opaque_explained, timeout_queries
from eventide.runtime.prepare.sequences import CLOCK, STREAM
from eventide.runtime.streams.job import StreamJob, StreamQuery
from eventide.runtime.streams.planning.jobs import Projection, Spreading, event_query, fingerprint, roles_of, stream_layout
from eventide.runtime.streams.queries.timeouts import StartEngine, TimeoutStreamEngine

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eventide.pattern import Query
    from eventide.plan.plan import Plan
    from eventide.plan.schema import KindsOf, StreamSchema
    from eventide.plan.timeouts.queries import TimeoutQueries
    from eventide.runtime.prepare.sequences import Dialect
    from eventide.runtime.streams.planning.jobs import StreamOptions

TIMEOUTS = "timeouts"
# All prefixes must keep a start in the same bucket, so none may have keys of its own.
TIMEOUT_RULES = tuple(rule for rule in RULES if rule is not partition_by_equality)


@dataclass(frozen=True)
class TimeoutJob:
    """The run, the columns to prepare for it, what it asks, and how the starts are planned and found."""

    job: StreamJob
    columns: list[tuple[str, str]]
    asked: TimeoutQueries
    starts: Plan
    beginning: StreamQuery


def timeout_job(
    query: Query,
    streams: Mapping[str, StreamSchema],
    describe: KindsOf,
    dialect: Dialect,
    options: StreamOptions,
) -> TimeoutJob:
    """Return the run of a query's prefixes."""
    asked = timeout_queries(query)
    shown = ", ".join([*(quote_name(name.text) for name in query.partition_by), MATCH_START])
    beginning = replace(asked.prefixes[0], output=tuple(parse_columns(shown)))
    with opaque_explained():
        plans = [
            make_plan(one, streams, describe, rules=TIMEOUT_RULES) for one in (beginning, *asked.prefixes[1:], asked.whole)
        ]
    projection = Projection()
    spreading = Spreading(projection, dialect, options.buckets)
    clock = projection.add(CLOCK)
    parts = [
        replace(
            event_query(str(number), plan, dialect, options, projection, spreading),
            make_engine=partial(StartEngine, plan, stream_layout(plan)),
        )
        for number, plan in enumerate(plans)
    ]
    stream = projection.add(STREAM) if len(streams) > 1 else None
    window = plans[-1].window
    assert window is not None
    columns = projection.columns()
    whole = StreamQuery(
        TIMEOUTS,
        fingerprint(to_ceql(query), columns, TIMEOUTS, *roles_of(plans[-1])),
        tuple((name, name) for name, _ in columns if not _is_hash(name, spreading)),
        clock,
        parts[0].group,
        partial(TimeoutStreamEngine, parts, int(window.size), trailing=bool(plans[-1].trailing)),
        timeouts=True,
    )
    job = StreamJob(
        (whole,),
        tuple(spreading.groups),
        clock,
        len(streams),
        stream,
        options.lateness,
        options.buckets,
        options.max_state,
        options.overflow,
    )
    return TimeoutJob(job, columns, asked, plans[0], parts[0])


def _is_hash(name: str, spreading: Spreading) -> bool:
    return any(name in (group.key, group.check) for group in spreading.groups)
