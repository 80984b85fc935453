"""The plans of the queries that tell which partial matches timed out: one a prefix, and that of the whole pattern."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from eventide.errors import BindError
from eventide.plan.matchers.registry import make_plan
from eventide.plan.rewrite import RULES, partition_by_equality
from eventide.plan.sequences.output import MATCH_START
from eventide.plan.timeouts.queries import columns_named, timeout_queries

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eventide.pattern import Query
    from eventide.plan.expressions.schema import KindsOf, StreamSchema
    from eventide.plan.plan import Plan
    from eventide.plan.timeouts.queries import TimeoutQueries

# All prefixes must keep a start in the same bucket, so none may have keys of its own.
_STREAM_RULES = tuple(rule for rule in RULES if rule is not partition_by_equality)


@dataclass(frozen=True)
class TimeoutPlans:
    """What is asked, and the plans of the prefixes and of the whole pattern, in that order."""

    asked: TimeoutQueries
    plans: tuple[Plan, ...]


def plan_table_timeouts(query: Query, streams: Mapping[str, StreamSchema], kinds_of: KindsOf) -> TimeoutPlans:
    """Return the plans that find the time-outs of tables."""
    asked = timeout_queries(query)
    with _fitting_hint():
        plans = tuple(make_plan(one, streams, kinds_of) for one in (*asked.prefixes, asked.whole))
    return TimeoutPlans(asked, plans)


def plan_stream_timeouts(query: Query, streams: Mapping[str, StreamSchema], kinds_of: KindsOf) -> TimeoutPlans:
    """Return the plans that find the time-outs of streams: the first one shows the keys and the time of each start."""
    asked = timeout_queries(query)
    shown = columns_named(*(name.text for name in query.partition_by), MATCH_START)
    beginning = replace(asked.prefixes[0], output=shown)
    with _fitting_hint():
        queries = (beginning, *asked.prefixes[1:], asked.whole)
        plans = tuple(make_plan(one, streams, kinds_of, rules=_STREAM_RULES) for one in queries)
    return TimeoutPlans(asked, plans)


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
