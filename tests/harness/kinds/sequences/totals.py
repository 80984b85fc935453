"""Random queries for results over all matches: GROUP BY, ORDER BY, SAMPLE, and time-outs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from eventide.language.reading.expressions import parse_condition, parse_expression
from eventide.pattern import (
    Consumption,
    Filtered,
    Grouping,
    GroupUnit,
    Named,
    Ordering,
    OutputItem,
    Sample,
    Selector,
    Sequence,
    Window,
    WindowUnit,
)
from harness.kinds.sequences.patterns import bound_variables, several_events
from harness.kinds.sequences.queries import SECOND, Trial, make_trial

if TYPE_CHECKING:
    from random import Random

    from eventide.pattern import Pattern


def make_plain_trial(rng: Random, *, keyed: bool | None = None) -> Trial:
    """Return a random query over all of its matches; most need no enumeration."""
    while True:
        trial = make_trial(rng)
        if not trial.countable or (keyed is not None and trial.by_case is not keyed):
            continue
        query = replace(trial.query, output=None, limit=None)
        if rng.random() < 0.85:
            query = replace(query, selector=rng.choice((Selector.ALL, Selector.ALL, Selector.STRICT)))
            query = replace(query, consumption=Consumption.NONE)
        if rng.random() < 0.8:
            query = replace(query, pattern=near_pattern(rng, query.pattern))
        return replace(trial, query=query)


def near_pattern(rng: Random, pattern: Pattern) -> Pattern:
    """Leave the conditions on the whole pattern out, or put some in their place that often relate neighbours."""
    while isinstance(pattern, Filtered):
        pattern = pattern.pattern
    variables = bound_variables(pattern)
    repeated = several_events(pattern)
    conditions = []
    for _ in range(rng.choice((0, 1, 1, 2))):
        x, y = rng.choice(variables), rng.choice(variables)
        choices = [f"{x}.v <= NEXT({x}.v)", f"{x}.v <> PREV({x}.v)", f"{x}.s = NEXT({x}.s)", f"{x}.v >= LAST({x}.v)"]
        if x != y:
            choices += [f"{x}.v <= {y}.v", f"{x}.v = {y}.v", f"{x}.s = {y}.s", f"{x}.w < {y}.w OR {x}.ok"]
            choices += [f"{y}.v >= LAST({x}.v)", f"{x}.v <= FIRST({y}.v)", f"{x}.v <> LAST({y}.v)", f"{y}.v > FIRST({x}.v)"]
        conditions.append(rng.choice(choices[:4] if x in repeated and rng.random() < 0.5 else choices))
    return Filtered(pattern, parse_condition(" AND ".join(f"({part})" for part in conditions))) if conditions else pattern


def make_group_trial(rng: Random, *, keyed: bool | None = None) -> Trial:
    """Return a random query with GROUP BY."""
    trial = make_plain_trial(rng, keyed=keyed)
    query = trial.query
    unit = rng.choice((GroupUnit.PARTITION, GroupUnit.END, GroupUnit.WINDOW))
    size = None
    if unit is GroupUnit.WINDOW:
        slides = query.window is not None and query.window.slide is not None
        if not slides or rng.random() < 0.5:
            duration = trial.timestamps or trial.seconds
            length = rng.randint(1, 5)
            size = Window(WindowUnit.DURATION, length * SECOND) if duration else Window(WindowUnit.TIME_UNITS, length)
    items = [name.text for name in query.partition_by]
    items += {
        GroupUnit.PARTITION: [],
        GroupUnit.END: ["match_end"],
        GroupUnit.WINDOW: ["window_start", "window_end"],
    }[unit]
    items.append("COUNT(*)")
    for _ in range(rng.choice((0, 1, 2, 4))):
        variable = rng.choice(bound_variables(query.pattern))
        choices = ["COUNT({x})", "COUNT({x}.v)", "SUM({x}.v)", "SUM({x}.w)", "AVG({x}.v)", "AVG({x}.f)", "SUM({x}.v - {x}.id)"]
        choices += ["MIN({x}.v)", "MAX({x}.w)", "MIN({x}.s)", "MAX({x}.id)", "MIN({x}.time)", "MAX({x}.ok)", "MIN({x}.w)"]
        items.append(rng.choice(choices).format(x=variable))
    output = tuple(OutputItem(parse_expression(item), f"c{number}") for number, item in enumerate(dict.fromkeys(items)))
    return replace(trial, query=replace(query, output=output, group_by=Grouping(unit, size)))


def make_best_trial(rng: Random) -> Trial:
    """Return a random query with ORDER BY and LIMIT."""
    trial = make_plain_trial(rng)
    query = trial.query
    variables = bound_variables(query.pattern)
    single = [variable for variable in variables if variable not in several_events(query.pattern)]
    terms = []
    for _ in range(rng.choice((1, 1, 2, 3))):
        x = rng.choice(variables)
        choices = [f"SUM({x}.v)", f"SUM({x}.f)", f"COUNT({x})", f"2 * SUM({x}.v - {x}.id % 3)", f"COUNT({x}.v)", "COUNT(*)"]
        if single:
            choices += [f"{rng.choice(single)}.v", f"3 * {rng.choice(single)}.m"]
        terms.append(rng.choice(choices))
    score = parse_expression("".join(f" {rng.choice('+-')} {term}" for term in terms).removeprefix(" + ").strip())
    ordering = Ordering(score, rng.random() < 0.5)
    return replace(trial, query=replace(query, order_by=ordering, limit=rng.choice((1, 2, 3, 5, 20))))


def make_sample_trial(rng: Random) -> Trial:
    """Return a random query with SAMPLE."""
    trial = make_plain_trial(rng)
    return replace(trial, query=replace(trial.query, sample=Sample(rng.choice((0, 1, 2, 3, 5, 8, 1000)), rng.randrange(1 << 20))))


def make_timeout_trial(rng: Random) -> Trial:
    """Return a random query that asks for time-outs: a plain time window and nothing that keeps one match of several."""
    while True:
        trial = make_trial(rng)
        query = replace(trial.query, output=None, selector=Selector.ALL, consumption=Consumption.NONE, limit=None)
        window = query.window
        if window is None or window.slide is not None or window.unit not in (WindowUnit.DURATION, WindowUnit.TIME_UNITS):
            size = rng.randint(1, 6)
            by_clock = trial.timestamps or trial.seconds
            window = Window(WindowUnit.DURATION, size * SECOND) if by_clock else Window(WindowUnit.TIME_UNITS, size)
        if trial.countable and (is_sequence(query.pattern) or rng.random() < 0.2):
            return replace(trial, query=replace(query, window=window), timeouts=True)


def is_sequence(pattern: Pattern) -> bool:
    """Return whether a pattern has parts that a match can reach one by one."""
    while isinstance(pattern, Filtered | Named):
        pattern = pattern.pattern
    return isinstance(pattern, Sequence)
