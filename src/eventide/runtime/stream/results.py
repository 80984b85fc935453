"""Results over all matches and streams: what a stream never decides is refused with the reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eventide.errors import BindError
from eventide.pattern import GroupUnit
from eventide.plan.results import Best, Groups

if TYPE_CHECKING:
    from eventide.plan.plan import Plan


def refuse_results(plan: Plan) -> None:
    """Refuse GROUP BY, ORDER BY and SAMPLE over an unbounded stream."""
    results, query = plan.results, plan.query
    if results is None:
        return
    text = query.text or None
    if isinstance(results, Groups):
        unit = results.unit.name
        why = f"GROUP BY {unit} is computed on tables; on a stream the matches themselves come out."
        if results.unit is GroupUnit.PARTITION:
            why = "The matches of a partition of a stream are never complete, so nothing can be computed of all of them."
        raise BindError(
            "RESULTS_ON_STREAM",
            why,
            text=text,
            span=None if query.group_by is None else query.group_by.span,
            hint="Leave GROUP BY out and aggregate what comes out, as in q.match(events).groupBy(...).",
        )
    place = query.order_by or query.sample
    raise BindError(
        "RESULTS_ON_STREAM",
        f"{'The best matches' if isinstance(results, Best) else 'A sample of all matches'} of a stream "
        f"{'are' if isinstance(results, Best) else 'is'} never final: any event may bring another one.",
        text=text,
        span=None if place is None else place.span,
        hint="Run the query on a table of the events so far.",
    )
