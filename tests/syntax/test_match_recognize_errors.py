"""Wrong SQL with MATCH_RECOGNIZE gives exactly the message that stands beside it in `row_parse_errors.txt`."""

from __future__ import annotations

from pathlib import Path

import pytest

from eventide.errors import ParseError
from eventide.language import parse_statement


def read_cases() -> list[tuple[str, str]]:
    """Return the pairs of text and message."""
    blocks = (Path(__file__).parent / "row_parse_errors.txt").read_text(encoding="utf-8").split("===\n")
    pairs = [block.split("\n---\n") for block in blocks]
    return [(text, expected.rstrip("\n")) for text, expected in pairs]


WRONG = read_cases()


@pytest.mark.parametrize(("text", "message"), WRONG, ids=[text.partition("RECOGNIZE ")[2] or text for text, _ in WRONG])
def test_a_wrong_statement_is_explained(text: str, message: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse_statement(text)
    assert str(caught.value) == message


def test_every_error_has_a_hint() -> None:
    assert [text for text, message in WRONG if "\nHint: " not in message] == []


def test_the_corpus_covers_every_condition() -> None:
    conditions = {message[1 : message.index("]")] for _, message in WRONG}
    assert conditions >= {
        "BAD_EXPRESSION", "BAD_MATCH_INPUT", "BAD_QUANTIFIER", "BAD_QUERY", "BAD_ROWS_PER_MATCH", "BAD_SKIP", "BAD_WINDOW",
        "CLAUSE_ORDER", "DUPLICATE_CLAUSE", "DUPLICATE_MEASURE", "DUPLICATE_SUBSET", "DUPLICATE_VARIABLE", "EMPTY_ALTERNATIVE",
        "EMPTY_QUERY", "MATCH_RECOGNIZE_DUPLICATE_PATTERN_VARIABLE", "MATCH_RECOGNIZE_EMPTY_MEASURES",
        "MATCH_RECOGNIZE_MEASURES_MUST_BE_ALIASED", "MATCH_RECOGNIZE_PARTITION_BY_MUST_BE_COLUMN",
        "MATCH_RECOGNIZE_PERMUTE_TOO_FEW_PATTERNS", "MATCH_RECOGNIZE_UNSUPPORTED_WINDOW_FUNCTION", "MISSING_CLAUSE",
        "NOT_A_QUERY", "ORDER_BY_MUST_BE_COLUMN", "SEVERAL_STATEMENTS", "SUBSET_DEFINED", "UNBALANCED_PARENTHESIS",
        "UNEXPECTED_CHARACTER", "UNEXPECTED_END", "UNEXPECTED_TOKEN", "UNKNOWN_CLAUSE", "UNKNOWN_VARIABLE",
        "UNSUPPORTED_CLAUSE", "UNTERMINATED_COMMENT", "UNTERMINATED_STRING",
    }  # fmt: skip
