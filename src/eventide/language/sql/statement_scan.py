"""Finding the MATCH_RECOGNIZE clauses of a SQL text, before sqlglot reads the rest of it.

What stands between their parentheses is not SQL that sqlglot knows, so it is cut out here by place. Strings, quoted names and
comments are stepped over.
"""

from __future__ import annotations

import re

from eventide.errors import ParseError, Span
from eventide.language.reading.tokens import MAXIMUM_DEPTH
from eventide.records import record

_PIECE = re.compile(
    r"""
    (?P<SPACE>\s+)
  | (?P<COMMENT>--[^\n]*)
  | (?P<OPEN_COMMENT>/\*)
  | (?P<STRING>[rR]'[^']*' | [rR]"[^"]*" | '(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*")
  | (?P<QUOTED>`(?:[^`]|``)+`)
  | (?P<WORD>\w+)
  | (?P<OTHER>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_COMMENT_MARK = re.compile(r"/\*|\*/")


@record
class Piece:
    """A word, a string, a quoted name or a single sign, with its place."""

    kind: str
    text: str
    start: int
    end: int


@record
class ClauseText:
    """Where a MATCH_RECOGNIZE clause stands: its keyword, and what is between its parentheses."""

    keyword: Span
    body: Span


def scan_statement(text: str) -> list[Piece]:
    """Cut a SQL text into pieces without blanks and comments; parentheses are known to be balanced afterwards.

    >>> [piece.text for piece in scan_statement("SELECT 'a(' -- b(")]
    ['SELECT', "'a('"]
    """
    pieces: list[Piece] = []
    open_parentheses: list[Piece] = []
    position = 0
    while position < len(text):
        found = _PIECE.match(text, position)
        assert found is not None
        kind, end = found.lastgroup or "", found.end()
        if kind == "OPEN_COMMENT":
            end = _end_of_comment(text, position)
        elif kind not in ("SPACE", "COMMENT"):
            piece = Piece(kind, found.group(), position, end)
            _check(piece, open_parentheses, text)
            pieces.append(piece)
        position = end
    if open_parentheses:
        raise _unbalanced(open_parentheses[-1], "is never closed", "Add a ).", text)
    return pieces


def find_clause_texts(pieces: list[Piece]) -> list[ClauseText]:
    """Return the MATCH_RECOGNIZE clauses in the order of the text, so a clause comes after those it stands over.

    >>> find_clause_texts(scan_statement("t MATCH_RECOGNIZE (PATTERN (A))"))
    [ClauseText(keyword=Span(start=2, end=17), body=Span(start=19, end=30))]
    """
    found: list[ClauseText] = []
    index = 0
    while index < len(pieces):
        if not _begins_clause(pieces, index):
            index += 1
            continue
        keyword = pieces[index]
        closing = _closing(pieces, index + 1)
        body = Span(pieces[index + 1].end, pieces[closing].start)
        found.append(ClauseText(Span(keyword.start, keyword.end), body))
        index = closing + 1
    return found


def without_bodies(text: str, clauses: list[ClauseText]) -> str:
    """Return the text with blanks between the parentheses of the clauses, so that all places stay.

    >>> text = "t MATCH_RECOGNIZE (PATTERN (A)) AS m"
    >>> without_bodies(text, find_clause_texts(scan_statement(text)))
    't MATCH_RECOGNIZE (           ) AS m'
    """
    parts: list[str] = []
    end = 0
    for clause in clauses:
        parts.extend((text[end : clause.body.start], " " * (clause.body.end - clause.body.start)))
        end = clause.body.end
    return "".join((*parts, text[end:]))


def _begins_clause(pieces: list[Piece], index: int) -> bool:
    piece = pieces[index]
    if piece.kind != "WORD" or piece.text.upper() != "MATCH_RECOGNIZE":
        return False
    if index + 1 == len(pieces) or pieces[index + 1].text != "(":
        return False
    # t AS match_recognize (a, b) gives a table and its columns their names.
    return index == 0 or pieces[index - 1].text.upper() not in (".", "AS")


def _closing(pieces: list[Piece], opening: int) -> int:
    depth = 0
    for index in range(opening, len(pieces)):
        depth += (pieces[index].text == "(") - (pieces[index].text == ")")
        if depth == 0:
            return index
    raise AssertionError("the parentheses were found to be balanced")


def _check(piece: Piece, open_parentheses: list[Piece], text: str) -> None:
    if piece.kind != "OTHER":
        return
    if piece.text == "(":
        open_parentheses.append(piece)
        if len(open_parentheses) > MAXIMUM_DEPTH:
            raise ParseError(
                "QUERY_TOO_DEEP",
                f"Brackets are nested more than {MAXIMUM_DEPTH} levels deep.",
                text=text,
                span=Span(piece.start, piece.end),
                hint="Remove brackets that are not needed.",
            )
    elif piece.text == ")":
        if not open_parentheses:
            raise _unbalanced(piece, "closes nothing that is open", "Remove it.", text)
        open_parentheses.pop()
    elif piece.text in "'\"`":
        what = "name" if piece.text == "`" else "string"
        raise ParseError(
            "UNTERMINATED_STRING",
            f"The {what} is never closed.",
            text=text,
            span=Span(piece.start, piece.end),
            hint=f"Add a closing {piece.text}.",
        )


def _unbalanced(piece: Piece, problem: str, hint: str, text: str) -> ParseError:
    message = f"The bracket {piece.text} {problem}."
    return ParseError("UNBALANCED_PARENTHESIS", message, text=text, span=Span(piece.start, piece.end), hint=hint)


def _end_of_comment(text: str, start: int) -> int:
    depth = 0
    for mark in _COMMENT_MARK.finditer(text, start):
        depth += 1 if mark.group() == "/*" else -1
        if depth == 0:
            return mark.end()
    raise ParseError(
        "UNTERMINATED_COMMENT", "The comment is never closed.", text=text, span=Span(start, start + 2), hint="Add a */."
    )
