"""A printed row pattern reads back as the same pattern."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eventide.language.sql.pattern import parse_row_pattern
from eventide.pattern.row_pattern_printing import to_row_pattern
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
)

NAMES = ["A", "UP", "START", "PERMUTE", "lower", "two words", "a`b", 'a"b', "Ärger", "ß", "_1", "{-", "a$"]
LEAVES = st.sampled_from([*map(Variable, NAMES), Empty(), PartitionStart(), PartitionEnd()])


@st.composite
def bounds(draw) -> tuple[int, int | None]:
    least = draw(st.integers(0, 3))
    return least, draw(st.none() | st.integers(max(1, least), 5))


def larger(parts: st.SearchStrategy[RowPattern]) -> st.SearchStrategy[RowPattern]:
    several = st.lists(parts, min_size=2, max_size=3).map(tuple)
    return st.one_of(
        several.map(Concatenation),
        several.map(Alternation),
        several.map(Permutation),
        parts.map(Exclusion),
        st.builds(lambda part, of, reluctant: Repetition(part, *of, reluctant), parts, bounds(), st.booleans()),
    )


PATTERNS = st.recursive(LEAVES, larger, max_leaves=12)


@given(PATTERNS)
def test_a_printed_pattern_reads_back_as_the_same(pattern):
    assert parse_row_pattern(to_row_pattern(pattern)) == pattern


@pytest.mark.parametrize(
    "text",
    [
        "A B+ C",
        "(A | B C)*? D??",
        "^ {- A{2,} -} B{,3} $",
        "PERMUTE(A, B C, (D | E)) ()",
        "((A+)+ B?)+ C",
        "(A?)? A{2}?",
        "A (B C) | (D | E)",
    ],
)
def test_a_pattern_is_printed_as_a_person_would_write_it(text):
    assert to_row_pattern(parse_row_pattern(text)) == text.replace("{,3}", "{0,3}").replace("(D | E))", "D | E)")


@pytest.mark.parametrize("kind", [Concatenation, Alternation, Permutation])
def test_one_part_is_printed_as_itself(kind):
    assert to_row_pattern(Repetition(kind((Variable("A"),)), 0, None)) == "A*"
    assert to_row_pattern(kind(())) == "()"
