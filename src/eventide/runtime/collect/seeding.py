"""The seed of a sample."""

from __future__ import annotations

from dataclasses import replace
from random import SystemRandom
from typing import TYPE_CHECKING

from eventide.plan.totals.results import MatchSample

if TYPE_CHECKING:
    from eventide.plan.plan import Plan

_LARGEST_SEED = 1 << 62


def with_seed(plan: Plan) -> Plan:
    """Return the plan with a seed for all its tasks, where the query has none."""
    if isinstance(plan.results, MatchSample) and plan.results.seed is None:
        return replace(plan, results=replace(plan.results, seed=SystemRandom().randrange(_LARGEST_SEED)))
    return plan
