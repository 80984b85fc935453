"""The sequences that recomputation searches, and what the conditions of a query become in them: bits, or programs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from eventide.match.programs.operators import Op
from eventide.match.recompute.shape import (
    MIRRORED,
    ChainRelation,
    Compare,
    Part,
    Relation,
    Residual,
    Side,
    Value,
)
from eventide.pattern import Selector
from eventide.plan.expressions.references import ALL_EVENTS
from eventide.plan.recompute.part_sequences import NoSequences, PartSequence, sequences_of
from eventide.records import record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eventide.plan.compiled import CompiledQuery
    from eventide.plan.sequences.conditions import CompiledCondition

MOST_STEPS = 60
INDEX = "index"
CHAIN = "chain"
FIRST_OR_LAST = "head/tail"
RESIDUAL = "residual"

_COMPARES = {
    Op.EQ_I: Compare.EQ,
    Op.EQ_F: Compare.EQ,
    Op.LT_I: Compare.LT,
    Op.LT_F: Compare.LT,
    Op.LE_I: Compare.LE,
    Op.LE_F: Compare.LE,
}
_DOUBLES = (Op.EQ_F, Op.LT_F, Op.LE_F)


@record
class _Operand:
    """One side of a comparison: bare, the next event, or the first or last one of a variable."""

    op: Op
    variable: str
    column: int
    later: bool
    so_far: bool
    widened: bool


class PlacedConditions:
    """The conditions of a plan for one of its sequences, sorted into relations, chains and residuals.

    `kinds` has an entry for each condition: None where the sequence has no event of a variable that it asks, so that it always
    holds. `impossible` says that some condition never does: it compares an event with the first or last of no events.
    """

    def __init__(self, plan: CompiledQuery, parts: PartSequence) -> None:
        self._names = plan.variables
        self._last = len(parts) - 1
        self._steps: dict[str, list[int]] = {ALL_EVENTS: list(range(len(parts)))}
        for step, part in enumerate(parts):
            for variable in plan.bound.occurrences[part.occurrence].variables:
                self._steps.setdefault(variable, []).append(step)
        self.relations: list[Relation] = []
        self.chains: list[ChainRelation] = []
        self.residuals: list[Residual] = []
        self.impossible = False
        self.kinds: list[str | None] = [self._place(number, condition) for number, condition in enumerate(plan.conditions)]
        self.steps = [self._steps_read(condition) for condition in plan.conditions]
        """[condition]: the steps whose events it compares."""

    def _steps_read(self, condition: CompiledCondition) -> frozenset[int]:
        return frozenset(step for variable in condition.slots for step in self._steps_of(variable))

    def _steps_of(self, variable: str) -> list[int]:
        return self._steps.get(variable, [])

    def _place(self, number: int, condition: CompiledCondition) -> str | None:
        asked = condition.slots if condition.scope is None else (*condition.slots, condition.scope)
        if not all(self._steps_of(variable) for variable in asked):
            return None
        kind = self._compared(condition)
        if kind is None:
            self.residuals.append(self._residual(number, condition))
            return RESIDUAL
        return kind

    def _compared(self, condition: CompiledCondition) -> str | None:
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
        if any(len(self._steps_of(side.variable)) != 1 for side in sides):
            # FIRST and LAST of no event are null; only where an instance can be vacuous may the condition hold all the same.
            missing = not all(self._steps_of(side.variable) for side in sides)
            self.impossible |= missing and not any(side.later or side.so_far for side in sides)
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

    def _operands(self, condition: CompiledCondition, code: Sequence[tuple[int, int, int, int]]) -> list[_Operand] | None:
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

    def _residual(self, number: int, condition: CompiledCondition) -> Residual:
        read = {*condition.slots, *(variable for variable, _ in condition.sets)}
        steps = sorted({step for variable in read for step in self._steps_of(variable)})
        if not steps:
            # Sets of no event are judged once, when a step is bound inside the FILTER that the condition stands in.
            steps = [self._last] if condition.scope is None else self._steps_of(condition.scope)[-1:]
        # An instance is known when the last of its events joins, if every variable has the events of one step only.
        lone = all(len(self._steps_of(variable)) == 1 for variable in condition.slots)
        by_event = bool(condition.slots) and not condition.sets and not condition.so_far and lone
        return Residual(number, tuple(steps), by_event)


def _part(op: Op) -> Part:
    if op is Op.FIRST:
        return Part.HEAD
    return Part.TAIL if op is Op.LAST else Part.ALL


@record
class SearchedSequence:
    """A sequence that is searched, with what the conditions become in it."""

    parts: PartSequence
    placed: PlacedConditions

    @property
    def looped(self) -> bool:
        """Whether some step repeats."""
        return any(part.maximum != 1 for part in self.parts)

    @property
    def pruned(self) -> bool:
        """Whether bits decide some condition."""
        return bool({*self.placed.kinds} - {RESIDUAL, None})


def searched_or_reason(query: CompiledQuery) -> tuple[SearchedSequence, ...] | str:
    """Return the sequences that can match, or why a query has none to search."""
    if query.query.selector is not Selector.ALL:
        return f"the selector {query.query.selector.name} compares matches with each other"
    if query.consumes:
        return "CONSUME BY forgets events that matches have taken"
    if query.trailing:
        return "with NOT at the end, later events decide which matches hold"
    try:
        sequences = sequences_of(query.root)
    except NoSequences as instead:
        return f"the pattern holds {instead}"
    if any(len(parts) > MOST_STEPS for parts in sequences):
        return f"the sequence has more than {MOST_STEPS} steps"
    searched = [SearchedSequence(parts, PlacedConditions(query, parts)) for parts in sequences]
    return tuple(sequence for sequence in searched if not sequence.placed.impossible)


def all_shown(query: CompiledQuery, searched: Sequence[SearchedSequence]) -> bool:
    """Return whether the result tells all steps and all sequences apart, so that no two matches show the same."""
    shown = [
        [query.output.kept & frozenset(query.bound.occurrences[part.occurrence].variables) for part in sequence.parts]
        for sequence in searched
    ]
    sequences = {frozenset(steps) for steps in shown}
    steps_apart = all(len({*steps}) == len(steps) and frozenset() not in steps for steps in shown)
    # Every step has an event, so sequences that show other steps show other matches.
    return steps_apart and len(sequences) == len(shown)
