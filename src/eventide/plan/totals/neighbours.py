"""Which conditions relate neighbouring events of a match only, so that results over all matches need no enumeration.

What may follow what in a match is read from the pattern: nodes are configurations with the variables that took the last event. A
condition is *near* when every instance of it reads two events that follow each other directly, or the first event of the match
and another one; propagation then judges it when the later of the two joins.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from eventide.match.programs.operators import Op
from eventide.plan.expressions.references import ALL_EVENTS
from eventide.plan.sequences.steps import StepMachine
from eventide.records import record

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from eventide.plan.sequences.conditions import CompiledCondition
    from eventide.plan.sequences.steps import Configuration
    from eventide.plan.sequences.structure import Node

    Place = tuple[Configuration, frozenset[str]]

MOST_PLACES = 2_000
EVERY_BIT = (1 << 62) - 1


class Near(Enum):
    """When a near condition is judged, and on which two events."""

    BETWEEN = "between"
    """On an event and the one before it, whenever one joins."""
    BEFORE = "before"
    """On an event of `last` and the one before it; without one, on it alone."""
    AFTER = "after"
    """On an event of `first` and the one behind it; without one, on it alone when the match ends."""
    START = "start"
    """On an event of `last` and the first event of the match."""


@record
class JudgedCondition:
    """How a condition is judged; `first` and `last` are the variables of the earlier and the later event."""

    near: Near
    first: str
    last: str


@dataclass
class Succession:
    """What may follow what in the matches of a pattern."""

    places: dict[Place, list[Place]] = field(default_factory=dict)
    starts: list[Place] = field(default_factory=list)
    _later: dict[Place, frozenset[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, root: Node, bits: Sequence[int], labels: Sequence[tuple[str, ...]]) -> Succession | None:
        """Walk a pattern; None when it has too many configurations."""
        machine = StepMachine(root, bits)
        found = cls()

        def after(configuration: Configuration) -> list[Place]:
            moves = machine.moves(configuration, EVERY_BIT)
            return list(dict.fromkeys((move.target, frozenset(labels[move.occurrence])) for move in moves))

        found.starts = after(machine.initial)
        pending = list(found.starts)
        while pending:
            place = pending.pop()
            if place in found.places:
                continue
            if len(found.places) >= MOST_PLACES:
                return None
            found.places[place] = after(place[0])
            pending.extend(found.places[place])
        return found

    def with_variable(self, variable: str) -> list[Place]:
        """Return the places whose event takes the variable."""
        return [place for place in self.places if variable in place[1]]

    def following(self, place: Place) -> list[Place]:
        """Return the places of the next event that takes any variable."""
        result: dict[Place, None] = {}
        seen: set[Place] = set()
        pending = list(self.places[place])
        while pending:
            other = pending.pop()
            if other in seen:
                continue
            seen.add(other)
            if other[1]:
                result.setdefault(other)
            else:
                pending.extend(self.places[other])
        return list(result)

    def later(self, place: Place) -> frozenset[str]:
        """Return the variables that any event behind the place can take."""
        known = self._later.get(place)
        if known is None:
            seen: set[Place] = set()
            pending = list(self.places[place])
            while pending:
                other = pending.pop()
                if other not in seen:
                    seen.add(other)
                    pending.extend(self.places[other])
            known = self._later[place] = frozenset().union(*(other[1] for other in seen))
        return known

    def single(self, variable: str) -> bool:
        """Return whether a match binds at most one event to the variable."""
        return not any(variable in self.later(place) for place in self.with_variable(variable))

    def ends_at_once(self, variable: str, other: str) -> bool:
        """Return whether, once an event that does not take `variable` has come behind one that does, none takes `other`."""
        return not any(
            variable not in behind[1] and other in self.later(behind)
            for place in self.with_variable(variable)
            for behind in self.following(place)
        )

    def begins_at_once(self, variable: str, other: str) -> bool:
        """Return whether `other`, where any event behind one of `variable` takes it, is taken by the very next event."""
        return not any(
            other not in behind[1] and other in self.later(behind)
            for place in self.with_variable(variable)
            for behind in self.following(place)
        )

    def adjacent(self, one: str, other: str) -> bool:
        """Return whether no event of `other` comes two or more events behind one of `one`."""
        return not any(other in self.later(behind) for place in self.with_variable(one) for behind in self.following(place))

    def opens(self, variable: str) -> bool:
        """Return whether only the first event of a match takes the variable."""
        return not any(variable in behind[1] for following in self.places.values() for behind in following)

    def together(self, one: str, other: str) -> bool:
        """Return whether one event can take both variables."""
        return any({one, other} <= place[1] for place in self.places)


def judge_near(condition: CompiledCondition, succession: Succession) -> JudgedCondition | None:
    """Return how a condition is judged on two events, or None when it needs more."""
    kinds = {kind for _, kind in condition.sets}
    read = {variable for variable, _ in condition.sets}
    if len(condition.slots) == 1 and not condition.sets:
        return _of_one(condition, succession)
    if len(condition.slots) == 2 and not condition.sets and not condition.so_far and not any(condition.paired):
        return _of_two(*condition.slots, succession)
    plain = len(condition.slots) == 1 and not any(condition.paired) and not condition.so_far
    if plain and len(read) == 1 and ALL_EVENTS not in read and kinds <= {"first", "last"}:
        return _of_edge(condition.slots[0], read.pop(), kinds, succession)
    return None


def _of_one(condition: CompiledCondition, succession: Succession) -> JudgedCondition | None:
    variable = condition.slots[0]
    sets = {op for op, _, _, _ in condition.code if op >= Op.COUNT}
    next_only = condition.paired[0] and not condition.so_far
    # LAST so far is the event before, as PREV is.
    last_only = condition.so_far and not condition.paired[0] and sets == {int(Op.LAST)}
    if (next_only or last_only) and succession.ends_at_once(variable, variable):
        return JudgedCondition(Near.BETWEEN, variable, variable)
    return None


def _of_two(one: str, other: str, succession: Succession) -> JudgedCondition | None:
    if succession.adjacent(one, other) and succession.adjacent(other, one):
        return JudgedCondition(Near.BETWEEN, one, other)
    if succession.together(one, other):
        return None
    for first, last in ((one, other), (other, one)):
        if succession.opens(first):
            return JudgedCondition(Near.START, first, last)
    return None


def _of_edge(slot: str, variable: str, kinds: Iterable[str], succession: Succession) -> JudgedCondition | None:
    """Judge `slot` against the FIRST or LAST event of another variable."""
    if succession.together(slot, variable):
        return None
    slot_later = any(slot in succession.later(place) for place in succession.with_variable(variable))
    slot_earlier = any(variable in succession.later(place) for place in succession.with_variable(slot))
    single = succession.single(variable)
    if not slot_earlier and (single or set(kinds) == {"last"}) and succession.ends_at_once(variable, slot):
        return JudgedCondition(Near.BEFORE, variable, slot)
    if not slot_later and (single or set(kinds) == {"first"}) and succession.begins_at_once(slot, variable):
        return JudgedCondition(Near.AFTER, slot, variable)
    return None
