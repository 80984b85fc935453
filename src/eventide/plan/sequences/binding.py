"""Binding a pattern: occurrences get numbers and variables, conditions find the events they are about."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from eventide.errors import BindError, Span, did_you_mean
from eventide.pattern import (
    Absence,
    Both,
    Either,
    Event,
    Expression,
    Filtered,
    Gap,
    Named,
    Pattern,
    Repeat,
    Sequence,
)
from eventide.pattern.expressions import conjunct_trees
from eventide.pattern.sequences import positive_variables
from eventide.plan.expressions.references import ALL_EVENTS, Reference, references, span_of
from eventide.plan.sequences.structure import (
    Alternatives,
    BoundAbsence,
    BoundGap,
    Chain,
    Loop,
    Mix,
    Node,
    Occurrence,
    One,
    occurrences_in,
)
from eventide.records import record

if TYPE_CHECKING:
    from collections.abc import Iterable

    from eventide.pattern import Query


@record
class Correlated:
    """A condition over several events: its tree, what it reads, and the scope variable that must have an event."""

    tree: exp.Expression
    references: tuple[Reference, ...]
    scope: str | None
    source: str


@record
class BoundPattern:
    """A pattern whose names are resolved. `variables` are those of the result, in the order they were written."""

    root: Node
    occurrences: tuple[Occurrence, ...]
    absences: tuple[BoundAbsence, ...]
    leading: tuple[int, ...]
    trailing: tuple[int, ...]
    conditions: tuple[Correlated, ...]
    variables: tuple[str, ...]

    @property
    def members(self) -> tuple[Occurrence | BoundAbsence, ...]:
        """All that has a predicate: what takes events, and what forbids them."""
        return (*self.occurrences, *self.absences)


def bind_pattern(query: Query) -> BoundPattern:
    """Resolve the variables of a query's pattern."""
    return _PatternBinder(query.text or None).bind(query)


class _PatternBinder:
    def __init__(self, text: str | None) -> None:
        self.text = text
        self.occurrences: list[Occurrence] = []
        self.absences: list[BoundAbsence] = []
        self.conditions: list[Correlated] = []
        self.named: dict[str, None] = {}
        self.directly_named: set[int] = set()
        self.scopes = 0
        self._pending: list[Absence] = []
        self._elsewhere: set[str] = set()

    def bind(self, query: Query) -> BoundPattern:
        pattern, outer = query.pattern, []
        self._elsewhere = positive_variables(pattern)
        while isinstance(pattern, Filtered):
            outer.append(pattern)
            pattern = pattern.pattern
        leading: tuple[int, ...] = ()
        trailing: tuple[int, ...] = ()
        if isinstance(pattern, Sequence) and (pattern.leading or pattern.trailing):
            if query.window is None:
                absence = (pattern.leading or pattern.trailing)[0]
                raise BindError(
                    "NOT_WITHOUT_WITHIN",
                    "NOT at the start or the end of a pattern needs a window that says how far it looks.",
                    text=self.text,
                    span=absence.span,
                    hint="Add WITHIN, for example WITHIN 10 minutes.",
                )
            leading = tuple(self._absence(absence) for absence in pattern.leading)
            trailing = tuple(self._absence(absence) for absence in pattern.trailing)
            pattern = Sequence(pattern.parts, pattern.gaps, span=pattern.span) if len(pattern.parts) > 1 else pattern.parts[0]
        root = self._node(pattern, in_loop=False)
        everything = range(len(self.occurrences))
        for filtered in reversed(outer):
            self._filter(filtered.condition, everything, in_loop=False, whole=True)
        self._bind_absences()
        checked = {absence.index for absence in self.absences if absence.correlated} | set(leading) | set(trailing)
        root = _split_absences(root, checked)
        self._mark_operands(root, None)
        unnamed = {
            occurrence.type
            for occurrence in self.occurrences
            if occurrence.type and occurrence.index not in self.directly_named
        }
        return BoundPattern(
            root,
            tuple(self.occurrences),
            tuple(self.absences),
            leading,
            trailing,
            tuple(self.conditions),
            self._result_variables(unnamed),
        )

    def _result_variables(self, unnamed: set[str]) -> tuple[str, ...]:
        ordered: dict[str, None] = {}
        for occurrence in self.occurrences:
            for variable in occurrence.variables:
                if variable in self.named or variable in unnamed:
                    ordered.setdefault(variable)
        return tuple(ordered)

    def _name(self, index: int, *variables: str) -> None:
        """Let more variables take the events of an occurrence."""
        occurrence = self.occurrences[index]
        self.occurrences[index] = replace(occurrence, variables=tuple(dict.fromkeys((*occurrence.variables, *variables))))

    def _node(self, pattern: Pattern, *, in_loop: bool) -> Node:
        match pattern:
            case Event(type=type_name, stream=stream, span=span):
                # An event of any type needs some variable for the automaton to tell taking it from skipping it.
                variables = (type_name if type_name is not None else "@event",)
                occurrence = Occurrence(len(self.occurrences), type_name, stream, variables, span=span)
                self.occurrences.append(occurrence)
                return One(occurrence.index)
            case Named(pattern=inner, variable=variable):
                first = len(self.occurrences)
                node = self._node(inner, in_loop=in_loop)
                for index in range(first, len(self.occurrences)):
                    self._name(index, variable)
                self.named.setdefault(variable)
                if isinstance(_without_loops(inner), Event):
                    self.directly_named.update(range(first, len(self.occurrences)))
                return node
            case Filtered(pattern=inner, condition=condition):
                first = len(self.occurrences)
                node = self._node(inner, in_loop=in_loop)
                self._filter(condition, range(first, len(self.occurrences)), in_loop=in_loop, whole=False)
                return node
            case Sequence(parts=parts, gaps=gaps, leading=before, trailing=after):
                for absence in (*before, *after):
                    raise BindError(
                        "NOT_POSITION",
                        "NOT at the edge of a part of the pattern has no neighbour on one side.",
                        text=self.text,
                        span=absence.span,
                        hint="Put NOT between two steps, or at the start or end of the whole pattern.",
                    )
                nodes = tuple(self._node(part, in_loop=in_loop) for part in parts)
                return Chain(nodes, tuple(self._gap(gap) for gap in gaps))
            case Either(parts=parts):
                return Alternatives(tuple(self._node(part, in_loop=in_loop) for part in parts))
            case Both(parts=parts, strategy=strategy):
                return Mix(tuple(self._node(part, in_loop=in_loop) for part in parts), strategy)
            case Repeat(pattern=inner, minimum=minimum, maximum=maximum, strategy=strategy):
                repeated = in_loop or maximum is None or maximum > 1
                return Loop(self._node(inner, in_loop=repeated), minimum, maximum, strategy)

    def _gap(self, gap: Gap) -> BoundGap:
        return BoundGap(gap.strategy, tuple(self._absence(absence) for absence in gap.absences))

    def _absence(self, absence: Absence) -> int:
        variable = absence.variable or absence.event.type or "event"
        bound = BoundAbsence(len(self.absences), absence.event.type, absence.event.stream, variable, span=absence.span)
        self.absences.append(bound)
        self._pending.append(absence)
        return bound.index

    def _bind_absences(self) -> None:
        known = {variable for occurrence in self.occurrences for variable in occurrence.variables}
        for index, absence in enumerate(self._pending):
            if absence.condition is None:
                continue
            bound = self.absences[index]
            own = own_names(bound, known)
            alone: list[exp.Expression] = []
            correlated: list[exp.Expression] = []
            for part in conjunct_trees(absence.condition.tree):
                read = references(part, self.text)
                for reference in read:
                    if reference.variable not in own and reference.variable not in known and reference.variable != ALL_EVENTS:
                        raise self._unknown_variable(reference, known | {bound.variable})
                    if reference.kind != "bare" and reference.variable in own:
                        raise BindError(
                            "AGGREGATE_OF_NEGATED",
                            f"{reference.kind.upper()} cannot read {reference.variable}, which never has events.",
                            text=self.text,
                            span=span_of(reference.node),
                            hint=f"Use an attribute, such as {bound.variable}.attribute.",
                        )
                (alone if all(reference.variable in own for reference in read) else correlated).append(part)
            self.absences[index] = replace(bound, conditions=tuple(alone), correlated=tuple(correlated))

    def _mark_operands(self, node: Node, operand: Node | None) -> None:
        """Give the events of an operand of AND a variable of their own where a checked NOT looks back to the last of them."""
        match node:
            case One():
                return
            case Mix(parts=parts):
                for part in parts:
                    self._mark_operands(part, part)
                return
            case Loop(part=part):
                self._mark_operands(part, operand)
                return
            case Chain(gaps=gaps) if operand is not None:
                marker = f"@operand{min(occurrences_in(operand))}.{max(occurrences_in(operand))}"
                for index in (index for gap in gaps for index in gap.checked):
                    self.absences[index] = replace(self.absences[index], operand=marker)
                    for number in occurrences_in(operand):
                        self._name(number, marker)
            case _:
                pass
        for part in node.parts:
            self._mark_operands(part, operand)

    def _filter(self, condition: Expression, inside: range, *, in_loop: bool, whole: bool) -> None:
        known = {variable for index in inside for variable in self.occurrences[index].variables}
        for part in conjunct_trees(condition.tree):
            read = references(part, self.text)
            self._check_known(part, read, known, condition.span)
            variables = {reference.variable for reference in read}
            if len(variables) == 1 and all(reference.kind == "bare" for reference in read):
                variable = variables.pop()
                for index in inside:
                    occurrence = self.occurrences[index]
                    if variable in occurrence.variables:
                        self.occurrences[index] = replace(occurrence, conditions=(*occurrence.conditions, part))
                continue
            if in_loop:
                raise BindError(
                    "FILTER_IN_LOOP",
                    "A condition over several events inside a repeated group would have to hold for each round.",
                    text=self.text,
                    span=condition.span or span_of(part),
                    hint="Write the condition in a FILTER outside the repeated group.",
                )
            if whole:
                self.conditions.append(Correlated(part, tuple(read), None, part.sql(dialect="spark")))
            else:
                self._scoped(part, inside)

    def _scoped(self, part: exp.Expression, inside: range) -> None:
        """Judge a nested condition on the events of its own sub-pattern: give them variables of their own."""
        scope = f"@{self.scopes}"
        self.scopes += 1
        source = part.sql(dialect="spark")
        part = part.copy()
        used = {reference.variable for reference in references(part, self.text)} - {ALL_EVENTS}
        for index in inside:
            own = [f"{variable}{scope}" for variable in sorted(used) if variable in self.occurrences[index].variables]
            self._name(index, *own, scope)
        for column in list(part.find_all(exp.Column)):
            if column.table:
                column.set("table", exp.to_identifier(f"{column.table}{scope}", quoted=True))
            elif column.name in used:
                column.set("this", exp.to_identifier(f"{column.name}{scope}", quoted=True))
        for count in list(part.find_all(exp.Count)):
            if isinstance(count.this, exp.Star):
                count.set("this", exp.column(exp.to_identifier(scope, quoted=True)))
        self.conditions.append(Correlated(part, tuple(references(part, self.text)), scope, source))

    def _check_known(self, part: exp.Expression, read: list[Reference], known: set[str], span: Span | None) -> None:
        for reference in read:
            if reference.variable != ALL_EVENTS and reference.variable not in known:
                raise self._unknown_variable(reference, known)
        if not read:
            raise BindError(
                "CONDITION_WITHOUT_VARIABLE",
                f"The condition {part.sql(dialect='spark')} does not read any event.",
                text=self.text,
                span=span_of(part) or span,
                hint="Compare an attribute of a variable, such as a.price > 3.",
            )

    def _unknown_variable(self, reference: Reference, known: Iterable[str]) -> BindError:
        visible = [name for name in sorted(known) if "@" not in name]
        span: Span | None = span_of(reference.node)
        column = reference.argument if isinstance(reference.argument, exp.Column) else None
        if column is not None and column.args.get("table") is not None:
            span = span_of(column.args["table"]) or span
        if reference.variable in self._elsewhere:
            return BindError(
                "UNKNOWN_VARIABLE",
                f"The variable {reference.variable} lies outside the part of the pattern that this FILTER belongs to.",
                text=self.text,
                span=span,
                hint=f"Put the parts in parentheses before FILTER, (... {reference.variable} ...) FILTER ..., or filter last.",
            )
        return BindError(
            "UNKNOWN_VARIABLE",
            f"There is no variable {reference.variable} here.",
            text=self.text,
            span=span,
            hint=did_you_mean(reference.variable, visible),
        )


def own_names(absence: BoundAbsence, bound: Iterable[str]) -> set[str]:
    """Return the names that mean the negated event; its type does so unless the match binds that type or a name was given."""
    return {absence.variable} | ({absence.type} - set(bound) if absence.type else set())


def _without_loops(pattern: Pattern) -> Pattern:
    while isinstance(pattern, Repeat | Filtered | Named):
        pattern = pattern.pattern
    return pattern


def _split_absences(node: Node, checked: set[int]) -> Node:
    """Sort the absences of each gap: those checked on matches, and those the automaton itself keeps out."""
    match node:
        case One():
            return node
        case Chain(parts=parts, gaps=gaps):
            return Chain(
                tuple(_split_absences(part, checked) for part in parts),
                tuple(
                    BoundGap(
                        gap.strategy,
                        tuple(index for index in gap.forbidden if index not in checked),
                        tuple(index for index in gap.forbidden if index in checked),
                    )
                    for gap in gaps
                ),
            )
        case Alternatives(parts=parts):
            return Alternatives(tuple(_split_absences(part, checked) for part in parts))
        case Mix(parts=parts, strategy=strategy):
            return Mix(tuple(_split_absences(part, checked) for part in parts), strategy)
        case Loop(part=part, minimum=minimum, maximum=maximum, strategy=strategy):
            return Loop(_split_absences(part, checked), minimum, maximum, strategy)
