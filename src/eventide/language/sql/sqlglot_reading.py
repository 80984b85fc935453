"""sqlglot for statements and for the expressions of MATCH_RECOGNIZE: errors that know their place, tokens that are moved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlglot.errors import ParseError as SqlParseError
from sqlglot.parsers.spark import SparkParser

from eventide.errors import ParseError, Span
from eventide.language.reading.expressions import EventideSpark

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlglot import Token
    from sqlglot.errors import SqlglotError


class PlacedParser(SparkParser):
    """A parser of Spark SQL whose errors carry the place of the token they are about."""

    def raise_error(self, message: str, token: Token | None = None) -> None:
        """Raise sqlglot's error with `start` and `end` of the token."""
        place = token or self._curr or self._prev
        try:
            super().raise_error(message, *([token] if token else []))
        except SqlParseError as error:
            if place and error.errors:
                error.errors[0].update(start=place.start, end=place.end + 1, at_end=not self._curr)
            raise


class PlacedSpark(EventideSpark):
    """Spark SQL as `PlacedParser` reads it."""

    Parser = PlacedParser


def moved(tokens: Iterable[Token], offset: int) -> list[Token]:
    """Return the tokens with their places shifted, so that they are those in a longer text.

    >>> [token.start for token in moved(PlacedSpark().tokenize("a b"), 5)]
    [5, 7]
    """
    found = list(tokens)
    for token in found:
        token.start += offset
        token.end += offset
    return found


def explain_sql(error: SqlglotError, source_text: str, span: Span, condition: str, what: str) -> ParseError:
    """Return the error for a text that sqlglot refuses; `span` is its place when sqlglot names none.

    >>> error = SqlParseError("", [{"description": "Expecting )", "start": 4, "end": 5, "at_end": True}])
    >>> explain_sql(error, "(1 +2", Span(0, 5), "BAD_EXPRESSION", "an expression").message
    'Expecting ) after 2.'
    """
    details: dict[str, Any] = dict(error.errors[0]) if isinstance(error, SqlParseError) and error.errors else {}
    if "start" in details:
        span = Span(int(details["start"]), max(int(details["end"]), int(details["start"]) + 1))
    written = source_text[span.start : span.end]
    written = written if len(written) <= 40 else f"{written[:40]}..."
    message, hint = _reason(str(details.get("description") or ""), written, what, at_end=bool(details.get("at_end")))
    return ParseError(condition, message, text=source_text, span=span, hint=hint)


def _reason(description: str, written: str, what: str, *, at_end: bool) -> tuple[str, str]:
    side = "after" if at_end else "at"
    if description.startswith("Required") and "missing" in description:
        return f"Something is missing {side} {written}.", "Write an operand, as in A.price < 10."
    if "Unexpected token" in description or "Invalid expression" in description:
        return f"{written} cannot stand here.", f"End {what} before it, or put an operator such as AND before it."
    if "Expected table name" in description:
        return f"A table is missing {side} {written}.", "Write the name of a table, or a query in parentheses."
    if "TYPE" in description or "type" in description:
        return f"{written} is not a Spark type.", "Write a type such as DOUBLE, BIGINT, STRING or TIMESTAMP."
    if description.startswith("Expecting"):
        return f"{description} {side} {written}.", "Close what is open, or finish the list."
    return f"{written} cannot be read as part of {what}.", "Write Spark SQL, as in A.price < 10."
