"""From a plan to the settings that every matcher of ordered events takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eventide.match.protocol import MatcherSettings
from eventide.plan.labels.labelling import Unjudged

if TYPE_CHECKING:
    from eventide.plan.labels.labelling import Labelling
    from eventide.plan.matchers.protocol import RunSettings
    from eventide.plan.plan import Plan
    from eventide.plan.sequences.automaton import Automaton


def matcher_settings(plan: Plan, settings: RunSettings, *, unjudged: bool) -> tuple[MatcherSettings, Automaton, Labelling]:
    """Return the settings of a matcher, with the automaton of the run and the labelling that explains its labels."""
    automaton = plan.automaton()
    labelling = plan.labelling(automaton)
    made = MatcherSettings(
        automaton,
        Unjudged(labelling) if unjudged else labelling,
        bits=max(1, len(plan.predicates)),
        columns=len(plan.values),
        forbidden_bits=plan.forbidden_bits,
        checked=bool(plan.checked_absences) if unjudged else plan.checked,
        trailing=bool(plan.trailing),
        explosive=plan.explosive,
        keep=plan.keep,
        deduplicate=plan.deduplicate,
        consume=plan.consume,
        quota=plan.query.limit if plan.results is None else None,
        budget=settings.budget,
        slice_index=settings.slice_index,
        slices=settings.slices,
    )
    return made, automaton, labelling
