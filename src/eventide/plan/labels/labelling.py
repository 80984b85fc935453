"""From labels to the tables that kernels read: which conditions to judge when an event with that label joins a match."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from eventide.match.dag.enumeration import Absences
from eventide.match.programs.operators import Op
from eventide.match.programs.programs import MAX_SLOTS, SIMPLY, Programs
from eventide.plan.expressions.references import ALL_EVENTS
from eventide.plan.labels.comparisons import Agreements, is_equality, simple_comparison
from eventide.plan.labels.summarising import OF_DOUBLES, Before, bounds_of, registers_of, summaries_of
from eventide.plan.sequences.structure import always_bound, followers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eventide.match.dag.judged.bounds import Bounded
    from eventide.match.dag.judged.summaries import Summaries
    from eventide.plan.sequences.automaton import Automaton
    from eventide.plan.sequences.conditions import CompiledCondition
    from eventide.plan.sequences.structure import Node


@dataclass
class Labelling:
    """The conditions and absences of a query, laid out by label.

    `forward` says in which direction a match grows: from its first event on (runs) or from its last event back (shared DAG).
    """

    automaton: Automaton
    root: Node
    variables: dict[str, int]
    conditions: Sequence[CompiledCondition]
    absence_conditions: Sequence[Sequence[CompiledCondition]]
    leading: tuple[int, ...]
    trailing: tuple[int, ...]
    constants: Sequence[int]
    shown: frozenset[str]
    forward: bool
    operands: tuple[str | None, ...] = ()
    """For each absence the variable of the operand of AND that it stands in."""
    _made_for: int = -1
    _programs: Programs | None = field(default=None)
    _agreeing: Programs | None = field(default=None)
    _absences: Absences | None = field(default=None)
    _summaries: tuple[Summaries, Bounded] | None = field(default=None)

    def label_count(self) -> int:
        """Return how many labels the automaton has met."""
        return len(self.automaton.labels)

    def programs(self) -> Programs:
        """Return the conditions as kernels read them."""
        self._refresh()
        assert self._programs is not None
        return self._programs

    def agreeing_programs(self) -> Programs:
        """Return the programs with the equalities taken out that all matches share; they come back as agreements."""
        self._refresh()
        assert self._agreeing is not None
        return self._agreeing

    def unjudged_programs(self) -> Programs:
        """Return the programs with nothing to judge but absences, for matches whose conditions are judged elsewhere."""
        programs = self.closing_programs()
        return programs._replace(closing=programs.closing[:0], closing_done=programs.closing_done[:0])

    def closing_programs(self) -> Programs:
        """Return the programs without what is judged while events join, for matches that have been judged so."""
        programs = self.programs()
        nothing = np.zeros_like(programs.pair_first)
        return programs._replace(pair_first=nothing, whole_first=nothing, judged=np.zeros_like(programs.judged))

    def checks(self, *, closing: bool) -> tuple[Programs, Absences]:
        """Return what enumeration judges."""
        return self.closing_programs() if closing else self.agreeing_programs(), self.absences()

    def absences(self) -> Absences:
        """Return the absences as kernels read them."""
        self._refresh()
        assert self._absences is not None
        return self._absences

    def visible(self) -> npt.NDArray[np.int32]:
        """Number the sets of shown variables that labels bind; -1 where a label shows nothing."""
        numbers: dict[frozenset[str], int] = {}
        result = []
        for label in self.automaton.labels:
            seen = self.shown & frozenset(label.variables)
            result.append(numbers.setdefault(seen, len(numbers)) if seen else -1)
        return np.array(result, np.int32)

    def summaries(self) -> tuple[Summaries, Bounded] | None:
        """Return what summarises a path for the conditions; None where matches grow forwards, or a NOT reads them."""
        self._refresh()
        return self._summaries

    def _make_summaries(self) -> tuple[Summaries, Bounded] | None:
        if self.forward or any(self.absence_conditions) or any(label.checked for label in self.automaton.labels):
            return None
        names = sorted(self.variables, key=self.variables.__getitem__)
        of_doubles = frozenset(column for c in self.conditions for op, _, column, _ in c.code if op in OF_DOUBLES)
        registers = [list(registers_of(condition, names, self.constants, of_doubles)) for condition in self.conditions]
        labels = [frozenset(label.variables) for label in self.automaton.labels]
        before = self._before()
        bounded = bounds_of(list(zip(self.conditions, registers, strict=True)), self.constants, labels, before)
        return summaries_of([one for group in registers for one in group], labels, before), bounded

    def _before(self) -> list[Before]:
        """Return for each label what may come before an event with it."""
        earlier, _ = self._reach()
        occurrence_labels = self.automaton.occurrence_labels
        every: dict[tuple[str, ...], frozenset[str]] = {}
        for occurrence, following in followers(self.root).items():
            own = frozenset(occurrence_labels[occurrence])
            for other in following:
                key = _written(occurrence_labels[other])
                every[key] = every[key] & own if key in every else own
        nothing: frozenset[str] = frozenset()
        return [
            Before(some, every.get(_written(label.variables), nothing))
            for some, label in zip(earlier, self.automaton.labels, strict=True)
        ]

    def _refresh(self) -> None:
        count = self.label_count()
        if count != self._made_for:
            self._programs = self._make_programs(Agreements([]))
            agreements = Agreements([] if self.forward else self._agreements())
            self._agreeing = self._make_programs(agreements) if agreements.groups else self._programs
            self._absences = self._make_absences()
            self._summaries = self._make_summaries()
            self._made_for = count

    def _reach(self) -> tuple[list[frozenset[str]], list[frozenset[str]]]:
        """Return for each label the variables that can take an earlier event, and those that can take a later one."""
        occurrence_labels = self.automaton.occurrence_labels
        later = followers(self.root)
        after: dict[tuple[str, ...], set[str]] = {}
        before: dict[tuple[str, ...], set[str]] = {}
        for occurrence, following in later.items():
            own = occurrence_labels[occurrence]
            for other in following:
                after.setdefault(_written(own), set()).update((*occurrence_labels[other], ALL_EVENTS))
                before.setdefault(_written(occurrence_labels[other]), set()).update((*own, ALL_EVENTS))
        labels = self.automaton.labels
        empty: set[str] = set()
        return (
            [frozenset(before.get(_written(label.variables), empty)) for label in labels],
            [frozenset(after.get(_written(label.variables), empty)) for label in labels],
        )

    def _agreements(self) -> list[CompiledCondition]:
        """Return the equalities between variables that every match binds."""
        bound = always_bound(self.root, self.automaton.occurrence_labels)
        return [condition for condition in self.conditions if is_equality(condition) and bound.issuperset(condition.slots)]

    def _make_programs(self, agreements: Agreements) -> Programs:
        labels = self.automaton.labels
        earlier, later = self._reach()
        # Conditions of the direction first, the whole-match versions behind them, those of absences last.
        joining = [self._joining(condition) for condition in self.conditions]
        programs = [*joining, *self.conditions, *(c for group in self.absence_conditions for c in group)]
        pairs: list[list[tuple[int, int]]] = [[] for _ in labels]
        wholes: list[list[int]] = [[] for _ in labels]
        closing = [number for number, c in enumerate(self.conditions) if c.sets or c.so_far or not c.slots]
        done = np.zeros((len(closing), len(labels)), np.uint8)
        for index, label in enumerate(labels):
            own = frozenset(label.variables)
            reached = (earlier if self.forward else later)[index] | own
            open_side = (later if self.forward else earlier)[index]
            for number, condition in enumerate(self.conditions):
                if condition in agreements.conditions:
                    continue
                if number not in closing:
                    for slot, variable in enumerate(condition.slots):
                        others = [other for other in condition.slots if other != variable]
                        if condition.paired[slot]:
                            others.append(variable)
                        if variable in own and all(other in reached for other in others):
                            pairs[index].append((number, slot))
                elif self._decided(condition, open_side):
                    wholes[index].append(number)
                    # An event that binds nothing never joins: a match of such events alone is judged when it closes.
                    if not self.forward and label.variables:
                        done[closing.index(number), index] = 1
        entries = [agreements.entries(label.variables) for label in labels]
        simple = np.array([simple_comparison(program) for program in programs], np.int32).reshape(-1, 5)
        label_has = np.zeros((len(labels), max(1, len(self.variables))), np.uint8)
        for index, label in enumerate(labels):
            for variable in label.variables:
                if variable in self.variables:
                    label_has[index, self.variables[variable]] = 1
        return Programs(
            code=np.array([step for p in programs for step in p.code], np.int64).reshape(-1, 4),
            constants=np.array([*self.constants, 0], np.int64),
            first=_offsets([len(p.code) for p in programs]),
            slots=self._slots(programs),
            paired=np.array(
                [[slot < len(p.paired) and p.paired[slot] for slot in range(MAX_SLOTS)] for p in programs], np.uint8
            ).reshape(-1, MAX_SLOTS),
            scope=np.array([-1 if p.scope is None else self.variables[p.scope] for p in programs], np.int32),
            outside=np.array([-1 if p.outside is None else p.slots.index(p.outside) for p in programs], np.int32),
            label_has=label_has,
            pair_first=_offsets([len(group) for group in pairs]),
            pair_condition=np.array([number for group in pairs for number, _ in group], np.int32),
            pair_slot=np.array([slot for group in pairs for _, slot in group], np.int32),
            whole_first=_offsets([len(group) for group in wholes]),
            whole_condition=np.array([number for group in wholes for number in group], np.int32),
            closing=np.array(closing, np.int32) + len(self.conditions),
            closing_done=done,
            simple=simple,
            judged=np.array([_judged(pairs[i], wholes[i], simple) for i in range(len(labels))], np.uint8),
            agree_first=_offsets([len(group) for group in entries]),
            agree_group=np.array([group for entry in entries for group, _ in entry], np.int32),
            agree_column=np.array([column for entry in entries for _, column in entry], np.int32),
            agree_float=np.array(agreements.floats, np.uint8),
        )

    def _slots(self, programs: Sequence[CompiledCondition]) -> npt.NDArray[np.int32]:
        slots = np.full((len(programs), MAX_SLOTS), -1, np.int32)
        for number, program in enumerate(programs):
            for slot, variable in enumerate(program.slots):
                slots[number, slot] = 0 if variable == program.outside else self.variables[variable]
        return slots

    def _decided(self, condition: CompiledCondition, open_side: frozenset[str]) -> bool:
        """Return whether an event with this label decides a condition that reads sets."""
        if not self.forward:
            # Growing backwards, sets and instances are known when none of their variables can take an earlier event.
            read = {variable for variable, _ in condition.sets} | set(condition.slots)
            return not read & open_side
        return not any(variable in open_side for variable, kind in condition.sets if kind != "first")

    def _joining(self, condition: CompiledCondition) -> CompiledCondition:
        """Return the version that is run when events join: growing forwards, FIRST without an event is not judged yet."""
        if not self.forward:
            return condition
        code = tuple(
            (int(Op.FIRST_KNOWN), a, b, c) if op == Op.FIRST and c < 0 else (op, a, b, c) for op, a, b, c in condition.code
        )
        return replace(condition, code=code)

    def _make_absences(self) -> Absences:
        labels = self.automaton.labels
        first = 2 * len(self.conditions)
        numbers: list[int] = []
        offsets = [0]
        for group in self.absence_conditions:
            numbers.extend(range(first, first + len(group)))
            first += len(group)
            offsets.append(len(numbers))
        return Absences(
            np.array(self.leading, np.int32),
            np.array(self.trailing, np.int32),
            np.array(offsets, np.int32),
            np.array(numbers, np.int32),
            _offsets([len(label.checked) for label in labels]),
            np.array([absence for label in labels for absence in label.checked], np.int32),
            self._decided_absences(),
            self._inside_operands(),
        )

    def _decided_absences(self) -> npt.NDArray[np.uint8]:
        """Return for each absence and label whether its conditions read nothing before an event with that label."""
        decided = np.zeros((len(self.absence_conditions), len(self.automaton.labels)), np.uint8)
        if self.forward:
            return decided
        earlier, _ = self._reach()
        for number, group in enumerate(self.absence_conditions):
            read = {name for c in group for name in c.slots if name != c.outside} | {name for c in group for name, _ in c.sets}
            # Inside AND the gap may reach back further than to the event that joins.
            if self._operand(number) is None:
                decided[number] = [not read & before for before in earlier]
        return decided

    def _inside_operands(self) -> npt.NDArray[np.uint8]:
        """Return for each absence and label whether the gap of the absence reaches back to an event with that label."""
        inside = np.ones((len(self.absence_conditions), len(self.automaton.labels)), np.uint8)
        for number in range(len(inside)):
            operand = self._operand(number)
            if operand is not None:
                inside[number] = [operand in label.variables for label in self.automaton.labels]
        return inside

    def _operand(self, absence: int) -> str | None:
        return self.operands[absence] if absence < len(self.operands) else None


@dataclass
class Unjudged:
    """A labelling that leaves the conditions between events to others."""

    labelling: Labelling

    def label_count(self) -> int:
        """Return how many labels the automaton has met."""
        return self.labelling.label_count()

    def programs(self) -> Programs:
        """Return programs that judge nothing."""
        return self.labelling.unjudged_programs()

    closing_programs = programs

    def checks(self, *, closing: bool) -> tuple[Programs, Absences]:  # noqa: ARG002 - of conditions nothing is judged
        """Return what enumeration judges: absences alone."""
        return self.programs(), self.absences()

    def absences(self) -> Absences:
        """Return the absences as kernels read them."""
        return self.labelling.absences()

    def summaries(self) -> tuple[Summaries, Bounded] | None:
        """Return None: there is nothing to judge."""
        return None

    def visible(self) -> npt.NDArray[np.int32]:
        """Number the sets of shown variables that labels bind."""
        return self.labelling.visible()


def _written(variables: tuple[str, ...]) -> tuple[str, ...]:
    """Return the variables of the query's text; those that planning adds do not tell steps apart (semantics.md, section 5)."""
    return tuple(variable for variable in variables if "@" not in variable)


def _judged(pairs: Sequence[tuple[int, int]], wholes: Sequence[int], simple: npt.NDArray[np.int32]) -> int:
    """Return how much there is to judge as an event joins: nothing, comparisons of two values only, or more."""
    if wholes or any(simple[number, 0] < 0 for number, _ in pairs):
        return 1
    return SIMPLY if pairs else 0


def _offsets(lengths: Sequence[int]) -> npt.NDArray[np.int32]:
    return np.concatenate([np.zeros(1, np.int32), np.cumsum(np.array(lengths, np.int32), dtype=np.int32)])
