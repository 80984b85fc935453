"""Preferment and mapping in the oracle of MATCH_RECOGNIZE, against expectations written by hand (section 10)."""

from __future__ import annotations

import re
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as draw

from eventide.errors import LimitError
from eventide.pattern.row_patterns import (
    Alternation,
    Concatenation,
    Empty,
    Exclusion,
    PartitionEnd,
    PartitionStart,
    Permutation,
    Repetition,
    Variable,
    walk_rows,
)
from eventide_reference.row_patterns.words import Search, Steps
from reference.row_building import defined, marked, parsed, result, run, xs

# Preferment


def words_at(start, pattern, text):
    rows = marked(text)
    tree = parsed(f"PATTERN ({pattern}) {defined(pattern)}").pattern

    def may_map(word, variable):
        return rows[start + len(word)][variable.lower()]

    for word in Search(start, len(rows), may_map, Steps(10_000)).words(tree):
        yield "".join(mapped.variable.lower() if mapped.excluded else mapped.variable for mapped in word) or "-"


@pytest.mark.parametrize(
    ("pattern", "rows", "words"),
    [
        ("A B", "ab ab", "AB"),
        ("(A | B) (A | B)", "ab ab", "AA AB BA BB"),
        ("A | A B", "ab ab", "A AB"),
        ("A B | A", "ab ab", "AB A"),
        ("(A | B) | C", "abc", "A B C"),
        ("A*", "a a", "AA A -"),
        ("A*?", "a a", "- A AA"),
        ("A+", "a a", "AA A"),
        ("A+?", "a a", "A AA"),
        ("A?", "a", "A -"),
        ("A??", "a", "- A"),
        ("A{2}", "a a a", "AA"),
        ("A{1,2}", "a a a", "AA A"),
        ("A{1,2}?", "a a a", "A AA"),
        ("A{,2}", "a a a", "AA A -"),
        ("A{,2}?", "a a a", "- A AA"),
        ("A{2,}", "a a a", "AAA AA"),
        ("A{2,}?", "a a a", "AA AAA"),
        ("A* B", "ab ab", "AB B"),
        ("A*? B", "ab ab", "B AB"),
        ("A? B?", "ab ab", "AB A B -"),
        ("A?? B?", "ab ab", "B - AB A"),
        ("(A | B)*", "ab ab", "AA AB A BA BB B -"),
        ("(A | B)*?", "ab ab", "- A AA AB B BA BB"),
        ("(A | B){1,2}", "ab ab", "AA AB A BA BB B"),
        ("(A B?)+", "a ab", "AB AA A"),
        ("(A B??)+", "a ab", "AA A AB"),
        ("(A+)+?", "a a", "AA A AA"),
        ("PERMUTE(A, B, C)", "abc abc abc", "ABC ACB BAC BCA CAB CBA"),
        ("PERMUTE(A, B?)", "ab ab", "AB A BA A"),
        ("PERMUTE(A B, C)", "abc abc abc", "ABC CAB"),
        ("PERMUTE(A | B, C)", "abc abc", "AC BC CA CB"),
        ("()", "a", "-"),
        ("() | A", "a", "- A"),
        ("A ()", "a", "A"),
        ("{- A -} B", "a b", "aB"),
        ("({- A B -} C)+", "a b c a b c", "abCabC abC"),
        ("{- A (B | C) -}", "a bc", "ab ac"),
    ],
)
def test_the_words_of_an_operator_come_in_the_order_of_preferment(pattern, rows, words):
    assert list(words_at(0, pattern, rows)) == words.split()


@pytest.mark.parametrize(
    ("pattern", "rows", "words"),
    [
        # The empty round is preferred and is the last one: going on after it is not tried.
        ("(A??)*", "a a", "- A AA AA A -"),
        ("(A??)*?", "a a", "- - A A AA AA"),
        ("(A?)*", "a", "A A - -"),
        ("(A | () | B)*", "b", "- B B -"),
        ("(A | () | B)+", "b", "- B B - B B"),
        ("(A | () | B)*", "ab ab", "AA AA A AB AB A - BA BA B BB BB B -"),
        # Bounded: every round counts, the empty ones too.
        ("(A | () | B){0,3}", "b", "- B - B B - B B B -"),
        ("(A?){2}", "a a", "AA A A -"),
        ("()*", "a", "- -"),
        ("(){2,}", "a", "- -"),
    ],
)
def test_a_round_without_a_row_is_the_last_one_of_an_unbounded_tail(pattern, rows, words):
    assert list(words_at(0, pattern, rows)) == words.split()


@pytest.mark.parametrize(
    ("pattern", "rows", "word"),
    [
        ("(A?){2,} B", "b", "B"),
        ("(A?){2,} B", "a a a b", "AAAB"),
        ("(A | () | B){0,3} C", "b c", "BC"),
        ("(A | () | B)* C", "b c", "BC"),
        ("(A | () | B)* C", "a b c", "ABC"),
        ("(A*)* B", "a a b", "AAB"),
        ("((A+)+ B?)+ C", "a b a a c", "ABAAC"),
        ("(A* | B*)* C", "a b a c", "ABAC"),
    ],
)
def test_a_nullable_loop_finds_the_rest_of_the_pattern(pattern, rows, word):
    assert next(words_at(0, pattern, rows)) == word


@pytest.mark.parametrize(
    ("start", "pattern", "words"),
    [
        (0, "^ A", "A"),
        (1, "^ A", ""),
        (0, "A ^ A", ""),
        (0, "A $", ""),
        (1, "A $", "A"),
        (0, "A+ $", "AA"),
        (0, "A $ A", ""),
        (0, "^ A* $", "AA"),
        (0, "(^ | A) A", "A AA"),
        (0, "^ $", ""),
        (1, "$", ""),
    ],
)
def test_anchors_hold_at_the_borders_of_the_partition_alone(start, pattern, words):
    assert list(words_at(start, pattern, "a a")) == words.split()


# Against regular expressions: when each row can be mapped to one variable alone, both prefer the same word


def joined(parts, regex_between, kind):
    return kind(tuple(part for part, _ in parts)), "(?:" + regex_between.join(regex for _, regex in parts) + ")"


def permuted(parts):
    orders = ["".join(order) for order in permutations([regex for _, regex in parts])]
    return Permutation(tuple(part for part, _ in parts)), "(?:" + "|".join(orders) + ")"


def repeated(part, bounds, reluctant):
    pattern, regex = part
    least, most = bounds
    # The two differ in what an empty round of a loop may lead to.
    if re.fullmatch(regex, "") or any(isinstance(node, PartitionStart | PartitionEnd) for node in walk_rows(pattern)):
        return part
    return Repetition(
        pattern, least, most, reluctant
    ), f"(?:{regex}){{{least},{'' if most is None else most}}}{'?' if reluctant else ''}"


LEAVES = draw.sampled_from(
    [*[(Variable(name), name) for name in "ABC"] * 3, (Empty(), "(?:)"), (PartitionStart(), r"\A"), (PartitionEnd(), r"\Z")]
)
BOUNDS = draw.sampled_from([(0, None), (1, None), (0, 1), (2, None), (0, 2), (1, 3), (2, 2)])


def both_ways(inner):
    several = draw.lists(inner, min_size=2, max_size=3)
    return draw.one_of(
        several.map(lambda parts: joined(parts, "", Concatenation)),
        several.map(lambda parts: joined(parts, "|", Alternation)),
        several.map(permuted),
        draw.builds(repeated, inner, BOUNDS, draw.booleans()),
        inner.map(lambda part: (Exclusion(part[0]), part[1])),
    )


@settings(max_examples=300, deadline=None)
@given(draw.recursive(LEAVES, both_ways, max_leaves=8), draw.text("ABC", min_size=1, max_size=8))
def test_the_preferred_word_is_that_of_a_regular_expression(pattern_and_regex, text):
    pattern, regex = pattern_and_regex
    for start in range(len(text)):
        search = Search(start, len(text), lambda word, variable, start=start: text[start + len(word)] == variable, Steps(100_000))
        word = next(search.words(pattern), None)
        expected = re.compile(regex).match(text, start)
        assert (word is None) == (expected is None)
        assert word is None or "".join(mapped.variable for mapped in word) == expected.group()


# Mapping


def test_inside_its_own_condition_a_variable_stands_for_the_row_itself():
    clause = "MEASURES COUNT(*) AS n PATTERN (A+) DEFINE A AS {}"
    assert result(clause.format("A.x = x AND LAST(A.x) = x AND A.x > 0"), xs(1, 2)) == [(2,)]
    assert result(clause.format("x > LAST(A.x)"), xs(1, 2)) == []
    assert result(clause.format("x > LAST(A.x, 1)"), xs(1, 2)) == []
    assert result(clause.format("LAST(A.x, 1) IS NULL OR x > LAST(A.x, 1)"), xs(1, 2, 1)) == [(2,), (1,)]


def test_null_is_not_true():
    clause = "MEASURES A.x AS x PATTERN (A) DEFINE A AS {}"
    assert result(clause.format("x > 1"), xs(None, 2)) == [(2,)]
    assert result(clause.format("NOT x > 1"), xs(None, 1)) == [(1,)]
    assert result(clause.format("x IS NULL OR x > 5"), xs(None, 1)) == [(None,)]


def test_a_variable_without_a_condition_takes_every_row():
    assert result("MEASURES COUNT(B.*) AS n PATTERN (A B*) DEFINE A AS x = 1", xs(0, 1, None, 7)) == [(2,)]


def test_a_condition_reads_the_rows_mapped_so_far():
    clause = (
        "MEASURES COUNT(A.*) AS a, COUNT(B.*) AS b PATTERN (A+ B+) DEFINE A AS SUM(A.x) <= 5, B AS x > AVG(A.x) AND COUNT(*) <= 4"
    )
    # A takes 2 and 3; B has 4 > 2.5 and 9 as the fourth row; the fifth row is one too many.
    assert result(clause, xs(2, 3, 4, 9, 9)) == [(2, 2)]


def test_a_condition_may_read_a_variable_that_has_no_rows_yet():
    clause = "MEASURES COUNT(*) AS n PATTERN (A B) DEFINE A AS B.x IS NULL AND COUNT(B.*) = 0 AND SUM(B.x) IS NULL, B AS x > A.x"
    assert result(clause, xs(1, 2)) == [(2,)]


def test_a_condition_on_the_next_row_reads_beyond_the_match():
    clause = "MEASURES A.x AS x PATTERN (A) DEFINE A AS x > NEXT(x) AND (PREV(x) IS NULL OR x > PREV(x))"
    assert result(clause, xs(3, 1, 5, 4, 7)) == [(3,), (5,)]


def test_a_mapping_that_spoils_a_later_condition_is_taken_back():
    clause = "MEASURES COUNT(A.*) AS a, COUNT(B.*) AS b PATTERN (A+ B{2}) DEFINE B AS COUNT(A.*) <= 2"
    assert result(clause, xs(1, 2, 3, 4, 5)) == [(2, 2)]


# Limits


def test_too_many_steps_are_an_error():
    with pytest.raises(LimitError):
        run("MEASURES COUNT(*) AS n PATTERN ((A | A A)+ B) DEFINE A AS x = 1, B AS x = 2", xs(*[1] * 30), max_steps=5_000)


def test_a_match_may_have_hundreds_of_rows():
    rows = xs(*range(250))
    assert result("MEASURES COUNT(*) AS n PATTERN (((A+)+ B?)+ C) DEFINE A AS x < 249, B AS x < 0", rows) == [(250,)]
