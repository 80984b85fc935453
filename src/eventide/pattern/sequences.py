"""The pattern model: what a query says, free of how it was written and of how it is run.

Every language parses to these records. Spans point into the query text for error messages and take no part in
equality, so two texts that mean the same compare equal.
"""

from __future__ import annotations

from dataclasses import field
from enum import Enum
from typing import TYPE_CHECKING

from eventide.records import record

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlglot import exp

    from eventide.errors import Span


class Strategy(Enum):
    """What may lie between two consecutive events of a match."""

    STRICT = "strict"
    NEXT = "next"
    ANY = "any"


class Selector(Enum):
    """Which of the matches that end at the same event are kept."""

    ALL = "all"
    ANY = "any"
    NEXT = "next"
    LAST = "last"
    MAX = "max"
    STRICT = "strict"


class Consumption(Enum):
    """What a match takes out of the stream for later matches."""

    NONE = "none"
    PARTITION = "partition"
    ANY = "any"


@record
class Expression:
    """A scalar or boolean Spark SQL expression.

    `tree` is its sqlglot tree with the sugar of the languages removed: an attribute of a pattern variable is
    `Column(table=variable, this=attribute)`, a whole variable (as in COUNT(b)) is a `Column` without a table, and NEXT,
    PREV, FIRST, LAST and the aggregates are function nodes. Identifiers carry `meta["start"]` and `meta["end"]`
    (inclusive) as offsets into the whole query text when it came from a text.
    """

    sql: str
    tree: exp.Expression = field(compare=False, repr=False)
    span: Span | None = field(default=None, compare=False, repr=False)


@record
class Event:
    """One event of a type; `type` None takes an event of any type, `stream` None one of any stream."""

    type: str | None
    stream: str | None = None
    span: Span | None = field(default=None, compare=False, repr=False)


@record
class Named:
    """Bind every event of the inner pattern to a variable (AS)."""

    pattern: Pattern
    variable: str
    span: Span | None = field(default=None, compare=False, repr=False)


@record
class Filtered:
    """Keep the matches of the inner pattern for which the condition holds (FILTER)."""

    pattern: Pattern
    condition: Expression
    span: Span | None = field(default=None, compare=False, repr=False)


@record
class Absence:
    """No such event may occur (NOT, `!`); `variable` names it for conditions, `condition` restricts which events count."""

    event: Event
    variable: str | None = None
    condition: Expression | None = None
    span: Span | None = field(default=None, compare=False, repr=False)


@record
class Gap:
    """What may lie between two neighbouring parts of a sequence."""

    strategy: Strategy = Strategy.ANY
    absences: tuple[Absence, ...] = ()


@record
class Sequence:
    """The parts one after the other; `gaps[i]` stands between `parts[i]` and `parts[i + 1]`.

    `leading` and `trailing` are absences before the first and after the last part, decided by the window.
    """

    parts: tuple[Pattern, ...]
    gaps: tuple[Gap, ...]
    leading: tuple[Absence, ...] = ()
    trailing: tuple[Absence, ...] = ()
    span: Span | None = field(default=None, compare=False, repr=False)


@record
class Either:
    """One of the parts (OR)."""

    parts: tuple[Pattern, ...]
    span: Span | None = field(default=None, compare=False, repr=False)


@record
class Both:
    """All of the parts, in any order and interleaved, over distinct events (AND)."""

    parts: tuple[Pattern, ...]
    strategy: Strategy = Strategy.ANY
    span: Span | None = field(default=None, compare=False, repr=False)


@record
class Repeat:
    """The inner pattern `minimum` to `maximum` times in a row; `maximum` None is without bound; `strategy` rules the loop."""

    pattern: Pattern
    minimum: int
    maximum: int | None
    strategy: Strategy = Strategy.ANY
    span: Span | None = field(default=None, compare=False, repr=False)


Pattern = Event | Named | Filtered | Sequence | Either | Both | Repeat


class WindowUnit(Enum):
    """What the size of a window counts."""

    EVENTS = "events"
    DURATION = "duration"
    TIME_UNITS = "time units"
    ATTRIBUTE = "attribute"

    def __init__(self, text: str) -> None:
        self.timed = text in ("duration", "time units")
        """Whether the window is a length of time."""


@record
class Window:
    """How far the last event of a match may lie from its first, or (between steps) each event from the one before it.

    DURATION sizes and slides are microseconds; TIME_UNITS is a bare number for integer time columns; ATTRIBUTE measures the
    difference of `attribute`. `slide` makes hopping windows.
    """

    unit: WindowUnit
    size: int | float
    slide: int | None = None
    attribute: str | None = None
    span: Span | None = field(default=None, compare=False, repr=False)


@record
class OutputItem:
    """One column of the result: a variable (its events), an attribute, an expression or an aggregate."""

    expression: Expression
    alias: str | None = None
    span: Span | None = field(default=None, compare=False, repr=False)


@record
class Name:
    """A name the user wrote, with its place."""

    text: str
    span: Span | None = field(default=None, compare=False, repr=False)


class GroupUnit(Enum):
    """Which matches one row of aggregates is about: those of a partition, of an end event, or that end in a window."""

    PARTITION = "partition"
    END = "end"
    WINDOW = "window"


@record
class Grouping:
    """GROUP BY: the output aggregates over all matches of each group; `size` of a window None is the SLIDE of WITHIN."""

    unit: GroupUnit
    size: Window | None = None
    span: Span | None = field(default=None, compare=False, repr=False)


@record
class Ordering:
    """ORDER BY: the score by which LIMIT chooses matches."""

    score: Expression
    descending: bool = False
    span: Span | None = field(default=None, compare=False, repr=False)


@record
class Sample:
    """SAMPLE: so many matches drawn at random; the same seed draws the same ones."""

    size: int
    seed: int | None = None
    span: Span | None = field(default=None, compare=False, repr=False)


@record
class Query:
    """A whole query. `output` None is `SELECT *`; `streams` empty takes the one stream that is given.

    `window` bounds the whole match, `step_window` each pair of neighbouring events of it.
    """

    pattern: Pattern
    output: tuple[OutputItem, ...] | None = None
    selector: Selector = Selector.ALL
    streams: tuple[Name, ...] = ()
    partition_by: tuple[Name, ...] = ()
    window: Window | None = None
    step_window: Window | None = None
    consumption: Consumption = Consumption.NONE
    limit: int | None = None
    group_by: Grouping | None = None
    order_by: Ordering | None = None
    sample: Sample | None = None
    text: str = field(default="", compare=False, repr=False)
    language: str = field(default="builder", compare=False)

    @property
    def consumes(self) -> bool:
        """Whether a match takes its events away from later ones."""
        return self.consumption is not Consumption.NONE


def children(pattern: Pattern) -> tuple[Pattern, ...]:
    """Return the direct sub-patterns."""
    match pattern:
        case Event():
            return ()
        case Named(pattern=inner) | Filtered(pattern=inner) | Repeat(pattern=inner):
            return (inner,)
        case Sequence(parts=parts) | Either(parts=parts) | Both(parts=parts):
            return parts


def walk(pattern: Pattern) -> Iterator[Pattern]:
    """Yield the pattern and all its sub-patterns, parents first, in the order they were written."""
    for part, _ in levels(pattern):
        yield part


def levels(pattern: Pattern) -> Iterator[tuple[Pattern, int]]:
    """Yield what `walk` yields, each with its depth: 1 for the pattern itself."""
    pending = [(pattern, 1)]
    while pending:
        current, depth = pending.pop()
        yield current, depth
        pending.extend((child, depth + 1) for child in reversed(children(current)))


def positive_variables(pattern: Pattern) -> set[str]:
    """Return the variables that a match of the pattern may bind.

    >>> sorted(positive_variables(Named(Event("A"), "x")))
    ['A', 'x']
    """
    found: set[str] = set()
    for part in walk(pattern):
        if isinstance(part, Named):
            found.add(part.variable)
        elif isinstance(part, Event) and part.type is not None:
            found.add(part.type)
    return found


def absences(pattern: Pattern) -> Iterator[Absence]:
    """Yield every absence inside the pattern."""
    for part in walk(pattern):
        if isinstance(part, Sequence):
            yield from part.leading
            for gap in part.gaps:
                yield from gap.absences
            yield from part.trailing
