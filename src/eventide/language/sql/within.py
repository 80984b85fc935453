"""WITHIN of MATCH_RECOGNIZE: an interval of SQL, or a duration as in the other languages."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import TYPE_CHECKING

from eventide.errors import ParseError, Span
from eventide.language.parts.windows import MICROSECONDS, parse_window
from eventide.language.reading.tokens import is_word, span_of
from eventide.pattern.sequences import WindowUnit

if TYPE_CHECKING:
    from lark import Token

_HINT = "Write WITHIN INTERVAL '30' MINUTE or WITHIN 30 MINUTES."
_FIELDS = ("day", "hour", "minute", "second")
_SEPARATORS = {"day": " +", "hour": ":", "minute": ":"}


def read_within(tokens: list[Token], source_text: str, keyword: Span) -> int:
    """Return the duration behind WITHIN in microseconds.

    >>> from eventide.language.sql.tokens import tokenize_rows
    >>> def microseconds(text):
    ...     return read_within(tokenize_rows(text, 0, text), text, Span(0, 1))
    >>> microseconds("INTERVAL '10' MINUTE") == microseconds("600 seconds") == microseconds("INTERVAL '00:10' HOUR TO MINUTE")
    True
    """
    if not tokens:
        raise ParseError("BAD_WINDOW", "WITHIN has no duration.", text=source_text, span=keyword, hint=_HINT)
    span = span_of(tokens[0], tokens[-1])
    if len(tokens) == 5 and is_word(tokens[0], "INTERVAL") and is_word(tokens[3], "TO"):
        return _from_fields(tokens, source_text, span)
    try:
        window = parse_window(source_text[span.start : span.end], span.start, source_text)
    except ParseError as error:
        hint = _HINT if error.hint is None or "events" in error.hint or "SLIDE" in error.hint else error.hint
        message = error.message.replace("The window", "WITHIN").replace("A window", "A duration")
        raise ParseError(error.condition, message, text=source_text, span=error.span, hint=hint) from None
    if window.unit is not WindowUnit.DURATION or window.slide is not None:
        raise ParseError("BAD_WINDOW", "WITHIN takes a duration.", text=source_text, span=span, hint=_HINT)
    return int(window.size)


def _from_fields(tokens: list[Token], source_text: str, span: Span) -> int:
    """Read INTERVAL '1 02:30' DAY TO MINUTE and its like."""
    _, value, first, _, last = tokens
    names = [str(unit.value).lower().removesuffix("s") for unit in (first, last)]
    if value.type == "STRING" and all(name in _FIELDS for name in names) and _FIELDS.index(names[0]) < _FIELDS.index(names[1]):
        fields = _FIELDS[_FIELDS.index(names[0]) : _FIELDS.index(names[1]) + 1]
        shape = "".join(rf"(\d{{1,9}}){_SEPARATORS[field]}" for field in fields[:-1]) + r"(\d{1,9}(?:\.\d{1,6})?)"
        found = re.fullmatch(shape, value.value[1:-1].strip())
        if found is not None:
            amounts = zip(found.groups(), fields, strict=True)
            total = sum((Fraction(amount) * MICROSECONDS[field] for amount, field in amounts), Fraction(0))
            if total.denominator == 1:
                return int(total)
    raise ParseError(
        "BAD_WINDOW", "The interval cannot be read.", text=source_text, span=span, hint="Write INTERVAL '01:30' HOUR TO MINUTE."
    )
