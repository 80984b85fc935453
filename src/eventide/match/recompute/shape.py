"""What the recomputation matcher searches for: steps, the relations between their events, and what is judged by programs."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from eventide.match.recompute.bit_rows.comparisons import EQUAL, GREATER, GREATER_EQUAL, LESS, LESS_EQUAL, SWAPPED
from eventide.records import record

UNBOUNDED = 1 << 30


class Part(IntEnum):
    """Which events of a step a relation is about. For a step of one event all three are that event."""

    ALL = 0
    HEAD = 1
    TAIL = 2


class Compare(IntEnum):
    """How two values compare."""

    LT = LESS
    LE = LESS_EQUAL
    GT = GREATER
    GE = GREATER_EQUAL
    EQ = EQUAL


MIRRORED = {compare: Compare(SWAPPED[compare]) for compare in Compare}


@record
class Value:
    """A value column as it is compared."""

    column: int
    is_double: bool
    widened: bool = False
    """Whole numbers that are compared as doubles."""


@record
class Side:
    """One side of a relation: which events of which step, and what is compared of them."""

    step: int
    part: Part
    value: Value


@record
class Relation:
    """A condition between the events of two steps that bit rows decide; the earlier step stands first."""

    earlier: Side
    compare: Compare
    later: Side


@record
class ChainRelation:
    """A condition inside a loop: between consecutive events, or between the first one and every other."""

    step: int
    earlier: Value
    compare: Compare
    later: Value
    from_first: bool = False


@record
class Residual:
    """A condition that its program judges: which steps it reads, and whether its instances can be judged one event at a time."""

    condition: int
    steps: tuple[int, ...]
    by_event: bool


@record
class Step:
    """One event, or a loop of events, of one bit. The label of the first event may differ: it knows which NOTs lie before it."""

    bit: int
    minimum: int
    maximum: int | None
    first_label: int
    label: int
    forbidden_before: tuple[int, ...] = ()

    @property
    def is_loop(self) -> bool:
        """Whether it can take more than one event."""
        return self.maximum != 1


@record
class RecomputeShape:
    """A sequence of steps with its relations."""

    steps: tuple[Step, ...]
    relations: tuple[Relation, ...] = ()
    chains: tuple[ChainRelation, ...] = ()
    residuals: tuple[Residual, ...] = ()


class Shape(NamedTuple):
    """A shape as kernels read it. A *target* is a part of a step, numbered part * steps + step.

    A *family* is the rows of one relation in one direction: from an event of one target to the events of another that fit it.
    """

    minimum: npt.NDArray[np.int64]
    maximum: npt.NDArray[np.int64]
    loop: npt.NDArray[np.uint8]
    label: npt.NDArray[np.int32]
    """[step, 2]: the label of the first event of a step and that of the others."""
    gap_forbids: npt.NDArray[np.uint8]
    """[step]: whether a NOT without conditions between events lies in the gap before it."""
    family_from: npt.NDArray[np.int32]
    family_to: npt.NDArray[np.int32]
    term_first: npt.NDArray[np.int32]
    """[family + 1]: where its comparisons begin."""
    terms: npt.NDArray[np.int32]
    """[term, 4]: the column of the event, that of the candidates, how they compare, and the dimension of the latter in a tree.

    One array, because every further one makes all kernels take longer to compile.
    """
    bound_first: npt.NDArray[np.int32]
    """[target + 1]: where the families that begin at a target begin."""
    bound_family: npt.NDArray[np.int32]
    chain: npt.NDArray[np.int32]
    """[step]: the family from an event of a loop to those that may stand just before it, or -1."""
    from_first: npt.NDArray[np.int32]
    """[step]: the family from the first event of a loop to those that may follow it anywhere, or -1."""
    residual: npt.NDArray[np.int32]
    residual_steps: npt.NDArray[np.int64]
    """[residual]: the steps that it reads, as bits."""
    residual_by_event: npt.NDArray[np.uint8]


class Family(NamedTuple):
    """A family while a shape is laid out."""

    origin: int
    target: int
    terms: list[tuple[int, int, int]]


def lay_out(shape: RecomputeShape) -> tuple[Shape, list[tuple[int, Value]]]:
    """Return a shape as kernels read it, and the value columns to gather, each for the events of one step."""
    steps = len(shape.steps)
    columns: dict[tuple[int, Value], int] = {}

    def column(step: int, value: Value) -> int:
        return columns.setdefault((step, value), len(columns))

    between: dict[tuple[int, int], Family] = {}
    for relation in shape.relations:
        one, other = _target(shape, relation.earlier), _target(shape, relation.later)
        first, second = column(relation.earlier.step, relation.earlier.value), column(relation.later.step, relation.later.value)
        forward = between.setdefault((one, other), Family(one, other, []))
        forward.terms.append((first, second, int(relation.compare)))
        backward = between.setdefault((other, one), Family(other, one, []))
        backward.terms.append((second, first, int(MIRRORED[relation.compare])))
    families = list(between.values())
    chain, from_first = np.full(steps, -1, np.int32), np.full(steps, -1, np.int32)
    for inner in shape.chains:
        place = from_first if inner.from_first else chain
        if place[inner.step] < 0:
            place[inner.step] = len(families)
            families.append(Family(-1, inner.step, []))
        early, late = column(inner.step, inner.earlier), column(inner.step, inner.later)
        if inner.from_first:
            term = (early, late, int(inner.compare))
        else:
            term = (late, early, int(MIRRORED[inner.compare]))
        families[place[inner.step]].terms.append(term)
    bound = [[number for number, family in enumerate(families) if family.origin == target] for target in range(3 * steps)]
    terms = [(*term, dimension) for family in families for term, dimension in zip(family.terms, _dimensions(family), strict=True)]
    laid_out = Shape(
        np.array([step.minimum for step in shape.steps], np.int64),
        np.array([UNBOUNDED if step.maximum is None else step.maximum for step in shape.steps], np.int64),
        np.array([step.is_loop for step in shape.steps], np.uint8),
        np.array([(step.first_label, step.label) for step in shape.steps], np.int32),
        np.array([bool(step.forbidden_before) for step in shape.steps], np.uint8),
        np.array([family.origin for family in families], np.int32),
        np.array([family.target for family in families], np.int32),
        _offsets([len(family.terms) for family in families]),
        np.array(terms, np.int32).reshape(-1, 4),
        _offsets([len(group) for group in bound]),
        np.array([family for group in bound for family in group], np.int32),
        chain,
        from_first,
        np.array([residual.condition for residual in shape.residuals], np.int32),
        np.array([sum(1 << step for step in residual.steps) for residual in shape.residuals], np.int64),
        np.array([residual.by_event for residual in shape.residuals], np.uint8),
    )
    return laid_out, list(columns)


def _target(shape: RecomputeShape, side: Side) -> int:
    part = side.part if shape.steps[side.step].is_loop else Part.ALL
    return int(part) * len(shape.steps) + side.step


def _dimensions(family: Family) -> list[int]:
    """Number the columns of the candidates of a family; 0 is the candidate itself."""
    columns = list(dict.fromkeys(term[1] for term in family.terms))
    return [1 + columns.index(term[1]) for term in family.terms]


def _offsets(lengths: list[int]) -> npt.NDArray[np.int32]:
    return np.concatenate([np.zeros(1, np.int32), np.cumsum(np.array(lengths, np.int32), dtype=np.int32)])
