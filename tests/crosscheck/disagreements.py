"""Where the peers are known to answer otherwise than the standard: each with a test that recognises such a case, and the reason."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property

from crosscheck.tables import COLUMNS, Row
from eventide.pattern.row_patterns import (
    Alternation,
    Concatenation,
    Empty,
    PartitionEnd,
    Permutation,
    Repetition,
    RowPattern,
    RowQuery,
    RowsPerMatch,
    SkipTo,
    Variable,
    parts_of,
    walk_rows,
)
from eventide_reference.row_patterns.reading import Sight, Table
from eventide_reference.row_patterns.walk import is_within, subset_members
from eventide_reference.row_patterns.words import Search, Steps, Word
from harness.kinds.row_patterns.patterns import pattern_text

MOST_STEPS = 200_000


@dataclass(frozen=True)
class Sample:
    """A query and the rows of one partition, in order."""

    query: RowQuery
    rows: list[Row]

    @cached_property
    def conditions(self) -> str:
        return "; ".join(f"{each.variable} AS {each.condition.sql}" for each in self.query.definitions)

    @cached_property
    def measures(self) -> str:
        return "; ".join(measure.expression.sql for measure in self.query.measures)

    @cached_property
    def pattern(self) -> str:
        return pattern_text(self.query.pattern)

    @property
    def has_all_rows(self) -> bool:
        return self.query.rows_per_match is not RowsPerMatch.ONE

    @cached_property
    def is_ambiguous(self) -> bool:
        """Tell whether from some row on more than one mapping is possible, so that preferment decides."""
        table = Table(self.rows, [name for name, _ in COLUMNS])
        return any(_has_choice(self.query, table, start) for start in range(len(self.rows)))

    @cached_property
    def may_be_empty(self) -> bool:
        return can_be_empty(self.query.pattern)


def _has_choice(query: RowQuery, table: Table, start: int) -> bool:
    conditions = {definition.variable: definition.condition.tree for definition in query.definitions}
    members = subset_members(query)
    prefixes: dict[int, set[tuple[str, ...]]] = {}

    def may_map(word: Word, variable: str) -> bool:
        if not is_within(query, table, start, start + len(word)):
            return False
        variables = (*(mapped.variable for mapped in word), variable)
        sight = Sight(table, start, variables, len(variables), 1, members)
        fits = variable not in conditions or sight.value(conditions[variable]) is True
        if fits:
            prefixes.setdefault(len(variables), set()).add(variables)
        return fits

    words = set(Search(start, len(table.rows), may_map, Steps(MOST_STEPS)).words(query.pattern))
    return len(words) > 1 or any(len(found) > 1 for found in prefixes.values())


def can_be_empty(pattern: RowPattern) -> bool:
    """Tell whether a pattern has the empty word."""
    match pattern:
        case Variable():
            return False
        case Repetition(part, least):
            return least == 0 or can_be_empty(part)
        case Alternation(parts):
            return any(map(can_be_empty, parts))
    return all(map(can_be_empty, parts_of(pattern)))


def quantifies_a_group(pattern: RowPattern) -> bool:
    """Tell whether anything but a variable is repeated."""
    return any(isinstance(node, Repetition) and not isinstance(node.part, Variable) for node in walk_rows(pattern))


def is_plain_sequence(pattern: RowPattern) -> bool:
    """Tell whether a pattern is nothing but variables in a row, quantified greedily one by one."""
    match pattern:
        case Variable():
            return True
        case Repetition(part):
            return isinstance(part, Variable) and not pattern.reluctant
        case Concatenation(parts):
            return all(not isinstance(part, Concatenation) and is_plain_sequence(part) for part in parts)
    return False


def nests_quantifiers(pattern: RowPattern) -> bool:
    """Tell whether a repetition stands inside another."""
    loops = [node for node in walk_rows(pattern) if isinstance(node, Repetition)]
    return any(has(loop.part, Repetition) for loop in loops)


def has(pattern: RowPattern, *kinds: type) -> bool:
    """Tell whether a pattern holds a construct."""
    return any(isinstance(node, kinds) for node in walk_rows(pattern))


def has_rows_apart(rows: list[Row], microseconds: int | None) -> bool:
    """Tell whether two rows are exactly so far apart."""
    distance = None if microseconds is None else timedelta(microseconds=microseconds)
    return any(one["ts"] - other["ts"] == distance for one in rows for other in rows)


def alternatives(pattern: RowPattern) -> list[RowPattern]:
    """Return the parts of all alternations."""
    return [part for node in walk_rows(pattern) if isinstance(node, Alternation) for part in node.parts]


def repeats_a_variable(pattern: RowPattern) -> bool:
    """Tell whether a variable stands in several places."""
    names = [node.name for node in walk_rows(pattern) if isinstance(node, Variable)]
    return len(names) > len(set(names))


@dataclass(frozen=True)
class Disagreement:
    """A reason why a peer may answer otherwise, and how to recognise where it applies."""

    engine: str
    name: str
    why: str
    recognises: Callable[[Sample], bool]


def in_conditions(expression: str) -> Callable[[Sample], bool]:
    """Recognise text in DEFINE."""
    return lambda sample: re.search(expression, sample.conditions) is not None


def in_measures(expression: str) -> Callable[[Sample], bool]:
    """Recognise text in MEASURES."""
    return lambda sample: re.search(expression, sample.measures) is not None


RUNNING_READING = re.compile(r"FINAL COUNT|(?<!FINAL )\b((COUNT|SUM|AVG|MIN|MAX)\(|FIRST\((\w+\.|x, ))")

DISAGREEMENTS = (
    Disagreement(
        "flink",
        "preferment",
        "Flink follows all mappings at once and keeps the match that is complete first, and a greedy loop never gives a row back: where"
        " more than one mapping is possible, it may report another match than the preferred one, several, or none.",
        lambda sample: sample.is_ambiguous,
    ),
    Disagreement(
        "flink",
        "WITHIN",
        "Flink leaves out matches whose first and last row are exactly the distance of WITHIN apart.",
        lambda sample: has_rows_apart(sample.rows, sample.query.within),
    ),
    Disagreement(
        "pandas",
        "preferment",
        "Its automaton merges states: with groups, alternations, PERMUTE and reluctant quantifiers the match may not be the preferred"
        " one, or be lost, where more than one mapping is possible.",
        lambda sample: sample.is_ambiguous and not is_plain_sequence(sample.query.pattern),
    ),
    Disagreement(
        "pandas",
        "alternatives of several rows",
        "When the first alternative fails after some rows, the second is not always tried.",
        lambda sample: any(not isinstance(part, Variable) for part in alternatives(sample.query.pattern)),
    ),
    Disagreement(
        "pandas",
        "reluctant quantifiers with bounds",
        "CLASSIFIER is null, or a match is lost, with ??, {n,}? and {n,m}?.",
        lambda sample: any(isinstance(node, Repetition) and node.reluctant and (node.least > 1 or node.most) for node in walk_rows(sample.query.pattern)),
    ),
    Disagreement(
        "pandas",
        "nested quantifiers",
        "A quantifier inside a quantified group is not read as written: groups may be matched in part, and `(A*)??` makes what stands before it optional.",
        lambda sample: nests_quantifiers(sample.query.pattern),
    ),
    Disagreement(
        "pandas",
        "empty matches of groups",
        "Empty matches of a quantified group or of an alternation are not found everywhere, and `$` does not keep them to the end.",
        lambda sample: sample.may_be_empty
        and (quantifies_a_group(sample.query.pattern) or has(sample.query.pattern, Alternation, PartitionEnd)),
    ),
    Disagreement(
        "pandas",
        "a variable in several places",
        "When a variable stands more than once in the pattern, matches may be wrong and CLASSIFIER null.",
        lambda sample: repeats_a_variable(sample.query.pattern),
    ),
    Disagreement(
        "pandas",
        "empty alternative",
        "The empty pattern () is preferred wherever it stands, and not only after the alternatives before it.",
        lambda sample: has(sample.query.pattern, Empty),
    ),
    Disagreement(
        "pandas",
        "empty matches and AFTER MATCH SKIP",
        "Empty matches are neither reported nor numbered with AFTER MATCH SKIP TO NEXT ROW, and SKIP TO the first row of a match is not"
        " refused when the pattern can be empty.",
        lambda sample: sample.may_be_empty and sample.query.skip.to is not SkipTo.PAST_LAST_ROW,
    ),
    Disagreement(
        "pandas",
        "excluded rows in ONE ROW PER MATCH",
        "Rows in {- -} are left out of navigation, aggregates and CLASSIFIER under ONE ROW PER MATCH; they are mapped rows like others.",
        lambda sample: "{-" in sample.pattern,
    ),
    Disagreement(
        "pandas",
        "operators in DEFINE",
        "BETWEEN and <> in DEFINE are not evaluated: the condition is never true, without an error.",
        in_conditions(r"\bBETWEEN\b|<>"),
    ),
    Disagreement(
        "pandas",
        "COUNT of rows in DEFINE",
        "COUNT(*) and COUNT(A.*) in DEFINE are never true.",
        in_conditions(r"\bCOUNT\((\w+\.)?\*"),
    ),
    Disagreement(
        "pandas",
        "aggregates in DEFINE",
        "Aggregates in DEFINE are not always taken back to the rows of the mapping that is tried, so matches are lost.",
        in_conditions(r"\b(COUNT|SUM|AVG|MIN|MAX)\("),
    ),
    Disagreement(
        "pandas",
        "PREV(A.x) in DEFINE",
        "The same for PREV of a variable, where more than one mapping is possible or the pattern has groups.",
        lambda sample: re.search(r"\bPREV\(\w+\.", sample.conditions) is not None
        and (sample.is_ambiguous or not is_plain_sequence(sample.query.pattern)),
    ),
    Disagreement(
        "pandas",
        "FIRST and LAST in DEFINE",
        "FIRST and LAST in DEFINE do not always see the rows mapped so far: the row itself is missing, loops end too early, and a variable"
        " whose condition begins with LAST(A.x, 1) IS NULL is not mapped to the first row.",
        in_conditions(r"\b(FIRST|LAST)\("),
    ),
    Disagreement(
        "pandas",
        "subset variables in DEFINE",
        "A SUBSET variable in DEFINE does not count the row itself.",
        in_conditions(r"\bU\."),
    ),
    Disagreement(
        "pandas",
        "NOT and null",
        "NOT of an unknown condition is true: there are two truth values, not three.",
        in_conditions(r"\bNOT\b"),
    ),
    Disagreement(
        "pandas",
        "running measures",
        "Under ALL ROWS PER MATCH, running aggregates and FIRST of a variable may see rows after the current one, and FINAL COUNT not all of them.",
        lambda sample: sample.has_all_rows and RUNNING_READING.search(sample.measures) is not None,
    ),
    Disagreement(
        "pandas",
        "PERMUTE",
        "ALL ROWS PER MATCH loses rows of PERMUTE and FINAL does not see them all; AFTER MATCH SKIP TO a variable outside of it is refused.",
        lambda sample: has(sample.query.pattern, Permutation) and (sample.has_all_rows or sample.query.skip.variable is not None),
    ),
    Disagreement(
        "pandas",
        "offsets past the end",
        "FIRST and LAST with an offset beyond the rows of the variable give the row at the end instead of null.",
        in_measures(r"\b(FIRST|LAST)\([^()]*, "),
    ),
    Disagreement(
        "pandas",
        "PREV and NEXT of a variable in MEASURES",
        "PREV(A.x) and NEXT(A.x) go from the current row, not from the last row of A.",
        in_measures(r"\b(PREV|NEXT)\((\w+\.|LAST|FIRST)"),
    ),
    Disagreement(
        "pandas",
        "CLASSIFIER of a subset",
        "CLASSIFIER(U) is null when the last row of the match is no row of U, instead of the name for the last row of U.",
        in_measures(r"CLASSIFIER\(U\)"),
    ),
)
