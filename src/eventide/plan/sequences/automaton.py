"""The complex event automaton, made I/O-deterministic lazily: subsets of configurations, cached as they are met.

Transitions carry *labels*, the set of variables that take the event (and the absences to check on the gap before it), so that
different paths through the automaton always mean different matches (Abella 2022, 3.4, over label sets instead of one mark).
A configuration that is complete and cannot move is not kept in a state: acceptance belongs to the transition, so final states
have no skip loop (erratum no-late-ends) and events that concern nobody leave every state as it is.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from eventide.pattern import Strategy
from eventide.plan.sequences.size import MAX_PLACES, MAX_STATES, depth, too_large
from eventide.plan.sequences.steps import Configuration, Skipped, StepMachine
from eventide.records import record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from eventide.errors import LimitError
    from eventide.plan.sequences.structure import Node


@dataclass(frozen=True, order=True)
class Label:
    """Who takes an event: variables, and absences to be checked on the gap before it."""

    variables: tuple[str, ...]
    checked: tuple[int, ...] = ()


UNMARKED = Label(())


@record
class Transition:
    """One marked move of a deterministic state."""

    label: int
    target: int
    accepting: bool


@record
class Expansion:
    """All that a deterministic state does on one combination of predicate bits.

    `unmarked` is the move that binds nothing: the event is skipped, or taken by variables that the query forgets.
    """

    marked: tuple[Transition, ...]
    unmarked: int
    unmarked_accepting: bool


@dataclass
class Automaton:
    """A lazily determinised automaton. State 0 is the start, which is entered anew at every event."""

    machine: StepMachine
    occurrence_labels: Sequence[tuple[str, ...]]
    contiguous: bool = False
    """Never skip an event (the STRICT selector)."""
    refusal: Callable[[int, str], LimitError] = too_large
    """Makes the error of an automaton that grows beyond a limit."""
    most_configurations: int = MAX_PLACES
    labels: list[Label] = field(default_factory=lambda: [UNMARKED])
    states: list[tuple[Configuration, ...]] = field(default_factory=list)
    """Sorted, so that labels and states get the same numbers in every process."""
    _configurations: int = 0
    _label_numbers: dict[Label, int] = field(default_factory=lambda: {UNMARKED: 0})
    _state_numbers: dict[frozenset[Configuration], int] = field(default_factory=dict)
    _expansions: dict[tuple[int, int], Expansion] = field(default_factory=dict)
    _skips: dict[tuple[int, int, frozenset[int]], int] = field(default_factory=dict)

    @classmethod
    def build(
        cls,
        root: Node,
        occurrence_bits: Sequence[int],
        occurrence_labels: Sequence[tuple[str, ...]],
        *,
        contiguous: bool,
        refusal: Callable[[int, str], LimitError] = too_large,
    ) -> Automaton:
        """Make the automaton of a bound pattern."""
        automaton = cls(StepMachine(root, occurrence_bits), occurrence_labels, contiguous, refusal, MAX_PLACES // depth(root))
        automaton._number(frozenset((automaton.machine.initial,)))
        return automaton

    def expand(self, state: int, bits: int) -> Expansion:
        """Return the moves of a state on an event with these predicate bits."""
        known = self._expansions.get((state, bits))
        if known is None:
            known = self._expansions[state, bits] = self._expand(state, bits)
        return known

    def skip(self, state: int, bits: int, eligible: frozenset[int]) -> int:
        """Return the state after skipping an event of which only the labels in `eligible` could be taken, or -1."""
        key = (state, bits, eligible)
        known = self._skips.get(key)
        if known is None:
            known = self._skips[key] = self._number(self._skipped(state, bits, eligible))
        return known

    def _expand(self, state: int, bits: int) -> Expansion:
        targets: dict[int, set[Configuration]] = {}
        for configuration in self.states[state]:
            for move in self.machine.moves(configuration, bits):
                label = self.label_of(move.occurrence, move.checked)
                targets.setdefault(label, set()).add(move.target)
        unmarked_taken = targets.pop(0, set())
        skipped = self._skipped(state, bits, None) if state else frozenset()
        unmarked = self._number(self._kept(unmarked_taken) | skipped)
        marked = tuple(
            Transition(label, self._number(self._kept(group)), self._any_accepting(group))
            for label, group in sorted(targets.items())
        )
        return Expansion(marked, unmarked, self._any_accepting(unmarked_taken))

    def _skipped(self, state: int, bits: int, eligible: frozenset[int] | None) -> frozenset[Configuration]:
        if self.contiguous:
            return frozenset()
        left = set()
        for configuration in self.states[state]:
            blocked = any(
                move.strategy is Strategy.NEXT
                and (eligible is None or self.label_of(move.occurrence, move.checked) in eligible)
                for move in self.machine.moves(configuration, bits)
            )
            left.add(self.machine.skip(configuration, Skipped(bits, taken=False, blocked=blocked)))
        return self._kept(left)

    def _kept(self, configurations: Iterable[Configuration]) -> frozenset[Configuration]:
        return frozenset(configuration for configuration in configurations if self.machine.goes_on(configuration))

    def _any_accepting(self, configurations: Iterable[Configuration]) -> bool:
        return any(self.machine.accepting(configuration) for configuration in configurations)

    def label_of(self, occurrence: int, checked: frozenset[int]) -> int:
        """Return the number of the label of an event at an occurrence, with the absences to check on the gap before it."""
        label = Label(self.occurrence_labels[occurrence], tuple(sorted(checked)))
        number = self._label_numbers.get(label)
        if number is None:
            number = self._label_numbers[label] = len(self.labels)
            self.labels.append(label)
        return number

    def _number(self, configurations: frozenset[Configuration]) -> int:
        if not configurations:
            return -1
        number = self._state_numbers.get(configurations)
        if number is None:
            self._configurations += len(configurations)
            if self._configurations > self.most_configurations:
                raise self.refusal(self.most_configurations, "configurations of automaton states")
            if len(self.states) >= MAX_STATES:
                raise self.refusal(MAX_STATES, "automaton states")
            number = self._state_numbers[configurations] = len(self.states)
            self.states.append(tuple(sorted(configurations, key=repr)))
        return number
