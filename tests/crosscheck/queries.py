"""Random MATCH_RECOGNIZE clauses inside what a peer can express, as our model and as text.

The harness draws clauses that no peer takes or gets right, so they are drawn here; how patterns are written is shared.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from random import Random

import sqlglot
from sqlglot import exp

from eventide.pattern.row_patterns import (
    Alternation,
    Concatenation,
    Definition,
    Empty,
    Exclusion,
    Measure,
    PartitionEnd,
    PartitionStart,
    Permutation,
    Repetition,
    RowPattern,
    RowQuery,
    RowsPerMatch,
    Skip,
    SkipTo,
    SortKey,
    Subset,
    Variable,
    primary_variables,
    walk_rows,
)
from eventide.pattern.sequences import Expression, Name
from harness.kinds.row_patterns.patterns import pattern_text

NAVIGATION = ("FIRST", "LAST", "PREV", "NEXT", "CLASSIFIER", "MATCH_NUMBER", "RUNNING", "FINAL")
HALF_A_SECOND = 500_000
# What every match is recognised by.
FROM_AND_TO = ("FIRST(id)", "LAST(id)")
QUANTIFIERS = ((0, None), (1, None), (0, 1), (2, 2), (1, 2), (0, 2), (2, None), (2, 3))


def expression(text: str) -> Expression:
    """Return an expression in the form that the model asks for.

    >>> expression("FINAL LAST(A.x, 1) > 2").tree.sql()
    'FINAL(LAST(A.x, 1)) > 2'
    """
    calls = re.sub(r"\b(RUNNING|FINAL) (\w+\([^()]*\))", r"\1(\2)", text)
    # sqlglot has nodes of its own for FIRST and LAST; with another name they stay plain functions.
    tree = sqlglot.parse_one(re.sub(rf"\b({'|'.join(NAVIGATION)})\(", r"\1_(", calls))
    for call in tree.find_all(exp.Anonymous):
        call.set("this", call.name.rstrip("_"))
    return Expression(text, tree)


def text_of(query: RowQuery) -> str:
    """Write a query over the table t as SQL that every engine reads."""
    lines = ["SELECT * FROM t MATCH_RECOGNIZE ("]
    if query.partition_by:
        lines.append(f"PARTITION BY {', '.join(name.text for name in query.partition_by)}")
    lines.append(f"ORDER BY {', '.join(key.column.text for key in query.order_by)}")
    lines.append("MEASURES " + ", ".join(f"{measure.expression.sql} AS {measure.name}" for measure in query.measures))
    lines.append(query.rows_per_match.value)
    lines.append(f"AFTER MATCH SKIP {query.skip.to.value}" + (f" {query.skip.variable.text}" if query.skip.variable else ""))
    within = f" WITHIN INTERVAL '{query.within / 1_000_000:g}' SECOND" if query.within is not None else ""
    lines.append(f"PATTERN ({pattern_text(query.pattern)}){within}")
    if query.subsets:
        members = (f"{subset.name} = ({', '.join(name.text for name in subset.members)})" for subset in query.subsets)
        lines.append(f"SUBSET {', '.join(members)}")
    if query.definitions:
        lines.append("DEFINE " + ", ".join(f"{each.variable} AS {each.condition.sql}" for each in query.definitions))
    return "\n".join([*lines, ")"])


@dataclass(frozen=True)
class Shape:
    """What a peer takes."""

    conditions: tuple[str, ...]
    """Templates: {v} is the variable itself, {o} another one, {n} a small number."""
    measures: tuple[str, ...]
    order: str
    always: tuple[str, ...] = ()
    """Measures of every query."""


FLINK = Shape(
    conditions=(
        "{v}.x > {n}",
        "{v}.x <= {n}",
        "{v}.x <> {n}",
        "{v}.s = 'a'",
        "{v}.x IS NULL OR {v}.s <> 'c'",
        "{v}.x > LAST({v}.x, 1)",
        "LAST({v}.x, 1) IS NULL OR {v}.x < LAST({v}.x, 1)",
        "{v}.x >= FIRST({v}.x)",
        "{v}.x > LAST({o}.x)",
        "{v}.x < FIRST({o}.x) OR {v}.s = 'b'",
        "{v}.x <> {o}.x",
        "{v}.x + {v}.y > {n}",
        "SUM({v}.x) < 2 * {n} + 2",
        "COUNT({v}.id) <= {n}",
        "AVG({v}.d) > {n}",
        "MAX({v}.x) - MIN({v}.x) <= {n}",
        "SUM({o}.y) > {v}.x",
        "x > LAST(x, 1)",
    ),
    measures=("COUNT({v}.id)", "SUM({v}.x)", "AVG({v}.d)", "MIN({v}.y)", "LAST({v}.x, 1)", "FIRST({v}.s, 1)", "LAST({v}.id)"),
    order="ts",
    always=FROM_AND_TO,
)
PANDAS = Shape(
    conditions=(
        "x > {n}",
        "{v}.x <= {n}",
        "{v}.x = {n}",
        "{v}.s = 'a'",
        "{v}.x IS NULL OR {v}.s = 'c'",
        "x > PREV(x)",
        "x < PREV(x)",
        "x >= PREV(x, 2)",
        "x < NEXT(x)",
        "{v}.x > PREV({v}.x)",
        "{v}.x > {o}.x",
        "{v}.x > LAST({v}.x, 1)",
        "LAST({v}.x, 1) IS NULL OR {v}.x < LAST({v}.x, 1)",
        "{v}.x + {v}.y > {n}",
        "{v}.x IN ({n}, 5)",
        "SUM({v}.x) < 2 * {n} + 2",
        "COUNT({v}.id) <= {n}",
        "AVG({v}.d) > {n}",
        "MAX({v}.x) - MIN({v}.x) <= {n}",
        "{v}.x > MIN({o}.y)",
    ),
    measures=(
        "LAST({v}.id)",
        "COUNT({v}.id)",
        "SUM({v}.x)",
        "LAST({v}.s)",
        "PREV(x)",
        "NEXT(x)",
        "FINAL LAST({v}.id)",
        "FINAL SUM({v}.x)",
        "FINAL COUNT({v}.id)",
        "COUNT(*)",
        "SUM(x)",
        "LAST({u}.id)",
        "COUNT({u}.id)",
    ),
    order="id",
    always=("MATCH_NUMBER()", "CLASSIFIER()", *FROM_AND_TO),
)
PANDAS_ALL_ROWS = replace(
    PANDAS, measures=("LAST({v}.id)", "LAST({v}.s)", "PREV(x)", "NEXT(x)", "FINAL LAST({v}.id)", "FINAL SUM({v}.x)", "LAST({u}.id)")
)
PANDAS_KNOWN_TO_DIFFER = Shape(
    conditions=(
        *PANDAS.conditions,
        "{v}.x <> {n}",
        "{v}.x BETWEEN {n} AND 4",
        "NOT {v}.x > {n}",
        "COUNT(*) <= {n}",
        "{v}.x > LAST({o}.x)",
        "{v}.x >= FIRST({v}.x)",
        "{v}.x < FIRST({o}.x) OR {v}.s = 'b'",
        "{v}.x >= PREV(FIRST({v}.x))",
        "{v}.x < {u}.x",
    ),
    measures=(
        *PANDAS.measures,
        "FIRST({v}.id)",
        "AVG({v}.d)",
        "MIN({v}.y)",
        "LAST({v}.x, 1)",
        "FIRST({v}.s, 1)",
        "PREV({v}.x)",
        "PREV(FIRST({v}.x))",
        "CLASSIFIER({u})",
    ),
    order="id",
    always=("MATCH_NUMBER()", "CLASSIFIER()", *FROM_AND_TO),
)


def flink_query(rng: Random) -> RowQuery:
    """Make a query that Flink takes: variables in a row, quantified one by one, the last one not greedily."""
    names = "ABCD"[: rng.randint(2, 4)]
    parts: list[RowPattern] = []
    for name in names[:-1]:
        parts.append(flink_part(rng, name, may_be_optional=not (parts and is_greedy(parts[-1]))))
    if all(isinstance(part, Repetition) and part.least == 0 for part in parts):
        parts[0] = Variable(names[0])
    last = Variable(names[-1])
    parts.append(rng.choice([last, last, Repetition(last, 2, 2), Repetition(last, 1, None, reluctant=True)]))
    query = base_query(rng, FLINK, Concatenation(tuple(parts)))
    certain = [part.name for part in parts[1:] if isinstance(part, Variable)]
    skips = [Skip(), Skip(), Skip(SkipTo.NEXT_ROW), *(Skip(to, Name(name)) for name in certain for to in (SkipTo.FIRST, SkipTo.LAST))]
    # Times are whole seconds, so a bound between two of them means the same whether it is part of the window or not.
    within = rng.randint(2, 12) * 1_000_000 + rng.choice((0, HALF_A_SECOND, HALF_A_SECOND)) if rng.random() < 0.3 else None
    return replace(query, skip=rng.choice(skips), within=within)


def flink_part(rng: Random, name: str, *, may_be_optional: bool) -> RowPattern:
    """Make one part of a pattern for Flink, which takes neither `{,m}` nor `??`, and nothing optional behind a greedy loop."""
    if rng.random() < 0.4:
        return Variable(name)
    least, most = rng.choice([(low, high) for low, high in QUANTIFIERS if (low, high) != (0, 2) and (low or may_be_optional)])
    return Repetition(Variable(name), least, most, reluctant=rng.random() < 0.3 and (least, most) != (0, 1) and least != most)


def is_greedy(part: RowPattern) -> bool:
    """Tell whether a part takes as many rows as it can."""
    return isinstance(part, Repetition) and part.least != part.most and not part.reluctant


def pandas_query(rng: Random) -> RowQuery:
    """Make a query with any construct of R010; most keep to what pandas-match-recognize is not known to get wrong."""
    pattern = random_pattern(rng, list("ABCDEF"), rng.randint(1, 3))
    if rng.random() < 0.1:
        pattern = Concatenation((PartitionStart(), pattern))
    if rng.random() < 0.1:
        pattern = Concatenation((pattern, PartitionEnd()))
    present = primary_variables(pattern)
    if not present:
        return pandas_query(rng)
    modes = [mode for mode in RowsPerMatch if mode is not RowsPerMatch.ALL_WITH_UNMATCHED or not has_exclusion(pattern)]
    mode = rng.choice([RowsPerMatch.ONE, RowsPerMatch.ONE, *modes])
    careful = PANDAS if mode is RowsPerMatch.ONE else PANDAS_ALL_ROWS
    subsets = (Subset("U", tuple(map(Name, rng.sample(present, 2)))),) if len(present) > 1 and rng.random() < 0.2 else ()
    query = base_query(rng, careful if rng.random() < 0.8 else PANDAS_KNOWN_TO_DIFFER, pattern, subsets)
    target = Skip(rng.choice((SkipTo.FIRST, SkipTo.LAST)), Name(rng.choice(present[1:] or present)))
    return replace(query, rows_per_match=mode, skip=rng.choice([Skip(), Skip(), Skip(), Skip(SkipTo.NEXT_ROW), target]))


def has_exclusion(pattern: RowPattern) -> bool:
    """Tell whether rows are left out of the result."""
    return any(isinstance(node, Exclusion) for node in walk_rows(pattern))


def base_query(rng: Random, shape: Shape, pattern: RowPattern, subsets: tuple[Subset, ...] = ()) -> RowQuery:
    """Put random conditions and measures around a pattern."""
    present = primary_variables(pattern)

    def fill(template: str, variable: str) -> str | None:
        others = [name for name in present if name != variable]
        if ("{o}" in template and not others) or ("{u}" in template and not subsets):
            return None
        return template.format(v=variable, o=rng.choice(others or [variable]), n=rng.randint(0, 4), u="U")

    # Half of the queries tell neighbours apart, so that a row can be mapped in one way only.
    is_exclusive = rng.random() < 0.5
    definitions = []
    for place, name in enumerate(present):
        conditions = [text for template in rng.sample(shape.conditions, 4) if (text := fill(template, name))]
        if is_exclusive:
            conditions = [f"{name}.s = '{'abc'[place % 3]}'", *(conditions[:1] if rng.random() < 0.3 else ())]
        elif rng.random() < 0.8:
            conditions = conditions[:1]
        if conditions and (is_exclusive or place == 0 or rng.random() < 0.85):
            text = " AND ".join(f"({each})" for each in conditions[:2]) if len(conditions) > 1 else conditions[0]
            definitions.append(Definition(name, expression(text)))
    measures = [text for template in rng.sample(shape.measures, 3) if (text := fill(template, rng.choice(present)))]
    texts = [*shape.always, *measures]
    return RowQuery(
        pattern,
        partition_by=(Name("k"),),
        order_by=(SortKey(Name(shape.order)),),
        measures=tuple(Measure(f"m{number}", expression(text)) for number, text in enumerate(texts)),
        subsets=subsets,
        definitions=tuple(definitions),
    )


def random_pattern(rng: Random, unused: list[str], depth: int) -> RowPattern:
    """Make a pattern of at most that depth, mostly with a new variable at each place."""

    def variable() -> Variable:
        return Variable(unused.pop(0) if unused and rng.random() < 0.95 else rng.choice("ABCD"))

    def part() -> RowPattern:
        return random_pattern(rng, unused, depth - 1)

    if depth == 0:
        return variable()
    kind = rng.random()
    if kind < 0.40:
        return Concatenation(tuple(part() for _ in range(rng.randint(2, 3))))
    if kind < 0.75:
        least, most = rng.choice(QUANTIFIERS)
        return Repetition(variable() if rng.random() < 0.6 else part(), least, most, reluctant=rng.random() < 0.25)
    if kind < 0.87:
        return Alternation((part(), part()))
    if kind < 0.92:
        return Permutation((variable(), variable()))
    if kind < 0.97:
        return Exclusion(part())
    return Empty() if rng.random() < 0.3 else part()
