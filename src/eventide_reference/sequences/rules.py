"""A query with its conditions put in place: those of matches, and those of absences."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from eventide.errors import BindError, did_you_mean
from eventide.pattern import Consumption
from eventide_reference.sequences.conditions import Condition, conjuncts
from eventide_reference.sequences.layout import Chain, Layout, Leaf, Loop, Node
from eventide_reference.sequences.traces import Prefix, can_be_missing

if TYPE_CHECKING:
    from eventide.errors import Span
    from eventide.pattern import Event, Query


@dataclass(frozen=True, slots=True)
class ScopedCondition:
    """A condition and the FILTER whose pattern it is judged on (None: the whole pattern)."""

    condition: Condition
    scope: int | None


@dataclass(slots=True)
class AbsenceRule:
    """Which events an absence forbids; `name` is what its conditions call the event."""

    event: Event
    name: str
    conditions: list[ScopedCondition] = field(default_factory=list)

    @property
    def is_local(self) -> bool:
        """Whether the event alone decides."""
        return all(scoped.condition.variables <= {self.name} and not _counts_all(scoped.condition) for scoped in self.conditions)


def _counts_all(condition: Condition) -> bool:
    return any(reading.kind == "SUPPORT" for reading in condition.readings)


class Rules:
    """The numbered pattern of a query with the conditions of its matches and of its absences.

    >>> from eventide.pattern import Event, Query
    >>> Rules(Query(Event("A"))).conditions
    []
    """

    def __init__(self, query: Query) -> None:
        self.query = query
        self.layout = Layout(query.pattern)
        self.start = Prefix(self.layout.root)
        self.conditions: list[ScopedCondition] = []
        self.absences = self._absence_rules()
        for number, scope in enumerate(self.layout.scopes):
            for condition in conjuncts(scope.condition):
                self._place(condition, number, scope.condition.span)
        self._check_edges()

    def scope_labels(self, scope: int | None) -> dict[int, frozenset[str]]:
        """Return the variables that each occurrence of a scope binds inside it."""
        if scope is None:
            return {number: occurrence.labels for number, occurrence in enumerate(self.layout.occurrences)}
        return self.layout.scopes[scope].labels

    def _absence_rules(self) -> list[AbsenceRule]:
        bound = self.layout.variables()
        rules = []
        for number, absence in enumerate(self.layout.absences):
            # A type that the pattern also binds means the bound events; the absence then has no name of its own.
            unnamed = absence.event.type if absence.event.type not in bound else None
            rule = AbsenceRule(absence.event, absence.variable or unnamed or f"absence {number}")
            if absence.condition is not None:
                own = absence.variable or absence.event.type or ""
                for condition in conjuncts(absence.condition, default=own):
                    # The absence's own condition may call the event by its type even where that type is bound elsewhere.
                    if absence.variable is None and absence.event.type in condition.variables:
                        rule.name = own
                    self._check_names(condition, bound | {rule.name}, absence.condition.span)
                    rule.conditions.append(ScopedCondition(condition, None))
            rules.append(rule)
        return rules

    def _place(self, condition: Condition, number: int, span: Span | None) -> None:
        """Give a condition to the absences whose event it mentions, otherwise to the matches."""
        scope = self.layout.scopes[number]
        self._check_loop(condition, scope.in_loop, span)
        bound = frozenset[str]().union(*scope.labels.values())
        negated = {self.absences[absence].name for absence in scope.absences} & condition.variables - bound
        if len(negated) > 1:
            raise BindError(
                "SEVERAL_NEGATED_VARIABLES",
                f"A condition may mention one negated variable, this one mentions {' and '.join(sorted(negated))}.",
                text=self.query.text or None,
                span=span,
                hint="Compare each of them with a variable that is not negated.",
            )
        self._check_names(condition, bound | negated, span)
        if not negated:
            self.conditions.append(ScopedCondition(condition, number))
        for absence in scope.absences:
            if self.absences[absence].name in negated:
                self.absences[absence].conditions.append(ScopedCondition(condition, number))

    def _check_names(self, condition: Condition, known: frozenset[str], span: Span | None) -> None:
        for name in sorted(condition.variables - known):
            raise BindError(
                "UNKNOWN_VARIABLE",
                f"There is no variable {name}.",
                text=self.query.text or None,
                span=span,
                hint=did_you_mean(name, sorted(known)),
            )

    def _check_loop(self, condition: Condition, in_loop: bool, span: Span | None) -> None:
        if in_loop and not condition.reads_one_event:
            raise BindError(
                "FILTER_IN_LOOP",
                "A condition over several events cannot be judged inside a repeated group.",
                text=self.query.text or None,
                span=span,
                hint="Write the FILTER outside the group.",
            )

    def _check_edges(self) -> None:
        leading, trailing = edge_absences(self.layout.root)
        if (leading or trailing) and self.query.window is None:
            raise BindError(
                "NOT_NEEDS_WITHIN",
                "NOT at the edge of a pattern needs a window.",
                text=self.query.text or None,
                hint="Add WITHIN 10 minutes.",
            )
        if trailing and self.query.consumption is not Consumption.NONE:
            raise BindError(
                "CONSUME_WITH_TRAILING_NOT",
                "NOT at the end of a pattern cannot be combined with CONSUME BY.",
                text=self.query.text or None,
                hint="Leave out CONSUME BY.",
            )


def edge_absences(node: Node) -> tuple[set[int], set[int]]:
    """Return the absences that can stand before the first and after the last event of a match.

    >>> edge_absences(Chain((Leaf(0),), (), (), (0,), (1,)))
    ({0}, {1})
    """
    prefix = Prefix(node)
    first = {number for longer in prefix.extensions() for number in longer.steps[0].gap.absences}
    return first, _last(node)


def _last(node: Node) -> set[int]:
    match node:
        case Leaf():
            return set()
        case Loop(part=part):
            return _last(part)
        case Chain(parts=parts):
            found = set(node.trailing)
            for part in reversed(parts):
                found |= _last(part)
                if not can_be_missing(part):
                    break
            return found
        case _:
            return {number for part in node.parts for number in _last(part)}
