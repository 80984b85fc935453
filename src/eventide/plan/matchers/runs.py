"""Runs: every partial match by itself, so that conditions between events are judged as they arrive."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eventide.plan.matchers.protocol import RUNS, Cost, Description, Takes
from eventide.plan.matchers.settings import matcher_settings

if TYPE_CHECKING:
    from eventide.match.protocol import Matcher
    from eventide.plan.compiled import CompiledQuery
    from eventide.plan.labels.labelling import Labelling
    from eventide.plan.matchers.protocol import RunSettings
    from eventide.plan.matchers.sample import Sample
    from eventide.plan.plan import Plan

_LAST = 1e300
"""Runs hold what others share: they are taken where nothing else can run a query."""


class Runs:
    """Knows what each partial match could take, which skip-till-next asks for."""

    name = RUNS
    takes = Takes.ORDERED
    forward = True
    sliceable = True
    instead = "Leave the choice to the planner."

    def why_not(self, query: CompiledQuery) -> str | None:  # noqa: ARG002 - runs can run every query
        """Return None: runs can run every query."""
        return None

    def cost(self, query: CompiledQuery, sample: Sample | None) -> Cost:  # noqa: ARG002 - the last resort, whatever the events
        """Return the highest of all costs."""
        return Cost(_LAST, "what skip-till-next may skip depends on conditions between events")

    def make(self, plan: Plan, settings: RunSettings, *, unjudged: bool = False) -> tuple[Matcher, Labelling]:
        """Return a running matcher and the labelling that explains its labels; `unjudged` leaves the conditions to others."""
        from eventide.match.runs.matcher import RunsMatcher  # noqa: PLC0415 - its kernels are for its own queries

        made, _, labelling = matcher_settings(plan, settings, unjudged=unjudged)
        return RunsMatcher(made), labelling

    def explain(self, plan: Plan) -> Description:
        """Return what there is to say of it."""
        return Description(self.name, plan.choice.reason, ("",) * len(plan.conditions))
