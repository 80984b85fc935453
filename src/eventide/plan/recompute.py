"""Which queries recomputation can run, and what each of their conditions becomes there."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from eventide.match.operators import Op
from eventide.match.recompute.matcher import RecomputeMatcher
from eventide.match.recompute.shape import (
    MIRRORED,
    ChainRelation,
    Compare,
    Part,
    RecomputeShape,
    Relation,
    Residual,
    Side,
    Step,
    Value,
)
from eventide.pattern import Consumption, Selector, Strategy, WindowUnit
from eventide.plan.choice import RECOMPUTE, SHARED_DAG, Choice
from eventide.plan.references import ALL_EVENTS
from eventide.plan.structure import BoundGap, Chain, Loop, Node, One

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eventide.match.protocol import MatcherSettings
    from eventide.plan.automaton import Automaton
    from eventide.plan.conditions import Compiled
    from eventide.plan.plan import Plan

MOST_STEPS = 60

SMALL_WINDOW = 6
"""Windows with fewer events are left to the automaton, which is faster there (docs/design/0010)."""

INDEX = "index"
CHAIN = "chain"
FIRST_OR_LAST = "head/tail"
RESIDUAL = "residual"

_REASON = "conditions between events of a loop become bits between events, so that no partial match is kept that they forbid"

_COMPARES = {
    Op.EQ_I: Compare.EQ,
    Op.EQ_F: Compare.EQ,
    Op.LT_I: Compare.LT,
    Op.LT_F: Compare.LT,
    Op.LE_I: Compare.LE,
    Op.LE_F: Compare.LE,
}
_DOUBLES = (Op.EQ_F, Op.LT_F, Op.LE_F)


@dataclass(frozen=True)
class SequencePart:
    """A step of the pattern: an occurrence, how often it may come, and the gap before it."""

    occurrence: int
    minimum: int
    maximum: int | None
    gap: BoundGap


class _NoSequence(Exception):  # noqa: N818 - tells the reason, never leaves this module
    """The pattern is no sequence of events and loops of one event."""


def recompute_reason(plan: Plan) -> str | None:
    """Return why recomputation cannot run a query, or None where it can."""
    parts = _parts_or_reason(plan)
    return parts if isinstance(parts, str) else None


def condition_kinds(plan: Plan) -> tuple[str, ...]:
    """Return for each condition between events what it becomes under recomputation."""
    parts = _parts_or_reason(plan)
    assert not isinstance(parts, str), parts
    split = _Split(plan, parts)
    return tuple(split.kinds)


def preferred_choice(plan: Plan) -> Choice:
    """Return the choice of a plan that was left to the planner: recomputation where loops with conditions would explode."""
    parts = _parts_or_reason(plan)
    looped = not isinstance(parts, str) and any(part.maximum != 1 for part in parts)
    if isinstance(parts, str) or not looped or plan.query.step_window is not None or not _all_shown(plan, parts):
        return plan.choice
    if not {*_Split(plan, parts).kinds} - {RESIDUAL}:
        return plan.choice
    window = plan.window
    if window is not None and window.unit is WindowUnit.EVENTS:
        # WITHIN n events reaches over n + 1 of them.
        if window.size + 1 < SMALL_WINDOW:
            return replace(plan.choice, reason=f"{plan.choice.reason}; the window is too small for recomputation to pay")
        return Choice(RECOMPUTE, _REASON)
    small = f"where the first events of a table show less than {SMALL_WINDOW} in a window, the {SHARED_DAG} takes over"
    return Choice(RECOMPUTE, f"{_REASON}; {small}", fallback=SHARED_DAG)


def make_recompute_matcher(plan: Plan, settings: MatcherSettings, automaton: Automaton) -> RecomputeMatcher:
    """Return the recomputation matcher of a plan that has a shape for it."""
    parts = _parts_or_reason(plan)
    assert not isinstance(parts, str), parts
    split = _Split(plan, parts)
    steps = tuple(
        Step(
            plan.bound.occurrences[part.occurrence].bit,
            part.minimum,
            part.maximum,
            automaton.label_of(part.occurrence, frozenset(part.gap.checked)),
            automaton.label_of(part.occurrence, frozenset()),
            part.gap.forbidden,
        )
        for part in parts
    )
    shape = RecomputeShape(
        steps, tuple(split.relations), tuple(split.chains), tuple(split.residuals), _all_shown(plan, parts)
    )
    return RecomputeMatcher(settings, shape)


def _all_shown(plan: Plan, parts: Sequence[SequencePart]) -> bool:
    """Return whether the result tells all steps apart, so that no two matches show the same."""
    shown = [plan.output.kept & frozenset(plan.bound.occurrences[part.occurrence].variables) for part in parts]
    return len(set(shown)) == len(shown) and frozenset() not in shown


def _parts_or_reason(plan: Plan) -> tuple[SequencePart, ...] | str:
    query = plan.query
    if query.selector is not Selector.ALL:
        return f"the selector {query.selector.name} compares matches with each other"
    if query.consumption is not Consumption.NONE:
        return "CONSUME BY forgets events that matches have taken"
    if plan.trailing:
        return "with NOT at the end, later events decide which matches hold"
    try:
        parts = _parts(plan.root)
    except _NoSequence as part:
        return f"the pattern holds {part}"
    if len(parts) > MOST_STEPS:
        return f"the sequence has more than {MOST_STEPS} steps"
    return parts


def _parts(node: Node) -> tuple[SequencePart, ...]:
    """Return the steps of a sequence, or say what it holds instead."""
    nothing = BoundGap(Strategy.ANY)
    match node:
        case One(occurrence=occurrence):
            return (SequencePart(occurrence, 1, 1, nothing),)
        case Loop(minimum=0):
            raise _NoSequence("a part that may be missing")
        case Loop(part=One(occurrence=occurrence), minimum=minimum, maximum=maximum, strategy=strategy):
            if maximum != 1 and strategy is not Strategy.ANY:
                raise _NoSequence(f"a loop that may not skip events ({strategy.value})")
            return (SequencePart(occurrence, minimum, maximum, nothing),)
        case Loop(part=part, minimum=1, maximum=1):
            return _parts(part)
        case Loop():
            raise _NoSequence("a loop of several steps")
        case Chain(parts=nodes, gaps=gaps):
            steps = list(_parts(nodes[0]))
            for inner, gap in zip(nodes[1:], gaps, strict=True):
                if gap.strategy is not Strategy.ANY:
                    raise _NoSequence(f"a gap that may not skip events ({gap.strategy.value})")
                first, *more = _parts(inner)
                steps += [replace(first, gap=gap), *more]
            return tuple(steps)
        case _:
            raise _NoSequence("AND" if type(node).__name__ == "Mix" else "OR")


@dataclass(frozen=True)
class _Operand:
    """One side of a comparison: bare, the next event, or the first or last one of a variable."""

    op: Op
    variable: str
    column: int
    later: bool
    so_far: bool
    widened: bool


class _Split:
    """Sorts the conditions of a plan into relations, chains and residuals."""

    def __init__(self, plan: Plan, parts: Sequence[SequencePart]) -> None:
        self._names = plan.variables
        self._steps: dict[str, list[int]] = {ALL_EVENTS: list(range(len(parts)))}
        for step, part in enumerate(parts):
            for variable in plan.bound.occurrences[part.occurrence].variables:
                self._steps.setdefault(variable, []).append(step)
        self.relations: list[Relation] = []
        self.chains: list[ChainRelation] = []
        self.residuals: list[Residual] = []
        self.kinds = [self._place(number, condition) for number, condition in enumerate(plan.conditions)]

    def _place(self, number: int, condition: Compiled) -> str:
        kind = self._compared(condition)
        if kind is None:
            self.residuals.append(self._residual(number, condition))
            return RESIDUAL
        return kind

    def _compared(self, condition: Compiled) -> str | None:
        """Put a plain comparison of two events where it belongs; returns None when it is none."""
        *operands, compared = condition.code
        compare = _COMPARES.get(Op(compared[0]))
        if compare is None:
            return None
        sides = self._operands(condition, operands)
        if sides is None:
            return None
        values = [Value(side.column, compared[0] in _DOUBLES, side.widened) for side in sides]
        left, right = sides
        if any(len(self._steps[side.variable]) != 1 for side in sides):
            return None
        steps = [self._steps[side.variable][0] for side in sides]
        if left.variable == right.variable:
            return self._inside(sides, values, compare, steps[0])
        if steps[0] == steps[1] or left.later or right.later or left.so_far or right.so_far:
            return None
        made = [Side(step, _part(side.op), value) for step, side, value in zip(steps, sides, values, strict=True)]
        if steps[0] < steps[1]:
            self.relations.append(Relation(made[0], compare, made[1]))
        else:
            self.relations.append(Relation(made[1], MIRRORED[compare], made[0]))
        return INDEX if all(side.part is Part.ALL for side in made) else FIRST_OR_LAST

    def _inside(self, sides: list[_Operand], values: list[Value], compare: Compare, step: int) -> str | None:
        """Put a comparison of two events of one variable where it belongs."""
        left, right = sides
        set_reads = [side for side in sides if side.so_far]
        if len(set_reads) == 1 and not left.later and not right.later:
            # FIRST and LAST of the events before: the head of the chain, or the event just before.
            earlier = sides.index(set_reads[0])
            from_first = set_reads[0].op is Op.FIRST
        elif left.later != right.later and not {left.op, right.op} & {Op.FIRST, Op.LAST}:
            earlier, from_first = (1 if left.later else 0), False
        else:
            return None
        ordered = compare if earlier == 0 else MIRRORED[compare]
        self.chains.append(ChainRelation(step, values[earlier], ordered, values[1 - earlier], from_first))
        return FIRST_OR_LAST if from_first else CHAIN

    def _operands(self, condition: Compiled, code: Sequence[tuple[int, int, int, int]]) -> list[_Operand] | None:
        operands: list[_Operand] = []
        for op, a, b, c in code:
            if op == Op.TO_F and operands and not operands[-1].widened:
                operands[-1] = replace(operands[-1], widened=True)
            elif op in (Op.LOAD_I, Op.LOAD_F):
                operands.append(_Operand(Op(op), condition.slots[a], b, bool(c), so_far=False, widened=False))
            elif op in (Op.FIRST, Op.LAST):
                operands.append(_Operand(Op(op), self._names[a], b, later=False, so_far=c >= 0, widened=False))
            else:
                return None
        return operands if len(operands) == 2 else None

    def _residual(self, number: int, condition: Compiled) -> Residual:
        # The scope of a nested FILTER needs no look: all steps have events, and those that the condition reads lie inside.
        read = {*condition.slots, *(variable for variable, _ in condition.sets)}
        steps = sorted({step for variable in read for step in self._steps[variable]})
        # An instance is known when the last of its events joins, if every variable has the events of one step only.
        lone = all(len(self._steps[variable]) == 1 for variable in condition.slots)
        by_event = bool(condition.slots) and not condition.sets and not condition.so_far and lone
        return Residual(number, tuple(steps), by_event)


def _part(op: Op) -> Part:
    if op is Op.FIRST:
        return Part.HEAD
    return Part.TAIL if op is Op.LAST else Part.ALL
