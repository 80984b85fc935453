"""Short ways to write patterns, queries and streams for the tests of the oracle."""

from __future__ import annotations

import re

import sqlglot

from eventide.pattern import (
    Absence,
    Both,
    Either,
    Event,
    Expression,
    Filtered,
    Gap,
    Named,
    OutputItem,
    Query,
    Repeat,
    Sequence,
    Strategy,
    Window,
    WindowUnit,
)
from eventide_reference import find_matches

ANY, NEXT, STRICT = Strategy.ANY, Strategy.NEXT, Strategy.STRICT


def sql(text):
    """An expression of the model."""
    return Expression(text, sqlglot.parse_one(text, dialect="spark"))


def part(text, strategy=ANY):
    """`A`, `A a`, `B+`, `B* bs`, `B? b`, `B{2,3} bs`: a type, a quantifier whose loop has the strategy, and a name."""
    if not isinstance(text, str):
        return text
    kind, quantifier, name = re.fullmatch(r"(\w+)([+*?]|\{\d+,\d*\})? ?(\w+)?", text).groups()
    pattern = Event(kind)
    if quantifier:
        bounds = {"+": (1, None), "*": (0, None), "?": (0, 1)}.get(quantifier)
        if bounds is None:
            low, high = quantifier[1:-1].split(",")
            bounds = (int(low), int(high) if high else None)
        pattern = Repeat(pattern, *bounds, strategy)
    return Named(pattern, name) if name else pattern


def no(text, condition=None):
    """`C` or `C c`: an absence."""
    kind, _, name = text.partition(" ")
    return Absence(Event(kind), name or None, sql(condition) if condition else None)


def seq(*items, strategy=ANY, gaps=()):
    """A sequence; absences stand where they are written, and `gaps` gives single strategies where they differ."""
    parts, between, pending = [], [], []
    for item in items:
        if isinstance(item, Absence):
            pending.append(item)
            continue
        between.append(tuple(pending))
        parts.append(part(item, strategy))
        pending = []
    strategies = [*gaps, *[strategy] * len(parts)][: len(parts) - 1]
    return Sequence(
        tuple(parts),
        tuple(Gap(one, absences) for one, absences in zip(strategies, between[1:], strict=True)),
        leading=between[0],
        trailing=tuple(pending),
    )


def either(*items):
    return Either(tuple(part(item) for item in items))


def both(*items, strategy=ANY):
    return Both(tuple(part(item, strategy) for item in items), strategy)


def many(pattern, low=1, high=None, strategy=ANY):
    return Repeat(part(pattern), low, high, strategy)


def named(pattern, name):
    return Named(part(pattern), name)


def where(pattern, condition):
    return Filtered(part(pattern), sql(condition))


def select(*texts):
    """A SELECT list; ` AS ` gives an alias."""
    items = []
    for text in texts:
        expression, _, alias = text.partition(" AS ")
        items.append(OutputItem(sql(expression), alias or None))
    return tuple(items)


def within(size, unit=WindowUnit.TIME_UNITS, **more):
    return Window(unit, size, **more)


def stream(text, **columns):
    """`a1 b2` is an A at time 1 and a B at time 2; each further column is a list of values."""
    events = []
    for index, name in enumerate(text.split()):
        event = {"name": name, "type": name[0].upper(), "time": int(name[1:])}
        events.append(event | {column: values[index] for column, values in columns.items()})
    return events


def found(pattern, events, *, options=None, **query):
    """The names of the events of each match, matches in the order of the result."""
    asked = pattern if isinstance(pattern, Query) else Query(part(pattern), **query)
    matches = find_matches(asked, events, **(options or {}))
    names = []
    for match in matches:
        indices = sorted(
            {index for bound in match.bindings.values() for index in bound}, key=lambda index: (events[index]["time"], index)
        )
        names.append(" ".join(events[index]["name"] for index in indices))
    return names
