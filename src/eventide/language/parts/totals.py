"""The clauses that ask for results over all matches: GROUP BY, ORDER BY with its direction, SAMPLE with its seed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eventide.errors import ParseError, Span, did_you_mean
from eventide.language.parts.windows import parse_whole_number, parse_window
from eventide.language.reading.expressions import parse_expression
from eventide.language.reading.tokens import is_word, span_of, tokenize
from eventide.pattern.sequences import Grouping, GroupUnit, Ordering, Sample, WindowUnit

if TYPE_CHECKING:
    from lark import Token

_UNITS = {unit.name: unit for unit in GroupUnit}


def parse_grouping(text: str, offset: int = 0) -> Grouping:
    """Read what stands behind GROUP BY.

    >>> parse_grouping("WINDOW 5 minutes").size.size
    300000000
    """
    first, *rest = tokenize(text)
    span = Span(offset, offset + len(text))
    unit = _UNITS.get(first.value.upper()) if first.type == "NAME" else None
    if unit is None:
        raise ParseError(
            "BAD_GROUPING",
            f"GROUP BY does not know {first.value}.",
            span=span_of(first, offset=offset),
            hint="Write GROUP BY PARTITION, GROUP BY END or GROUP BY WINDOW 5 minutes; attributes go into PARTITION BY.",
        )
    if not rest:
        return Grouping(unit, span=span)
    if unit is not GroupUnit.WINDOW:
        raise ParseError(
            "BAD_GROUPING",
            f"GROUP BY {unit.name} ends before {rest[0].value}.",
            span=span_of(rest[0], rest[-1], offset=offset),
            hint="PARTITION BY says by which attributes; GROUP BY takes one of PARTITION, END and WINDOW.",
        )
    begin = rest[0].start_pos or 0
    size = parse_window(text[begin:], offset + begin)
    if size.unit not in (WindowUnit.DURATION, WindowUnit.TIME_UNITS) or size.slide is not None or size.size <= 0:
        raise ParseError(
            "BAD_GROUPING",
            "The windows of GROUP BY have a length in time and follow each other without gaps.",
            span=span_of(rest[0], rest[-1], offset=offset),
            hint="Write GROUP BY WINDOW 5 minutes.",
        )
    return Grouping(unit, size, span=span)


def parse_ordering(text: str, offset: int = 0) -> Ordering:
    """Read what stands behind ORDER BY.

    >>> parse_ordering("SUM(b.amount) DESC").descending
    True
    """
    tokens = tokenize(text)
    descending = is_word(tokens[-1], "DESC")
    if descending or is_word(tokens[-1], "ASC"):
        tokens = tokens[:-1]
    if not tokens:
        raise ParseError(
            "BAD_ORDERING", "ORDER BY has no score.", span=Span(offset, offset + len(text)), hint="Write ORDER BY SUM(b.x) DESC."
        )
    score = text[tokens[0].start_pos or 0 : tokens[-1].end_pos]
    begin = offset + (tokens[0].start_pos or 0)
    return Ordering(parse_expression(score, begin), descending, span=Span(begin, begin + len(score)))


def parse_sample(text: str, offset: int = 0) -> Sample:
    """Read what stands behind SAMPLE.

    >>> parse_sample("10 SEED 7")
    Sample(size=10, seed=7)
    """
    tokens = tokenize(text)
    span = Span(offset, offset + len(text))
    size = _number(tokens[0], offset)
    if len(tokens) == 1:
        return Sample(size, span=span)
    if not is_word(tokens[1], "SEED"):
        raise ParseError(
            "BAD_SAMPLE",
            f"{tokens[1].value} cannot come after the size of a sample.",
            span=span_of(tokens[1], offset=offset),
            hint=did_you_mean(tokens[1].value, ["SEED"]) if tokens[1].type == "NAME" else "Write SAMPLE 10 SEED 7.",
        )
    if len(tokens) != 3:
        raise ParseError("BAD_SAMPLE", "SEED takes one whole number.", span=span, hint="Write SAMPLE 10 SEED 7.")
    return Sample(size, _number(tokens[2], offset), span=span)


def _number(token: Token, offset: int) -> int:
    try:
        return parse_whole_number(token, "BAD_SAMPLE", "SAMPLE", "Write SAMPLE 10 or SAMPLE 10 SEED 7.")
    except ParseError as error:
        span = None if error.span is None else error.span.shifted(offset)
        raise ParseError(error.condition, error.message, span=span, hint=error.hint) from None
