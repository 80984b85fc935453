"""Random MATCH_RECOGNIZE clauses, and simpler ones for a clause that fails."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from sqlglot import exp

from eventide.errors import EventideError
from eventide.language.sql.statement import parse_statement
from eventide.pattern.row_patterns import Permutation, Repetition, RowPattern, RowQuery, primary_variables, walk_rows
from harness.kinds.row_patterns.expressions import ExpressionMaker
from harness.kinds.row_patterns.patterns import make_pattern, pattern_text, simpler_patterns

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

ONE, SHOW, OMIT, UNMATCHED = (
    "ONE ROW PER MATCH",
    "ALL ROWS PER MATCH SHOW EMPTY MATCHES",
    "ALL ROWS PER MATCH OMIT EMPTY MATCHES",
    "ALL ROWS PER MATCH WITH UNMATCHED ROWS",
)
ORDERS = (
    ("t",),
    ("t",),
    ("t DESC",),
    ("t NULLS LAST",),
    ("t DESC NULLS FIRST", "u"),
    ("t", "u DESC"),
    ("t", "id"),
    ("id DESC",),
    ("s", "w DESC"),
    ("ok", "g DESC NULLS LAST", "k"),
    ("ts", "id"),
    ("d DESC", "day"),
    (),
)
TIMED_ORDERS = (("ts",), ("ts", "id"), ("ts NULLS LAST", "t"), ("day", "id"))


@dataclass(frozen=True)
class Trial:
    """A clause in pieces; `case_id`, the number of the table, leads PARTITION BY unless a table stands alone."""

    pattern: RowPattern
    partition_by: tuple[str, ...] = ("case_id",)
    order_by: tuple[str, ...] = ("id",)
    measures: tuple[str, ...] = ()
    rows: str = ONE
    skip: str = ""
    within: str = ""
    subsets: tuple[tuple[str, tuple[str, ...]], ...] = ()
    definitions: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """For each variable the conditions that AND joins."""

    @cached_property
    def text(self) -> str:
        """The clause in a query."""
        named = [f"{measure} AS m{number}" for number, measure in enumerate(self.measures)]
        subsets = [f"{name} = ({', '.join(members)})" for name, members in self.subsets]
        defined = [f"{variable} AS {' AND '.join(parts)}" for variable, parts in self.definitions]
        clauses = (
            ("PARTITION BY ", self.partition_by),
            ("ORDER BY ", self.order_by),
            ("MEASURES ", named),
            ("", [self.rows]),
            ("AFTER MATCH SKIP ", [self.skip] if self.skip else []),
            ("PATTERN ", [f"({pattern_text(self.pattern)})"]),
            ("WITHIN ", [self.within] if self.within else []),
            ("SUBSET ", subsets),
            ("DEFINE ", defined),
        )
        body = "\n".join(f"  {head}{', '.join(items)}" for head, items in clauses if items)
        return f"SELECT * FROM input MATCH_RECOGNIZE (\n{body}\n)"

    @cached_property
    def query(self) -> RowQuery:
        """The clause as the parser reads it."""
        return parse_statement(self.text).clauses[0].query

    @property
    def by_case(self) -> bool:
        """Whether many tables can be run as one."""
        return "case_id" in self.partition_by

    def longest_table(self) -> int:
        """Return how many rows the oracle can take in short time."""
        choices = sum(
            2 if isinstance(part, Permutation) or (isinstance(part, Repetition) and not _is_small(part.part)) else 1
            for part in walk_rows(self.pattern)
            if isinstance(part, Permutation) or (isinstance(part, Repetition) and part.most is None)
        )
        return (30, 24, 16, 12, 9, 8, 7)[min(choices, 6)]


def _is_small(pattern: RowPattern) -> bool:
    return not any(isinstance(part, Repetition | Permutation) for part in walk_rows(pattern))


def make_trial(rng: Random, *, zero_division: bool = True) -> Trial:
    """Return a random clause; where division by 0 is an error, it need not divide by what may be 0."""
    rows = rng.choice((ONE, SHOW, OMIT, UNMATCHED))
    pattern = make_pattern(rng, rng.choice((1, 2, 2, 3, 3, 4, 4, 5, 6)), exclusions=rows != UNMATCHED)
    variables = tuple(primary_variables(pattern))
    subsets = _subsets(rng, variables)
    names = tuple(name for name, _ in subsets)
    timed = rng.random() < 0.15
    keys = rng.choice(((), (), ("k",), ("k", "g"), ("g",)))
    alone = rng.random() < 0.06
    maker = ExpressionMaker(rng, variables or ("A",), names, zero_division=zero_division)
    # Without variables nothing but the columns of all rows can be read.
    measures = (
        tuple(maker.measure() for _ in range(rng.randint(1, 5)))
        if variables
        else ("MATCH_NUMBER()", "COUNT(*)", "v", "CLASSIFIER()")
    )
    order = rng.choice(TIMED_ORDERS if timed else ORDERS)
    unit = "DAY" if order[:1] == ("day",) else "SECOND"
    return Trial(
        pattern,
        keys if alone else ("case_id", *keys),
        order,
        measures,
        rows,
        _skip(rng, variables, names),
        rng.choice((f"INTERVAL '3' {unit}", f"2 {unit}S", f"INTERVAL '5' {unit}", f"1 {unit}")) if timed else "",
        subsets,
        _definitions(rng, variables, names, zero_division=zero_division),
    )


STREAM_ORDERS = (
    ("ts",),
    ("ts",),
    ("ts", "id"),
    ("ts", "id DESC"),
    ("ts NULLS LAST", "u DESC"),
    ("ts", "s", "w DESC NULLS FIRST"),
    ("ts", "w", "ok DESC"),
    ("ts", "g DESC NULLS LAST", "d"),
    ("ts", "k", "t NULLS LAST"),
    ("day", "id"),
    ("day", "ts DESC"),
)


def make_stream_trial(rng: Random) -> Trial:
    """Return a random clause over rows in the order of time."""
    trial = make_trial(rng)
    order = rng.choice(STREAM_ORDERS)
    unit = "DAY" if order[0] == "day" else "SECOND"
    within = rng.choice((f"INTERVAL '3' {unit}", f"{rng.randint(0, 6)} {unit}S", f"1 {unit}")) if rng.random() < 0.5 else ""
    return replace(trial, order_by=order, within=within)


def _subsets(rng: Random, variables: tuple[str, ...]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    if not variables or rng.random() < 0.5:
        return ()
    names = ("U", "W")[: rng.choice((1, 1, 2))]
    return tuple((name, tuple(rng.sample(variables, rng.randint(1, len(variables))))) for name in names)


def _skip(rng: Random, variables: tuple[str, ...], subsets: tuple[str, ...]) -> str:
    if not variables or rng.random() < 0.6:
        return rng.choice(("", "PAST LAST ROW", "TO NEXT ROW", "TO NEXT ROW"))
    # Later variables begin a match less often.
    target = rng.choice((*variables, *variables[-1:] * 3, *subsets))
    return f"TO {rng.choice(('FIRST ', 'LAST ', 'LAST ', ''))}{target}"


def _definitions(
    rng: Random, variables: tuple[str, ...], subsets: tuple[str, ...], *, zero_division: bool
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    definitions = []
    dependent = rng.random() < 0.65
    for variable in variables:
        maker = ExpressionMaker(rng, variables, subsets, variable, zero_division)
        chance = rng.random()
        if chance < 0.2:
            continue
        parts = [maker.local_condition()] if not dependent or chance < 0.55 else [maker.condition()]
        if rng.random() < 0.2:
            parts.append(maker.condition() if dependent and rng.random() < 0.7 else maker.local_condition())
        definitions.append((variable, tuple(parts)))
    rng.shuffle(definitions)
    return tuple(definitions)


# Simpler clauses -----------------------------------------------------------------------------------------------------


def simpler_trials(trial: Trial) -> Iterator[Trial]:
    """Yield clauses that are a little simpler; some of them cannot be read."""
    for place in range(len(trial.measures)):
        yield replace(trial, measures=(*trial.measures[:place], *trial.measures[place + 1 :]))
    for place, (variable, parts) in enumerate(trial.definitions):
        others = (trial.definitions[:place], trial.definitions[place + 1 :])
        yield replace(trial, definitions=(*others[0], *others[1]))
        for number, part in enumerate(parts):
            rest = (parts[:number], parts[number + 1 :])
            if len(parts) > 1:
                yield replace(trial, definitions=(*others[0], (variable, (*rest[0], *rest[1])), *others[1]))
            for smaller in _simpler_conditions(trial, variable, part):
                yield replace(trial, definitions=(*others[0], (variable, (*rest[0], smaller, *rest[1])), *others[1]))
    for pattern in simpler_patterns(trial.pattern):
        yield _without_missing(replace(trial, pattern=pattern))
    for place in range(len(trial.subsets)):
        yield replace(trial, subsets=(*trial.subsets[:place], *trial.subsets[place + 1 :]))
    if trial.skip:
        yield replace(trial, skip="")
    if trial.within:
        yield replace(trial, within="")
    elif trial.order_by != ("id",):
        yield replace(trial, order_by=("id",))
    if len(trial.partition_by) > 1:
        yield replace(trial, partition_by=trial.partition_by[:1])
    for place, measure in enumerate(trial.measures):
        for smaller in _simpler_measures(trial, place):
            if len(smaller) < len(measure):
                yield replace(trial, measures=(*trial.measures[:place], smaller, *trial.measures[place + 1 :]))


def _without_missing(trial: Trial) -> Trial:
    variables = primary_variables(trial.pattern)
    return replace(trial, definitions=tuple(item for item in trial.definitions if item[0] in variables))


def _simpler_conditions(trial: Trial, variable: str, condition: str) -> Iterator[str]:
    try:
        tree = replace(trial, definitions=((variable, (condition,)),)).query.definitions[0].condition.tree
    except EventideError:
        return
    yield from _smaller_trees(tree)


def _simpler_measures(trial: Trial, place: int) -> Iterator[str]:
    try:
        tree = trial.query.measures[place].expression.tree
    except EventideError:
        return
    yield from _smaller_trees(tree)


def _smaller_trees(tree: exp.Expression) -> Iterator[str]:
    for index, node in enumerate(tree.walk()):
        for child in node.iter_expressions():
            if isinstance(child, exp.Identifier):
                continue
            holder = exp.Paren(this=tree.copy())
            target = list(holder.this.walk())[index]
            target.replace(child.copy())
            yield holder.this.sql(dialect="spark")
