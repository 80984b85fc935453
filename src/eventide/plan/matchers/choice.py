"""Which matcher runs a query, and why."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from eventide.errors import BindError, did_you_mean
from eventide.pattern import Selector, Strategy
from eventide.plan.matchers.recompute import preferred_choice, recompute_reason
from eventide.plan.plan import RECOMPUTE, RUNS, SHARED_DAG, MatcherChoice
from eventide.plan.sequences.structure import uses_strategy
from eventide.plan.sequences.windows import STEPS

if TYPE_CHECKING:
    from eventide.plan.compiled import CompiledQuery

DISORDER = "disorder"
"""Takes the events of a stream as they arrive; what the others take must be in order."""
MATCHERS = (SHARED_DAG, RUNS, RECOMPUTE, DISORDER)


def choose_matcher(query: CompiledQuery, forced: str | None) -> MatcherChoice:
    """Choose the matcher of a query; a forced one is refused where it would be wrong."""
    # A window between steps never decides what may be skipped (semantics.md, section 4).
    deciding = [condition for condition in query.conditions if STEPS not in condition.slots]
    next_decides = uses_strategy(query.root, Strategy.NEXT) and query.query.selector is not Selector.STRICT
    needs_runs = bool(deciding) and next_decides
    if forced is not None and forced not in MATCHERS:
        raise BindError("UNKNOWN_MATCHER", f"There is no matcher {forced}.", hint=did_you_mean(forced, MATCHERS))
    if forced == SHARED_DAG and needs_runs:
        raise BindError(
            "MATCHER_NOT_SOUND",
            "The shared automaton cannot tell which event is next when that depends on a condition between events.",
            hint='Use matcher="runs", or leave the choice to the planner.',
        )
    if forced == RECOMPUTE:
        _refuse_recomputation(query)
    if forced is not None and forced != DISORDER:
        return MatcherChoice(forced, "asked for", disorder=False)
    if forced == DISORDER:
        return replace(choose_matcher(query, None), disorder=True)
    if needs_runs:
        return MatcherChoice(RUNS, "what skip-till-next may skip depends on conditions between events")
    if query.conditions:
        enumerated = MatcherChoice(SHARED_DAG, "all matches are wanted; conditions between events prune the enumeration")
        return preferred_choice(query, enumerated)
    return MatcherChoice(SHARED_DAG, "every condition looks at one event, so the automaton does constant work per event")


def _refuse_recomputation(query: CompiledQuery) -> None:
    reason = recompute_reason(query)
    if reason is not None:
        raise BindError(
            "MATCHER_NOT_SOUND",
            f"Recomputation cannot run the query: {reason}.",
            text=query.query.text or None,
            hint="Leave the choice to the planner, or ask for a sequence of events and loops of one event with SELECT ALL.",
        )
