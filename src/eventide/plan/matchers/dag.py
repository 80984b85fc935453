"""The shared DAG: partial matches share their events, and every end event walks back through those that fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eventide.match.dag.matching.enumerator import MANY_CANDIDATES
from eventide.match.dag.matching.matcher import DagMatcher
from eventide.pattern import Selector, Strategy
from eventide.plan.matchers.estimate import enumeration_work
from eventide.plan.matchers.protocol import DAG, Cost, Description, Takes
from eventide.plan.matchers.settings import matcher_settings
from eventide.plan.sequences.structure import uses_strategy
from eventide.plan.sequences.windows import STEPS

if TYPE_CHECKING:
    from eventide.match.protocol import Matcher
    from eventide.plan.compiled import CompiledQuery
    from eventide.plan.labels.labelling import Labelling
    from eventide.plan.matchers.protocol import RunSettings
    from eventide.plan.matchers.sample import Sample
    from eventide.plan.plan import Plan


class Dag:
    """Constant work for an event; enumeration linear in the output where every condition looks at one event."""

    name = DAG
    takes = Takes.ORDERED
    forward = False
    sliceable = True
    instead = 'Use matcher="runs", or leave the choice to the planner.'

    def why_not(self, query: CompiledQuery) -> str | None:
        """Return why it cannot run a query, or None."""
        # A window between steps never decides what may be skipped (semantics.md, section 4).
        deciding = any(STEPS not in condition.slots for condition in query.conditions)
        if deciding and uses_strategy(query.root, Strategy.NEXT) and query.query.selector is not Selector.STRICT:
            return "it cannot tell which event is next when that depends on a condition between events"
        return None

    def cost(self, query: CompiledQuery, sample: Sample | None) -> Cost:
        """Return what a run is expected to cost."""
        if not query.conditions:
            return Cost(0.0, "every condition looks at one event, so the automaton does constant work per event")
        reason = "all matches are wanted; conditions between events prune the enumeration"
        if query.explosive and not any(query.absence_conditions):
            reason += f"; ends with more than {MANY_CANDIDATES:,} candidates have them judged before any is listed"
        if sample is None or isinstance(query.searched, str):
            return Cost(1.0, reason)
        return Cost(enumeration_work(query, sample, query.searched), reason)

    def make(self, plan: Plan, settings: RunSettings, *, unjudged: bool = False) -> tuple[Matcher, Labelling]:
        """Return a running matcher and the labelling that explains its labels; `unjudged` leaves the conditions to others."""
        made, _, labelling = matcher_settings(plan, settings, unjudged=unjudged)
        return DagMatcher(made), labelling

    def explain(self, plan: Plan) -> Description:
        """Return what there is to say of it."""
        return Description(self.name, plan.choice.reason, ("",) * len(plan.conditions))
