"""Finding the clauses of a query before its grammar is read.

A clause begins with its keyword outside all brackets. Knowing the clauses first makes the errors for missing, doubled,
misplaced and misspelt clauses precise, and lets every expression be handed to sqlglot as one piece.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from eventide.errors import ParseError, Span
from eventide.language.reading.tokens import depth_change, is_word, span_of
from eventide.records import record

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from lark import Token

_SQL_OPERATORS = (
    "AND",
    "OR",
    "NOT",
    "AS",
    "IN",
    "IS",
    "LIKE",
    "ILIKE",
    "RLIKE",
    "BETWEEN",
    "CASE",
    "WHEN",
    "THEN",
    "ELSE",
    "DIV",
)
_OPERATOR_WORDS = frozenset((*_SQL_OPERATORS, "DISTINCT", "BY", "SELECT", "FROM", "WHERE", "FILTER"))
_FOREIGN = {
    "GROUP": "Write GROUP BY PARTITION, GROUP BY END or GROUP BY WINDOW 5 minutes.",
    "ORDER": "Write ORDER BY SUM(b.x) DESC LIMIT 10; events are always in the order of their time.",
    "SAMPLE": "Write SAMPLE 10, or SAMPLE 10 SEED 7.",
    "HAVING": "Write FILTER.",
    "WINDOW": "Write WITHIN.",
    "DEFINE": "Write FILTER.",
    "MEASURES": "Write SELECT.",
}


@record
class Clause:
    """A clause: its keyword as one word (`PARTITION_BY`), the tokens of the keyword, and the tokens behind it."""

    keyword: str
    head: tuple[Token, ...]
    body: list[Token]

    @property
    def span(self) -> Span:
        """The place of the keyword."""
        return span_of(self.head[0], self.head[-1])


def find_clauses(tokens: Sequence[Token], keywords: Collection[str]) -> tuple[list[Token], list[Clause]]:
    """Return the tokens before the first clause, and the clauses; keywords of two words are written `PARTITION_BY`.

    >>> from eventide.language.reading.tokens import tokenize
    >>> before, clauses = find_clauses(tokenize("x WHERE A WITHIN 5"), ["WHERE", "WITHIN"])
    >>> [clause.keyword for clause in clauses]
    ['WHERE', 'WITHIN']
    """
    suffixes = _filters_behind_patterns(tokens, keywords) if "FILTER" in keywords else frozenset()
    before: list[Token] = []
    clauses: list[Clause] = []
    depth = 0
    index = 0
    while index < len(tokens):
        token = tokens[index]
        keyword = keyword_at(tokens, index, keywords) if depth == 0 and index not in suffixes else None
        if keyword is not None:
            if index and is_word(tokens[index - 1], "AS"):
                raise ParseError(
                    "UNEXPECTED_TOKEN",
                    f"{token.value} cannot stand here.",
                    span=span_of(token),
                    hint=f"Write a name after AS; a name that is also a keyword goes in backticks: `{token.value}`.",
                )
            width = keyword.count("_") + 1
            clauses.append(Clause(keyword, tuple(tokens[index : index + width]), []))
            index += width
            continue
        depth += depth_change(token)
        (clauses[-1].body if clauses else before).append(token)
        index += 1
    return before, clauses


def keyword_at(tokens: Sequence[Token], index: int, keywords: Collection[str]) -> str | None:
    """Return the clause keyword that begins at a token.

    >>> from eventide.language.reading.tokens import tokenize
    >>> keyword_at(tokenize("partition by k"), 0, ["PARTITION_BY"])
    'PARTITION_BY'
    """
    token = tokens[index]
    if token.type != "NAME":
        return None
    word = str(token.value).upper()
    previous = tokens[index - 1] if index else None
    following = tokens[index + 1] if index + 1 < len(tokens) else None
    if (previous is not None and previous.value == ".") or (following is not None and following.value == "."):
        return None
    if word == "FROM" and previous is not None and is_word(previous, "DISTINCT"):
        return None  # IS DISTINCT FROM
    if word == "SAMPLE" and (following is None or following.type != "NUMBER"):
        return None  # a name like any other
    if word in keywords:
        return word
    pair = f"{word}_BY"
    return pair if pair in keywords and following is not None and is_word(following, "BY") else None


def check_order(clauses: Sequence[Clause], order: Sequence[str], repeatable: Collection[str], required: Collection[str]) -> None:
    """Raise an error when clauses are doubled, in the wrong order or missing.

    >>> from eventide.language.reading.tokens import tokenize
    >>> _, clauses = find_clauses(tokenize("WITHIN 5 WHERE A"), ["WHERE", "WITHIN"])
    >>> check_order(clauses, ["WHERE", "WITHIN"], (), ("WHERE",))
    Traceback (most recent call last):
    eventide.errors.ParseError: [CLAUSE_ORDER] WHERE must stand before WITHIN.
    Hint: The order is WHERE, WITHIN.
    """
    present: set[str] = set()
    last: Clause | None = None
    for clause in clauses:
        name = clause.keyword.replace("_", " ")
        if clause.keyword in present and clause.keyword not in repeatable:
            raise ParseError("DUPLICATE_CLAUSE", f"There are two {name} clauses.", span=clause.span, hint=f"Keep one {name}.")
        if last is not None and order.index(clause.keyword) < order.index(last.keyword):
            previous = last.keyword.replace("_", " ")
            raise ParseError(
                "CLAUSE_ORDER",
                f"{name} must stand before {previous}.",
                span=clause.span,
                hint="The order is " + ", ".join(word.replace("_", " ") for word in order) + ".",
            )
        present.add(clause.keyword)
        last = clause
    for keyword in order:
        if keyword in required and keyword not in present:
            end = max((token.end_pos or 0 for clause in clauses for token in (*clause.head, *clause.body)), default=0)
            raise ParseError(
                "MISSING_CLAUSE",
                f"The query has no {keyword} clause.",
                span=Span(end, end + 1),
                hint=f"Add {keyword}, as in WHERE A ; B." if keyword == "WHERE" else f"Begin with {keyword}.",
            )


def misspelt_clause(tokens: Sequence[Token], keywords: Collection[str]) -> ParseError | None:
    """Return an error for a word that was probably meant as a clause keyword; asked only for a query that is wrong.

    >>> from eventide.language.reading.tokens import tokenize
    >>> misspelt_clause(tokenize("A WHITHIN 5"), ["WITHIN"]).message
    'WHITHIN is not a clause.'
    """
    known = {keyword.split("_")[0]: keyword.replace("_", " ") for keyword in keywords}
    depth = 0
    for index, token in enumerate(tokens[:-1]):
        depth += depth_change(token)
        if depth or token.type != "NAME" or (index and not _ends_operand(tokens[index - 1])):
            continue
        following = tokens[index + 1]
        if following.type == "SYMBOL" and following.value not in ("(", "[", "*"):
            continue
        word = token.value.upper()
        if keyword_at(tokens, index, keywords) is not None:
            continue
        if word in _FOREIGN and index:
            return _unknown(token, _FOREIGN[word])
        if word in _OPERATOR_WORDS:
            continue
        if close := get_close_matches(word, known, n=1, cutoff=0.74):
            return _unknown(token, f"Did you mean {known[close[0]]}?")
    return None


def _unknown(token: Token, hint: str) -> ParseError:
    return ParseError("UNKNOWN_CLAUSE", f"{token.value} is not a clause.", span=span_of(token), hint=hint)


def _ends_operand(token: Token) -> bool:
    if token.type == "NAME":
        return token.value.upper() not in _OPERATOR_WORDS
    return token.type != "SYMBOL" or token.value in (")", "]", "}", "+", "*", "?", ":+", ":*", ":?", "~+", "~*", "~?")


def _filters_behind_patterns(tokens: Sequence[Token], keywords: Collection[str]) -> frozenset[int]:
    """Return the places of FILTERs that belong to one part of a sequence: a sequence sign follows before the next clause."""
    found: set[int] = set()
    depth = 0
    sequence_follows = False
    for index in range(len(tokens) - 1, -1, -1):
        token = tokens[index]
        depth -= depth_change(token)
        if depth:
            continue
        if token.type == "SYMBOL" and token.value in (";", ":", "~>"):
            sequence_follows = True
        keyword = keyword_at(tokens, index, keywords)
        if keyword == "FILTER":
            if sequence_follows:
                found.add(index)
        elif keyword is not None:
            sequence_follows = False
    return frozenset(found)
