"""Any text gives a query or a parse error, and long or deep texts do not break the parser."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eventide.errors import ParseError
from eventide.language import LANGUAGES, parse

VOCABULARY = (
    "SELECT FROM WHERE FILTER PARTITION BY WITHIN CONSUME LIMIT PATTERN EVENT SEQ AND OR NOT AS ALL MAX RETURN SLIDE * + ? : ; ~> "
    "( ) [ ] { } , . | ! < > = A B a b a.x b.y 3 2.5 'text' minutes events COUNT( NEXT( {2,3} :+ ~{ [id] skip_till_next_match( "
    "CASE WHEN END BETWEEN INTERVAL -- /* `q` == :: - # NULL x[y<1] b[i-1].z"
)
WORDS = st.sampled_from(VOCABULARY.split())


@given(st.sampled_from(sorted(LANGUAGES)), st.lists(WORDS, max_size=25).map(" ".join))
def test_words_of_the_languages_never_crash_the_parser(language: str, text: str) -> None:
    _parses_or_explains(text, language)


@given(st.lists(WORDS, max_size=12).map(" ".join))
def test_any_pattern_and_condition_never_crash_the_parser(text: str) -> None:
    _parses_or_explains(f"SELECT * WHERE A ; {text}", "ceql")
    _parses_or_explains(f"SELECT * WHERE A FILTER {text}", "ceql")
    _parses_or_explains(f"PATTERN SEQ(A a, B b) WHERE {text}", "sase")


@given(st.text(max_size=60))
def test_any_text_never_crashes_the_parser(text: str) -> None:
    _parses_or_explains(f"SELECT * WHERE A {text}", None)
    _parses_or_explains(text, None)


def _parses_or_explains(text: str, language: str | None) -> None:
    try:
        parse(text, language)
    except ParseError as error:
        assert error.hint  # noqa: PT017 - an error is one of two right answers
        assert error.span is None or error.span.start <= len(text)  # noqa: PT017


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * WHERE " + " ; ".join(["Ab"] * 20_000),
        "SELECT * WHERE " + " OR ".join(["Ab"] * 16_000),
        "SELECT * WHERE A FILTER " + " AND ".join(["A.x>1"] * 5_000),
        "SELECT * WHERE A ; " + " ; ".join(["NOT B"] * 12_000) + " ; C",
        "PATTERN SEQ(" + ", ".join(f"A a{number}" for number in range(2_000)) + ") WHERE [id]",
    ],
    ids=["sequence", "choice", "conditions", "absences", "components"],
)
def test_a_long_query_is_read(text: str) -> None:
    assert parse(text).text == text


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * WHERE " + "(" * 201 + "A" + ")" * 201,
        "SELECT * WHERE A" + "+" * 20_000,
        "SELECT * WHERE A" + " AS x" * 20_000,
        "SELECT * WHERE A" + " FILTER A.x" * 500,
        "SELECT * WHERE A FILTER " + "(" * 150 + "A.x" + ")" * 150,
        "SELECT * WHERE A FILTER 0 < " + "- " * 5_000 + "A.x",
        "PATTERN " + "SEQ(A, " * 250 + "B" + ")" * 250,
    ],
    ids=["parentheses", "quantifiers", "names", "filters", "condition", "signs", "components"],
)
def test_a_deep_query_is_refused(text: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse(text)
    assert caught.value.condition == "QUERY_TOO_DEEP"


def test_a_pattern_inside_200_parentheses_is_read() -> None:
    assert parse("SELECT * WHERE " + "(" * 200 + "A" + ")" * 200) == parse("SELECT * WHERE A")


@pytest.mark.parametrize("number", ["1" * 10_000, "1e999999999", "1e-999999999"])
@pytest.mark.parametrize("clause", ["WITHIN {} seconds", "WITHIN {} events", "LIMIT {}", "WITHIN {} [a]"])
def test_a_huge_number_is_refused_at_once(clause: str, number: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse("SELECT * WHERE A " + clause.format(number))
    assert caught.value.condition in ("BAD_WINDOW", "BAD_LIMIT")
