"""Section 5 of the semantics: instances, null, aggregates so far, scopes."""

from __future__ import annotations

import pytest
import sqlglot

from eventide.errors import BindError
from eventide_reference.values import value_of
from reference.building import either, found, many, no, seq, stream, where, within

NAN = float("nan")


def value(text, **columns):
    return value_of(sqlglot.parse_one(text, dialect="spark"), lambda column: columns[column.name])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("NULL AND FALSE", False),
        ("NULL AND TRUE", None),
        ("NULL OR TRUE", True),
        ("NULL OR FALSE", None),
        ("NOT NULL", None),
        ("NULL = NULL", None),
        ("NULL <=> NULL", True),
        ("1 <=> NULL", False),
        ("NULL IS NULL", True),
        ("1 IS NOT NULL", True),
        ("(1 = 2) IS FALSE", True),
        ("NULL IS TRUE", False),
        ("NULL + 1", None),
        ("1 IN (1, NULL)", True),
        ("2 IN (1, NULL)", None),
        ("2 IN (1, 3)", False),
        ("2 NOT IN (1, 3)", True),
        ("2 BETWEEN 1 AND 2", True),
        ("3 BETWEEN 1 AND NULL", None),
        ("0 BETWEEN 1 AND NULL", False),
        ("CASE WHEN NULL THEN 1 WHEN TRUE THEN 2 END", 2),
        ("CASE 3 WHEN 1 THEN 'x' ELSE 'y' END", "y"),
        ("CASE WHEN FALSE THEN 1 END", None),
        ("IF(NULL, 1, 2)", 2),
        ("COALESCE(NULL, 4)", 4),
        ("ABS(-3)", 3),
        ("-(2)", -2),
        ("7 / 2", 3.5),
        ("1 / 0", None),
        ("1 % 0", None),
        ("-7 % 3", -1),
        ("7.5 % 2", 1.5),
        ("1 + 2 * 3 - 4", 3),
        ("'a' < 'b'", True),
        ("'a' = 'a'", True),
        ("1 != 1.0", False),
    ],
)
def test_expressions_follow_spark(text, expected):
    assert value(text) == expected
    assert type(value(text)) is type(expected)


@pytest.mark.parametrize(
    ("text", "expected"), [("n = n", True), ("n > i", True), ("n < 1", False), ("1 < n", True), ("n + 1 = n", True)]
)
def test_nan_equals_itself_and_is_the_largest_number(text, expected):
    assert value(text, n=NAN, i=float("inf")) is expected


def test_an_expression_that_is_not_known_is_named():
    with pytest.raises(NotImplementedError, match="Upper"):
        value("UPPER('a')")


def test_a_condition_that_is_null_does_not_hold():
    assert found(where("A a", "a.v > 1"), stream("a1 a2 a3", v=[None, 2, 0])) == ["a2"]
    assert found(where("A a", "NOT a.v > 1"), stream("a1 a2 a3", v=[None, 2, 0])) == ["a3"]


def test_a_condition_holds_for_every_combination_of_events():
    pattern = where(seq("A+ a", "B+ b"), "a.v < b.v")
    assert sorted(found(pattern, stream("a1 a2 b3 b4", v=[1, 3, 2, 4]))) == ["a1 a2 b4", "a1 b3", "a1 b3 b4", "a1 b4", "a2 b4"]


def test_a_variable_in_two_places_means_all_its_events():
    pattern = where(either(seq("A a", "A a", "B b"), "C"), "a.v < b.v")
    assert found(pattern, stream("a1 a2 b3", v=[1, 5, 3])) == []


def test_a_variable_without_events_makes_its_conditions_vacuous():
    assert found(where(seq("A a", "B? b"), "a.v < b.v"), stream("a1", v=[1])) == ["a1"]


def test_conjuncts_are_judged_alone():
    pattern = where(seq("A a", "B? b"), "(a.v > 5 AND b.v > 5)")
    assert found(pattern, stream("a1", v=[1])) == []
    assert found(pattern, stream("a1", v=[9])) == ["a1"]


def test_next_compares_neighbours_among_the_bound_events():
    pattern = where("A+ a", "a.v < NEXT(a.v)")
    assert sorted(found(pattern, stream("a1 a2 a3", v=[1, 5, 3]))) == ["a1", "a1 a2", "a1 a3", "a2", "a3"]


def test_prev_compares_with_the_bound_event_before():
    pattern = where("A+ a", "a.v > PREV(a.v) + 1")
    assert sorted(found(pattern, stream("a1 a2 a3", v=[1, 2, 3]))) == ["a1", "a1 a3", "a2", "a3"]


def test_a_missing_neighbour_is_vacuous_even_where_a_branch_does_not_ask_for_it():
    assert found(where("A a", "CASE WHEN FALSE THEN NEXT(a.v) > 0 ELSE FALSE END"), stream("a1", v=[1])) == ["a1"]


def test_first_and_last_of_the_focused_variable_read_the_events_so_far():
    events = stream("a1 a2 a3", v=[5, 9, 7])
    assert sorted(found(where("A{3,3} a", "a.v > FIRST(a.v)"), events)) == ["a1 a2 a3"]
    assert sorted(found(where("A{3,3} a", "a.v > LAST(a.v)"), events)) == []


def test_aggregates_of_the_focused_variable_read_the_events_so_far():
    pattern = where("A+ a", "a.v > SUM(a.v)")
    assert sorted(found(pattern, stream("a1 a2 a3", v=[1, 2, 3]))) == ["a1", "a1 a2", "a1 a3", "a2", "a2 a3", "a3"]


def test_count_so_far_begins_with_zero_and_is_never_vacuous():
    assert found(where("A+ a", "a.v = COUNT(a)"), stream("a1 a2", v=[0, 1])) == ["a1", "a1 a2"]


def test_aggregates_of_another_variable_read_all_its_events():
    pattern = where(seq("A+ a", "B b"), "b.v = SUM(a.v) AND b.v > MAX(a.v)")
    assert found(pattern, stream("a1 a2 a3 b4", v=[1, 2, 3, 4])) == ["a1 a3 b4"]


def test_aggregates_alone_make_one_instance():
    assert found(where(seq("A+ a", "B"), "COUNT(a) >= 2 AND AVG(a.v) = 2"), stream("a1 a2 a3 b4", v=[1, 2, 3, 0])) == [
        "a1 a2 a3 b4",
        "a1 a3 b4",
    ]


def test_aggregates_skip_nulls_and_over_no_event_all_but_count_are_null():
    assert found(where(seq("A", "B? b"), "COUNT(b) = 0 AND SUM(b.v) IS NULL"), stream("a1", v=[1])) == ["a1"]
    assert found(where("A{2,2} a", "COUNT(a.v) = 1 AND MIN(a.v) = 3 AND COUNT(a) = 2"), stream("a1 a2", v=[None, 3])) == ["a1 a2"]


def test_first_over_a_variable_without_events_is_null_and_does_not_hold():
    assert found(where(seq("A a", "B? b"), "a.v < FIRST(b.v)"), stream("a1 b2", v=[1, 2])) == ["a1 b2"]


def test_count_star_counts_the_support():
    assert found(where(seq("A+", "B"), "COUNT(*) = 3"), stream("a1 a2 b3")) == ["a1 a2 b3"]


def test_an_aggregate_may_read_an_expression():
    assert found(where("A{2,2} a", "SUM(a.v * a.w) = 11"), stream("a1 a2", v=[1, 2], w=[3, 4])) == ["a1 a2"]


class TestScopes:
    def test_a_filter_in_one_branch_does_not_judge_the_other(self):
        pattern = either(where("A a", "a.v > 5"), "B a")
        assert found(pattern, stream("a1 b2", v=[1, 1])) == ["b2"]

    def test_a_filter_in_an_optional_part_is_not_asked_when_the_part_is_missing(self):
        pattern = seq("A", many(where(seq("B b", "C c"), "COUNT(b) > 1 OR b.v < c.v"), 0, 1), "D")
        assert found(pattern, stream("a1 b2 c3 d4", v=[0, 9, 1, 0])) == ["a1 d4"]

    def test_a_filter_sees_only_the_events_of_its_own_pattern(self):
        pattern = seq("A x", where(seq("A x", "B"), "COUNT(x) = 1 AND x.v > 5"))
        assert found(pattern, stream("a1 a2 b3", v=[1, 9, 0])) == ["a1 a2 b3"]

    def test_a_filter_does_not_see_a_name_given_outside_of_it(self):
        with pytest.raises(BindError, match="UNKNOWN_VARIABLE"):
            found(seq(where("A", "b.v > 1"), "B b"), stream("a1 b2"))

    def test_a_condition_on_one_event_inside_a_loop_holds_for_each_round(self):
        pattern = many(where("A a", "a.v > 5"))
        assert found(pattern, stream("a1 a2 a3", v=[9, 1, 9])) == ["a1", "a1 a3", "a3"]

    @pytest.mark.parametrize("condition", ["a.v < b.v", "a.v < NEXT(a.v)", "COUNT(a) = 1"])
    def test_a_condition_on_several_events_inside_a_loop_is_refused(self, condition):
        with pytest.raises(BindError, match="FILTER_IN_LOOP"):
            found(many(where(seq("A a", "B b"), condition)), stream("a1 b2"))

    def test_a_condition_on_several_events_inside_a_part_that_occurs_once_is_judged(self):
        pattern = many(where(seq("A a", "B b"), "a.v < b.v"), 0, 1)
        assert found(pattern, stream("a1 b2 b3", v=[5, 1, 9])) == ["a1 b3"]

    def test_a_condition_may_mention_one_negated_variable_only(self):
        with pytest.raises(BindError, match="SEVERAL_NEGATED_VARIABLES"):
            found(where(seq("A", no("X x"), "B", no("Y y"), "C"), "x.v = y.v"), stream("a1"))

    def test_a_not_at_the_edge_is_ruled_by_conditions_with_bound_variables(self):
        pattern = where(seq("A a", no("X x")), "x.v > a.v")
        events = stream("a1 x2 a3 x4", v=[1, 0, 5, 3])
        assert found(pattern, events, window=within(10)) == ["a3"]


def test_an_attribute_without_a_variable_is_refused():
    with pytest.raises(BindError, match="UNQUALIFIED_ATTRIBUTE"):
        found(where("A", "v > 1"), stream("a1"))


def test_a_condition_of_a_not_inside_a_loop_is_judged_on_the_whole_match():
    pattern = many(seq("A a", no("X x", "x.v > a.v"), "B"))
    assert found(pattern, stream("a1 x2 b3 a4 b5", v=[1, 5, 0, 9, 0])) == ["a1 b3 a4 b5", "a4 b5"]
