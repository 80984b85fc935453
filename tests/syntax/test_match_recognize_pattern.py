"""The PATTERN of MATCH_RECOGNIZE becomes the model of row patterns."""

from __future__ import annotations

import pytest

from eventide.errors import ParseError
from eventide.language.sql.pattern import parse_row_pattern as parse
from eventide.pattern.row_patterns import (
    Alternation,
    Concatenation,
    Empty,
    Exclusion,
    PartitionEnd,
    PartitionStart,
    Permutation,
    Repetition,
    RowPattern,
    Variable,
    walk_rows,
)

A, B, C = Variable("A"), Variable("B"), Variable("C")


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("A", A),
        ("a", A),
        ("((A))", A),
        ("A B C", Concatenation((A, B, C))),
        ("A (B C)", Concatenation((A, Concatenation((B, C))))),
        ("A | B C", Alternation((A, Concatenation((B, C))))),
        ("A | B | C", Alternation((A, B, C))),
        ("(A | B) C", Concatenation((Alternation((A, B)), C))),
        ("()", Empty()),
        ("A | ()", Alternation((A, Empty()))),
        ("^ A $", Concatenation((PartitionStart(), A, PartitionEnd()))),
        ("^A$", Concatenation((PartitionStart(), A, PartitionEnd()))),
        ("{- A -}", Exclusion(A)),
        ("A{-B C-}", Concatenation((A, Exclusion(Concatenation((B, C)))))),
        ("{- {- A -} B -}", Exclusion(Concatenation((Exclusion(A), B)))),
        ("{- A{2} -}", Exclusion(Repetition(A, 2, 2))),
        ("PERMUTE(A, B)", Permutation((A, B))),
        ("permute (A | B, C+)", Permutation((Alternation((A, B)), Repetition(C, 1, None)))),
        ("PERMUTE(A)", A),
        ("PERMUTE A", Concatenation((Variable("PERMUTE"), A))),
        ("PERMUTE(A, B)*", Repetition(Permutation((A, B)), 0, None)),
        ("(A B)+", Repetition(Concatenation((A, B)), 1, None)),
        (
            "((A+)+ B?)+ C",
            Concatenation(
                (Repetition(Concatenation((Repetition(Repetition(A, 1, None), 1, None), Repetition(B, 0, 1))), 1, None), C)
            ),
        ),
        ('`a b` "c d"', Concatenation((Variable("a b"), Variable("c d")))),
        ("`A`", A),
        ("A -- then\n /* B */ B", Concatenation((A, B))),
    ],
)
def test_a_pattern_is_read(text: str, pattern: RowPattern) -> None:
    assert parse(text) == pattern


@pytest.mark.parametrize(
    ("quantifier", "least", "most"),
    [
        ("*", 0, None),
        ("+", 1, None),
        ("?", 0, 1),
        ("{3}", 3, 3),
        ("{3,}", 3, None),
        ("{,3}", 0, 3),
        ("{2,3}", 2, 3),
        ("{,}", 0, None),
        ("{0,}", 0, None),
        (" { 2 , 3 } ", 2, 3),
    ],
)
def test_a_quantifier_has_bounds_and_may_be_reluctant(quantifier: str, least: int, most: int | None) -> None:
    assert parse(f"A{quantifier}") == Repetition(A, least, most)
    assert parse(f"A{quantifier}?") == Repetition(A, least, most, reluctant=True)
    assert parse(f"A {quantifier} ? B") == Concatenation((Repetition(A, least, most, reluctant=True), B))


def test_spans_point_at_what_was_written() -> None:
    text = "a+? (b c){2} {- d -} PERMUTE(e, f) ^ $ ()"
    spans = [node.span for node in walk_rows(parse(text)) if getattr(node, "span", None)]
    written = ["a+?", "a", "(b c){2}", "b", "c", "{- d -}", "d", "PERMUTE(e, f)", "e", "f", "^", "$", "()"]
    assert [text[span.start : span.end] for span in spans] == written


def test_a_long_pattern_is_read() -> None:
    assert len(parse(" ".join(["A"] * 20_000)).parts) == 20_000


def test_a_deep_pattern_can_be_compared_and_printed() -> None:
    text = "(A | B " * 64 + "C" + ")*" * 64
    assert parse(text) == parse(text)
    assert hash(parse(text)) == hash(parse(text))
    assert repr(parse(text))


@pytest.mark.parametrize("depth", [65, 201])
def test_a_deeper_pattern_is_refused(depth: int) -> None:
    with pytest.raises(ParseError) as caught:
        parse("(" * depth + "A" + ")*" * depth)
    assert caught.value.condition == "QUERY_TOO_DEEP"
