"""Which queries recomputation can run, and which sequences it searches for them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from eventide.match.recompute.matcher import RecomputeMatcher
from eventide.match.recompute.shape import RecomputeShape, Step
from eventide.pattern import Selector, WindowUnit
from eventide.plan.matchers.part_sequences import NoSequences, PartSequence, sequences_of
from eventide.plan.matchers.placed_conditions import RESIDUAL, PlacedConditions
from eventide.plan.plan import RECOMPUTE, SHARED_DAG, MatcherChoice

if TYPE_CHECKING:
    from eventide.match.protocol import MatcherSettings
    from eventide.plan.compiled import CompiledQuery
    from eventide.plan.plan import Plan
    from eventide.plan.sequences.automaton import Automaton

MOST_STEPS = 60

SMALL_WINDOW = 6
"""Windows with fewer events are left to the automaton, which is faster there (docs/design/0010)."""

VACUOUS = "vacuous"
"""No match binds all that the condition asks for."""

_REASON = "conditions between events of a loop become bits between events, so that no partial match is kept that they forbid"


@dataclass(frozen=True)
class _Searched:
    """A sequence that is searched, with what the conditions become in it."""

    parts: PartSequence
    placed: PlacedConditions

    @property
    def looped(self) -> bool:
        return any(part.maximum != 1 for part in self.parts)

    @property
    def pruned(self) -> bool:
        """Whether bits decide some condition."""
        return bool({*self.placed.kinds} - {RESIDUAL, None})


def recompute_reason(plan: CompiledQuery) -> str | None:
    """Return why recomputation cannot run a query, or None where it can."""
    sequences = _sequences_or_reason(plan)
    return sequences if isinstance(sequences, str) else None


def condition_kinds(plan: Plan) -> tuple[str, ...]:
    """Return for each condition between events what it becomes under recomputation, which parts that are missing may change."""
    kinds: list[dict[str, None]] = [{} for _ in plan.conditions]
    for searched in _searched(plan):
        for known, kind in zip(kinds, searched.placed.kinds, strict=True):
            if kind is not None:
                known[kind] = None
    return tuple(" or ".join(known) or VACUOUS for known in kinds)


def preferred_choice(plan: CompiledQuery, enumerated: MatcherChoice) -> MatcherChoice:
    """Return the choice that was left to the planner: recomputation where loops with conditions would explode."""
    if recompute_reason(plan) is not None or plan.query.step_window is not None:
        return enumerated
    searched = _searched(plan)
    if not any(sequence.looped and sequence.pruned for sequence in searched) or not _all_shown(plan, searched):
        return enumerated
    reason = _REASON
    if len(searched) > 1:
        reason += f"; {len(searched)} sequences are searched, one for each choice of the parts that a match may have"
    window = plan.window
    if window is not None and window.unit is WindowUnit.EVENTS:
        # WITHIN n events reaches over n + 1 of them.
        if window.size + 1 < SMALL_WINDOW:
            return replace(enumerated, reason=f"{enumerated.reason}; the window is too small for recomputation to pay")
        return MatcherChoice(RECOMPUTE, reason)
    small = f"where the first events of a table show less than {SMALL_WINDOW} in a window, the {SHARED_DAG} takes over"
    return MatcherChoice(RECOMPUTE, f"{reason}; {small}", fallback=SHARED_DAG)


def make_recompute_matcher(plan: Plan, settings: MatcherSettings, automaton: Automaton) -> RecomputeMatcher:
    """Return the recomputation matcher of a plan that has a shape for it."""
    searched = _searched(plan)
    shapes = tuple(_shape(plan, sequence, automaton) for sequence in searched)
    return RecomputeMatcher(settings, shapes, distinct=_all_shown(plan, searched))


def _shape(plan: Plan, searched: _Searched, automaton: Automaton) -> RecomputeShape:
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


def _all_shown(plan: CompiledQuery, searched: list[_Searched]) -> bool:
    """Return whether the result tells all steps and all sequences apart, so that no two matches show the same."""
    shown = [
        [plan.output.kept & frozenset(plan.bound.occurrences[part.occurrence].variables) for part in sequence.parts]
        for sequence in searched
    ]
    sequences = {frozenset(steps) for steps in shown}
    steps_apart = all(len({*steps}) == len(steps) and frozenset() not in steps for steps in shown)
    # Every step has an event, so sequences that show other steps show other matches.
    return steps_apart and len(sequences) == len(shown)


def _searched(plan: CompiledQuery) -> list[_Searched]:
    """Return the sequences that can match."""
    sequences = _sequences_or_reason(plan)
    assert not isinstance(sequences, str), sequences
    searched = [_Searched(parts, PlacedConditions(plan, parts)) for parts in sequences]
    return [sequence for sequence in searched if not sequence.placed.impossible]


def _sequences_or_reason(plan: CompiledQuery) -> tuple[PartSequence, ...] | str:
    query = plan.query
    if query.selector is not Selector.ALL:
        return f"the selector {query.selector.name} compares matches with each other"
    if plan.consumes:
        return "CONSUME BY forgets events that matches have taken"
    if plan.trailing:
        return "with NOT at the end, later events decide which matches hold"
    try:
        sequences = sequences_of(plan.root)
    except NoSequences as instead:
        return f"the pattern holds {instead}"
    if any(len(parts) > MOST_STEPS for parts in sequences):
        return f"the sequence has more than {MOST_STEPS} steps"
    return sequences
