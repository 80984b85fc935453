"""Row patterns on streams: the run of one clause."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from eventide.errors import BindError
from eventide.plan.expressions.schema import CLOCK_COLUMN
from eventide.runtime.collect.row_lines import RowLines
from eventide.runtime.prepare.row_patterns import RowPreparation
from eventide.runtime.prepare.sequences import ARRIVAL
from eventide.runtime.streams.job import DROP_OLDEST, StreamJob, StreamQuery
from eventide.runtime.streams.output import ORDERED
from eventide.runtime.streams.planning.jobs import Projection, Spreading, fingerprint
from eventide.runtime.streams.planning.work import QueryWork, StreamWork
from eventide.runtime.streams.queries.row_patterns import RowBucketQuery, check_streamable, stream_warnings

if TYPE_CHECKING:
    from eventide.plan.row_patterns.plan import RowPlan
    from eventide.runtime.relational.dialect import Dialect
    from eventide.runtime.streams.planning.jobs import StreamOptions

CLAUSE = "match"
"""The name of the query in a run of one."""


def row_work(plan: RowPlan, dialect: Dialect, options: StreamOptions, max_steps: int | None) -> StreamWork:
    """Return the run of a clause over a stream."""
    check_streamable(plan)
    if options.overflow == DROP_OLDEST:
        raise BindError(
            "DROP_NOT_SOUND",
            "Without its oldest rows a row pattern would report matches that start too late and are wrong.",
            hint='Use overflow="error".',
        )
    hold = plan.hold
    if options.output == ORDERED and hold is None:
        raise BindError(
            "ORDER_WITHOUT_TIME",
            "How long a match can take to become certain is not bounded, so neither is the wait for its turn.",
            hint='Add WITHIN and take NEXT out of conditions and measures, or use output="final".',
        )
    preparation = RowPreparation(plan, dialect)
    projection = Projection()
    spreading = Spreading(projection, dialect, options.buckets)
    time = plan.order[0]
    own = [(name, sql) for name, sql in preparation.narrow() if name != ARRIVAL]
    columns = [*own, (CLOCK_COLUMN, dialect.micros(dialect.quote(time), plan.columns[time]))]
    shared = tuple((name, projection.add(sql)) for name, sql in columns)
    query = StreamQuery(
        CLAUSE,
        fingerprint(repr(plan.query), columns, "rows"),
        shared,
        dict(shared)[CLOCK_COLUMN],
        spreading.hashing(plan.keys, together=False),
        partial(RowBucketQuery, plan, preparation.order, preparation.payload, max_steps=max_steps),
        output=options.output,
        hold=hold or 0,
    )
    job = StreamJob(
        (query,),
        tuple(spreading.hashings),
        query.clock,
        1,
        None,
        options.lateness,
        options.buckets,
        options.max_state,
        options.overflow,
        engine=dialect.name,
    )
    shown = list(plan.output.columns)
    layout = preparation.layout
    work = QueryWork(query, lambda prepared: RowLines.schema(plan, layout, prepared), lambda _: shown)
    warnings = tuple(stream_warnings(plan)) if options.max_state is None else ()
    return StreamWork(job, projection.columns(), {CLAUSE: work}, options.output, warnings)
