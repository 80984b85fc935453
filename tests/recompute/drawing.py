"""Random queries that recomputation can run, and streams for them: few types and values, ties, nulls and NaN.

Of the queries of the harness recomputation takes one in five, and one in twenty-five has conditions that become rows of bits.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass

from match.building import stream

TYPES = "ABCD"
ORDERS = ("<", "<=", ">", ">=")
COMPARES = (*ORDERS, "=")
LOOPS = ("+", "+", "+", "{1,2}", "{2,3}", "{2}", "{2,}", "{1,3}", "{3,}")
OPTIONAL_LOOPS = ("*", "*", "{0,2}", "{0,3}")


@dataclass(frozen=True)
class Drawn:
    """A query, its events, and how they are given: in which pieces, with a dump between them or not, into how much room."""

    text: str
    events: list
    cuts: tuple[int, ...]
    interleaved: bool
    dumps: bool
    small: bool
    rows: int
    """How many bytes the tables of rows may take."""


def draw(seed):
    """Return a random case."""
    rng = random.Random(f"recompute {seed}")
    text, loops, types = draw_query(rng)
    length = rng.randint(4, 8 if loops > 1 else 11)
    return Drawn(
        text,
        draw_events(rng, types, length),
        tuple(sorted(rng.randint(0, length) for _ in range(rng.randint(0, 4)))),
        rng.random() < 0.5,
        rng.random() < 0.3,
        rng.random() < 0.3,
        rng.choice((0, 200, 1 << 20, 1 << 26)),
    )


def draw_query(rng):
    """Return the text of a query, how many loops it has and the types that its events should have."""
    steps = rng.choices((1, 2, 3, 4), (1, 4, 5, 2))[0]
    names = [f"x{number}" for number in range(steps)]
    loops = set(rng.sample(range(steps), min(steps, rng.choices((0, 1, 2), (1, 5, 2))[0])))
    # One type for several steps is what makes candidates overlap.
    among = rng.choice(("A", "AB", "AAB", "ABC"))
    kinds = [rng.choice(among) for _ in range(steps)]
    optional = set(rng.sample(range(steps), min(steps, rng.choices((0, 1, 2, 4), (5, 3, 2, 1))[0])))
    often = [how_often(rng, looped=step in loops, optional=step in optional) for step in range(steps)]
    parts = [f"{kind}{times} AS {name}" for kind, times, name in zip(kinds, often, names, strict=True)]
    window = rng.choices(("", " WITHIN {} events", " WITHIN {}", " WITHIN {} SLIDE {}"), (2, 3, 4, 1))[0]
    if steps > 1 and rng.random() < 0.25:
        parts = with_group(rng, parts, names, loops)
    pattern, negated = with_absences(rng, parts, edge=bool(window) and rng.random() < 0.4)
    conditions = [draw_condition(rng, names, loops) for _ in range(rng.choice((0, 1, 1, 1, 2, 2, 3)))]
    conditions += [rng.choice((f"{name}.v > 1", f"{name}.v >= {rng.choice(names)}.v", f"{name}.s = {rng.choice(names)}.s", f"{name}.v > COUNT({rng.choice(names)})"))
                   for name in negated if rng.random() < 0.5]  # fmt: skip
    text = f"SELECT {'*' if rng.random() < 0.85 else rng.choice(names)} WHERE {pattern}"
    if conditions:
        text += f" FILTER {' AND '.join(conditions)}"
    if rng.random() < 0.4:
        text += " PARTITION BY key"
    text += window.format(rng.randint(3, 14), rng.randint(1, 4))
    if rng.random() < 0.06:
        text += f" LIMIT {rng.randint(1, 4)}"
    return text, len(loops), "".join(kinds) * 3 + rng.choice(("", "D", "D"))


def how_often(rng, *, looped, optional):
    """Return the quantifier of a step."""
    if looped:
        return rng.choice(OPTIONAL_LOOPS if optional else LOOPS)
    return "?" if optional else ""


def with_group(rng, parts, names, loops):
    """Make one part of two neighbours: a group that may be missing or has a condition of its own, or a choice between them."""
    at = rng.randrange(len(parts) - 1)
    one, other = parts[at], parts[at + 1]
    condition = draw_condition(rng, names[at : at + 2], {step - at for step in loops} & {0, 1})
    group = rng.choice(("({one} ; {other})?", "({one} ; NOT D ; {other})?", "({one} OR {other})", "(({one} ; {other}) FILTER {condition})"))
    return [*parts[:at], group.format(one=one, other=other, condition=condition), *parts[at + 2 :]]


def with_absences(rng, parts, *, edge):
    """Put NOT between some steps, or before the first one."""
    negated, pattern = [], parts[0]
    if edge and rng.random() < 0.5:
        negated.append("n")
        pattern = f"NOT D AS n ; {pattern}"
    for number, part in enumerate(parts[1:]):
        if rng.random() < 0.1:
            name = f"m{number}"
            negated.append(name)
            pattern += f" ; NOT {rng.choice('DDB')} AS {name}"
        pattern += f" ; {part}"
    return pattern, negated


def draw_condition(rng, names, loops):
    """Return a condition between events: of the kinds that become rows, and of those that stay programs."""
    looped = [names[step] for step in loops]
    x = rng.choice(looped or names)
    y = rng.choice([name for name in names if name != x] or names)
    z = rng.choice(names)
    pairs = ("{x}.v {c} {y}.v", "{x}.v {o} {y}.v", "{y}.v * 2 {o} {x}.v", "{x}.w {c} {y}.w", "{x}.v {o} {y}.w", "{x}.w {o} {y}.v", "{x}.s = {y}.s",
             "{x}.time {o} {y}.time")  # fmt: skip
    inner = ("{x}.v {c} NEXT({x}.v)", "{x}.v {o} NEXT({x}.w)", "{x}.w {o} PREV({x}.w)", "{x}.s = NEXT({x}.s)", "NEXT({x}.v) {o} {x}.v", "{x}.v {c} FIRST({x}.v)",
             "{x}.w {o} LAST({x}.w)", "FIRST({x}.v) {o} {x}.v")  # fmt: skip
    edges = ("{y}.v {c} FIRST({x}.v)", "LAST({x}.v) {o} {y}.v", "FIRST({x}.w) {o} {y}.w", "FIRST({x}.v) {o} LAST({y}.v)", "LAST({x}.s) = FIRST({y}.s)")
    programs = ("{x}.v <> {y}.v", "{x}.v + {y}.v {o} {n}", "SUM({x}.v) {o} {n}", "COUNT({x}) {o} {n}", "COUNT(*) {o} {n}", "NEXT({x}.v) - {x}.v <= 1", "{x}.v >= AVG({x}.v)",
                "{x}.v {o} {y}.v OR {z}.v > 2", "{x}.v < NEXT({x}.v) OR {y}.v > 1", "MAX({x}.v) {o} {y}.v", "CASE WHEN {x}.v > 1 THEN {y}.v ELSE 2 END > 1", "{x}.v < NEXT({x}.v) + {y}.v",
                "FIRST({x}.v) {o} LAST({x}.v)", "{x}.v IS NULL OR {y}.v > {x}.v", "A.v {o} {x}.v", "A.v <= NEXT(A.v)")  # fmt: skip
    group = rng.choices((pairs, inner, edges, programs), (5, 4, 3, 3))[0]
    text = rng.choice(group).format(x=x, y=y, z=z, c=rng.choice(COMPARES), o=rng.choice(ORDERS), n=rng.randint(1, 4))
    return f"({text})" if " OR " in text else text


def draw_events(rng, types, length):
    """Return a stream."""
    times = sorted(rng.randrange(1, 1 + rng.choice((length, 3 * length // 2))) for _ in range(length))
    plain = rng.random() < 0.6
    return stream(
        " ".join(f"{rng.choice(types).lower()}{time}" for time in times),
        keys=[rng.choice((1, 1, 1, 2, None)) for _ in range(length)],
        v=[rng.choice((0, 1, 2, 3)) if plain else rng.choice((0, 1, 1, 2, 2, 3, None)) for _ in range(length)],
        w=[rng.choice((0.5, 1.0, 2.0, 2.5)) if plain else rng.choice((-0.0, 0.0, 1.0, 1.5, 2.5, math.nan, None)) for _ in range(length)],
        s=[rng.choice(("p", "q")) if plain else rng.choice(("p", "q", "", None)) for _ in range(length)],
    )
