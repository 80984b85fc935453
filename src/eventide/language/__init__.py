"""The languages: text in, pattern model out. Each is loaded with its first query."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from eventide.errors import ParseError, did_you_mean
from eventide.language.reading.tokens import is_word, span_of, tokenize
from eventide.loading import load_later

if TYPE_CHECKING:
    from eventide.language.ceql.parser import parse_ceql
    from eventide.language.sase.parser import parse_sase
    from eventide.language.sql.statement import MatchClause, Statement, parse_statement

__all__ = ["LANGUAGES", "MatchClause", "Statement", "parse", "parse_ceql", "parse_sase", "parse_statement"]

__getattr__ = load_later(
    __name__,
    {
        "eventide.language.ceql.parser": ("parse_ceql",),
        "eventide.language.sase.parser": ("parse_sase",),
        "eventide.language.sql.statement": ("MatchClause", "Statement", "parse_statement"),
    },
)
LANGUAGES = {"ceql": "parse_ceql", "sase": "parse_sase"}
"""The function above that reads each."""


def parse(text: str | Any, language: str | None = None) -> Any:
    """Read a query; without a language, its first word tells which one it is. What has been read is returned as it is.

    >>> parse("SELECT * WHERE A ; B").language
    'ceql'
    >>> parse("PATTERN SEQ(A a, B b) WITHIN 5 minutes").language
    'sase'
    """
    if not isinstance(text, str):
        return text
    if language is None:
        language = find_language(text)
    if language.lower() not in LANGUAGES:
        raise ParseError("UNKNOWN_LANGUAGE", f"There is no language {language}.", hint=did_you_mean(language, LANGUAGES))
    return getattr(sys.modules[__name__], LANGUAGES[language.lower()])(text)


def find_language(text: str) -> str:
    """Return the language of a query, judged by how it begins.

    >>> find_language("seq(A a, B b)")
    'sase'
    """
    tokens = tokenize(text)
    if not tokens:
        raise ParseError("EMPTY_QUERY", "The query is empty.", hint="Write a query such as SELECT * WHERE A ; B.")
    first = tokens[0]
    if is_word(first, "SELECT"):
        return "ceql"
    if any(is_word(first, word) for word in ("PATTERN", "EVENT", "QUERY")):
        return "sase"
    if any(is_word(first, word) for word in ("SEQ", "AND", "OR")) and len(tokens) > 1 and tokens[1].value == "(":
        return "sase"
    raise ParseError(
        "UNKNOWN_LANGUAGE",
        f"No language begins with {first.value}.",
        text=text,
        span=span_of(first),
        hint=_first_word_hint(first.value),
    )


def _first_word_hint(word: str) -> str:
    guess = did_you_mean(word, ["SELECT", "PATTERN", "EVENT", "SEQ"])
    return guess if guess.startswith("Did") else "Begin with SELECT (CEQL) or PATTERN (SASE)."
