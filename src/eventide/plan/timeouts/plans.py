"""The plans of the queries that tell which partial matches timed out: one a prefix, and that of the whole pattern."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from eventide.errors import BindError
from eventide.plan.matchers.registry import make_plan
from eventide.plan.rewrite import RULES, partition_by_equality
from eventide.plan.sequences.output import MATCH_START
from eventide.plan.timeouts.queries import columns_named, timeout_queries
from eventide.records import record

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eventide.pattern import Query
    from eventide.plan.expressions.schema import KindsOf
    from eventide.plan.plan import Plan
    from eventide.plan.timeouts.queries import TimeoutQueries

# All prefixes must keep a start in the same bucket, so none may have keys of its own.
_STREAM_RULES = tuple(rule for rule in RULES if rule is not partition_by_equality)


@record
class TimeoutPlans:
    """What is asked of a query, and the plans of the prefixes and of the whole pattern, in that order."""

    query: Query
    asked: TimeoutQueries
    plans: tuple[Plan, ...]


def plan_timeouts(plan: Plan, kinds_of: KindsOf, *, streaming: bool) -> TimeoutPlans:
    """Return the plans that find the time-outs of a query; on streams the first one shows the keys and the time of each start."""
    query, asked, rules = plan.query, timeout_queries(plan.query), RULES
    beginning = asked.prefixes[0]
    if streaming:
        shown = columns_named(*(name.text for name in query.partition_by), MATCH_START)
        beginning, rules = replace(beginning, output=shown), _STREAM_RULES
    with _fitting_hint():
        queries = (beginning, *asked.prefixes[1:], asked.whole)
        plans = tuple(make_plan(one, dict(plan.streams), kinds_of, rules=rules) for one in queries)
    return TimeoutPlans(query, asked, plans)


@contextmanager
def _fitting_hint() -> Iterator[None]:
    """Give the error of a condition that no kernel knows a hint that fits: the queries of prefixes select nothing."""
    try:
        yield
    except BindError as error:
        if error.condition != "OPAQUE_CONDITION":
            raise
        hint = "Compute the values in columns of the events first and compare those."
        raise BindError(error.condition, error.message, text=error.text, span=error.span, hint=hint) from None
