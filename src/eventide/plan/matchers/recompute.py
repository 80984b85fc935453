"""Recomputation: holds the events of the window and nothing else, and searches whenever a match can end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eventide.match.recompute.shape import RecomputeShape, Step
from eventide.pattern import WindowUnit
from eventide.plan.matchers.estimate import SMALL_WINDOW, search_work
from eventide.plan.matchers.protocol import RECOMPUTE, Cost, Description, Takes
from eventide.plan.matchers.settings import matcher_settings
from eventide.plan.recompute.searched_sequences import all_shown

if TYPE_CHECKING:
    from eventide.match.protocol import Matcher
    from eventide.plan.compiled import CompiledQuery
    from eventide.plan.labels.labelling import Labelling
    from eventide.plan.matchers.protocol import RunSettings
    from eventide.plan.matchers.sample import Sample
    from eventide.plan.plan import Plan
    from eventide.plan.recompute.searched_sequences import SearchedSequence
    from eventide.plan.sequences.automaton import Automaton
    from eventide.plan.sequences.windows import BoundWindow

VACUOUS = "vacuous"
"""No match binds all that the condition asks for."""
_JUDGED_LATE = frozenset(("count", "sum", "avg", "min", "max"))
"""What is known of a loop only when it is whole: too late where few matches are asked for, which the automaton foresees."""
_PREFERRED = 0.5
_NOT_PREFERRED = 1e200


class Recompute:
    """Kleene loops and skip-till-any with conditions between events, which become bits between events."""

    name = RECOMPUTE
    takes = Takes.ORDERED
    forward = False
    sliceable = False
    instead = "Leave the choice to the planner, or ask for a sequence of events and loops of one event with SELECT ALL."

    def why_not(self, query: CompiledQuery) -> str | None:
        """Return why it cannot run a query, or None."""
        return query.searched if isinstance(query.searched, str) else None

    def cost(self, query: CompiledQuery, sample: Sample | None) -> Cost:
        """Return what a run is expected to cost: little where conditions between events keep few of many partial matches."""
        if not self.may_pay(query):
            return Cost(_NOT_PREFERRED, "asked for")
        searched = _searched(query)
        reason = _reason(searched)
        if sample is not None:
            return Cost(search_work(query, sample, searched), reason)
        looped = any(sequence.looped for sequence in searched)
        # WITHIN n events reaches over n + 1 of them.
        small = query.window is not None and _counts_events(query.window) and query.window.size + 1 < SMALL_WINDOW
        return Cost(_PREFERRED if looped and not small else _NOT_PREFERRED, reason)

    def knows_window(self, query: CompiledQuery) -> bool:
        """Return whether the query says all that decides about its loops: how many events a window holds."""
        looped = any(sequence.looped for sequence in _searched(query))
        return looped and query.window is not None and _counts_events(query.window)

    def may_pay(self, query: CompiledQuery) -> bool:
        """Return whether there are events for which it is the cheaper matcher."""
        searched = query.searched
        if isinstance(searched, str) or not query.conditions or query.query.step_window is not None:
            return False
        judged_late = any(kind in _JUDGED_LATE for condition in query.conditions for _, kind in condition.sets)
        if query.explosive and query.query.limit is not None and judged_late:
            return False
        looped = any(sequence.looped and sequence.pruned for sequence in searched)
        pruned = all(sequence.pruned and not sequence.looped for sequence in searched)
        return (looped or pruned) and all_shown(query, searched)

    def make(self, plan: Plan, settings: RunSettings, *, unjudged: bool = False) -> tuple[Matcher, Labelling]:
        """Return a running matcher and the labelling that explains its labels; `unjudged` leaves the conditions to others."""
        from eventide.match.recompute.matcher import RecomputeMatcher  # noqa: PLC0415 - its kernels are for its own queries

        made, automaton, labelling = matcher_settings(plan, settings, unjudged=unjudged)
        searched = _searched(plan)
        shapes = tuple(_shape(plan, sequence, automaton) for sequence in searched)
        return RecomputeMatcher(made, shapes, distinct=all_shown(plan, searched)), labelling

    def explain(self, plan: Plan) -> Description:
        """Return what each condition between events becomes."""
        return Description(self.name, plan.choice.reason, condition_kinds(plan))


def condition_kinds(query: CompiledQuery) -> tuple[str, ...]:
    """Return for each condition between events what it becomes under recomputation, which parts that are missing may change."""
    kinds: list[dict[str, None]] = [{} for _ in query.conditions]
    for searched in _searched(query):
        for known, kind in zip(kinds, searched.placed.kinds, strict=True):
            if kind is not None:
                known[kind] = None
    return tuple(" or ".join(known) or VACUOUS for known in kinds)


def _counts_events(window: BoundWindow) -> bool:
    return window.unit is WindowUnit.EVENTS


def _searched(query: CompiledQuery) -> tuple[SearchedSequence, ...]:
    assert not isinstance(query.searched, str), query.searched
    return query.searched


def _reason(searched: tuple[SearchedSequence, ...]) -> str:
    inside = "events of a loop" if any(sequence.looped for sequence in searched) else "events"
    reason = f"conditions between {inside} become bits between events, so that no partial match is kept that they forbid"
    if len(searched) > 1:
        reason += f"; {len(searched)} sequences are searched, one for each choice of the parts that a match may have"
    return reason


def _shape(plan: Plan, searched: SearchedSequence, automaton: Automaton) -> RecomputeShape:
    steps = tuple(
        Step(
            plan.bound.occurrences[part.occurrence].bit,
            part.minimum,
            part.maximum,
            automaton.label_of(part.occurrence, frozenset(part.gap.checked)),
            automaton.label_of(part.occurrence, frozenset()),
            part.gap.forbidden,
        )
        for part in searched.parts
    )
    placed = searched.placed
    return RecomputeShape(steps, tuple(placed.relations), tuple(placed.chains), tuple(placed.residuals))
