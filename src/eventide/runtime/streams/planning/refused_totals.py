"""Results over all matches and streams: what a stream never decides is refused with the reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eventide.errors import BindError
from eventide.pattern import GroupUnit
from eventide.plan.totals.results import Best, Groups
from eventide.runtime.streams.output import EARLY

if TYPE_CHECKING:
    from eventide.plan.plan import Plan
    from eventide.plan.totals.results import Results


def refuse_results(plan: Plan, output: str) -> None:
    """Refuse ORDER BY and SAMPLE over an unbounded stream, and groups that the watermark never completes."""
    if plan.results is None:
        return
    reason = _never_final(plan.results) or _undecided(plan) or _corrected(output)
    if reason is None:
        return
    why, hint = reason
    query = plan.query
    place = query.group_by or query.order_by or query.sample
    raise BindError(
        "RESULTS_ON_STREAM", why, text=query.text or None, span=None if place is None else place.span, hint=hint
    )


def _never_final(results: Results) -> tuple[str, str] | None:
    if not isinstance(results, Groups):
        best = isinstance(results, Best)
        asked, verb = ("The best matches", "are") if best else ("A sample of all matches", "is")
        why = f"{asked} of a stream {verb} never final: any event may bring another one."
        return why, "Run the query on a table of the events so far."
    if results.unit is GroupUnit.PARTITION:
        return (
            "The matches of a partition of a stream are never complete, so nothing can be computed of all of them.",
            "Use GROUP BY END or GROUP BY WINDOW 5 minutes, and add their rows up.",
        )
    return None


def _undecided(plan: Plan) -> tuple[str, str] | None:
    if not plan.trailing or plan.timed:
        return None
    return (
        "NOT at the end is decided by a number of events or an attribute, so no time tells when a group has all of its matches.",
        "Use WITHIN with a duration.",
    )


def _corrected(output: str) -> tuple[str, str] | None:
    if output != EARLY:
        return None
    return (
        "Early output takes single matches back, and the row of a group is not a match: every event would replace it.",
        'Use output="final", or leave GROUP BY out and aggregate what comes out.',
    )
