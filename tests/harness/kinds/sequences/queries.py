"""Random queries: a random pattern under random clauses, in CEQL or SASE."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from eventide.language import parse
from eventide.language.reading.expressions import parse_condition, parse_expression
from eventide.pattern import (
    Consumption,
    Event,
    Filtered,
    Name,
    Named,
    OutputItem,
    Pattern,
    Query,
    Repeat,
    Selector,
    Sequence,
    Window,
    WindowUnit,
    walk,
)
from eventide.pattern.sequence_printing import to_ceql
from harness.kinds.sequences.conditions import absent_condition, correlated_condition, local_condition, opaque_condition
from harness.kinds.sequences.patterns import NOISE, TYPES, PatternMaker, bound_variables, several_events

if TYPE_CHECKING:
    from random import Random

SELECTORS = (Selector.ALL, Selector.ANY, Selector.NEXT, Selector.LAST, Selector.MAX, Selector.STRICT)
SECOND = 1_000_000


@dataclass(frozen=True)
class Trial:
    """A query and how its events are given: roles, kind of time, one table or two streams, partitioned by case or not."""

    query: Query
    tie_break: bool
    timestamps: bool
    seconds: bool
    several_streams: bool
    by_case: bool
    countable: bool = True
    """Whether matches can be counted without making their rows; conditions that only rows decide stand against it."""
    timeouts: bool = False
    """Whether the events that time out are asked for, not the matches."""

    @property
    def text(self) -> str:
        """The query as text."""
        return to_ceql(self.query)

    @property
    def is_shared(self) -> bool:
        """Whether the streams of a table have one result together: what one keeps depends on the others."""
        return not self.by_case or self.query.limit is not None or self.query.consumption is Consumption.ANY

    def longest_stream(self) -> int:
        """Return how many events the oracle can take in short time."""
        loops = sum(
            isinstance(part, Repeat) and part.maximum != 1 and not isinstance(part.pattern, Event)
            for part in walk(self.query.pattern)
        )
        return (9, 8, 6, 5)[min(loops, 3)]


def make_trial(rng: Random) -> Trial:
    """Return a random query that the language allows."""
    return _sase_trial(rng) if rng.random() < 0.2 else _ceql_trial(rng)


def _ceql_trial(rng: Random) -> Trial:
    profile = rng.choices(("any", "mixed", "next", "strict"), (5, 4, 3, 1))[0]
    several_streams = rng.random() < 0.07
    streams = ("S1", "S2") if several_streams else ()
    any_type = rng.random() < 0.04
    maker = PatternMaker(rng, profile, any_type, streams)
    window = _window(rng, several_streams=several_streams)
    step_window = _step_window(rng, window)
    pattern = maker.make(rng.choice((1, 2, 2, 3, 3, 3, 4, 5)))
    consumption = rng.choices((Consumption.NONE, Consumption.PARTITION, Consumption.ANY), (8, 1, 1))[0]
    if window is not None and isinstance(pattern, Sequence) and rng.random() < 0.25:
        pattern = maker.with_edges(pattern)
        if isinstance(pattern, Sequence) and pattern.trailing:
            consumption = Consumption.NONE
    pattern = maker.with_conditions(pattern)
    single = [variable for variable in bound_variables(pattern) if variable not in several_events(pattern)]
    opaque = len(single) > 1 and profile in ("any", "strict") and rng.random() < 0.06
    if opaque:
        # Such conditions are applied to found matches, which is refused where it would change what is found.
        pattern = Filtered(pattern, parse_condition(opaque_condition(rng, single)))
        consumption = Consumption.NONE
    by_case = rng.random() < 0.88
    keys = (*(("case_id",) if by_case else ()), *(("k",) if rng.random() < 0.15 else ()))
    query = Query(
        pattern,
        output=_output(rng, pattern, keys, counted=opaque) if rng.random() < 0.3 else None,
        selector=rng.choices(SELECTORS, (1, 0, 0, 0, 0, 1) if opaque else (8, 1, 2, 2, 2, 2))[0],
        streams=tuple(Name(stream) for stream in streams),
        partition_by=tuple(Name(key) for key in keys),
        window=window,
        step_window=step_window,
        consumption=consumption,
        limit=rng.choice((1, 2, 3, 5)) if not opaque and rng.random() < 0.07 else None,
    )
    # What is run is what the text says, so that a failure can be repeated from it.
    read = query if any_type else parse(to_ceql(query))
    return replace(_trial(rng, read, several_streams=several_streams, by_case=by_case), countable=not opaque)


def _trial(rng: Random, query: Query, *, several_streams: bool, by_case: bool) -> Trial:
    used = {window.unit for window in (query.window, query.step_window) if window is not None}
    duration, units = WindowUnit.DURATION in used, WindowUnit.TIME_UNITS in used
    timestamps = not units and (rng.random() < 0.5 if duration else rng.random() < 0.1)
    return Trial(query, rng.random() < 0.5, timestamps, duration and not timestamps, several_streams, by_case)


def _window(rng: Random, *, several_streams: bool) -> Window | None:
    kind = rng.choices(("none", "events", "units", "slide", "duration", "attribute"), (3, 2, 3, 1, 1, 1))[0]
    match kind:
        case "events":
            return Window(WindowUnit.EVENTS, rng.randint(1, 6))
        case "units":
            return Window(WindowUnit.TIME_UNITS, rng.randint(1, 9))
        case "slide":
            slide = rng.randint(1, 4)
            return Window(WindowUnit.TIME_UNITS, rng.randint(slide, 9), slide)
        case "duration":
            slide = rng.choice((None, None, 2 * SECOND))
            return Window(WindowUnit.DURATION, rng.randint(2, 9) * SECOND, slide)
        case "attribute" if not several_streams:
            return rng.choice(
                (Window(WindowUnit.ATTRIBUTE, rng.randint(1, 6), None, "m"), Window(WindowUnit.ATTRIBUTE, 1.5, None, "f"))
            )
    return None


def _step_window(rng: Random, window: Window | None) -> Window | None:
    if rng.random() < 0.75:
        return None
    size = rng.choice((0, 1, 1, 2, 2, 3, 4))
    if (window is not None and window.unit is WindowUnit.DURATION) or rng.random() < 0.2:
        return Window(WindowUnit.DURATION, size * SECOND)
    return Window(WindowUnit.TIME_UNITS, size)


def _output(rng: Random, pattern: Pattern, keys: tuple[str, ...], *, counted: bool) -> tuple[OutputItem, ...]:
    variables = bound_variables(pattern)
    several = several_events(pattern)
    items = ["COUNT(*)"] if counted else []
    for _ in range(rng.choice((1, 1, 2, 3))):
        variable = rng.choice(variables)
        choices = [
            variable,
            variable,
            f"COUNT({variable})",
            f"FIRST({variable}.v)",
            f"LAST({variable}.w)",
            f"SUM({variable}.v)",
            f"SUM({variable}.w)",
            f"MIN({variable}.w)",
            f"MAX({variable}.w)",
            f"MAX({variable}.s)",
            f"AVG({variable}.v)",
            f"COUNT({variable}.v)",
            f"COUNT({variable}) + SUM({variable}.v)",
            f"LAST({variable}.v + {variable}.id % 2)",
            "COUNT(*)",
        ]
        if variable not in several:
            choices += [f"{variable}.v", f"{variable}.id", f"{variable}.v + 1", f"COALESCE({variable}.v, 7) * COUNT({variable})"]
        items.append(rng.choice(choices))
    if keys and rng.random() < 0.3:
        items.append(keys[0])
    return tuple(OutputItem(parse_expression(item), f"c{number}") for number, item in enumerate(dict.fromkeys(items)))


# SASE ----------------------------------------------------------------------------------------------------------------


def _sase_trial(rng: Random) -> Trial:
    strategy = rng.choice(("skip_till_any_match", "skip_till_next_match", "strict_contiguity", "partition_contiguity", None))
    names: list[str] = []
    body, edges = _sase_pattern(rng, names)
    negated = [name for name in names if name.startswith("n")]
    positive = [name for name in names if not name.startswith("n")]
    looped = {name for name in positive if name.endswith("s")}
    conditions = []
    if rng.random() < 0.4 or strategy == "partition_contiguity":
        conditions.append("[k]")
    for _ in range(rng.choice((0, 1, 1, 2))):
        local = rng.random() < 0.25
        conditions += [local_condition(rng, rng.choice(positive)) if local else correlated_condition(rng, positive, looped)]
    conditions += [absent_condition(rng, name, positive) for name in negated if rng.random() < 0.6]
    text = f"PATTERN {body}"
    if conditions:
        joined = " AND ".join(f"({part})" if " OR " in part else part for part in conditions)
        text += f" WHERE {joined}" if strategy is None else f" WHERE {strategy} {{ {joined} }}"
    window = rng.choice(("WITHIN 4 units", "WITHIN 6 seconds", "WITHIN 8 seconds SLIDE 2 seconds", "WITHIN 5", "WITHIN 4 events"))
    whole = edges or rng.random() < 0.7
    steps = rng.choice(("1", "2", "3", "2 seconds")) if rng.random() < 0.25 else None
    if whole or steps:
        windows = [window.removesuffix(" units")] if whole else ["WITHIN"]
        if steps and whole and "seconds" in window:
            steps = "2 seconds"
        windows += [f"{steps} BETWEEN STEPS"] if steps else []
        text += " " + (", " if whole else " ").join(windows)
    if rng.random() < 0.2:
        text += f" RETURN COUNT({rng.choice(positive)}) AS c0, LAST({rng.choice(positive)}.v) AS c1"
    query = parse(text, "sase")
    by_case = rng.random() < 0.88
    if by_case:
        query = replace(query, partition_by=(Name("case_id"), *query.partition_by))
    return _trial(rng, query, several_streams=False, by_case=by_case)


def _sase_pattern(rng: Random, names: list[str]) -> tuple[str, bool]:
    size = rng.choice((2, 2, 3, 3, 4))
    parts, edges = [], False
    for number in range(size):
        component = _sase_component(rng, names, depth=0)
        if number and rng.random() < 0.2:
            parts.append(_sase_negation(rng, names))
        parts.append(component)
    if rng.random() < 0.12:
        parts.insert(0, _sase_negation(rng, names))
        edges = True
    if rng.random() < 0.12:
        parts.append(_sase_negation(rng, names))
        edges = True
    return f"SEQ({', '.join(parts)})", edges


def _sase_component(rng: Random, names: list[str], depth: int) -> str:
    if depth == 0 and rng.random() < 0.15:
        kind = rng.choice(("AND", "OR"))
        return f"{kind}({', '.join(_sase_component(rng, names, 1) for _ in range(2))})"
    kind = rng.choice(TYPES)
    if rng.random() < 0.3:
        names.append(f"v{len(names)}s")
        return f"{kind}{rng.choice('+++*')} {names[-1]}[]"
    names.append(f"v{len(names)}")
    return f"{kind} {names[-1]}"


def _sase_negation(rng: Random, names: list[str]) -> str:
    names.append(f"n{len(names)}")
    return f"!{rng.choice((*TYPES, NOISE))} {names[-1]}"


def simpler(query: Query) -> list[Query]:
    """Return queries that ask for less, to find the smallest one that still fails."""
    found = [replace(query, pattern=pattern) for pattern in _simpler_patterns(query.pattern)]
    found += [
        replace(query, output=None),
        replace(query, selector=Selector.ALL),
        replace(query, window=None),
        replace(query, step_window=None),
        replace(query, consumption=Consumption.NONE),
        replace(query, limit=None),
        replace(query, partition_by=query.partition_by[:1]),
    ]
    return [other for other in found if other != query]


def _simpler_patterns(pattern: Pattern) -> list[Pattern]:
    match pattern:
        case Event():
            return []
        case Named(pattern=inner) | Filtered(pattern=inner) | Repeat(pattern=inner):
            return [inner, *(replace(pattern, pattern=less) for less in _simpler_patterns(inner))]
        case Sequence(parts=parts, gaps=gaps):
            found: list[Pattern] = list(parts)
            if len(parts) > 2:
                found += [replace(pattern, parts=parts[1:], gaps=gaps[1:]), replace(pattern, parts=parts[:-1], gaps=gaps[:-1])]
            found += [replace(pattern, leading=()), replace(pattern, trailing=())]
            for number, gap in enumerate(gaps):
                found.append(replace(pattern, gaps=(*gaps[:number], replace(gap, absences=()), *gaps[number + 1 :])))
        case _:
            found = list(pattern.parts)
    for number, part in enumerate(pattern.parts):
        for less in _simpler_patterns(part):
            found.append(replace(pattern, parts=(*pattern.parts[:number], less, *pattern.parts[number + 1 :])))
    return [other for other in found if other != pattern]
