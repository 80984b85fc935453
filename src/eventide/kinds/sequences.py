"""The kind of CEQL, SASE and the builder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eventide import explain
from eventide.kinds.kind import Kind
from eventide.plan.matchers.registry import choose
from eventide.plan.rewrite import RULES
from eventide.plan.sequences.bound_query import bind_query
from eventide.runtime.runs.asked import Asked
from eventide.runtime.runs.sequences import RUNS

if TYPE_CHECKING:
    from eventide.explain.rendering.model import Description


def _plan_timeouts(plan: Any, kinds_of: Any, *, streaming: bool) -> Any:
    from eventide.plan.timeouts.plans import plan_timeouts  # noqa: PLC0415 - few queries are asked for their timeouts

    return plan_timeouts(plan, kinds_of, streaming=streaming)


def _describe(plan: Any, physical: str | None) -> Description:
    return explain.describe_sequence(plan, physical)


KIND = Kind("sequences", bind_query, RULES, choose, RUNS, _describe, {Asked.TIMEOUTS: _plan_timeouts})
