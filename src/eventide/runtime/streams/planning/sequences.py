"""Sequences on streams: the run of one query or of several over the same events."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from eventide.plan.totals.results import Groups
from eventide.runtime.collect.choice import collector_of
from eventide.runtime.streams.planning.jobs import event_job, stream_layout, stream_warnings
from eventide.runtime.streams.planning.work import QueryWork, StreamWork

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

    from eventide.plan.plan import Plan
    from eventide.runtime.relational.dialect import Dialect
    from eventide.runtime.streams.job import StreamQuery
    from eventide.runtime.streams.planning.jobs import StreamOptions


def sequence_work(
    plans: Mapping[str, Plan], dialect: Dialect, options: StreamOptions, *, registry: bool = False
) -> StreamWork:
    """Return the run of some queries over the same streams; the queries of a registry may come and go between runs."""
    job, columns = event_job(plans, dialect, options, registry=registry)
    queries = {query.name: query_work(query, plans[query.name]) for query in job.queries}
    told = [(name, warning) for name, plan in plans.items() for warning in stream_warnings(plan, options)]
    warnings = tuple(f"{name}: {warning}" if registry else warning for name, warning in told)
    return StreamWork(job, columns, queries, options.output, warnings)


def query_work(query: StreamQuery, plan: Plan) -> QueryWork:
    """Return what becomes of the results of a query; the rows of groups are finished when they leave."""
    layout = stream_layout(plan)
    collector = collector_of(plan)
    if isinstance(plan.results, Groups):
        return QueryWork(query, lambda own: collector.schema(plan, layout, own), _as_they_are)
    shown = [(column.name, column.tree) for column in plan.output.columns]
    where = exp.Paren(this=exp.and_(*plan.output.refine)) if plan.output.refine else None
    return QueryWork(query, lambda own: collector.schema(plan, layout, own), lambda _: shown, where)


def _as_they_are(leaving: pa.Schema) -> list[tuple[str, exp.Expression]]:
    return [(name, exp.column(exp.to_identifier(name, quoted=True))) for name in leaving.names]
