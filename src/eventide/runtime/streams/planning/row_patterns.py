"""Row patterns on streams: the run of one clause."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from eventide.errors import BindError
from eventide.pattern.row_pattern_printing import to_row_pattern
from eventide.plan.expressions.schema import CLOCK_COLUMN
from eventide.runtime.collect.row_lines import RowLines
from eventide.runtime.prepare.row_patterns import RowPreparation
from eventide.runtime.prepare.sequences import ARRIVAL
from eventide.runtime.streams.job import DROP_OLDEST, StreamJob, StreamQuery
from eventide.runtime.streams.output import FINAL, ORDERED
from eventide.runtime.streams.planning.jobs import Projection, Spreading
from eventide.runtime.streams.planning.work import QueryWork, StreamWork
from eventide.runtime.streams.queries.row_patterns import RowBucketQuery, check_streamable, stream_warnings
from eventide.runtime.streams.state_owner import StateOwner

if TYPE_CHECKING:
    from eventide.pattern.row_patterns import SortKey
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
        StateOwner(
            shaping_parts(plan, options),
            {name: sql for name, sql in columns if name not in preparation.payload},
            {name: sql for name, sql in columns if name in preparation.payload},
        ),
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
        idle=options.idle,
        finish=options.finish,
    )
    shown = list(plan.output.columns)
    layout = preparation.layout
    work = QueryWork(query, lambda prepared: RowLines.schema(plan, layout, prepared), lambda _: shown)
    warnings = tuple(stream_warnings(plan)) if options.max_state is None else ()
    return StreamWork(job, projection.columns(), {CLAUSE: work}, options.output, warnings)


def shaping_parts(plan: RowPlan, options: StreamOptions) -> dict[str, str]:
    """Return the parts of a clause that shape the state: of MEASURES only which rows around a match they read."""
    query = plan.query
    parts = {
        "PARTITION BY": ", ".join(plan.keys),
        "ORDER BY": ", ".join(_sorted_by(name, key) for name, key in zip(plan.order, query.order_by, strict=True)),
        "ROWS PER MATCH": query.rows_per_match.value,
        "AFTER MATCH SKIP": " ".join([query.skip.to.value, *([] if query.skip.variable is None else [query.skip.variable.text])]),
        "PATTERN": to_row_pattern(query.pattern),
        "WITHIN": "none" if query.within is None else f"{query.within} microseconds",
    }
    for subset in query.subsets:
        parts[f"SUBSET {subset.name}"] = ", ".join(member.text for member in subset.members)
    for definition in query.definitions:
        parts[f"DEFINE {definition.variable}"] = definition.condition.sql
    parts["what MEASURES read around a match"] = repr(plan.needs)
    if options.output != FINAL:
        # Results wait in the state as they are.
        parts["MEASURES"] = ", ".join(measure.expression.sql for measure in query.measures)
    return parts


def _sorted_by(name: str, key: SortKey) -> str:
    return f"{name}{' DESC' if key.descending else ''}{' NULLS FIRST' if key.nulls_first else ' NULLS LAST'}"
