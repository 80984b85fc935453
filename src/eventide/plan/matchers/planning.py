"""The chain of planning: a query is bound, rewritten, and a matcher is chosen for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eventide.plan.compiled import compile_query
from eventide.plan.matchers.registry import choose_matcher
from eventide.plan.plan import plan_of
from eventide.plan.rewrite import RULES, rewrite
from eventide.plan.sequences.bound_query import bind_query

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from eventide.pattern import Query
    from eventide.plan.expressions.schema import KindsOf, StreamSchema
    from eventide.plan.matchers.sample import Sample
    from eventide.plan.plan import Plan
    from eventide.plan.rewrite import Rule
    from eventide.plan.sequences.bound_query import BoundQuery


def make_plan(
    query: Query,
    streams: Mapping[str, StreamSchema],
    kinds_of: KindsOf,
    *,
    matcher: str | None = None,
    rules: Iterable[Rule] = RULES,
) -> Plan:
    """Plan a query for events of the given schemas; without streams the plan serves explanation only."""
    bound = bind_query(query, streams, kinds_of)
    rewritten = rewrite(bound, rules)
    return choose(rewritten, matcher)


def choose(bound: BoundQuery, matcher: str | None = None, sample: Sample | None = None) -> Plan:
    """Compile a bound query and choose the cheapest matcher for it; a forced one is refused where it would be wrong."""
    compiled = compile_query(bound)
    return plan_of(compiled, choose_matcher(compiled, matcher, sample))
