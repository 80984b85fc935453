"""Patterns that blow up where engines backtrack, on many rows. `max_steps` bounds the work, so no clock is needed."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import eventide as et

EQUAL = pa.table({"i": np.arange(5_000), "v": np.ones(5_000, np.int64), "x": ["a"] * 5_000})
MANY = pa.table({"i": np.arange(20_000), "v": np.ones(20_000, np.int64), "x": ["a"] * 20_000})


def first(text, table, max_steps=30_000_000):
    return et.sql(text, t=table, max_steps=max_steps).to_pylist()


# trinodb/trino#18036: 5,000 equal rows under A+ B+ cost 45 s of CPU there. The preferred word gives B the last row alone.
CONDITIONS = {
    "none": "",
    "rows": "DEFINE A AS v = 1, B AS v = 1",
    "neighbours": "DEFINE A AS v = NEXT(v) OR v = 1, B AS v = PREV(v)",
    "the last A": "DEFINE B AS B.v = LAST(A.v)",
    "the first A": "DEFINE A AS A.v >= FIRST(A.v), B AS B.v <= FIRST(A.v)",
    "the row before": "DEFINE A AS A.v >= LAST(A.v, 1) OR COUNT(A.*) = 1",
    "a count": "DEFINE B AS COUNT(A.*) > 0",
    "a sum": "DEFINE A AS SUM(A.v) > 0",
    "an average": "DEFINE A AS A.v <= AVG(A.v), B AS B.v >= AVG(A.v)",
    "the classifier": "DEFINE B AS PREV(CLASSIFIER()) IN ('A', 'B')",
}


@pytest.mark.parametrize("conditions", CONDITIONS.values(), ids=CONDITIONS)
def test_equal_rows_under_two_greedy_loops(conditions):
    text = f"""SELECT * FROM t MATCH_RECOGNIZE (
        ORDER BY i MEASURES COUNT(A.*) AS a, COUNT(B.*) AS b PATTERN (A+ B+) {conditions})"""
    assert first(text, EQUAL) == [{"a": 4_999, "b": 1}]


@pytest.mark.parametrize("conditions", CONDITIONS.values(), ids=CONDITIONS)
def test_equal_rows_that_never_end_a_match(conditions):
    text = f"""SELECT * FROM t MATCH_RECOGNIZE (
        ORDER BY i MEASURES COUNT(*) AS n PATTERN (A+ B+ C) {conditions or "DEFINE"}{", " if conditions else " "}C AS x = 'c')"""
    assert first(text, EQUAL) == []


NESTED = {
    "((A+)+ B?)+ C": "A AS x = 'a', B AS x = 'b', C AS x = 'c'",
    "(A | A A)+ B": "A AS x = 'a', B AS x = 'b'",
    "(A* A*)* B": "A AS x = 'a', B AS x = 'b'",
    "((A? A?)+ A*)+ B": "A AS x = 'a', B AS x = 'b'",
    "A*? A*? A*? B": "A AS x = 'a', B AS x = 'b'",
    "(A+ B*)+? C": "A AS x = 'a', B AS x = 'b', C AS x = 'c'",
    "PERMUTE(A+, B*, C)": "A AS x = 'a', B AS x = 'b', C AS x = 'c'",
    "A{1,50} B": "A AS x = 'a', B AS x = 'b'",
}


@pytest.mark.parametrize("pattern", NESTED)
def test_nested_quantifiers_without_a_match(pattern):
    text = f"SELECT * FROM t MATCH_RECOGNIZE (ORDER BY i MEASURES COUNT(*) AS n PATTERN ({pattern}) DEFINE {NESTED[pattern]})"
    assert first(text, MANY) == []


@pytest.mark.parametrize("pattern", ["((A+)+ B?)+ C", "(A | A A)+ C", "(A* B?)* C"])
def test_nested_quantifiers_with_a_match_at_the_end(pattern):
    ended = pa.concat_tables([MANY, pa.table({"i": [20_000], "v": [1], "x": ["c"]})])
    defined = ", ".join(f"{name} AS x = '{name.lower()}'" for name in "ABC" if name in pattern)
    text = f"""SELECT * FROM t MATCH_RECOGNIZE (
        ORDER BY i MEASURES COUNT(*) AS n, COUNT(A.*) AS a PATTERN ({pattern}) DEFINE {defined})"""
    assert first(text, ended) == [{"n": 20_001, "a": 20_000}]


def test_every_row_is_counted_in_one_round_only():
    # (A | A A)+ has a number of words that grows with Fibonacci's; the preferred one has each row once.
    text = """SELECT * FROM t MATCH_RECOGNIZE (
        ORDER BY i MEASURES COUNT(*) AS n, SUM(v) AS s PATTERN ((A | B B)+) DEFINE A AS x = 'a', B AS x = 'a')"""
    assert first(text, MANY) == [{"n": 20_000, "s": 20_000}]


def test_overlapping_long_matches_cost_their_rows():
    text = """SELECT COUNT(*) AS matches, SUM(n) AS total FROM t MATCH_RECOGNIZE (
        ORDER BY i MEASURES COUNT(*) AS n AFTER MATCH SKIP TO NEXT ROW PATTERN (A+) DEFINE A AS x = 'a')"""
    assert first(text, EQUAL) == [{"matches": 5_000, "total": 5_000 * 5_001 // 2}]
