"""How results over all matches are computed: by the automaton alone, with neighbours remembered, or by enumeration; and why."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from eventide.plan.totals.neighbours import Succession, judge_near
from eventide.records import record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eventide.plan.compiled import CompiledQuery
    from eventide.plan.totals.neighbours import JudgedCondition


class Growth(Enum):
    """How the work grows with the events."""

    LINEAR = "linear"
    POLYNOMIAL = "polynomial"
    ENUMERATION = "enumeration"


@record
class TotalsMethod:
    """The chosen method; `judged` says of each condition on which two events it is judged."""

    growth: Growth
    reason: str
    judged: tuple[JudgedCondition, ...] = ()


def choose_method(
    query: CompiledQuery, labels: Sequence[tuple[str, ...]], *, forward: bool, deduplicate: bool
) -> TotalsMethod:
    """Return how results over all matches of a query are computed, whose occurrences bind the variables in `labels`.

    `forward` says that runs find the matches, `deduplicate` that different paths can show the same one.
    """
    reason = _why_enumerated(query, forward=forward, deduplicate=deduplicate)
    if reason is not None:
        return TotalsMethod(Growth.ENUMERATION, reason)
    if not query.conditions:
        return TotalsMethod(Growth.LINEAR, "every condition looks at one event, so counts and totals go through the automaton")
    bits = [occurrence.bit for occurrence in query.bound.occurrences]
    succession = Succession.of(query.root, bits, labels)
    if succession is None:
        return TotalsMethod(Growth.ENUMERATION, "the pattern has too many ways for its events to follow each other")
    judged = []
    for condition in query.conditions:
        near = judge_near(condition, succession)
        if near is None:
            reason = f"{condition.source} relates events that are not neighbours in a match"
            return TotalsMethod(Growth.ENUMERATION, reason)
        judged.append(near)
    reason = "conditions relate neighbouring events, so the last event is remembered"
    return TotalsMethod(Growth.POLYNOMIAL, reason, tuple(judged))


def _why_enumerated(query: CompiledQuery, *, forward: bool, deduplicate: bool) -> str | None:
    if query.compares_matches:
        return f"the selector {query.query.selector.name} compares matches"
    if query.consumes:
        return "CONSUME BY lets matches take events from others"
    if query.checked_absences:
        return "a NOT is judged on whole matches"
    if forward:
        return "matches are found by runs"
    if deduplicate:
        return "variables that are not shown let several ways through the pattern be one match"
    return None
