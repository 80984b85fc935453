"""Spark SQL expressions inside a query, read with sqlglot.

The text is read in place: every identifier of the tree knows where it stands in the whole query, so that errors of later
stages can point at it. The short forms of the languages (`x[price < 3]`, `b[i-1].price`) are gone afterwards, see `sugar`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlglot import ErrorLevel, TokenType, exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ParseError as SqlParseError
from sqlglot.errors import SqlglotError

from eventide.errors import ParseError, Span
from eventide.language.reading.short_forms import refuse_what_has_no_meaning, remove_sugar
from eventide.language.reading.strange_texts import read_as
from eventide.language.reading.tokens import span_of, tokenize
from eventide.pattern.expressions import expression_from_tree

if TYPE_CHECKING:
    from lark import Token

    from eventide.pattern.sequences import Expression


class EventideSpark(Spark):
    """Spark SQL that also reads the comparison signs of printed papers."""

    class Tokenizer(Spark.Tokenizer):
        """Spark's tokens and ≥, ≤, ≠."""

        # Spark 4 reads 'it''s' as one string; sqlglot's Spark still joins two.
        STRING_ESCAPES = ["\\", "'"]  # noqa: RUF012 - sqlglot's own way to declare them
        SINGLE_TOKENS = {  # noqa: RUF012 - sqlglot's own way to declare tokens
            **Spark.Tokenizer.SINGLE_TOKENS,
            "≥": TokenType.GTE,
            "≤": TokenType.LTE,
            "≠": TokenType.NEQ,
        }


_DIALECT = EventideSpark()
_SCALAR = "an expression"
_CONDITION = "a condition"
_JOINING = {
    _SCALAR: "Separate columns with a comma; name one with AS, as in a.price AS low.",
    _CONDITION: "Put an operator such as AND between two conditions.",
}


def parse_expression(text: str, offset: int = 0, source_text: str | None = None) -> Expression:
    """Read a scalar expression that stands at `offset` in the whole query `source_text`.

    >>> parse_expression("x[price] + 1").sql
    'x.price + 1'
    """
    return _parse(text, offset, text if source_text is None else source_text, _SCALAR)


def parse_condition(text: str, offset: int = 0, source_text: str | None = None) -> Expression:
    """Read a condition that stands at `offset` in the whole query `source_text`.

    >>> parse_condition("x[price < 3] AND b[i-1].price ≤ b[i].price").sql
    'x.price < 3 AND PREV(b.price) <= b.price'
    """
    return _parse(text, offset, text if source_text is None else source_text, _CONDITION)


def _parse(text: str, offset: int, source_text: str, what: str) -> Expression:
    try:
        tokens = tokenize(text)
    except ParseError as error:
        span = error.span.shifted(offset) if error.span else None
        raise ParseError(error.condition, error.message, text=source_text, span=span, hint=error.hint) from None
    if not tokens:
        raise ParseError(
            "BAD_EXPRESSION",
            f"There is no text where {what} should be.",
            text=source_text,
            span=Span(offset, offset + max(len(text), 1)),
            hint="Write something such as a.price < 10.",
        )
    span = span_of(tokens[0], tokens[-1], offset=offset)
    example, split = "expression such as a.price < 10", "split it with AND"
    with read_as(what, "BAD_EXPRESSION", source_text, span, example=example, split=split):
        tree = _read(_blanked(text, tokens), offset, source_text, what)
        _shift_positions(tree, offset)
        tree = remove_sugar(tree, source_text, span)
        refuse_what_has_no_meaning(tree, source_text, span)
        return expression_from_tree(tree, span)


def _read(blanked: str, offset: int, source_text: str, what: str) -> exp.Expression:
    try:
        sql_tokens = _DIALECT.tokenize(blanked)
        trees = _DIALECT.parser(error_level=ErrorLevel.IMMEDIATE).parse_into(exp.Condition, sql_tokens, blanked)
    except SqlglotError as error:
        raise _explained(error, blanked, offset, source_text, what) from None
    if len(trees) != 1 or not isinstance(tree := trees[0], exp.Expression):
        place = max(blanked.find(";"), 0) + offset
        raise ParseError(
            "BAD_EXPRESSION",
            "An expression holds no semicolon.",
            text=source_text,
            span=Span(place, place + 1),
            hint="Join conditions with AND.",
        )
    return tree


def _blanked(text: str, tokens: list[Token]) -> str:
    """Return the text with comments and `[]` overwritten by blanks, so that all positions stay."""
    parts: list[str] = []
    end = 0
    for index, token in enumerate(tokens):
        start = token.start_pos or 0
        parts.append(" " * (start - end))
        empty_index = (
            token.value == "[" and tokens[index + 1].value == "]" and index > 0 and tokens[index - 1].type in ("NAME", "QUOTED")
        )
        closes_empty_index = (
            token.value == "]" and index > 1 and tokens[index - 1].value == "[" and tokens[index - 2].type in ("NAME", "QUOTED")
        )
        parts.append(" " if empty_index or closes_empty_index else token.value)
        end = token.end_pos or 0
    parts.append(" " * (len(text) - end))
    return "".join(parts)


def _shift_positions(tree: exp.Expression, offset: int) -> None:
    for node in tree.walk():
        meta = node.meta
        if "start" in meta:
            meta["start"] += offset
            meta["end"] += offset


def _explained(error: SqlglotError, blanked: str, offset: int, source_text: str, what: str) -> ParseError:
    details: dict[str, Any] = dict(error.errors[0]) if isinstance(error, SqlParseError) and error.errors else {}
    highlight = str(details.get("highlight") or "")
    place = _place(blanked, int(details.get("line") or 1), int(details.get("col") or 0), highlight)
    description = str(details.get("description") or "")
    span = Span(place + offset, place + offset + max(len(highlight), 1))
    message, hint = _reason(description, highlight, what, at_end=not blanked[place + len(highlight) :].strip())
    return ParseError("BAD_EXPRESSION", message, text=source_text, span=span, hint=hint)


def _place(blanked: str, line: int, column: int, highlight: str) -> int:
    line_start = 0
    for _ in range(line - 1):
        line_start = blanked.find("\n", line_start) + 1
    return min(max(line_start + column - len(highlight), 0), max(len(blanked) - 1, 0))


def _reason(description: str, highlight: str, what: str, *, at_end: bool) -> tuple[str, str]:
    if description.startswith("Required keyword") and "missing" in description:
        side = "after" if at_end or "'this'" not in description else "around"
        return f"Something is missing {side} {highlight}.", "Write an operand, as in a.price < 10."
    if "Unexpected token" in description:
        return f"The expression should end before {highlight}.", _JOINING[what]
    if "TYPE" in description:
        return f"{highlight} is not a Spark type.", "Write a type such as DOUBLE, BIGINT, STRING or TIMESTAMP."
    if description.startswith("Expecting"):
        return f"{description} after {highlight}.", "Close what is open, or finish the argument list."
    return "The text is not a Spark SQL expression.", "Write something such as a.price < 10."
