"""The disorder-native operator: sequences of single events, taken as they arrive."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from eventide.match.budget import Budget
from eventide.match.disorder.settings import DisorderSettings, ForbiddenEvent
from eventide.pattern import Selector, Strategy
from eventide.plan.matchers.protocol import DISORDER, Cost, Description, Takes
from eventide.plan.sequences.structure import BoundGap, Chain, Loop, Node, One
from eventide.records import record

if TYPE_CHECKING:
    from eventide.match.dag.enumeration import MatchBatch
    from eventide.match.disorder.matcher import DisorderMatcher
    from eventide.match.disorder.settings import ArrivalBatch
    from eventide.match.protocol import Running
    from eventide.plan.compiled import CompiledQuery
    from eventide.plan.labels.labelling import Labelling
    from eventide.plan.matchers.protocol import RunSettings
    from eventide.plan.matchers.sample import Sample
    from eventide.plan.plan import Plan

MOST_STEPS = 64


@record
class DisorderShape:
    """A sequence of single events: the occurrence of each step, the events forbidden in its gaps, the window."""

    steps: tuple[int, ...]
    forbidden: tuple[ForbiddenEvent, ...]
    window: int


class _NoSequence(Exception):  # noqa: N818 - tells the reason, never leaves this module
    """The pattern is not a sequence of single events."""


class Disorder:
    """Inserts late events where they belong instead of waiting for them."""

    name = DISORDER
    takes = Takes.ARRIVAL
    instead = "Leave the choice to the planner: it puts a reorder buffer in front of the other matchers."

    def why_not(self, plan: CompiledQuery) -> str | None:
        """Return why events must be put in order first, or None where it can run the query."""
        return disorder_reason(plan)

    def cost(self, plan: CompiledQuery, sample: Sample | None) -> Cost:  # noqa: ARG002 - streams take it wherever it can run
        """Return a low cost: no event waits in a buffer."""
        return Cost(0.0, "events are matched as they arrive")

    def make(self, plan: Plan, settings: RunSettings) -> tuple[Running[ArrivalBatch, MatchBatch], Labelling]:
        """Return a running matcher, and the labelling that explains its labels."""
        return make_disorder_matcher(plan, settings.budget)

    def explain(self, plan: Plan) -> Description:
        """Return what there is to say of it."""
        return Description(self.name, self.cost(plan, None).reason, ("",) * len(plan.conditions))


def disorder_shape(plan: CompiledQuery) -> DisorderShape | None:
    """Return the sequence that the disorder-native operator would match, or None where events must be reordered first."""
    shape = _shape_or_reason(plan)
    return shape if isinstance(shape, DisorderShape) else None


def disorder_reason(plan: CompiledQuery) -> str | None:
    """Return why events must be reordered first, or None where the disorder-native operator can run the query."""
    shape = _shape_or_reason(plan)
    return shape if isinstance(shape, str) else None


def make_disorder_matcher(plan: Plan, budget: Budget = Budget()) -> tuple[DisorderMatcher, Labelling]:  # noqa: B008 - frozen
    """Return the disorder-native matcher of a plan that has a shape for it."""
    from eventide.match.disorder.matcher import DisorderMatcher  # noqa: PLC0415 - its kernels are for its own queries

    shape = disorder_shape(plan)
    assert shape is not None, disorder_reason(plan)
    automaton = plan.automaton()
    labels = []
    state = 0
    for step in shape.steps:
        # One event can go one way only, so following the steps meets every label.
        moves = automaton.expand(state, 1 << plan.bound.occurrences[step].bit)
        labels.append(moves.marked[0].label if moves.marked else 0)
        state = moves.marked[0].target if moves.marked else moves.unmarked
    labelling = replace(plan.labelling(automaton), forward=False)
    schemas = [schema for _, schema in plan.streams]
    settings = DisorderSettings(
        tuple(plan.bound.occurrences[step].bit for step in shape.steps),
        tuple(labels),
        shape.window,
        labelling,
        shape.forbidden,
        columns=len(plan.values),
        conditions=bool(plan.conditions),
        ties_by_arrival=len(schemas) == 1 and schemas[0].tie_break is None,
        budget=budget,
    )
    return DisorderMatcher(settings), labelling


def _shape_or_reason(plan: CompiledQuery) -> DisorderShape | str:
    query, window = plan.query, plan.window
    if query.selector is not Selector.ALL:
        return f"the selector {query.selector.name} compares all matches that end at one event"
    if plan.consumes:
        return "CONSUME BY depends on the order in which matches are found"
    if query.limit is not None:
        return "LIMIT keeps the matches that end first"
    if window is None:
        return "without WITHIN no event could ever be forgotten"
    if not plan.timed or window.slide is not None:
        return "the window is not a plain length of time"
    try:
        steps, gaps = _steps(plan.root)
    except _NoSequence as part:
        return f"the pattern holds {part}, so it is not a sequence of single events"
    if len(steps) > MOST_STEPS:
        return f"the sequence has more than {MOST_STEPS} steps"
    if plan.forgets.intersection(steps[1:-1]):
        return "the result forgets a step, so matches that differ there only would have to be remembered to report them once"
    return DisorderShape(steps, tuple(_forbidden(plan, gaps)), int(window.size))


def _steps(node: Node) -> tuple[tuple[int, ...], tuple[BoundGap, ...]]:
    """Return the occurrences of a sequence and the gaps between them."""
    match node:
        case One(occurrence=occurrence):
            return (occurrence,), ()
        case Chain(parts=parts, gaps=between):
            pieces, joints = [_steps(part) for part in parts], between
        case Loop(part=part, minimum=minimum, maximum=maximum, strategy=strategy) if minimum == maximum and minimum > 0:
            pieces, joints = [_steps(part)] * minimum, (BoundGap(strategy),) * (minimum - 1)
        case Loop():
            raise _NoSequence("a repetition")
        case _:
            raise _NoSequence("AND" if type(node).__name__ == "Mix" else "OR")
    steps, gaps = pieces[0]
    for (more, inner), joint in zip(pieces[1:], joints, strict=True):
        if joint.strategy is not Strategy.ANY:
            raise _NoSequence(f"a gap that is not free ({joint.strategy.value})")
        steps, gaps = steps + more, (*gaps, joint, *inner)
    return steps, gaps


def _forbidden(plan: CompiledQuery, gaps: tuple[BoundGap, ...]) -> list[ForbiddenEvent]:
    bits, steps = plan.forbidden_bits, len(gaps) + 1
    around = [(0, number) for number in plan.leading] + [(steps, number) for number in plan.trailing]
    checked = around + [(gap, number) for gap, rule in enumerate(gaps, 1) for number in rule.checked]
    local = [ForbiddenEvent(bit, gap) for gap, rule in enumerate(gaps, 1) for bit in rule.forbidden]
    conditions = plan.absence_conditions
    return local + [ForbiddenEvent(bits[number], gap, number if conditions[number] else -1) for gap, number in checked]
