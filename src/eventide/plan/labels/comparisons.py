"""Conditions that compare two values and nothing else, which kernels judge without running a program."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from eventide.match.programs.operators import Op

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eventide.plan.sequences.conditions import CompiledCondition

LOADS = (Op.LOAD_I, Op.LOAD_F)


def simple_comparison(condition: CompiledCondition) -> tuple[int, int, int, int, int]:
    """Return (op, left slot, left column, right column, paired) of a comparison of two values, op -1 for other conditions."""
    other = (-1, 0, 0, 0, 0)
    if len(condition.code) != 3 or condition.scope is not None or condition.outside is not None:
        return other
    (first, left, left_column, left_next), (second, right, right_column, right_next), (op, *_) = condition.code
    if first not in LOADS or second not in LOADS or not Op.EQ_I <= op <= Op.SAME_F:
        return other
    if len(condition.slots) == 1 and left_next != right_next:
        return (op, left_next, left_column, right_column, 1)
    if len(condition.slots) == 2 and left != right and not left_next and not right_next and not any(condition.paired):
        return (op, left, left_column, right_column, 0)
    return other


def is_equality(condition: CompiledCondition) -> bool:
    """Return whether the condition says that a value of one variable's events equals one of another's."""
    op, _, _, _, paired = simple_comparison(condition)
    return op in (Op.EQ_I, Op.EQ_F) and not paired


@dataclass
class Agreements:
    """Groups of (variable, column) whose events all have one value in every match, because equalities tie them together.

    The equalities must be between variables that every match binds: then all events of both sides are equal, not just pairs.
    """

    conditions: list[CompiledCondition]
    groups: list[set[tuple[str, int]]] = field(default_factory=list)
    floats: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        for condition in self.conditions:
            op, left, left_column, right_column, _ = simple_comparison(condition)
            ends = {(condition.slots[left], left_column), (condition.slots[1 - left], right_column)}
            self._tie(ends, int(op == Op.EQ_F))

    def _tie(self, ends: set[tuple[str, int]], is_float: int) -> None:
        touched = [number for number, group in enumerate(self.groups) if group & ends]
        merged = ends.union(*(self.groups[number] for number in touched))
        self.groups = [group for number, group in enumerate(self.groups) if number not in touched] + [merged]
        self.floats = [known for number, known in enumerate(self.floats) if number not in touched] + [is_float]

    def entries(self, variables: Sequence[str]) -> list[tuple[int, int]]:
        """Return the (group, column) in which an event that these variables take must agree with others."""
        members = set(variables)
        return [
            (number, column)
            for number, group in enumerate(self.groups)
            for variable, column in sorted(group)
            if variable in members
        ]
