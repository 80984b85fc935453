"""How results over all matches are computed: by the automaton alone, with neighbours remembered, or by enumeration; and why."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from eventide.match.dag.selection import Keep
from eventide.pattern import Consumption
from eventide.plan.totals.neighbours import Succession, judge_near

if TYPE_CHECKING:
    from eventide.plan.plan import Plan
    from eventide.plan.totals.neighbours import Judged


class Cost(Enum):
    """How the work grows with the events."""

    LINEAR = "linear"
    POLYNOMIAL = "polynomial"
    ENUMERATION = "enumeration"


@dataclass(frozen=True)
class Way:
    """The chosen way; `judged` says of each condition on which two events it is judged."""

    cost: Cost
    reason: str
    judged: tuple[Judged, ...] = ()


def choose_way(plan: Plan) -> Way:
    """Return how results over all matches of a plan are computed."""
    hindrance = _hindrance(plan)
    if hindrance is not None:
        return Way(Cost.ENUMERATION, hindrance)
    if not plan.conditions:
        return Way(Cost.LINEAR, "every condition looks at one event, so counts and totals go through the automaton")
    bits = [occurrence.bit for occurrence in plan.bound.occurrences]
    succession = Succession.of(plan.root, bits, plan.occurrence_labels())
    if succession is None:
        return Way(Cost.ENUMERATION, "the pattern has too many ways for its events to follow each other")
    judged = []
    for condition in plan.conditions:
        near = judge_near(condition, succession)
        if near is None:
            return Way(Cost.ENUMERATION, f"{condition.source} relates events that are not neighbours in a match")
        judged.append(near)
    return Way(Cost.POLYNOMIAL, "conditions relate neighbouring events, so the last event is remembered", tuple(judged))


def _hindrance(plan: Plan) -> str | None:
    if plan.keep is not Keep.ALL:
        return f"the selector {plan.query.selector.name} compares matches"
    if plan.query.consumption is not Consumption.NONE:
        return "CONSUME BY lets matches take events from others"
    if plan.checked_absences:
        return "a NOT is judged on whole matches"
    if plan.choice.forward:
        return "matches are found by runs"
    if plan.deduplicate:
        return "variables that are not shown let several ways through the pattern be one match"
    return None
