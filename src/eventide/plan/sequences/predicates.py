"""Predicates over one event: one bit of the symbol mask each, computed by the relational engine."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from eventide.errors import BindError, did_you_mean
from eventide.plan.expressions.columns import check_kinds, require_boolean, single_event
from eventide.plan.sequences.structure import Alternatives, BoundGap, Chain, Loop, Mix, Node, One
from eventide.records import record

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlglot import exp

    from eventide.plan.expressions.schema import StreamSchema
    from eventide.plan.sequences.binding import BoundPattern
    from eventide.plan.sequences.structure import BoundAbsence, Occurrence

MAX_BITS = 62


@record
class Predicate:
    """What an event must be to set a bit: of a stream, of a type, and with conditions (over plain columns) that hold."""

    stream: str | None
    type: str | None
    conditions: tuple[exp.Expression, ...]

    def key(self) -> tuple[str | None, str | None, tuple[str, ...]]:
        """Return what makes two predicates the same."""
        return (self.stream, self.type, tuple(sorted(condition.sql(dialect="spark") for condition in self.conditions)))


def assign_predicates(
    bound: BoundPattern, schema: StreamSchema | None, streams: Mapping[str, StreamSchema], text: str | None
) -> tuple[BoundPattern, tuple[Predicate, ...]]:
    """Return the pattern with a bit for every occurrence and absence, and the predicates in bit order."""
    predicates: list[Predicate] = []
    numbers: dict[tuple[str | None, str | None, tuple[str, ...]], int] = {}
    bits: list[int] = []
    for member in bound.members:
        _check_source(member, streams, text)
        conditions = []
        for condition in member.conditions:
            if schema is None:
                conditions.append(condition)
            else:
                require_boolean(condition, check_kinds(condition, schema, text), text)
                conditions.append(single_event(condition, schema, text))
        predicate = Predicate(member.stream, member.type, tuple(conditions))
        key = predicate.key()
        if key not in numbers:
            numbers[key] = len(predicates)
            predicates.append(predicate)
        bits.append(numbers[key])
    if len(predicates) > MAX_BITS:
        raise BindError(
            "TOO_MANY_PREDICATES",
            f"The pattern has {len(predicates)} different event predicates; {MAX_BITS} is the most there can be.",
            hint="Use one variable with OR in its condition in place of many event types.",
        )
    taking, forbidding = bits[: len(bound.occurrences)], bits[len(bound.occurrences) :]
    numbered = replace(
        bound,
        occurrences=tuple(replace(one, bit=bit) for one, bit in zip(bound.occurrences, taking, strict=True)),
        absences=tuple(replace(one, bit=bit) for one, bit in zip(bound.absences, forbidding, strict=True)),
    )
    return numbered, tuple(predicates)


def _check_source(member: Occurrence | BoundAbsence, streams: Mapping[str, StreamSchema], text: str | None) -> None:
    if not streams:
        return
    if member.stream is not None and member.stream not in streams:
        raise BindError(
            "UNKNOWN_STREAM",
            f"There is no stream {member.stream}.",
            text=text,
            span=member.span,
            hint=did_you_mean(member.stream, streams),
        )
    asked = [streams[member.stream]] if member.stream is not None else list(streams.values())
    declared = [name for schema in asked for name in (schema.types or ())]
    if member.type is not None and all(schema.types is not None for schema in asked) and member.type not in declared:
        raise BindError(
            "UNKNOWN_TYPE",
            f"The events have no type {member.type}.",
            text=text,
            span=member.span,
            hint=did_you_mean(member.type, declared),
        )


def check_untyped_streams(bound: BoundPattern, streams: Mapping[str, StreamSchema], text: str | None) -> None:
    """Refuse several event types over a stream that has no type column."""
    for name, schema in streams.items():
        if schema.type is not None:
            continue
        types: dict[str, Occurrence | BoundAbsence] = {}
        for member in bound.members:
            if member.type is not None and member.stream in (None, name):
                types.setdefault(member.type, member)
        if len(types) > 1:
            second = list(types.values())[1]
            raise BindError(
                "NO_TYPE_COLUMN",
                f"The pattern names the types {', '.join(types)}, but no column says the type of an event.",
                text=text,
                span=second.span,
                hint='Say which column it is: et.events(data, time=..., type="kind").',
            )


def with_bits(node: Node, absences: Sequence[BoundAbsence], checked: Mapping[int, int]) -> Node:
    """Replace the numbers of forbidden absences by their bits, and number the checked ones as kernels know them."""
    match node:
        case One():
            return node
        case Chain(parts=parts, gaps=gaps):
            return Chain(
                tuple(with_bits(part, absences, checked) for part in parts),
                tuple(
                    BoundGap(
                        gap.strategy,
                        # A partition key can make all conditions of a NOT true: then its bit says all.
                        tuple(absences[i].bit for i in (*gap.forbidden, *(i for i in gap.checked if i not in checked))),
                        tuple(checked[index] for index in gap.checked if index in checked),
                    )
                    for gap in gaps
                ),
            )
        case Alternatives(parts=parts) | Mix(parts=parts):
            return replace(node, parts=tuple(with_bits(part, absences, checked) for part in parts))
        case Loop(part=part):
            return replace(node, part=with_bits(part, absences, checked))
