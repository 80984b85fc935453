"""Random conditions over the attributes of the random streams: v (integers), w (doubles), s (text), ok (truth values)."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from random import Random

COMPARISONS = ("<", "<=", ">", ">=", "=", "<>", "<=>")
ORDERS = ("<", "<=", ">", ">=")


def local_condition(rng: Random, variable: str) -> str:
    """Return a condition that reads one event; most hold for most events."""
    templates = (
        "{x}.v {order} {one}",
        "{x}.v > 0",
        "{x}.v < 3",
        "{x}[v < 3]",
        "{x}.w {order} 1.5",
        "{x}.v <= {x}.w",
        "{x}.s = 'p'",
        "{x}.s <> 'q'",
        "{x}.s > 'o'",
        "{x}.ok",
        "NOT {x}.ok",
        "{x}.v IS NULL",
        "{x}.w IS NOT NULL",
        "{x}.v IN (1, 2)",
        "{x}.v BETWEEN 1 AND 3",
        "{x}.v + {x}.id % 2 > 1",
        "{x}.v * 2 > {x}.v + 1 OR {x}.ok",
        "COALESCE({x}.v, 2) > 1",
        "{x}.w = {x}.w",
    )
    return _filled(rng, rng.choice(templates), variable, variable)


def correlated_condition(rng: Random, variables: list[str], repeated: set[str]) -> str:
    """Return a condition that relates events; `repeated` variables can hold several, so that NEXT and aggregates matter."""
    x = rng.choice([variable for variable in variables if variable in repeated] or variables)
    others = [variable for variable in variables if variable != x]
    y = rng.choice(others or variables)
    z = rng.choice(variables)
    looped = (
        "{x}.v {order} NEXT({x}.v)",
        "{x}.v <= NEXT({x}.v)",
        "NEXT({x}.w) {order} {x}.w",
        "{x}.v {order} PREV({x}.v)",
        "{x}.s = NEXT({x}.s)",
        "NEXT({x}.v) - {x}.v <= 1",
        "{x}.v {order} FIRST({x}.v)",
        "{x}.v {order} LAST({x}.v)",
        "{x}.v >= AVG({x}.v)",
        "{x}.v <= SUM({x}.v)",
        "{x}.w {order} MAX({x}.w)",
        "{x}.v {order} MIN({x}.v) + 1",
        "COUNT({x}) < 2 OR {x}.v > {one}",
        "{x}.v > COUNT({x}.v) - 2",
        "{x}.v < NEXT({x}.v) OR {y}.v > {one}",
        "{x}.v < NEXT({x}.v) + {y}.v",
        "{x}.v <= FIRST({x}.v) OR {y}.ok",
    )
    sets = (
        "SUM({x}.v) {order} {some}",
        "COUNT({x}) {order} {one}",
        "COUNT({x}) = 1",
        "COUNT(*) <= {some}",
        "COUNT(*) = 3",
        "COUNT({x}.v) >= 1",
        "AVG({x}.w) {order} 1.25",
        "MIN({x}.v) <= {one}",
        "MAX({x}.v) {order} {y}.v",
        "{y}.v {order} LAST({x}.v)",
        "{y}.v {order} FIRST({x}.v)",
        "{y}.w {order} AVG({x}.v)",
        "{y}.w <= SUM({x}.w)",
        "FIRST({x}.v) {compare} LAST({y}.v)",
        "FIRST({x}.s) = LAST({y}.s)",
        "MAX({x}.w) >= MIN({y}.w)",
        "{y}.v + COUNT({x}) {order} {some}",
        "LAST({x}.v) IS NULL OR LAST({x}.v) > {y}.v",
        "SUM({x}.v + {x}.id % 2) > {y}.v",
    )
    pairs = (
        "{x}.v {compare} {y}.v",
        "{x}.v <= {y}.v",
        "{x}.v >= {y}.v",
        "{x}.v <> {y}.v",
        "{x}.w {compare} {y}.w",
        "{x}.v {order} {y}.w",
        "{x}.s = {y}.s",
        "{x}.s <> {y}.s",
        "{x}.s <=> {y}.s",
        "{x}[k] = {y}[k]",
        "{x}.v + {y}.v {order} {some}",
        "{x}.v * 2 - {y}.v >= 0",
        "ABS({x}.v - {y}.v) <= 1",
        "{x}.v / {y}.v >= 1",
        "{x}.v % {y}.v {compare} {one}",
        "{x}.w / {y}.v < 2",
        "-{x}.v < {y}.v - 2",
        "{x}.v = {y}.v OR {x}.s = {y}.s",
        "NOT ({x}.v = {y}.v)",
        "{x}.v IS NULL OR {y}.v > {x}.v",
        "COALESCE({x}.v, 2) <= COALESCE({y}.v, 2)",
        "CASE WHEN {x}.ok THEN {x}.v ELSE {y}.v END > {one}",
        "{x}.v IN ({one}, {y}.v)",
        "{x}.v BETWEEN {y}.v - 1 AND {y}.v + 1",
        "{x}.ok OR {y}.ok",
        "{x}.ok = {y}.ok",
        "{x}.m - {y}.m <= 3",
        "{x}.time < {y}.time",
        "{x}.v + {y}.v >= {z}.v",
        "{x}.v < {y}.v OR {y}.v < {z}.v",
    )
    weights = [3 if x in repeated else 0, 2 if repeated else 1, 4 if others else 0]
    group = rng.choices((looped, sets, pairs), weights)[0]
    return _filled(rng, rng.choice(group), x, y, z)


def opaque_condition(rng: Random, variables: list[str]) -> str:
    """Return a condition between events that no kernel knows: the order of texts."""
    return f"{rng.choice(variables)}.s {rng.choice(ORDERS)} {rng.choice(variables)}.s"


def absent_condition(rng: Random, negated: str, variables: list[str]) -> str:
    """Return a condition of a NOT: on the negated event alone, or related to events of the match."""
    if not variables or rng.random() < 0.4:
        return local_condition(rng, negated)
    x = rng.choice(variables)
    templates = (
        "{n}.v {order} {x}.v",
        "{n}.v = {x}.v",
        "{n}.s = {x}.s",
        "{n}[k] = {x}[k]",
        "{n}.w {compare} {x}.w",
        "{n}.v + {x}.v > {one}",
        "{n}.v {order} LAST({x}.v)",
        "{n}.v {order} AVG({x}.v)",
        "{n}.v > COUNT({x})",
        "{n}.v > COUNT(*) - 2",
        "{n}.v {order} {x}.v OR {n}.ok",
        "{n}.v >= {x}.v AND {n}.v <= {y}.v",
        "{n}.v >= {x}.v OR {n}.v <= {y}.v",
    )
    return _filled(rng, rng.choice(templates), x, rng.choice(variables)).replace("{n}", negated)


def tying_conditions(variables: list[str], repeated: set[str], attribute: str) -> str:
    """Return the equalities that ask for one value of an attribute in all events."""
    parts = [f"{one}.{attribute} = {other}.{attribute}" for one, other in pairwise(variables)]
    parts += [f"{variable}.{attribute} = NEXT({variable}.{attribute})" for variable in variables if variable in repeated]
    return " AND ".join(parts)


def _filled(rng: Random, template: str, x: str, y: str, z: str | None = None) -> str:
    values = {
        "{x}": x,
        "{y}": y,
        "{z}": z or y,
        "{order}": rng.choice(ORDERS),
        "{compare}": rng.choice(COMPARISONS),
        "{one}": str(rng.randint(0, 3)),
        "{some}": str(rng.randint(1, 6)),
    }
    for mark, value in values.items():
        template = template.replace(mark, value)
    return template
