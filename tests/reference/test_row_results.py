"""The walk, the rows and the columns of the result in the oracle of MATCH_RECOGNIZE (section 10)."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta

import pytest

from eventide.errors import BindError, DataError
from reference.row_building import MARKS, defined, marked, result, run, xs

# The walk and the rows of the result


MODES = {
    "one": "ONE ROW PER MATCH",
    "show": "ALL ROWS PER MATCH SHOW EMPTY MATCHES",
    "all": "ALL ROWS PER MATCH",
    "omit": "ALL ROWS PER MATCH OMIT EMPTY MATCHES",
    "unmatched": "ALL ROWS PER MATCH WITH UNMATCHED ROWS",
}


def walked(mode, skip, pattern, text):
    """For each row of the result: position (not in ONE ROW PER MATCH), number of the match and running count."""
    skip = f"AFTER MATCH SKIP {skip}" if skip else ""
    clause = f"ORDER BY i MEASURES MATCH_NUMBER() AS m, COUNT(*) AS n {MODES[mode]} {skip} PATTERN ({pattern}) {defined(pattern)}"
    return [row[:2] if mode == "one" else row[:3] for row in result(clause, marked(text))]


@pytest.mark.parametrize("skip", ["", "PAST LAST ROW"])
@pytest.mark.parametrize(
    ("mode", "rows"),
    [
        ("one", [(1, 2), (2, 0), (3, 1)]),
        ("all", [(0, 1, 1), (1, 1, 2), (2, 2, 0), (3, 3, 1)]),
        ("show", [(0, 1, 1), (1, 1, 2), (2, 2, 0), (3, 3, 1)]),
        ("omit", [(0, 1, 1), (1, 1, 2), (3, 3, 1)]),
        ("unmatched", [(0, 1, 1), (1, 1, 2), (2, 2, 0), (3, 3, 1)]),
    ],
)
def test_an_empty_match_has_a_number_past_the_last_row(mode, rows, skip):
    assert walked(mode, skip, "A*", "a a - a") == rows


@pytest.mark.parametrize(
    ("mode", "rows"),
    [
        ("one", [(1, 2), (2, 1), (3, 0), (4, 1)]),
        ("show", [(0, 1, 1), (1, 1, 2), (1, 2, 1), (2, 3, 0), (3, 4, 1)]),
        ("omit", [(0, 1, 1), (1, 1, 2), (1, 2, 1), (3, 4, 1)]),
        ("unmatched", [(0, 1, 1), (1, 1, 2), (1, 2, 1), (2, 3, 0), (3, 4, 1)]),
    ],
)
def test_an_empty_match_has_a_number_to_the_next_row(mode, rows):
    assert walked(mode, "TO NEXT ROW", "A*", "a a - a") == rows


FIRST_B = [(0, 1, 1), (1, 1, 2), (2, 1, 3), (1, 2, 0), (2, 3, 0), (3, 4, 0), (4, 5, 1), (5, 5, 2), (5, 6, 0)]
LAST_B = [(0, 1, 1), (1, 1, 2), (2, 1, 3), (2, 2, 0), (3, 3, 0), (4, 4, 1), (5, 4, 2), (5, 5, 0)]


@pytest.mark.parametrize(
    ("skip", "mode", "rows"),
    [
        ("TO FIRST B", "one", [(1, 3), (2, 0), (3, 0), (4, 0), (5, 2), (6, 0)]),
        ("TO FIRST B", "show", FIRST_B),
        ("TO FIRST B", "omit", [row for row in FIRST_B if row[2]]),
        ("TO FIRST B", "unmatched", FIRST_B),
        ("TO LAST B", "one", [(1, 3), (2, 0), (3, 0), (4, 2), (5, 0)]),
        ("TO B", "one", [(1, 3), (2, 0), (3, 0), (4, 2), (5, 0)]),
        ("TO LAST B", "show", LAST_B),
        ("TO LAST B", "omit", [row for row in LAST_B if row[2]]),
        ("TO LAST B", "unmatched", LAST_B),
    ],
)
def test_after_an_empty_match_the_walk_goes_on_at_the_next_row(skip, mode, rows):
    assert walked(mode, skip, "(A B+)?", "a b b - a b") == rows


def test_a_reluctant_star_gives_an_empty_match_at_every_row():
    assert walked("one", "", "A*?", "a a") == [(1, 0), (2, 0)]
    assert walked("omit", "", "A*?", "a a") == []


def test_there_is_no_match_after_the_last_row():
    assert walked("one", "", "$", "a a") == []
    assert walked("one", "", "()", "a a") == [(1, 0), (2, 0)]
    assert walked("one", "", "^", "a a") == [(1, 0)]


def test_in_an_empty_match_all_but_count_and_match_number_is_null():
    measures = {
        "MATCH_NUMBER()": 1,
        "COUNT(*)": 0,
        "COUNT(A.*)": 0,
        "COUNT(A.x)": 0,
        "FINAL COUNT(x)": 0,
        "SUM(x)": None,
        "CLASSIFIER()": None,
        "CLASSIFIER(A)": None,
        "x": None,
        "A.x": None,
        "FIRST(x)": None,
        "FINAL LAST(x)": None,
        "PREV(x)": None,
        "NEXT(x)": None,
        "PREV(FIRST(x), 0)": None,
        "NEXT(CLASSIFIER())": None,
    }
    listed = ", ".join(f"{text} AS m{number}" for number, text in enumerate(measures))
    rows = result(f"MEASURES {listed} ALL ROWS PER MATCH PATTERN (A?) DEFINE A AS x > 5", xs(3, 4))
    assert rows[0] == (*measures.values(), 3)


@pytest.mark.parametrize(
    ("skip", "rows"),
    [
        ("PAST LAST ROW", [(0, 1, 1), (1, None, None), (2, 2, 1), (3, 2, 2), (4, None, None)]),
        ("TO NEXT ROW", [(0, 1, 1), (1, None, None), (2, 2, 1), (3, 2, 2), (3, 3, 1), (4, None, None)]),
    ],
)
def test_unmatched_rows_come_out_where_the_walk_meets_them_with_null_measures(skip, rows):
    assert walked("unmatched", skip, "A+", "a - a a -") == rows


def test_a_row_inside_an_earlier_match_is_not_unmatched():
    assert walked("unmatched", "TO NEXT ROW", "A B C", "a b c -") == [(0, 1, 1), (1, 1, 2), (2, 1, 3), (3, None, None)]


def test_a_row_that_only_failed_to_start_a_match_may_be_inside_the_next_one():
    assert walked("unmatched", "", "A B+", "- b a b b") == [(0, None, None), (1, None, None), (2, 1, 1), (3, 1, 2), (4, 1, 3)]


def test_a_row_inside_several_matches_comes_out_once_for_each():
    assert walked("show", "TO LAST A", "A B A", "a b a b a -") == [
        (0, 1, 1), (1, 1, 2), (2, 1, 3),
        (2, 2, 1), (3, 2, 2), (4, 2, 3),
    ]  # fmt: skip


def test_a_match_may_be_followed_by_one_that_begins_where_the_first_ended():
    assert walked("one", "PAST LAST ROW", "A+?", "a a a") == [(1, 1), (2, 1), (3, 1)]
    assert walked("one", "TO NEXT ROW", "A+", "a a a") == [(1, 3), (2, 2), (3, 1)]


def test_rows_in_an_exclusion_are_left_out_but_still_count():
    assert walked("show", "", "A {- B+ -} C", "a b b c") == [(0, 1, 1), (3, 1, 4)]
    assert walked("show", "", "(A {- B -})+", "a b a b") == [(0, 1, 1), (2, 1, 3)]
    assert walked("show", "", "A {- (B {- C -})+ A -} B", "a b c a b") == [(0, 1, 1), (4, 1, 5)]
    assert walked("one", "", "A {- B+ -} C", "a b b c") == [(1, 4)]


def test_a_match_whose_rows_are_all_excluded_still_has_a_number():
    assert walked("show", "", "{- A+ -} | B", "a a b") == [(2, 2, 1)]


def test_the_same_variable_may_stand_inside_and_outside_an_exclusion():
    assert walked("show", "", "A {- A -} A", "a a a") == [(0, 1, 1), (2, 1, 3)]
    # The first loop takes all it can, so only the last row is excluded.
    assert walked("show", "", "A+ {- A+ -}", "a a a") == [(0, 1, 1), (1, 1, 2)]


def test_skipping_to_a_subset_goes_to_a_row_of_its_members():
    clause = f"MEASURES FIRST(i) AS f, COUNT(*) AS n AFTER MATCH SKIP TO {{}} PATTERN (A B? C?) SUBSET U = (B, C) {MARKS}"
    assert result(clause.format("FIRST U"), marked("a ab c")) == [(0, 3), (1, 2)]
    assert result(clause.format("LAST U"), marked("a ab c")) == [(0, 3)]


def test_skipping_to_a_variable_without_rows_is_an_error():
    with pytest.raises(DataError) as error:
        walked("one", "TO FIRST B", "A B?", "a -")
    assert error.value.condition == "MATCH_RECOGNIZE_SKIP_TO_MISSING_ROW"


@pytest.mark.parametrize(
    ("skip", "pattern", "text"), [("TO FIRST A", "A B", "a b"), ("TO LAST A", "A B", "a b"), ("TO B", "B A?", "b")]
)
def test_skipping_to_the_first_row_of_the_match_is_an_error(skip, pattern, text):
    with pytest.raises(DataError) as error:
        walked("one", skip, pattern, text)
    assert error.value.condition == "MATCH_RECOGNIZE_SKIP_TO_FIRST_ROW"
    assert "^" in str(error.value)


def test_the_last_row_of_a_variable_may_be_a_target_where_the_first_is_not():
    assert walked("show", "TO LAST A", "A A B?", "a a -") == [(0, 1, 1), (1, 1, 2)]


# Partitions, order and columns


def test_partitions_come_as_they_first_appear_and_null_is_a_value_of_its_own():
    keys = [None, "b", "a", None, "b"]
    rows = [{"k": key, "x": x} for x, key in enumerate(keys)]
    clause = "PARTITION BY k ORDER BY x MEASURES COUNT(*) AS n, x AS last PATTERN (A+) DEFINE A AS TRUE"
    assert result(clause, rows) == [(None, 2, 3), ("b", 2, 4), ("a", 1, 2)]


def test_nan_is_one_partition():
    assert [
        row[1]
        for row in result("PARTITION BY x MEASURES COUNT(*) AS n PATTERN (A+) DEFINE A AS TRUE", xs(math.nan, 1.0, float("nan")))
    ] == [2, 1]


@pytest.mark.parametrize(
    ("key", "order"),
    [
        ("x", [None, 1.0, 2.0, math.nan]),
        ("x ASC NULLS LAST", [1.0, 2.0, math.nan, None]),
        ("x DESC", [math.nan, 2.0, 1.0, None]),
        ("x DESC NULLS FIRST", [None, math.nan, 2.0, 1.0]),
    ],
)
def test_order_by_puts_nulls_where_the_clause_says_and_nan_above_all_numbers(key, order):
    found = result(f"ORDER BY {key} ALL ROWS PER MATCH PATTERN (A) DEFINE A AS TRUE", xs(2.0, None, math.nan, 1.0))
    assert [repr(x) for (x,) in found] == [repr(x) for x in order]


def test_equal_rows_keep_the_order_of_the_input():
    rows = [{"k": k, "x": x} for k, x in [(1, "p"), (0, "q"), (1, "r"), (0, "s")]]
    letters = [x for (_, x) in result("ORDER BY k ALL ROWS PER MATCH PATTERN (A+) DEFINE A AS TRUE", rows)]
    assert letters == ["q", "s", "p", "r"]
    assert [x for (_, x) in result("ORDER BY k DESC ALL ROWS PER MATCH PATTERN (A+) DEFINE A AS TRUE", rows)] == [
        "p",
        "r",
        "q",
        "s",
    ]
    assert [x for (_, x) in result("ALL ROWS PER MATCH PATTERN (A+) DEFINE A AS TRUE", rows)] == ["p", "q", "r", "s"]


def test_several_order_columns_decide_one_after_the_other():
    rows = [{"k": k, "x": x} for k, x in [(1, 1), (0, 1), (1, 2), (0, 2)]]
    assert result("ORDER BY k, x DESC ALL ROWS PER MATCH PATTERN (A+) DEFINE A AS TRUE", rows) == [(0, 2), (0, 1), (1, 2), (1, 1)]


def test_columns_are_partition_order_measures_and_the_rest():
    rows = [{"Price": 5, "day": 1, "Symbol": "S", "note": "n"}]
    clause = "PARTITION BY symbol ORDER BY Day MEASURES A.price AS Paid {} PATTERN (A) DEFINE A AS PRICE > 1"
    assert run(clause.format("ONE ROW PER MATCH"), rows) == (["Symbol", "Paid"], [("S", 5)])
    assert run(clause.format("ALL ROWS PER MATCH"), rows) == (["Symbol", "day", "Paid", "Price", "note"], [("S", 1, 5, 5, "n")])


def test_a_column_that_is_partition_and_order_comes_once():
    rows = [{"k": 1, "x": 2}]
    assert run("PARTITION BY k ORDER BY k, x ALL ROWS PER MATCH PATTERN (A) DEFINE A AS TRUE", rows)[0] == ["k", "x"]


def test_a_column_that_is_not_there_is_an_error():
    with pytest.raises(BindError):
        result("MEASURES A.y AS y PATTERN (A) DEFINE A AS TRUE", xs(1))


# WITHIN


MIDNIGHT = datetime(2026, 1, 1, tzinfo=UTC)


def at(*seconds):
    return [{"t": None if second is None else MIDNIGHT + timedelta(seconds=second)} for second in seconds]


def spans(rows, order="t", duration="INTERVAL '10' SECOND", pattern="A+"):
    return result(f"ORDER BY {order} MEASURES COUNT(*) AS n PATTERN ({pattern}) WITHIN {duration} DEFINE A AS TRUE", rows)


def test_within_includes_the_distance_itself():
    assert spans(at(0, 10)) == [(2,)]
    assert spans(at(0, 10.000001)) == [(1,), (1,)]


def test_within_ends_a_greedy_loop():
    assert spans(at(0, 5, 11, 12)) == [(2,), (2,)]
    assert spans(at(0, 5, 11), pattern="A{3}") == []


def test_within_allows_matches_of_one_row_and_none():
    assert spans(at(0, 100), pattern="A?") == [(1,), (1,)]


def test_a_row_without_a_time_is_in_no_match_of_two_rows():
    assert spans(at(None, None, 1, 2)) == [(1,), (1,), (2,)]
    assert spans(at(None, 1, 2), order="t NULLS LAST") == [(2,), (1,)]


def test_within_counts_days_of_dates():
    rows = [{"t": date(2026, 1, day)} for day in (1, 2, 3)]
    assert spans(rows, duration="INTERVAL '1' DAY") == [(2,), (1,)]
