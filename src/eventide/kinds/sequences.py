"""The kind of CEQL, SASE and the builder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eventide import explain
from eventide.kinds.kind import Kind
from eventide.pattern import Query
from eventide.plan.matchers.registry import choose
from eventide.plan.rewrite import RULES
from eventide.plan.sequences.bound_query import bind_query
from eventide.plan.timeouts.plans import plan_timeouts
from eventide.runtime.runs.asked import Asked
from eventide.runtime.runs.sequences import RUNS

if TYPE_CHECKING:
    from eventide.explain.rendering.model import Description


def _describe(plan: Any, physical: str | None) -> Description:
    return explain.describe_sequence(plan, physical)


SEQUENCES = Kind("sequences", Query, bind_query, RULES, choose, RUNS, _describe, {Asked.TIMEOUTS: plan_timeouts})
