"""Patterns put together from what a parser found: sequences with their gaps, absences and loops, and what is not allowed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from eventide.errors import ParseError, Span
from eventide.language.parts.absences import move_conditions_to_absences
from eventide.language.reading.tokens import MAXIMUM_DEPTH
from eventide.pattern.expressions import conjunction
from eventide.pattern.sequences import (
    Absence,
    Event,
    Filtered,
    Gap,
    Named,
    Pattern,
    Query,
    Repeat,
    Sequence,
    Strategy,
    levels,
)

if TYPE_CHECKING:
    from eventide.pattern.sequences import Expression

_ONE_EVENT_HINT = "Write NOT B between two parts; for several types NOT B ; NOT C."


def build_sequence(elements: list[Pattern | Absence], strategies: list[Strategy]) -> Sequence:
    """Return the sequence of elements; `strategies[i]` was written between elements i and i + 1.

    >>> build_sequence([Event("A"), Absence(Event("B")), Event("C")], [Strategy.ANY, Strategy.STRICT]).gaps[0].strategy
    <Strategy.STRICT: 'strict'>
    """
    parts: list[Pattern] = []
    gaps: list[Gap] = []
    leading: tuple[Absence, ...] = ()
    waiting: list[Absence] = []
    signs: list[Strategy] = []
    for index, element in enumerate(elements):
        if index:
            signs.append(strategies[index - 1])
        if isinstance(element, Absence):
            waiting.append(element)
            continue
        if parts:
            gaps.append(Gap(_strictest(signs), tuple(waiting)))
        else:
            leading = tuple(waiting)
        parts.append(element)
        waiting, signs = [], []
    if not parts:
        raise not_position(elements[0], "A pattern needs an event that occurs.", "Add a part, as in A ; NOT B ; C.")
    return Sequence(tuple(parts), tuple(gaps), leading, tuple(waiting), span=covering(elements[0], elements[-1]))


def build_absence(pattern: Pattern | Absence, span: Span | None = None) -> Absence:
    """Return the absence of one event, which may be named and filtered.

    >>> build_absence(Named(Event("B"), "b")).variable
    'b'
    """
    variable: str | None = None
    conditions: list[Expression] = []
    inner: Pattern | Absence = pattern
    while isinstance(inner, Named | Filtered):
        if isinstance(inner, Filtered):
            conditions.append(inner.condition)
        elif variable is not None:
            raise not_position(pattern, "NOT takes one event with one name.", "Remove one of the names.")
        else:
            variable = inner.variable
        inner = inner.pattern
    if not isinstance(inner, Event):
        raise not_position(pattern, "NOT takes a single event type.", _ONE_EVENT_HINT)
    condition = conjunction(reversed(conditions)) if conditions else None
    return Absence(inner, variable, condition, span=span or pattern.span)


def positive(pattern: Pattern | Absence) -> Pattern:
    """Return the pattern; an absence outside a sequence is an error.

    >>> positive(Event("A")).type
    'A'
    """
    if isinstance(pattern, Absence):
        raise not_position(pattern, "NOT can only be used in a sequence.", _ONE_EVENT_HINT)
    return pattern


def build_repeat(
    pattern: Pattern, minimum: int, maximum: int | None, strategy: Strategy = Strategy.ANY, span: Span | None = None
) -> Repeat:
    """Return the repeated pattern, or raise an error for bounds that fit nothing.

    >>> build_repeat(Event("A"), 2, None).minimum
    2
    """
    if maximum is not None and (maximum < minimum or maximum == 0 or minimum < 0):
        shown = f"{{{minimum}}}" if minimum == maximum else f"{{{minimum},{maximum}}}"
        hint = f"Write {{{maximum},{minimum}}}." if 0 < maximum < minimum else "Write {1,3}, {2} or {2,}."
        raise ParseError("BAD_QUANTIFIER", f"The quantifier {shown} asks for nothing.", span=span, hint=hint)
    if minimum < 0:
        raise ParseError("BAD_QUANTIFIER", "A part cannot occur less than 0 times.", span=span, hint="Write {1,3} or {2,}.")
    return Repeat(pattern, minimum, maximum, strategy, span=span)


def finished(query: Query) -> Query:
    """Return the query with conditions on negated events moved to their NOT, after the last checks.

    >>> finished(Query(pattern=Event("A"))).pattern.type
    'A'
    """
    negates = _check(query)
    return replace(query, pattern=move_conditions_to_absences(query.pattern)) if negates else query


def covering(first: Pattern | Absence, last: Pattern | Absence) -> Span | None:
    """Return the span from one pattern to another.

    >>> covering(Event("A", span=Span(0, 1)), Event("B", span=Span(4, 5)))
    Span(start=0, end=5)
    """
    return Span(first.span.start, last.span.end) if first.span and last.span else None


def not_position(where: Pattern | Absence, message: str, hint: str) -> ParseError:
    """Return the error for a NOT in a place where it means nothing.

    >>> not_position(Event("A"), "No.", "Yes.").condition
    'NOT_POSITION'
    """
    return ParseError("NOT_POSITION", message, span=where.span, hint=hint)


def _strictest(strategies: list[Strategy]) -> Strategy:
    return next((strategy for strategy in (Strategy.STRICT, Strategy.NEXT) if strategy in strategies), Strategy.ANY)


def _check(query: Query) -> bool:
    """Refuse a pattern too deep for later stages, which walk it recursively, and absences at an edge that mean nothing there.

    Returns whether there are absences.
    """
    negates = False
    outermost = query.pattern
    while isinstance(outermost, Named | Filtered):
        outermost = outermost.pattern
    for current, depth in levels(query.pattern):
        if depth > MAXIMUM_DEPTH:
            raise ParseError(
                "QUERY_TOO_DEEP",
                f"The pattern is nested more than {MAXIMUM_DEPTH} levels deep.",
                span=current.span,
                hint="Use fewer levels of parentheses, names and quantifiers.",
            )
        if isinstance(current, Sequence):
            if current.leading or current.trailing:
                _check_edges(current, query, outermost=current is outermost)
                negates = True
            negates = negates or any(gap.absences for gap in current.gaps)
    return negates


def _check_edges(sequence: Sequence, query: Query, *, outermost: bool) -> None:
    """Absences at the edge of a sequence have a meaning only for the outermost sequence, and only with a window."""
    edge = (*sequence.leading, *sequence.trailing)[0]
    if not outermost:
        raise not_position(
            edge, "NOT cannot stand at the edge of a group.", "Put it between two parts, or outside the parentheses."
        )
    if query.window is None:
        where = "begins" if sequence.leading else "ends"
        beside = "" if query.step_window is None else ", 30 seconds BETWEEN STEPS"
        raise ParseError(
            "NOT_WITHOUT_WITHIN",
            f"A pattern that {where} with NOT needs a window{' of the whole match' if beside else ''}.",
            span=edge.span,
            hint=f"Add {'one' if beside else 'WITHIN'}, as in WITHIN 30 minutes{beside}.",
        )
