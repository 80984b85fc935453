"""Any text gives a statement or a parse error with a hint, never another exception."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eventide.errors import ParseError
from eventide.language import parse_statement

CORRECT = (
    "WITH c AS (SELECT * FROM (VALUES (1, 'a')) AS t(a, b)) SELECT m.* FROM c MATCH_RECOGNIZE (PARTITION BY a, `b c` ORDER BY b DESC "
    "NULLS LAST MEASURES FINAL LAST(A.x, 1) AS x, B.id, COUNT(U.*) AS n ALL ROWS PER MATCH OMIT EMPTY MATCHES AFTER MATCH SKIP TO "
    "LAST B PATTERN (^ A {- B+? -} (C | D){2,3}? PERMUTE(E, F) () $) WITHIN INTERVAL '10' MINUTE SUBSET U = (A, B) DEFINE B AS b.x > "
    "prev(b.x) AND running sum(B.x) < 3, C AS xs[0] = 'q' AND exists(xs, y -> y > 1)) AS m JOIN u ON m.x = u.x WHERE x IN (SELECT 1)"
)
PIECES = re.findall(r"\w+|'[^']*'|\S", CORRECT)
WORDS = st.sampled_from(
    [*PIECES, *"();{}[]|*?$^-'\"`@\\:", "{-", "-}", "--", "/*", "FINAL", "RUNNING", "OVER (", "UNION", "LATERAL"]
)


@given(st.integers(0, len(PIECES)), st.integers(0, 6), st.lists(WORDS, max_size=4))
def test_a_changed_statement_never_crashes_the_parser(place: int, removed: int, added: list[str]) -> None:
    pieces = list(PIECES)
    pieces[place : place + removed] = added
    _parses_or_explains(" ".join(pieces))


@given(st.lists(WORDS, max_size=12).map(" ".join))
def test_any_body_never_crashes_the_parser(text: str) -> None:
    _parses_or_explains(f"SELECT * FROM t MATCH_RECOGNIZE ({text})")
    _parses_or_explains(f"SELECT * FROM t MATCH_RECOGNIZE (PATTERN ({text}))")
    _parses_or_explains(f"SELECT * FROM t MATCH_RECOGNIZE (MEASURES {text} AS x PATTERN (A) DEFINE A AS {text})")


@given(st.text(max_size=60))
def test_any_text_never_crashes_the_parser(text: str) -> None:
    _parses_or_explains(text)
    _parses_or_explains(f"SELECT * FROM t MATCH_RECOGNIZE (PATTERN (A {text}) DEFINE A AS {text})")


def _parses_or_explains(text: str) -> None:
    try:
        parse_statement(text)
    except ParseError as error:
        assert error.hint  # noqa: PT017 - an error is one of two right answers
        assert error.span is None or error.span.start <= len(text)  # noqa: PT017


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM t MATCH_RECOGNIZE (PATTERN (" + "(" * 201 + "A" + ")" * 201 + "))",
        "SELECT " + "(" * 201 + "1" + ")" * 201,
        "SELECT " + "- " * 5_000 + "1",
        "SELECT * FROM t MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS " + "NOT " * 5_000 + "x)",
    ],
    ids=["pattern", "query", "signs", "condition"],
)
def test_a_deep_statement_is_refused(text: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse_statement(text)
    assert caught.value.condition == "QUERY_TOO_DEEP"


def test_a_long_chain_of_clauses_is_read() -> None:
    text = "SELECT * FROM t " + "MATCH_RECOGNIZE (PATTERN (A)) " * 300
    assert len(parse_statement(text).clauses) == 300
