"""Random patterns with every operator."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from eventide.language.reading.expressions import parse_condition
from eventide.pattern import (
    Absence,
    Both,
    Either,
    Event,
    Filtered,
    Gap,
    Named,
    Pattern,
    Repeat,
    Sequence,
    Strategy,
    walk,
)
from harness.kinds.sequences.conditions import absent_condition, correlated_condition, local_condition, tying_conditions

if TYPE_CHECKING:
    from random import Random

TYPES = ("A", "B", "C")
NOISE = "X"
BOUNDS = ((1, None), (1, None), (1, None), (0, None), (0, 1), (0, 1), (2, 2), (1, 2), (2, 3), (0, 2), (2, None))
STRATEGY_WEIGHTS = {
    "any": (1, 0, 0),
    "next": (0, 1, 0),
    "strict": (0, 0, 1),
    "mixed": (4, 3, 2),
}
STRATEGIES = (Strategy.ANY, Strategy.NEXT, Strategy.STRICT)


def bound_variables(pattern: Pattern) -> list[str]:
    """Return the variables that conditions on the pattern can name, each once."""
    names = {part.type for part in walk(pattern) if isinstance(part, Event) and part.type}
    names |= {part.variable for part in walk(pattern) if isinstance(part, Named)}
    return sorted(names)


def several_events(pattern: Pattern) -> set[str]:
    """Return the variables that may hold more than one event."""
    seen: dict[str, int] = {}

    def visit(part: Pattern, around: tuple[str, ...], times: int) -> None:
        match part:
            case Event(type=name):
                for variable in {*around, *((name,) if name else ())}:
                    seen[variable] = seen.get(variable, 0) + times
            case Named(pattern=inner, variable=variable):
                visit(inner, (*around, variable), times)
            case Filtered(pattern=inner):
                visit(inner, around, times)
            case Repeat(pattern=inner, maximum=maximum):
                visit(inner, around, times if maximum == 1 else times * 2)
            case Sequence(parts=parts) | Either(parts=parts) | Both(parts=parts):
                for inner in parts:
                    visit(inner, around, times)

    visit(pattern, (), 1)
    return {variable for variable, times in seen.items() if times > 1}


@dataclass
class PatternMaker:
    """Makes one random pattern. `profile` says which strategies its gaps, loops and ANDs have.

    How often each operator comes is drawn anew for each pattern, so that some are full of one of them.
    """

    rng: Random
    profile: str = "mixed"
    any_type: bool = False
    streams: tuple[str, ...] = ()
    _names: int = field(default=0)
    _weights: tuple[int, ...] = ()
    _absences: float = 0.0
    _loops: float = 0.0

    def __post_init__(self) -> None:
        self._weights = self.rng.choice(((9, 2, 2, 1), (9, 2, 2, 1), (9, 0, 0, 0), (5, 1, 6, 1), (5, 5, 1, 1), (5, 1, 1, 4)))
        self._absences = self.rng.choice((0.0, 0.1, 0.1, 0.5))
        self._loops = self.rng.choice((0.0, 0.3, 0.3, 0.6))

    def make(self, occurrences: int) -> Pattern:
        """Return a pattern with that many event types."""
        return self._pattern(occurrences, in_loop=False, depth=0)

    def with_conditions(self, pattern: Pattern) -> Pattern:
        """Return the pattern with conditions over its whole match."""
        rng = self.rng
        variables = bound_variables(pattern)
        conditions = []
        for _ in range(rng.choice((0, 0, 1, 1, 1, 2))):
            if rng.random() < 0.25:
                conditions.append(local_condition(rng, rng.choice(variables)))
            elif rng.random() < 0.1:
                named = [v for v in variables if v not in TYPES] or variables
                conditions.append(tying_conditions(named, several_events(pattern), "k") or f"{named[0]}.k = 1")
            else:
                conditions.append(correlated_condition(rng, variables, several_events(pattern)))
        if not conditions:
            return pattern
        if len(conditions) == 2 and rng.random() < 0.3:
            return Filtered(Filtered(pattern, parse_condition(conditions[0])), parse_condition(conditions[1]))
        text = " AND ".join(f"({condition})" if " OR " in condition else condition for condition in conditions)
        return Filtered(pattern, parse_condition(text))

    def with_edges(self, pattern: Pattern) -> Pattern:
        """Return the pattern with NOT before or behind it; it must be a sequence."""
        assert isinstance(pattern, Sequence)
        variables = bound_variables(pattern)
        leading = tuple(self._absence(variables) for _ in range(self.rng.choice((0, 1, 1))))
        trailing = tuple(self._absence(variables) for _ in range(self.rng.choice((0, 1) if leading else (1,))))
        return replace(pattern, leading=leading, trailing=trailing)

    def _pattern(self, budget: int, *, in_loop: bool, depth: int) -> Pattern:
        rng = self.rng
        if budget == 1:
            return self._atom(in_loop=in_loop)
        kinds = ("sequence", "either", "both", "group") if depth < 2 else ("sequence", "either", "both")
        kind = rng.choices(kinds, self._weights[: len(kinds)])[0]
        if kind == "group":
            minimum, maximum = rng.choice(BOUNDS)
            repeats = maximum is None or maximum > 1
            inner = self._pattern(budget, in_loop=in_loop or repeats, depth=depth + 1)
            made: Pattern = Repeat(inner, minimum, maximum, self._strategy())
        else:
            sizes = self._split(budget)
            parts = tuple(self._pattern(size, in_loop=in_loop, depth=depth + 1) for size in sizes)
            if kind == "either":
                made = Either(parts)
            elif kind == "both":
                made = Both(parts, self._strategy())
            else:
                made = self._sequence(parts)
        if depth and rng.random() < 0.12:
            made = Named(made, self._name())
        if depth and rng.random() < 0.15:
            made = self._nested_filter(made, in_loop=in_loop)
        return made

    def _nested_filter(self, pattern: Pattern, *, in_loop: bool) -> Pattern:
        variables = bound_variables(pattern)
        if in_loop or self.rng.random() < 0.3:
            return Filtered(pattern, parse_condition(local_condition(self.rng, self.rng.choice(variables))))
        return Filtered(pattern, parse_condition(correlated_condition(self.rng, variables, several_events(pattern))))

    def _sequence(self, parts: tuple[Pattern, ...]) -> Pattern:
        variables = sorted({name for part in parts for name in bound_variables(part)})
        gaps = []
        for _ in parts[1:]:
            number = self.rng.choice((1, 1, 2)) if self.rng.random() < self._absences else 0
            gaps.append(Gap(self._strategy(), tuple(self._absence(variables) for _ in range(number))))
        return Sequence(parts, tuple(gaps))

    def _atom(self, *, in_loop: bool) -> Pattern:
        rng = self.rng
        stream = rng.choice((None, *self.streams)) if self.streams else None
        unnamed = self.any_type and rng.random() < 0.4
        made: Pattern = Event(None if unnamed else rng.choice(TYPES), stream)
        if unnamed:
            made = Named(made, self._name())
        looped = rng.random() < (self._loops / 2 if in_loop else self._loops)
        name = self._name() if rng.random() < 0.55 else None
        inside = rng.random() < 0.2
        if name and inside:
            made = Named(made, name)
        if rng.random() < 0.12:
            made = Filtered(made, parse_condition(local_condition(rng, rng.choice(bound_variables(made)))))
        if looped:
            minimum, maximum = rng.choice(BOUNDS)
            made = Repeat(made, minimum, maximum, self._strategy())
        if name and not inside:
            made = Named(made, name)
        if rng.random() < 0.05:
            made = Filtered(made, parse_condition(local_condition(rng, rng.choice(bound_variables(made)))))
        return made

    def _absence(self, variables: list[str]) -> Absence:
        rng = self.rng
        event = Event(rng.choice((*TYPES, NOISE)), rng.choice((None, *self.streams)) if self.streams else None)
        if rng.random() < 0.4:
            return Absence(event)
        self._names += 1
        negated = f"n{self._names}"
        return Absence(event, negated, parse_condition(absent_condition(rng, negated, variables)))

    def _split(self, budget: int) -> list[int]:
        parts = self.rng.randint(2, min(budget, 3))
        sizes = [1] * parts
        for _ in range(budget - parts):
            sizes[self.rng.randrange(parts)] += 1
        return sizes

    def _strategy(self) -> Strategy:
        return self.rng.choices(STRATEGIES, STRATEGY_WEIGHTS[self.profile])[0]

    def _name(self) -> str:
        # Now and then two parts share a variable.
        if self._names and self.rng.random() < 0.08:
            return f"x{self._names}"
        self._names += 1
        return f"x{self._names}"


def sample_types(rng: Random, pattern: Pattern) -> list[str]:
    """Return the event types of a random trace, so that streams can be made that hold matches."""
    match pattern:
        case Event(type=name):
            return [name or NOISE]
        case Named(pattern=inner) | Filtered(pattern=inner):
            return sample_types(rng, inner)
        case Sequence(parts=parts):
            return [name for part in parts for name in sample_types(rng, part)]
        case Either(parts=parts):
            return sample_types(rng, rng.choice(parts))
        case Both(parts=parts):
            mixed = [sample_types(rng, part) for part in parts]
            rng.shuffle(mixed)
            return [name for part in mixed for name in part]
        case Repeat(pattern=inner, minimum=minimum, maximum=maximum):
            rounds = rng.randint(minimum, min(maximum or 3, minimum + 2))
            return [name for _ in range(rounds) for name in sample_types(rng, inner)]
