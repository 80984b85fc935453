"""What MEASURES and DEFINE read in the oracle of MATCH_RECOGNIZE (section 10)."""

from __future__ import annotations

from decimal import Decimal

import pytest

from eventide.errors import BindError
from eventide_reference import recognize
from reference.row_building import MARKS, defined, marked, measured, parsed, result, run, xs

# What expressions read


def test_running_values_see_the_rows_up_to_the_current_one_and_final_values_all():
    expressions = [
        "SUM(x)",
        "FINAL SUM(x)",
        "B.x",
        "FINAL B.x",
        "FINAL LAST(B.x, 1)",
        "FIRST(B.x)",
        "RUNNING LAST(x)",
        "COUNT(B.*)",
        "AVG(B.x)",
    ]
    assert measured(expressions, "ALL ROWS PER MATCH PATTERN (A B+) DEFINE A AS x = 1", xs(1, 2, 4)) == [
        [1, 7, None, 4, 2, None, 1, 0, None],
        [3, 7, 2, 4, 2, 2, 2, 1, 2.0],
        [7, 7, 4, 4, 2, 2, 4, 2, 3.0],
    ]


def test_under_one_row_per_match_running_and_final_agree():
    expressions = ["SUM(x)", "RUNNING SUM(x)", "FINAL SUM(x)", "A.x", "FINAL A.x", "x"]
    assert measured(expressions, "PATTERN (A B+) DEFINE A AS x = 1", xs(1, 2, 4)) == [[7, 7, 7, 1, 1, 4]]


def test_navigation_counts_rows_of_the_variable_and_then_rows_of_the_partition():
    values = {
        "FIRST(A.x)": 20,
        "FIRST(A.x, 0)": 20,
        "FIRST(A.x, 1)": 30,
        "FIRST(A.x, 2)": None,
        "LAST(A.x)": 30,
        "LAST(A.x, 1)": 20,
        "LAST(A.x, 2)": None,
        "FIRST(x, 2)": 40,
        "LAST(x, 2)": 20,
        "PREV(A.x)": 20,
        "PREV(A.x, 2)": 10,
        "PREV(A.x, 3)": None,
        "PREV(A.x, 0)": 30,
        "NEXT(A.x)": 40,
        "NEXT(B.x)": 50,
        "NEXT(B.x, 2)": None,
        "PREV(FIRST(A.x))": 10,
        "PREV(FIRST(A.x), 2)": None,
        "NEXT(FIRST(A.x), 0)": 20,
        "NEXT(FIRST(A.x), 3)": 50,
        "PREV(LAST(A.x, 1), 1)": 10,
        "NEXT(LAST(A.x, 2), 1)": None,
        "NEXT(FIRST(A.x + 1, 1), 1)": 41,
        "PREV(B.x * 2)": 60,
        "PREV(x)": 30,
        "NEXT(x)": 50,
        "FIRST(A.x) + LAST(A.x) - PREV(B.x)": 20,
        "COALESCE(FIRST(A.x, 7), -1)": -1,
    }
    clause = "PATTERN (A+ B) DEFINE A AS x IN (20, 30), B AS x = 40"
    assert measured(values, clause, xs(10, 20, 30, 40, 50)) == [list(values.values())]


def test_running_and_final_under_prev_and_next_stand_before_the_inner_navigation():
    expressions = [
        "PREV(LAST(A.x))",
        "PREV(RUNNING LAST(A.x))",
        "PREV(FINAL LAST(A.x))",
        "NEXT(FINAL LAST(x), 1)",
        "PREV(FINAL FIRST(A.x, 1))",
    ]
    assert measured(expressions, "ALL ROWS PER MATCH PATTERN (A+) DEFINE A AS x > 0", xs(0, 1, 2, 3, 0)) == [
        [0, 0, 2, 0, 1],
        [1, 1, 2, 0, 1],
        [2, 2, 2, 0, 1],
    ]


def test_the_argument_of_navigation_is_evaluated_at_the_row_reached():
    rows = [{"x": 1, "y": 10}, {"x": 2, "y": None}, {"x": 3, "y": 30}]
    expressions = ["LAST(A.x * A.y)", "LAST(A.x * A.y, 1)", "FIRST(COALESCE(y, x), 1)", "FIRST(A.x + MATCH_NUMBER())"]
    assert measured(expressions, "PATTERN (A+) DEFINE A AS TRUE", rows) == [[90, None, 2, 2]]


def test_classifier_is_the_variable_of_the_last_row_or_of_the_row_reached():
    expressions = [
        "CLASSIFIER()",
        "CLASSIFIER(A)",
        "CLASSIFIER(B)",
        "PREV(CLASSIFIER())",
        "NEXT(CLASSIFIER())",
        "FIRST(CLASSIFIER())",
        "LAST(CLASSIFIER(), 1)",
        "FINAL LAST(CLASSIFIER())",
        "PREV(CLASSIFIER(A))",
        "PREV(CLASSIFIER(U))",
        "PREV(CLASSIFIER(A), 2)",
        "FIRST(CLASSIFIER(B))",
    ]
    rows = measured(expressions, f"ALL ROWS PER MATCH PATTERN ((A | B)+) SUBSET U = (A, B) {defined('A B')}", marked("- a b a -"))
    assert rows == [
        ["A", "A", None, None, "B", "A", None, "A", None, None, None, None],
        ["B", "A", "B", "A", "A", "A", "A", "A", None, "A", None, "B"],
        ["A", "A", "B", "B", None, "A", "B", "A", None, "B", "A", "B"],
    ]


def test_classifier_beside_a_column_is_that_of_the_row_reached():
    expressions = ["COUNT(CASE WHEN CLASSIFIER() = 'A' THEN i END)", "SUM(CASE WHEN CLASSIFIER(U) = 'B' THEN U.i END)"]
    clause = f"PATTERN ((A | B)+ C) SUBSET U = (B, C) {MARKS}"
    assert measured(expressions, clause, marked("a b a b c")) == [[2, 4]]


def test_a_condition_may_ask_for_the_classifier_of_the_rows_mapped_so_far():
    clause = "MEASURES COUNT(*) AS n PATTERN (A (B | C)+) DEFINE B AS PREV(CLASSIFIER()) = 'A' AND CLASSIFIER() = 'B', C AS LAST(CLASSIFIER(), 1) <> 'A' AND {}"
    assert result(clause.format("TRUE"), xs(1, 2, 3)) == [(3,)]
    # The next row is never mapped yet.
    assert result(clause.format("NEXT(CLASSIFIER()) IS NOT NULL"), xs(1, 2, 3)) == [(2,)]


def test_a_condition_may_ask_for_the_number_of_the_match():
    assert result("MEASURES MATCH_NUMBER() AS m, x AS x PATTERN (A) DEFINE A AS MATCH_NUMBER() <= 2", xs(7, 8, 9)) == [
        (1, 7),
        (2, 8),
    ]


def test_the_number_of_the_match_begins_anew_in_each_partition():
    rows = [{"k": "p", "x": 1}, {"k": "q", "x": 2}, {"k": "p", "x": 3}]
    assert run("PARTITION BY k MEASURES MATCH_NUMBER() AS m, x AS x PATTERN (A) DEFINE A AS TRUE", rows) == (
        ["k", "m", "x"],
        [("p", 1, 1), ("p", 2, 3), ("q", 1, 2)],
    )


def test_aggregates_read_the_rows_of_their_variable_without_nulls():
    values = {
        "COUNT(*)": 4,
        "COUNT(A.*)": 3,
        "COUNT(A.x)": 2,
        "COUNT(x)": 3,
        "COUNT(1)": 4,
        "SUM(A.x)": 4,
        "SUM(A.x * 2 + 1)": 10,
        "AVG(A.x)": 2.0,
        "MIN(A.x)": 1,
        "MAX(x)": 9,
        "SUM(C.x)": None,
        "MAX(C.x)": None,
        "COUNT(C.x)": 0,
        "MAX(A.x) - MIN(A.x)": 2,
        "SUM(U.x)": 13,
    }
    clause = "PATTERN (A+ B C?) SUBSET U = (A, B) DEFINE A AS COALESCE(x, 0) < 5, B AS x > 5"
    [row] = measured(values, clause, xs(1, None, 3, 9))
    assert row == list(values.values())
    assert isinstance(row[5], int) and isinstance(row[7], float)


def test_aggregates_of_decimals_are_decimals():
    expressions = ["SUM(A.x)", "MIN(A.x)", "MAX(A.x)", "A.x", "LAST(A.x, 1)"]
    assert measured(expressions, "PATTERN (A+) DEFINE A AS x > 0", xs(Decimal("0.1"), Decimal("0.2"))) == [
        [Decimal("0.3"), Decimal("0.1"), Decimal("0.2"), Decimal("0.2"), Decimal("0.1")]
    ]


def test_a_subset_stands_for_the_rows_of_its_members():
    expressions = ["U.i", "FIRST(U.i)", "LAST(U.i, 1)", "COUNT(U.*)", "PREV(FIRST(U.i))", "CLASSIFIER(U)"]
    clause = f"ALL ROWS PER MATCH PATTERN (A (B | C)+) SUBSET U = (A, C) {MARKS}"
    assert measured(expressions, clause, marked("- a b c b")) == [
        [1, 1, None, 1, 0, "A"],
        [1, 1, None, 1, 0, "A"],
        [3, 1, 1, 2, 0, "C"],
        [3, 1, 1, 2, 0, "C"],
    ]


def test_a_condition_may_read_a_subset():
    clause = "MEASURES COUNT(*) AS n PATTERN (A B* C) SUBSET U = (A, B) DEFINE B AS SUM(U.x) < 10, C AS x > MAX(U.x)"
    assert result(clause, xs(4, 3, 2, 5, 9)) == [(4,)]


def test_a_navigation_over_two_variables_is_refused():
    with pytest.raises(BindError):
        recognize(parsed("MEASURES SUM(A.x + B.x) AS s PATTERN (A B) DEFINE A AS TRUE"), xs(1, 2), ["x"])


# Stock prices


PRICES = [{"day": day, "price": price} for day, price in enumerate([12, 17, 13, 16, 11, 15, 10, 9, 14, 18], start=1)]
V_SHAPE = """
    ORDER BY day
    MEASURES {measures}
    {mode}
    AFTER MATCH SKIP {skip}
    PATTERN (STRT DOWN+ UP+)
    DEFINE DOWN AS price < PREV(price), UP AS price > PREV(price)
"""


def test_a_v_shape_is_a_start_some_falls_and_some_rises():
    clause = V_SHAPE.format(
        measures="MATCH_NUMBER() AS m, STRT.price AS top, LAST(DOWN.price) AS bottom, UP.price AS back, COUNT(UP.*) AS ups",
        mode="ONE ROW PER MATCH",
        skip="PAST LAST ROW",
    )
    # 12 | 17 13 16 | 11 | 15 10 9 14 18
    assert result(clause, PRICES) == [(1, 17, 13, 16, 1), (2, 15, 9, 18, 2)]


def test_skipping_to_the_last_rise_finds_the_v_shapes_that_share_a_top():
    clause = V_SHAPE.format(measures="STRT.day AS s, UP.day AS e", mode="ONE ROW PER MATCH", skip="TO LAST UP")
    assert result(clause, PRICES) == [(2, 4), (4, 6), (6, 10)]


def test_all_rows_of_a_v_shape_show_running_and_final_values():
    clause = V_SHAPE.format(
        measures="CLASSIFIER() AS c, DOWN.price AS low, FINAL LAST(DOWN.price) AS lowest, RUNNING COUNT(*) AS n, FINAL COUNT(*) AS all_n",
        mode="ALL ROWS PER MATCH",
        skip="PAST LAST ROW",
    )
    assert run(clause, PRICES) == (
        ["day", "c", "low", "lowest", "n", "all_n", "price"],
        [
            (2, "STRT", None, 13, 1, 3, 17),
            (3, "DOWN", 13, 13, 2, 3, 13),
            (4, "UP", 13, 13, 3, 3, 16),
            (6, "STRT", None, 9, 1, 5, 15),
            (7, "DOWN", 10, 9, 2, 5, 10),
            (8, "DOWN", 9, 9, 3, 5, 9),
            (9, "UP", 9, 9, 4, 5, 14),
            (10, "UP", 9, 9, 5, 5, 18),
        ],
    )


def test_the_rows_are_matched_in_the_order_of_the_clause_and_not_of_the_input():
    clause = V_SHAPE.format(measures="STRT.day AS s, UP.day AS e", mode="ONE ROW PER MATCH", skip="PAST LAST ROW")
    assert result(clause, PRICES[::-1]) == [(2, 4), (6, 10)]
