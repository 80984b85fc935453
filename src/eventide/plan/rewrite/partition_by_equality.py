"""An equality that ties all events of a match to one value becomes a partition key.

`a.id = b.id AND b.id = c.id` means that a match only ever holds events of one id, so each id can be matched alone. That is
the same result only where events of other ids could not have mattered: no contiguity (they break it), no windows that count
events, no consumption, no part that may be missing (its equality would be void), and every NOT tied to the same value. Under
*next* each event must be tied to one that was taken before it, or it could have been taken whatever its value is. Keys of
PARTITION BY keep their equalities: they have a partition of the events without a value, which are equal to nothing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from eventide.pattern import Consumption, Selector, Strategy
from eventide.plan.expressions.schema import Kind
from eventide.plan.sequences.structure import (
    Alternatives,
    Chain,
    Loop,
    Mix,
    Node,
    One,
    nullable,
    repeatable,
    uses_strategy,
)

if TYPE_CHECKING:
    from eventide.pattern import Query
    from eventide.plan.expressions.schema import StreamSchema
    from eventide.plan.sequences.binding import BoundPattern
    from eventide.plan.sequences.bound_query import BoundQuery
    from eventide.plan.sequences.structure import BoundAbsence

KEY_KINDS = (Kind.INTEGER, Kind.STRING, Kind.DATE, Kind.TIMESTAMP, Kind.BOOLEAN)


def partition_by_equality(bound: BoundQuery) -> BoundQuery:
    """Return the query with the columns that may be partition keys, and without the equalities that they make true."""
    schema, pattern = bound.schema, bound.pattern
    if schema is None or not _sound_for(bound.query, pattern.root) or len(pattern.occurrences) < 2:
        return bound
    keys = []
    attributes = dict.fromkeys(
        attribute for condition in pattern.conditions if (attribute := _equality(condition.tree, schema)) is not None
    )
    for attribute in attributes:
        if attribute not in bound.keys and schema.columns[attribute] in KEY_KINDS and _ties_all(pattern, attribute, schema):
            pattern = _without(pattern, attribute, schema)
            keys.append(attribute)
    return replace(bound, pattern=pattern, derived_keys=(*bound.derived_keys, *keys)) if keys else bound


def _without(pattern: BoundPattern, attribute: str, schema: StreamSchema) -> BoundPattern:
    """Return a pattern without the equalities that a key makes true."""

    def tied(absence: BoundAbsence) -> BoundAbsence:
        left = tuple(tree for tree in absence.correlated if _equality(tree, schema) != attribute)
        return replace(absence, tied=True, correlated=left)

    conditions = tuple(c for c in pattern.conditions if c.scope or _equality(c.tree, schema) != attribute)
    return replace(pattern, conditions=conditions, absences=tuple(map(tied, pattern.absences)))


def _sound_for(query: Query, root: Node) -> bool:
    if query.consumption is not Consumption.NONE or query.selector is Selector.STRICT:
        return False
    if query.window is not None and not query.window.unit.timed:
        return False
    return _rules_allow(root)


def _rules_allow(node: Node) -> bool:
    match node:
        case One():
            return True
        case Alternatives():
            return False
        case Chain(parts=parts, gaps=gaps):
            plain = all(gap.strategy is not Strategy.STRICT for gap in gaps)
            return plain and all(not nullable(part) and _rules_allow(part) for part in parts)
        case Mix(parts=parts, strategy=strategy):
            return strategy is Strategy.ANY and all(not nullable(part) and _rules_allow(part) for part in parts)
        case Loop(part=part, strategy=strategy):
            return strategy is not Strategy.STRICT and not nullable(node) and _rules_allow(part)


def _mixes(node: Node) -> bool:
    match node:
        case One():
            return False
        case Mix():
            return True
        case Loop(part=part):
            return _mixes(part)
        case Chain(parts=parts) | Alternatives(parts=parts):
            return any(_mixes(part) for part in parts)


def _equality(tree: exp.Expression, schema: StreamSchema) -> str | None:
    """Return the attribute that the condition sets equal between two events, or None."""
    if not isinstance(tree, exp.EQ):
        return None
    left, right = _column(tree.this), _column(tree.expression)
    if left is None or right is None:
        return None
    one, other = schema.resolve(left.name), schema.resolve(right.name)
    return one if one is not None and one == other else None


def _column(node: exp.Expression) -> exp.Column | None:
    if isinstance(node, exp.Anonymous) and str(node.this).upper() == "NEXT" and len(node.expressions) == 1:
        node = node.expressions[0]
    return node if isinstance(node, exp.Column) and node.table else None


def _ties_all(bound: BoundPattern, attribute: str, schema: StreamSchema) -> bool:
    """Return whether each occurrence is set equal, directly, to an earlier one, and each NOT to some variable."""
    linked: set[tuple[str, str]] = set()
    # What *next* may skip must be decided when the event comes, so by events that were taken before it.
    next_decides = uses_strategy(bound.root, Strategy.NEXT)
    if next_decides and _mixes(bound.root):
        return False
    for condition in bound.conditions:
        if condition.scope is None and _equality(condition.tree, schema) == attribute:
            left, right = _column(condition.tree.this), _column(condition.tree.expression)
            assert left is not None and right is not None
            linked |= {(left.table, right.table), (right.table, left.table)}
    first = bound.occurrences[0]
    alone = 0 in repeatable(bound.root) and not any((variable, variable) in linked for variable in first.variables)
    if next_decides and alone:
        return False
    for occurrence in bound.occurrences[1:]:
        earlier = bound.occurrences[: occurrence.index]
        if not any(
            (mine, other) in linked and mine != other
            for mine in occurrence.variables
            for previous in earlier
            for other in previous.variables
            if mine not in previous.variables and other not in occurrence.variables
        ):
            return False
    return all(
        any(_equality(tree, schema) == attribute for tree in absence.correlated) for absence in bound.absences
    )
