"""All matches of a pattern in one partition: every trace is laid over the events in every way and judged."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from eventide.pattern import Strategy
from eventide_reference.sequences.conditions import Bindings, Condition, Row, holds, instances, is_determined
from eventide_reference.sequences.traces import START, Gap, Prefix, Step

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from eventide.pattern import Event
    from eventide_reference.sequences.rules import Rules, ScopedCondition


@dataclass(frozen=True, slots=True)
class FoundMatch:
    """A match in positions of its partition: first and last event, and what each variable of the pattern binds."""

    start: int
    end: int
    bindings: tuple[tuple[str, tuple[int, ...]], ...]

    @property
    def support(self) -> frozenset[int]:
        """All positions that are bound."""
        return frozenset(position for _, positions in self.bindings for position in positions)


@dataclass(slots=True)
class Search:
    """The search in one partition; `fits` tells whether a row is an event of a type, `inside` and `near` are the windows."""

    rules: Rules
    rows: list[Row]
    fits: Callable[[Event, Row], bool]
    inside: Callable[[int, int], bool]
    near: Callable[[int, int], bool]
    _blocked: dict[tuple[Prefix, tuple[int, ...], int], bool] = field(default_factory=dict)

    def matches(self) -> set[FoundMatch]:
        """Return the matches of the pattern: inside the window, with all conditions true."""
        return set(self._grow((), ()))

    def _grow(self, prefixes: tuple[Prefix, ...], positions: tuple[int, ...]) -> Iterator[FoundMatch]:
        """Yield the matches whose trace begins with the given steps at the given positions."""
        if positions and self._is_match(prefixes[-1], positions):
            yield self._match(prefixes[-1].steps, positions)
        here = prefixes[-1] if prefixes else self.rules.start
        for position in range(positions[-1] + 1 if positions else 0, len(self.rows)):
            if positions and not (self.inside(positions[0], position) and self.near(positions[-1], position)):
                # Later events are further away still.
                break
            if not positions and not self.inside(position, position):
                # It lies in a hole between hopping windows, where no match can begin.
                continue
            for longer in here.extensions():
                if self._can_lie(prefixes, longer.steps[-1], positions, position):
                    yield from self._grow((*prefixes, longer), (*positions, position))

    # Gaps (section 3)

    def _can_lie(self, prefixes: tuple[Prefix, ...], step: Step, positions: tuple[int, ...], position: int) -> bool:
        """Tell whether the step's type and the rules of its gap allow an event; conditions are not asked."""
        if not self.fits(self.rules.layout.occurrences[step.occurrence].event, self.rows[position]):
            return False
        gap = step.gap
        if gap.predecessor == START:
            return True
        if gap.strategy is Strategy.STRICT and position != positions[gap.predecessor] + 1:
            return False
        if any(self._is_ruled_out(number, self._between(gap, positions, position)) for number in gap.absences):
            return False
        return gap.strategy is not Strategy.NEXT or not any(
            self._is_blocked(prefixes, positions, skipped)
            for skipped in self._between(gap, positions, position)
            if skipped not in positions
        )

    def _between(self, gap: Gap, positions: tuple[int, ...], position: int) -> range:
        return range(positions[gap.predecessor] + 1, position)

    def _is_ruled_out(self, absence: int, candidates: range) -> bool:
        """Tell whether an absence that looks at one event alone forbids the gap."""
        rule = self.rules.absences[absence]
        return rule.is_local and any(self._is_forbidden(absence, candidate, (), ()) for candidate in candidates)

    def _is_blocked(self, prefixes: tuple[Prefix, ...], positions: tuple[int, ...], skipped: int) -> bool:
        """Tell whether, with the steps before it, a step over a next gap could have taken the skipped event."""
        count = sum(position < skipped for position in positions)
        earlier, before = prefixes[:count], positions[:count]
        key = (earlier[-1], before, skipped)
        if key not in self._blocked:
            self._blocked[key] = any(
                longer.steps[-1].gap.strategy is Strategy.NEXT and self._could_take(earlier, longer.steps, before, skipped)
                for longer in earlier[-1].extensions()
            )
        return self._blocked[key]

    def _could_take(
        self, prefixes: tuple[Prefix, ...], steps: tuple[Step, ...], positions: tuple[int, ...], position: int
    ) -> bool:
        return self._can_lie(prefixes, steps[-1], positions, position) and self._determined_hold(steps, (*positions, position))

    def _determined_hold(self, steps: tuple[Step, ...], positions: tuple[int, ...]) -> bool:
        """Tell whether every instance that is determined after the last step holds."""
        for scoped in self.rules.conditions:
            bindings, support = self._scoped(scoped.scope, steps, positions)
            if support:
                for instance in instances(scoped.condition, self.rows, bindings, support):
                    is_closed = self._closed_after(steps[-1], scoped.scope)
                    if is_determined(scoped.condition, instance, is_closed) and not holds(scoped.condition, instance):
                        return False
        return True

    def _closed_after(self, step: Step, scope: int | None) -> Callable[[str], bool]:
        """Return the function that tells whether a variable ("*": any) of a scope can bind no event after the step."""
        layout = self.rules.layout
        own = layout.occurrences[step.occurrence].labels
        later = {
            other
            for number, occurrence in enumerate(layout.occurrences)
            if occurrence.labels == own
            for other in layout.after[number]
        }
        labels = self.rules.scope_labels(scope)
        return lambda variable: not any(other in labels and (variable == "*" or variable in labels[other]) for other in later)

    # Whole matches

    def _is_match(self, prefix: Prefix, positions: tuple[int, ...]) -> bool:
        steps = prefix.steps
        return (
            any(self._nothing_after(absences, steps, positions) for absences in prefix.exits())
            and self._nothing_before(steps, positions)
            and self._nothing_between(steps, positions)
            and all(self.is_true(scoped, steps, positions) for scoped in self.rules.conditions)
        )

    def _nothing_before(self, steps: tuple[Step, ...], positions: tuple[int, ...]) -> bool:
        """Leading NOT: nothing before the first event that is still inside the window of the last."""
        candidates = [k for k in range(positions[0]) if self.inside(k, positions[-1])]
        return not any(
            self._is_forbidden(number, candidate, steps, positions)
            for number in steps[0].gap.absences
            for candidate in candidates
        )

    def _nothing_after(self, absences: tuple[int, ...], steps: tuple[Step, ...], positions: tuple[int, ...]) -> bool:
        """Trailing NOT: nothing after the last event that is still inside the window of the first."""
        candidates = [k for k in range(positions[-1] + 1, len(self.rows)) if self.inside(positions[0], k)]
        return not any(self._is_forbidden(number, candidate, steps, positions) for number in absences for candidate in candidates)

    def _nothing_between(self, steps: tuple[Step, ...], positions: tuple[int, ...]) -> bool:
        """Middle NOT, with all its conditions."""
        return not any(
            self._is_forbidden(number, candidate, steps, positions)
            for step, position in zip(steps, positions, strict=True)
            if step.gap.predecessor != START
            for number in step.gap.absences
            for candidate in self._between(step.gap, positions, position)
        )

    def _is_forbidden(self, absence: int, candidate: int, steps: tuple[Step, ...], positions: tuple[int, ...]) -> bool:
        """Tell whether an event is one that must not be there: its type fits and all conditions of the NOT hold for it."""
        rule = self.rules.absences[absence]
        if not self.fits(rule.event, self.rows[candidate]):
            return False
        for scoped in rule.conditions:
            bindings, support = self._scoped(scoped.scope, steps, positions)
            if not self._all_hold(scoped.condition, {**bindings, rule.name: (candidate,)}, support):
                return False
        return True

    def is_true(self, scoped: ScopedCondition, steps: tuple[Step, ...], positions: tuple[int, ...]) -> bool:
        """Tell whether a condition holds; a trace without an event in the pattern of its FILTER is not asked."""
        bindings, support = self._scoped(scoped.scope, steps, positions)
        return not support or self._all_hold(scoped.condition, bindings, support)

    def _all_hold(self, condition: Condition, bindings: Bindings, support: tuple[int, ...]) -> bool:
        return all(holds(condition, instance) for instance in instances(condition, self.rows, bindings, support))

    def _scoped(self, scope: int | None, steps: tuple[Step, ...], positions: tuple[int, ...]) -> tuple[Bindings, tuple[int, ...]]:
        """Return what each variable binds inside a scope (None: the whole pattern), and all positions in it."""
        labels = self.rules.scope_labels(scope)
        taken = [
            (step.occurrence, position) for step, position in zip(steps, positions, strict=True) if step.occurrence in labels
        ]
        names = frozenset[str]().union(*labels.values())
        bindings = {name: tuple(position for occurrence, position in taken if name in labels[occurrence]) for name in names}
        return bindings, tuple(position for _, position in taken)

    def _match(self, steps: tuple[Step, ...], positions: tuple[int, ...]) -> FoundMatch:
        bindings, _ = self._scoped(None, steps, positions)
        return FoundMatch(positions[0], positions[-1], tuple(sorted(bindings.items())))
