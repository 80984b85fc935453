"""The model of a MATCH_RECOGNIZE clause: what it says, free of how it was written and of how it is run.

The clause is about rows in the order of a table, not about events in time, so it has a model of its own beside `model`.
Names of pattern variables are upper case unless they were quoted; spans point into the whole SQL text and take no part in
equality.
"""

from __future__ import annotations

from dataclasses import field
from enum import Enum
from typing import TYPE_CHECKING

from eventide.records import record

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eventide.errors import Span
    from eventide.pattern.sequences import Expression, Name


class RowsPerMatch(Enum):
    """Which rows a match puts out."""

    ONE = "ONE ROW PER MATCH"
    ALL_SHOW_EMPTY = "ALL ROWS PER MATCH SHOW EMPTY MATCHES"
    ALL_OMIT_EMPTY = "ALL ROWS PER MATCH OMIT EMPTY MATCHES"
    ALL_WITH_UNMATCHED = "ALL ROWS PER MATCH WITH UNMATCHED ROWS"


class SkipTo(Enum):
    """Where the search for the next match begins."""

    PAST_LAST_ROW = "PAST LAST ROW"
    NEXT_ROW = "TO NEXT ROW"
    FIRST = "TO FIRST"
    LAST = "TO LAST"


@record
class Variable:
    """One row that is mapped to a primary pattern variable."""

    name: str
    span: Span | None = field(default=None, compare=False, repr=False)


@record
class Concatenation:
    """The parts one after the other."""

    parts: tuple[RowPattern, ...]


@record
class Alternation:
    """One of the parts, an earlier one preferred."""

    parts: tuple[RowPattern, ...]


@record
class Permutation:
    """The parts in any order; orders that keep earlier parts first are preferred (PERMUTE)."""

    parts: tuple[RowPattern, ...]
    span: Span | None = field(default=None, compare=False, repr=False)


@record
class Repetition:
    """The part `least` to `most` times (None: without bound); more rounds preferred, or fewer when reluctant."""

    part: RowPattern
    least: int
    most: int | None
    reluctant: bool = False
    span: Span | None = field(default=None, compare=False, repr=False)


@record
class Exclusion:
    """The part, whose rows ALL ROWS PER MATCH leaves out (`{- ... -}`)."""

    part: RowPattern
    span: Span | None = field(default=None, compare=False, repr=False)


@record
class PartitionStart:
    """Nothing, and only before the first row of a partition (`^`)."""

    span: Span | None = field(default=None, compare=False, repr=False)


@record
class PartitionEnd:
    """Nothing, and only after the last row of a partition (`$`)."""

    span: Span | None = field(default=None, compare=False, repr=False)


@record
class Empty:
    """Nothing, everywhere (`()`)."""

    span: Span | None = field(default=None, compare=False, repr=False)


RowPattern = (
    Variable | Concatenation | Alternation | Permutation | Repetition | Exclusion | PartitionStart | PartitionEnd | Empty
)


@record
class SortKey:
    """A column of ORDER BY; nulls come first in ascending and last in descending order unless the query says otherwise."""

    column: Name
    descending: bool = False
    nulls_first: bool = True


@record
class Measure:
    """A column that MEASURES defines."""

    name: str
    expression: Expression
    span: Span | None = field(default=None, compare=False, repr=False)


@record
class Definition:
    """The condition that a row must meet to be mapped to a variable (DEFINE)."""

    variable: str
    condition: Expression
    span: Span | None = field(default=None, compare=False, repr=False)


@record
class Subset:
    """A union variable: its rows are those of its members (SUBSET)."""

    name: str
    members: tuple[Name, ...]
    span: Span | None = field(default=None, compare=False, repr=False)


@record
class Skip:
    """AFTER MATCH SKIP; `variable` is set for FIRST and LAST."""

    to: SkipTo = SkipTo.PAST_LAST_ROW
    variable: Name | None = None


@record
class RowQuery:
    """A whole MATCH_RECOGNIZE clause.

    The trees of MEASURES and DEFINE are sqlglot's for Spark SQL, in one form: `A.price` is a `Column` with the variable as its
    table, `price` a `Column` without; `FIRST`, `LAST`, `PREV`, `NEXT`, `CLASSIFIER`, `MATCH_NUMBER` are `Anonymous` functions
    with that upper-case name; `RUNNING f(...)` and `FINAL f(...)` are `Anonymous` functions `RUNNING` and `FINAL` around
    the call; `COUNT(A.*)` is `Count(Column(Star, table=A))` and `COUNT(*)` is `Count(Star)`. The variable of a column is
    spelt as in the pattern.
    """

    pattern: RowPattern
    partition_by: tuple[Name, ...] = ()
    order_by: tuple[SortKey, ...] = ()
    measures: tuple[Measure, ...] = ()
    rows_per_match: RowsPerMatch = RowsPerMatch.ONE
    skip: Skip = Skip()
    within: int | None = None
    """The longest time between the first and the last row, in microseconds."""
    subsets: tuple[Subset, ...] = ()
    definitions: tuple[Definition, ...] = ()
    within_span: Span | None = field(default=None, compare=False, repr=False)
    text: str = field(default="", compare=False, repr=False)
    variables: tuple[str, ...] = field(init=False, compare=False, repr=False)
    """The primary variables of the pattern, each once, in the order of their first appearance."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "variables", tuple(primary_variables(self.pattern)))


def parts_of(pattern: RowPattern) -> tuple[RowPattern, ...]:
    """Return the patterns directly inside a pattern."""
    match pattern:
        case Concatenation(parts) | Alternation(parts) | Permutation(parts):
            return parts
        case Repetition(part) | Exclusion(part):
            return (part,)
    return ()


def walk_rows(pattern: RowPattern) -> Iterator[RowPattern]:
    """Yield the pattern and everything inside it, in the order it was written.

    >>> [node.name for node in walk_rows(Concatenation((Variable("A"), Variable("B")))) if isinstance(node, Variable)]
    ['A', 'B']
    """
    yield pattern
    for part in parts_of(pattern):
        yield from walk_rows(part)


def primary_variables(pattern: RowPattern) -> list[str]:
    """Return the variables of a pattern, each once, in the order of their first appearance.

    >>> primary_variables(Alternation((Variable("B"), Variable("A"), Variable("B"))))
    ['B', 'A']
    """
    return list(dict.fromkeys(node.name for node in walk_rows(pattern) if isinstance(node, Variable)))
