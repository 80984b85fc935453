"""Finding the clauses inside MATCH_RECOGNIZE ( ... ) before they are read.

Their keywords are not reserved: a column may be called `pattern` or `within`. So a word is a keyword when what follows it is
its clause and nothing else (`PATTERN (`, `DEFINE a AS`), or when it stands where no operand can go on.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from eventide.errors import ParseError, Span
from eventide.language.reading.clauses import Clause, check_order
from eventide.language.reading.tokens import depth_change, is_word, span_of
from eventide.language.sql.tokens import is_name

if TYPE_CHECKING:
    from lark import Token

ORDER = (
    "PARTITION_BY",
    "ORDER_BY",
    "MEASURES",
    "ROWS_PER_MATCH",
    "AFTER_MATCH_SKIP",
    "INITIAL",
    "PATTERN",
    "WITHIN",
    "SUBSET",
    "DEFINE",
)
_SPELLINGS = {
    "PARTITION": "PARTITION BY",
    "ORDER": "ORDER BY",
    "MEASURES": "MEASURES",
    "AFTER": "AFTER MATCH SKIP",
    "PATTERN": "PATTERN",
    "WITHIN": "WITHIN",
    "SUBSET": "SUBSET",
    "DEFINE": "DEFINE",
}
_FOREIGN = {
    "WHERE": "Filter in a sub-query before, or in DEFINE.",
    "GROUP": "Write PARTITION BY.",
    "SELECT": "Write MEASURES for the columns of a match.",
    "HAVING": "Filter the result outside of MATCH_RECOGNIZE.",
    "LIMIT": "Limit the result outside of MATCH_RECOGNIZE.",
    "FILTER": "Write DEFINE.",
}
_OPERATOR_WORDS = frozenset(
    (
        "AND", "OR", "NOT", "AS", "IN", "IS", "LIKE", "ILIKE", "RLIKE", "REGEXP", "BETWEEN", "CASE", "WHEN", "THEN", "ELSE",
        "DIV", "DISTINCT", "BY", "FROM", "ESCAPE", "INTERVAL", "TO",
    )
)  # fmt: skip
_SINGLE = ("MEASURES", "INITIAL", "SEEK", "PATTERN", "WITHIN", "SUBSET", "DEFINE")


def find_row_clauses(tokens: list[Token], source_text: str, place: Span) -> dict[str, Clause]:
    """Return the clauses by their keyword, of which there is PATTERN at least; `place` is that of the whole.

    >>> from eventide.language.sql.tokens import tokenize_rows
    >>> text = "ORDER BY pattern PATTERN (A within) DEFINE A AS within > 3"
    >>> list(find_row_clauses(tokenize_rows(text, 0, text), text, Span(0, 1)))
    ['ORDER_BY', 'PATTERN', 'DEFINE']
    """
    before, clauses = _split(tokens)
    if before:
        raise misspelt_row_clause(tokens, source_text) or ParseError(
            "UNEXPECTED_TOKEN",
            f"{before[0].value} does not begin a clause of MATCH_RECOGNIZE.",
            text=source_text,
            span=span_of(before[0]),
            hint="Begin with PARTITION BY, ORDER BY, MEASURES or PATTERN.",
        )
    seek = next((clause for clause in clauses if clause.keyword == "SEEK"), None)
    if seek is not None:
        raise ParseError(
            "UNSUPPORTED_CLAUSE",
            "SEEK belongs to row patterns in a WINDOW clause.",
            text=source_text,
            span=seek.span,
            hint="Remove it: a match is searched from each row on.",
        )
    try:
        check_order(clauses, ORDER, (), ())
    except ParseError as error:
        raise ParseError(error.condition, error.message, text=source_text, span=error.span, hint=error.hint) from None
    found = {clause.keyword: clause for clause in clauses}
    if "PATTERN" not in found:
        raise misspelt_row_clause(tokens, source_text) or ParseError(
            "MISSING_CLAUSE",
            "MATCH_RECOGNIZE has no PATTERN.",
            text=source_text,
            span=place,
            hint="Add PATTERN after the clauses for the result and before DEFINE, as in PATTERN (A B+).",
        )
    return found


def misspelt_row_clause(tokens: list[Token], source_text: str) -> ParseError | None:
    """Return an error for a word that was probably meant as a clause keyword; asked only for a text that is wrong.

    >>> from eventide.language.sql.tokens import tokenize_rows
    >>> text = "PATTERN (A) DEFIN A AS x"
    >>> misspelt_row_clause(tokenize_rows(text, 0, text), text).message
    'DEFIN is not a clause of MATCH_RECOGNIZE.'
    """
    depth = 0
    for index, token in enumerate(tokens[:-1]):
        depth += depth_change(token)
        if depth or token.type != "NAME" or (index and not _ends_operand(tokens[index - 1])):
            continue
        following = tokens[index + 1]
        if (following.type == "SYMBOL" and following.value not in ("(", "^")) or is_word(following, "AS"):
            continue
        if _keyword_at(tokens, index, head_before=False):
            continue
        hint = _hint_for_word(str(token.value).upper(), following)
        if hint is not None:
            return ParseError(
                "UNKNOWN_CLAUSE",
                f"{token.value} is not a clause of MATCH_RECOGNIZE.",
                text=source_text,
                span=span_of(token),
                hint=hint,
            )
    return None


def _hint_for_word(word: str, following: Token) -> str | None:
    if word in _OPERATOR_WORDS:
        return None
    if word in _FOREIGN and following.value != "(":
        return _FOREIGN[word]
    if word in ("PARTITION", "ORDER"):
        return f"Write {word} BY."
    close = get_close_matches(word, _SPELLINGS, n=1, cutoff=0.74)
    return f"Did you mean {_SPELLINGS[close[0]]}?" if close else None


def _split(tokens: list[Token]) -> tuple[list[Token], list[Clause]]:
    before: list[Token] = []
    clauses: list[Clause] = []
    depth = 0
    index = 0
    while index < len(tokens):
        head_before = bool(clauses) and not clauses[-1].body
        found = _keyword_at(tokens, index, head_before=head_before) if depth == 0 else None
        if found is not None:
            keyword, width = found
            clauses.append(Clause(keyword, tuple(tokens[index : index + width]), []))
            index += width
            continue
        depth += depth_change(tokens[index])
        (clauses[-1].body if clauses else before).append(tokens[index])
        index += 1
    return before, clauses


def _keyword_at(tokens: list[Token], index: int, *, head_before: bool) -> tuple[str, int] | None:
    """Return the clause that begins at a token and how many words its keyword has."""
    token = tokens[index]
    if token.type != "NAME" or (index and tokens[index - 1].value == "."):
        return None
    word = str(token.value).upper()
    following = tokens[index + 1] if index + 1 < len(tokens) else None
    pair = _pair(word, following)
    if pair is not None:
        return pair, 2
    if word not in _SINGLE:
        return None
    free = index == 0 or (not head_before and _ends_operand(tokens[index - 1]))
    if _is_certain(word, tokens, index) or (free and (following is None or following.value not in (".", ","))):
        return word, 1
    return None


def _pair(word: str, following: Token | None) -> str | None:
    if following is None:
        return None
    if word in ("PARTITION", "ORDER") and is_word(following, "BY"):
        return f"{word}_BY"
    if word in ("ONE", "ALL") and any(is_word(following, row) for row in ("ROW", "ROWS", "PER")):
        return "ROWS_PER_MATCH"
    if word == "AFTER" and any(is_word(following, match) for match in ("MATCH", "SKIP")):
        return "AFTER_MATCH_SKIP"
    return None


def _is_certain(word: str, tokens: list[Token], index: int) -> bool:
    following = tokens[index + 1 : index + 4]
    if not following:
        return False
    first, *rest = following
    match word:
        case "PATTERN":
            return first.value == "(" and first.type == "SYMBOL"
        case "DEFINE":
            return is_name(first) and bool(rest) and is_word(rest[0], "AS")
        case "SUBSET":
            return is_name(first) and [token.value for token in rest] == ["=", "("]
        case "WITHIN":
            return first.type == "NUMBER" or is_word(first, "INTERVAL")
        case "INITIAL" | "SEEK":
            return is_word(first, "PATTERN")
    return False


def _ends_operand(token: Token) -> bool:
    if token.type == "NAME":
        return token.value.upper() not in _OPERATOR_WORDS
    return token.type != "SYMBOL" or token.value in (")", "]", "}", "*", "+", "?", "$")
