"""Queries of the case files parse to what stands beside them, and wrong ones give exactly the message beside them.

A case file holds blocks of a query, a line `---`, what is expected, and a line `===` before the next block.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from eventide.errors import ParseError
from eventide.language import parse
from eventide.pattern.sequence_printing import to_ceql


def read_cases(file_name: str) -> list[tuple[str, str]]:
    """Return the pairs of query and expectation of a case file beside this module."""
    blocks = (Path(__file__).parent / file_name).read_text(encoding="utf-8").split("===\n")
    pairs = [block.split("\n---\n") for block in blocks]
    return [(query, expected.rstrip("\n")) for query, expected in pairs]


CORRECT = read_cases("ceql_cases.txt") + read_cases("sase_cases.txt")
WRONG = read_cases("parse_errors.txt")


@pytest.mark.parametrize(("text", "canonical"), CORRECT, ids=[text[:60] for text, _ in CORRECT])
def test_a_query_has_its_canonical_form(text: str, canonical: str) -> None:
    assert to_ceql(parse(text)) == canonical


@pytest.mark.parametrize(("text", "canonical"), CORRECT, ids=[text[:60] for text, _ in CORRECT])
def test_the_canonical_form_means_the_same(text: str, canonical: str) -> None:
    assert parse(canonical) == parse(text)


@pytest.mark.parametrize(("text", "message"), WRONG, ids=[text[:60] for text, _ in WRONG])
def test_a_wrong_query_is_explained(text: str, message: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse(text)
    assert str(caught.value) == message


def test_every_error_has_a_hint() -> None:
    assert [text for text, message in WRONG if "\nHint: " not in message] == []


def test_the_corpus_covers_every_condition() -> None:
    conditions = {message[1 : message.index("]")] for _, message in WRONG}
    assert conditions >= {
        "BAD_EXPRESSION", "BAD_LIMIT", "BAD_QUANTIFIER", "BAD_WINDOW", "CLAUSE_ORDER", "DUPLICATE_CLAUSE",
        "DUPLICATE_VARIABLE", "EMPTY_QUERY", "MISSING_CLAUSE", "NOT_CONDITION", "NOT_POSITION", "NOT_WITHOUT_WITHIN",
        "UNBALANCED_PARENTHESIS", "UNEXPECTED_CHARACTER", "UNEXPECTED_END", "UNEXPECTED_TOKEN", "UNKNOWN_CLAUSE",
        "UNKNOWN_LANGUAGE", "UNKNOWN_SELECTOR", "UNKNOWN_STRATEGY", "UNTERMINATED_COMMENT", "UNTERMINATED_STRING",
    }  # fmt: skip
