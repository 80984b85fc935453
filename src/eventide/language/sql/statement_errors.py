"""What can be said about a SQL text before sqlglot reads it, or when it refuses it."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from eventide.errors import ParseError, Span, did_you_mean

if TYPE_CHECKING:
    from eventide.language.sql.statement_scan import Piece

_BEGINNINGS = ("SELECT", "WITH", "FROM", "VALUES")
_OTHER_STATEMENTS = frozenset(
    (
        "INSERT", "CREATE", "UPDATE", "DELETE", "MERGE", "DROP", "ALTER", "TRUNCATE", "SET", "USE", "CACHE", "UNCACHE",
        "EXPLAIN", "DESCRIBE", "DESC", "SHOW", "LOAD", "REFRESH", "ANALYZE", "CALL", "DECLARE", "BEGIN", "REPLACE", "GRANT",
        "REVOKE", "MSCK", "ADD", "LIST", "RESET", "CLEAR", "EXECUTE", "COMMENT",
    )
)  # fmt: skip


def refuse_other_statements(pieces: list[Piece], text: str) -> None:
    """Raise an error unless the text is one statement that begins as a query does.

    >>> from eventide.language.sql.statement_scan import scan_statement
    >>> refuse_other_statements(scan_statement("SELECT 1;"), "SELECT 1;")
    """
    statements = [piece for piece in pieces if piece.text != ";"]
    if not statements:
        raise ParseError("EMPTY_QUERY", "The query is empty.", hint="Write SELECT ... FROM t MATCH_RECOGNIZE (...) AS m.")
    first, last = statements[0], statements[-1]
    word = first.text.upper()
    if word not in _BEGINNINGS and first.text != "(":
        message = f"{word} is not a query." if word in _OTHER_STATEMENTS else f"A query does not begin with {first.text}."
        guess = "" if word in _OTHER_STATEMENTS else did_you_mean(word, _BEGINNINGS)
        hint = guess if guess.startswith("Did") else "Begin with SELECT or WITH; what becomes of the result is said in Python."
        raise ParseError("NOT_A_QUERY", message, text=text, span=Span(first.start, first.end), hint=hint)
    depth = 0
    for piece in pieces:
        if piece.kind == "OTHER":
            depth += (piece.text == "(") - (piece.text == ")")
        if piece.text == ";" and depth == 0 and first.start < piece.start < last.start:
            raise ParseError(
                "SEVERAL_STATEMENTS",
                "The text holds more than one statement.",
                text=text,
                span=Span(piece.start, piece.end),
                hint="Run each statement in a separate call.",
            )


def misspelt_match_recognize(pieces: list[Piece], text: str) -> ParseError | None:
    """Return an error for words that were probably meant as MATCH_RECOGNIZE; asked only for a text that is wrong.

    >>> from eventide.language.sql.statement_scan import scan_statement
    >>> text = "SELECT * FROM t MATCH_RECOGNISE (PATTERN (A))"
    >>> misspelt_match_recognize(scan_statement(text), text).hint
    'Write MATCH_RECOGNIZE.'
    """
    for index, piece in enumerate(pieces[:-1]):
        word = piece.text.upper()
        following = pieces[index + 1]
        if piece.kind != "WORD":
            continue
        if word == "MATCH_RECOGNIZE" and following.text.upper() in ("PATTERN", "PARTITION", "ORDER", "MEASURES"):
            hint, end = "Write MATCH_RECOGNIZE ( ... ).", piece.end
        elif word == "MATCH" and get_close_matches(following.text.upper(), ["RECOGNIZE"], cutoff=0.8):
            hint, end = "Write MATCH_RECOGNIZE.", following.end
        elif word != "MATCH_RECOGNIZE" and following.text == "(" and get_close_matches(word, ["MATCH_RECOGNIZE"], cutoff=0.8):
            hint, end = "Write MATCH_RECOGNIZE.", piece.end
        else:
            continue
        span = Span(piece.start, end)
        return ParseError("UNKNOWN_CLAUSE", f"{text[piece.start : end]} is not a clause.", text=text, span=span, hint=hint)
    return None
