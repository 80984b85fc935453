"""Patterns written in Python instead of text.

>>> pattern = event("Trade").named("a") >> event("Trade").named("b").where("price > 3").one_or_more()
>>> print(query(pattern.filter("a.price < b.price"), within="30 minutes").text)
SELECT *
WHERE Trade AS a ; (Trade AS b FILTER b.price > 3)+
FILTER a.price < b.price
WITHIN 30 minutes
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal, TypeVar

from sqlglot import exp

from eventide.errors import ParseError, did_you_mean
from eventide.language.ceql.parser import parse_ceql
from eventide.language.parts.columns import parse_columns
from eventide.language.parts.sequences import build_absence, build_repeat, build_sequence, finished
from eventide.language.parts.totals import parse_grouping, parse_ordering, parse_sample
from eventide.language.parts.windows import parse_window, window_text
from eventide.language.parts.within import Within, parse_within
from eventide.language.reading.expressions import parse_condition
from eventide.language.reading.grammar import errors_in
from eventide.language.reading.short_forms import make_identifier, unqualified_columns
from eventide.pattern.expressions import expression_from_tree
from eventide.pattern.sequence_printing import to_ceql
from eventide.pattern.sequences import (
    Absence,
    Both,
    Consumption,
    Either,
    Event,
    Expression,
    Filtered,
    Name,
    Named,
    OutputItem,
    Pattern,
    Query,
    Repeat,
    Sample,
    Selector,
    Sequence,
    Strategy,
    Window,
    WindowUnit,
)
from eventide.records import record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from datetime import timedelta

    Size = str | int | timedelta
    """A length of time or a number of events."""

StrategyName = Literal["any", "next", "strict"]
Clause = TypeVar("Clause")


@record
class PatternBuilder:
    """A pattern that can be extended; every method returns a new one."""

    pattern: Pattern

    def named(self, variable: str) -> PatternBuilder:
        """Bind the events of this pattern to a variable.

        >>> event("Trade").named("a").pattern.variable
        'a'
        """
        return PatternBuilder(Named(self.pattern, variable))

    def where(self, condition: str) -> PatternBuilder:
        """Keep events for which a condition holds; attributes without a variable belong to this event.

        >>> event("Trade").named("a").where("price > 3").pattern.condition.sql
        'a.price > 3'
        """
        return PatternBuilder(Filtered(self.pattern, _own_condition(self.pattern, condition)))

    def filter(self, condition: str) -> PatternBuilder:
        """Keep matches for which a condition over any variables holds.

        >>> (event("A") >> event("B")).filter("A.x < B.x").pattern.condition.sql
        'A.x < B.x'
        """
        return PatternBuilder(Filtered(self.pattern, parse_condition(condition)))

    def one_or_more(self, strategy: StrategyName = "any") -> PatternBuilder:
        """Repeat the pattern one or more times.

        >>> event("A").one_or_more().pattern.minimum
        1
        """
        return self._repeated(1, None, strategy)

    def zero_or_more(self, strategy: StrategyName = "any") -> PatternBuilder:
        """Repeat the pattern any number of times, also not at all.

        >>> event("A").zero_or_more().pattern.minimum
        0
        """
        return self._repeated(0, None, strategy)

    def optional(self, strategy: StrategyName = "any") -> PatternBuilder:
        """Let the pattern be missing.

        >>> event("A").optional().pattern.maximum
        1
        """
        return self._repeated(0, 1, strategy)

    def times(self, minimum: int, maximum: int | None = None, strategy: StrategyName = "any") -> PatternBuilder:
        """Repeat the pattern exactly `minimum` times, or between `minimum` and `maximum` times.

        >>> event("A").times(2, 3).pattern.maximum
        3
        """
        return self._repeated(minimum, minimum if maximum is None else maximum, strategy)

    def at_least(self, minimum: int, strategy: StrategyName = "any") -> PatternBuilder:
        """Repeat the pattern `minimum` times or more.

        >>> event("A").at_least(2).pattern.minimum
        2
        """
        return self._repeated(minimum, None, strategy)

    def then(self, other: PatternBuilder | AbsenceBuilder, strategy: StrategyName = "any") -> PatternBuilder:
        """Continue with another pattern, or with the absence of an event.

        >>> len(event("A").then(event("B"), strategy="strict").pattern.parts)
        2
        """
        elements, strategies = _taken_apart(self.pattern)
        added = other.absence if isinstance(other, AbsenceBuilder) else other.pattern
        return PatternBuilder(build_sequence([*elements, added], [*strategies, _strategy(strategy)]))

    def __rshift__(self, other: PatternBuilder | AbsenceBuilder) -> PatternBuilder:
        """`a >> b`: a, then b."""
        return self.then(other)

    def __or__(self, other: PatternBuilder) -> PatternBuilder:
        """`a | b`: a or b."""
        own = self.pattern.parts if isinstance(self.pattern, Either) else (self.pattern,)
        return PatternBuilder(Either((*own, other.pattern)))

    def __and__(self, other: PatternBuilder) -> PatternBuilder:
        """`a & b`: a and b, in any order."""
        joins = isinstance(self.pattern, Both) and self.pattern.strategy is Strategy.ANY
        own = self.pattern.parts if isinstance(self.pattern, Both) and joins else (self.pattern,)
        return PatternBuilder(Both((*own, other.pattern)))

    def _repeated(self, minimum: int, maximum: int | None, strategy: StrategyName) -> PatternBuilder:
        return PatternBuilder(build_repeat(self.pattern, minimum, maximum, _strategy(strategy)))


@record
class AbsenceBuilder:
    """An event that must not occur, for use in a sequence."""

    absence: Absence

    def __rshift__(self, other: PatternBuilder) -> PatternBuilder:
        """`absent(b) >> a`: no b before a."""
        return seq(self, other)


def event(event_type: str | None = None, stream: str | None = None) -> PatternBuilder:
    """Begin a pattern with one event of a type; without a type, of any type.

    >>> event("Trade", stream="nyse").pattern.stream
    'nyse'
    """
    return PatternBuilder(Event(event_type, stream))


def absent(pattern: PatternBuilder) -> AbsenceBuilder:
    """Ask that an event does not occur between its neighbours in a sequence.

    >>> seq(event("A"), absent(event("B")), event("C")).pattern.gaps[0].absences[0].event.type
    'B'
    """
    return AbsenceBuilder(build_absence(pattern.pattern))


def seq(*parts: PatternBuilder | AbsenceBuilder, strategy: StrategyName = "any") -> PatternBuilder:
    """Put patterns one after the other.

    >>> len(seq(event("A"), event("B"), event("C")).pattern.parts)
    3
    """
    elements = [part.absence if isinstance(part, AbsenceBuilder) else part.pattern for part in parts]
    _at_least_two(elements, "seq")
    return PatternBuilder(build_sequence(elements, [_strategy(strategy)] * (len(elements) - 1)))


def either(*parts: PatternBuilder) -> PatternBuilder:
    """Take one of several patterns.

    >>> len(either(event("A"), event("B")).pattern.parts)
    2
    """
    _at_least_two(parts, "either")
    return PatternBuilder(Either(tuple(part.pattern for part in parts)))


def both(*parts: PatternBuilder, strategy: StrategyName = "any") -> PatternBuilder:
    """Take all of several patterns, in any order.

    >>> len(both(event("A"), event("B")).pattern.parts)
    2
    """
    _at_least_two(parts, "both")
    return PatternBuilder(Both(tuple(part.pattern for part in parts), _strategy(strategy)))


def query(
    pattern: PatternBuilder,
    *,
    select: list[str] | str | None = None,
    selector: str = "all",
    where: str | None = None,
    streams: Iterable[str] = (),
    partition_by: Iterable[str] = (),
    within: Size | None = None,
    slide: Size | None = None,
    between_steps: Size | None = None,
    consume_by: str = "none",
    limit: int | None = None,
    group_by: str | None = None,
    order_by: str | None = None,
    sample: int | None = None,
    seed: int | None = None,
) -> Query:
    """Make a query of a pattern; the strings are those of the CEQL clauses.

    `within` bounds the whole match, `between_steps` the distance of neighbouring events. `group_by` ("partition", "end",
    "window 5 minutes"), `order_by` with `limit`, and `sample` with `seed` ask for results over all matches.

    >>> query(event("A") >> event("B"), select=["A.x AS first", "COUNT(B) AS n"], within="100 events").window.size
    100
    """
    if limit is not None and limit < 0:
        raise ParseError("BAD_LIMIT", "LIMIT cannot be negative.", hint="Pass limit=10.")
    whole = pattern.filter(where).pattern if where is not None else pattern.pattern
    windows = _within(within, slide, between_steps)
    built = finished(
        Query(
            pattern=whole,
            output=_output(select),
            selector=Selector[
                _known(selector, {"NXT": "NEXT"} | {item.name: item.name for item in Selector}, "UNKNOWN_SELECTOR")
            ],
            streams=_name_tuple(streams),
            partition_by=_name_tuple(partition_by),
            window=windows.window,
            step_window=windows.step_window,
            consumption=Consumption[_known(consume_by, {item.name: item.name for item in Consumption}, "UNEXPECTED_TOKEN")],
            limit=limit,
            group_by=None if group_by is None else _read(parse_grouping, group_by),
            order_by=None if order_by is None else _read(parse_ordering, order_by),
            sample=_sample(sample, seed),
        )
    )
    return _with_text(built)


def _with_text(built: Query) -> Query:
    """Give the query its CEQL text, and all its parts their place in it, so that later errors can point somewhere."""
    text = to_ceql(built)
    try:
        parsed = parse_ceql(text)
    except ParseError:
        parsed = None  # CEQL has no words for it
    if parsed == built and parsed is not None:
        return replace(parsed, language="builder")
    return replace(built, text=text)


def _own_condition(pattern: Pattern, text: str) -> Expression:
    condition = parse_condition(text)
    variable = _own_variable(pattern)
    if variable is None:
        raise ParseError(
            "BAD_EXPRESSION",
            "It is not clear which event the condition is about.",
            text=text,
            span=condition.span,
            hint="Name the event first: .named('a').where(...), or use .filter('a.x < b.x').",
        )
    tree = condition.tree.copy()
    for column in list(unqualified_columns(tree)):
        if not (column.name == variable and isinstance(column.parent, exp.Count)):
            column.set("table", make_identifier(variable))
    return expression_from_tree(tree, condition.span)


def _own_variable(pattern: Pattern) -> str | None:
    while True:
        match pattern:
            case Named(variable=variable):
                return variable
            case Event(type=kind):
                return kind
            case Filtered(pattern=inner) | Repeat(pattern=inner):
                pattern = inner
            case _:
                return None


def _taken_apart(pattern: Pattern) -> tuple[list[Pattern | Absence], list[Strategy]]:
    """Return the elements of a sequence and what stands between them, so that it can grow at its end."""
    if not isinstance(pattern, Sequence):
        return [pattern], []
    elements: list[Pattern | Absence] = [*pattern.leading, pattern.parts[0]]
    strategies = [Strategy.ANY] * len(pattern.leading)
    for gap, part in zip(pattern.gaps, pattern.parts[1:], strict=True):
        elements.extend((*gap.absences, part))
        strategies.extend([gap.strategy] * (len(gap.absences) + 1))
    elements.extend(pattern.trailing)
    strategies.extend([Strategy.ANY] * len(pattern.trailing))
    return elements, strategies


def _at_least_two(parts: Iterable[object], function: str) -> None:
    if len(list(parts)) < 2:
        raise ParseError(
            "UNEXPECTED_END", f"{function} takes two or more patterns.", hint=f"Write {function}(event('A'), event('B'))."
        )


def _strategy(name: str) -> Strategy:
    return Strategy[_known(name, {item.name: item.name for item in Strategy}, "UNKNOWN_STRATEGY")]


def _known(name: str, known: dict[str, str], condition: str) -> str:
    if name.upper() not in known:
        raise ParseError(condition, f"There is no {name!r} here.", hint=did_you_mean(name, [word.lower() for word in known]))
    return known[name.upper()]


def _name_tuple(names: Iterable[str]) -> tuple[Name, ...]:
    return tuple(Name(name) for name in ([names] if isinstance(names, str) else names))


def _output(select: list[str] | str | None) -> tuple[OutputItem, ...] | None:
    if select is None or select == "*":
        return None
    texts = [select] if isinstance(select, str) else select
    return tuple(item for text in texts for item in parse_columns(text))


def _read(reader: Callable[[str], Clause], text: str) -> Clause:
    if not text.strip():
        raise ParseError("UNEXPECTED_END", "An empty text says nothing.", hint="Leave it out.")
    with errors_in(text):
        return reader(text)


def _sample(size: int | None, seed: int | None) -> Sample | None:
    if size is None:
        if seed is not None:
            raise ParseError("BAD_SAMPLE", "A seed needs a sample.", hint="Pass sample=10, seed=7.")
        return None
    return _read(parse_sample, str(size) if seed is None else f"{size} SEED {seed}")


def _within(within: Size | None, slide: Size | None, between_steps: Size | None) -> Within:
    read = Within() if within is None else parse_within(window_text(within))
    if slide is not None:
        read = replace(read, window=_sliding(read.window, slide))
    if between_steps is None:
        return read
    if read.step_window is not None:
        raise ParseError("BAD_WINDOW", "There are two windows between steps.", hint="Pass between_steps='30 seconds' alone.")
    return replace(read, step_window=parse_within(f"{window_text(between_steps)} BETWEEN STEPS").step_window)


def _sliding(window: Window | None, slide: Size) -> Window:
    if window is None:
        raise ParseError("BAD_WINDOW", "A window that slides needs a size.", hint="Pass within='30 minutes' as well.")
    step = parse_window(window_text(slide))
    if step.unit is not window.unit or step.unit not in (WindowUnit.DURATION, WindowUnit.TIME_UNITS) or step.size == 0:
        raise ParseError(
            "BAD_WINDOW",
            "The slide must be a positive time of the same kind as the window.",
            hint="Pass within='30 minutes', slide='5 minutes'.",
        )
    return replace(window, slide=int(step.size))
