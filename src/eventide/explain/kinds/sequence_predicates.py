"""The conditions of a sequence: predicates with a bit of the symbol mask, conditions between events, absences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eventide.explain.kinds.sequence_states import shown_variable
from eventide.pattern.sequence_printing import quote_name
from eventide.plan.matchers.registry import describe_matcher
from eventide.plan.sequences.structure import BoundAbsence

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from eventide.explain.rendering.model import Row
    from eventide.plan.plan import Plan
    from eventide.plan.sequences.conditions import CompiledCondition
    from eventide.plan.sequences.structure import Occurrence


def predicate_names(plan: Plan) -> list[str]:
    """Return a short name for each bit: the type, and the conditions where there are some."""
    names = []
    for bit in range(len(plan.predicates)):
        member = _members(plan, bit)[0]
        conditions = " AND ".join(condition.sql(dialect="spark") for condition in member.conditions)
        names.append(f"{_event_name(member)} [{conditions}]" if conditions else _event_name(member))
    return names


def _members(plan: Plan, bit: int) -> list[Occurrence | BoundAbsence]:
    return [member for member in plan.bound.members if member.bit == bit]


def _event_name(member: Occurrence | BoundAbsence) -> str:
    prefix = f"{quote_name(member.stream)}>" if member.stream is not None else ""
    return prefix + (quote_name(member.type) if member.type is not None else "any event")


def predicate_rows(plan: Plan, names: list[str]) -> Iterator[Row]:
    """Yield each condition with its bit, its class and the variables that use it."""
    for bit, name in enumerate(names):
        yield (f"bit {bit}", "local", name, _used_by(_user(member) for member in _members(plan, bit)))
    for condition, use in zip(plan.conditions, describe_matcher(plan).conditions, strict=True):
        yield ("no bit", f"correlated({use})" if use else "correlated", condition.source, _used_by(_variables(condition)))
    for condition in (condition for group in plan.absence_conditions for condition in group):
        yield ("no bit", "correlated", condition.source, _used_by(("NOT", *_variables(condition))))
    for source in plan.refined:
        yield ("no bit", "opaque(refined)", source, "")


def _used_by(users: Iterable[str]) -> str:
    shown = ", ".join(dict.fromkeys(user for user in users if user))
    return f"({shown})" if shown else ""


def _user(member: Occurrence | BoundAbsence) -> str:
    if isinstance(member, BoundAbsence):
        return "NOT"
    # A type is a variable of its own; it is worth showing where the user gave no other name.
    named = [variable for variable in member.variables[1:] if shown_variable(variable)]
    return " ".join(named or [variable for variable in member.variables if shown_variable(variable)])


def _variables(condition: CompiledCondition) -> Iterator[str]:
    # A nested FILTER gives its variables a suffix of their own: b@0 is b inside that FILTER.
    return (name.partition("@")[0] for name in (*condition.slots, *(variable for variable, _ in condition.sets)))


def absence_rows(plan: Plan) -> Iterator[Row]:
    """Yield each event that must not occur, where, and who checks it."""
    for absence in plan.bound.absences:
        event = _event_name(absence)
        text = event if absence.variable in (absence.type, "event") else f"{event} AS {quote_name(absence.variable)}"
        conditions = [condition.sql(dialect="spark") for condition in (*absence.conditions, *absence.correlated)]
        if conditions:
            text += f" FILTER {' AND '.join(conditions)}"
        place = "between two steps"
        if absence.index in plan.bound.leading:
            place = "before the first event, inside the window"
        elif absence.index in plan.bound.trailing:
            place = "after the last event, inside the window"
        checked = "checked on matches" if absence.index in plan.checked_absences else "inside the automaton"
        yield (f"NOT {text}", place, f"bit {absence.bit}", checked)
