"""Section 3 of the semantics: traces, missing parts, gaps and strategies."""

from __future__ import annotations

import pytest

from eventide.errors import BindError
from eventide.pattern import Event, Query
from eventide_reference import find_matches
from reference.building import ANY, NEXT, STRICT, both, either, found, many, named, no, seq, stream, where, within


def test_an_event_is_bound_to_its_type_and_to_every_name_around_it():
    [match] = find_matches(Query(named(seq("A x", "B"), "all")), stream("a1 b2"))
    assert match.bindings == {"x": (0,), "B": (1,), "all": (0, 1)}


def test_an_event_of_any_type_is_taken_whatever_its_type():
    assert found(named(Event(None), "x"), stream("a1 b2")) == ["a1", "b2"]


def test_two_ways_to_bind_the_same_events_are_one_match():
    assert found(either("A x", seq("A x")), stream("a1")) == ["a1"]


def test_the_same_events_under_different_names_are_different_matches():
    matches = find_matches(Query(either("A x", "A y")), stream("a1"))
    assert [match.bindings for match in matches] == [{"x": (), "y": (0,)}, {"x": (0,), "y": ()}]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        (seq("A", "B"), ["a1 b3"]),
        (seq("A", "B", strategy=STRICT), []),
        (seq("A", "X", "B", strategy=STRICT), ["a1 x2 b3"]),
    ],
)
def test_a_strict_gap_is_empty_and_an_any_gap_is_free(pattern, expected):
    assert found(pattern, stream("a1 x2 b3")) == expected


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("A+", ["a1", "a1 a2", "a1 a2 a4", "a1 a4", "a2", "a2 a4", "a4"]),
        (many("A", 1, None, STRICT), ["a1", "a1 a2", "a2", "a4"]),
        ("A{2,2}", ["a1 a2", "a1 a4", "a2 a4"]),
        ("A{2,}", ["a1 a2", "a1 a2 a4", "a1 a4", "a2 a4"]),
        ("A{0,1}", ["a1", "a2", "a4"]),
        (many("A?", 2, 2), ["a1", "a1 a2", "a1 a4", "a2", "a2 a4", "a4"]),
    ],
)
def test_a_loop_has_its_number_of_rounds(pattern, expected):
    assert sorted(found(named(pattern, "x"), stream("a1 a2 x3 a4"))) == expected


def test_rounds_of_a_group_follow_one_another():
    assert sorted(found(many(seq("A", "B"), 1, None, STRICT), stream("a1 b2 a3 x4 b5 a6 b7"))) == [
        "a1 b2",
        "a1 b2 a3 b5",
        "a1 b2 a3 b5 a6 b7",
        "a1 b2 a3 b7",
        "a1 b5",
        "a1 b5 a6 b7",
        "a1 b7",
        "a3 b5",
        "a3 b5 a6 b7",
        "a3 b7",
        "a6 b7",
    ]


def test_a_pattern_of_optional_parts_needs_one_event():
    assert found(seq("A?", "B*"), stream("x0 a1 b2")) == ["a1", "a1 b2", "b2"]


class TestMissingParts:
    @pytest.mark.parametrize(
        ("gaps", "expected"),
        [((STRICT, ANY), ["a1 c3"]), ((ANY, STRICT), [])],
    )
    def test_the_gap_has_the_strategy_before_the_right_neighbour(self, gaps, expected):
        assert found(seq("A", "B?", "C", gaps=gaps), stream("a1 x2 c3")) == expected

    @pytest.mark.parametrize("between", ["x2", "y2"])
    def test_every_not_between_the_neighbours_holds(self, between):
        assert found(seq("A", no("X"), "B?", no("Y"), "C"), stream(f"a1 {between} c3")) == []

    def test_each_not_keeps_to_its_own_gap_when_nothing_is_missing(self):
        pattern = seq("A", no("X"), "B?", no("Y"), "C")
        assert found(pattern, stream("a1 y2 b3 x4 c5")) == ["a1 b3 c5"]

    def test_a_missing_first_part_leaves_the_gap_to_what_stands_before_the_sequence(self):
        assert found(seq("A", seq("B?", "C", strategy=STRICT)), stream("a1 x2 c3")) == ["a1 c3"]
        assert found(seq("A", seq("B?", "C"), strategy=STRICT), stream("a1 x2 c3")) == []

    def test_a_not_with_nothing_before_it_is_void(self):
        assert found(seq("A?", no("X"), "B"), stream("x1 b2")) == ["b2"]

    def test_a_not_with_nothing_after_it_is_void(self):
        assert found(seq("A", no("X"), "B?"), stream("a1 x2 b3")) == ["a1"]


class TestBoth:
    def test_interleaves_its_operands(self):
        pattern = both(seq("A", "B"), seq("C", "D"))
        for order in ["a1 b2 c3 d4", "a1 c2 b3 d4", "c1 a2 d3 b4", "c1 d2 a3 b4"]:
            assert found(pattern, stream(order)) == [order]
        assert found(pattern, stream("b1 a2 c3 d4")) == []

    def test_takes_distinct_events(self):
        assert found(both("A x", "A y"), stream("a1")) == []
        assert len(find_matches(Query(both("A x", "A y")), stream("a1 a2"))) == 2

    def test_an_operand_may_be_missing(self):
        assert found(both("A", "B?"), stream("b1 a2")) == ["b1 a2", "a2"]

    @pytest.mark.parametrize(("order", "expected"), [("a1 b2 c3", 1), ("c1 a2 b3", 1), ("a1 c2 b3", 0)])
    def test_events_of_other_operands_break_a_strict_gap(self, order, expected):
        assert len(found(both(seq("A", "B", strategy=STRICT), "C"), stream(order))) == expected

    @pytest.mark.parametrize(("order", "expected"), [("a1 b2 c3", 1), ("c1 a2 b3", 1), ("a1 c2 b3", 0)])
    def test_events_of_other_operands_are_seen_by_not(self, order, expected):
        assert len(found(both(seq("A", no("C"), "B"), "C"), stream(order))) == expected

    def test_the_first_step_of_an_operand_looks_back_to_the_most_recent_event_of_any_operand(self):
        pattern = both(seq("A", "B"), "C", strategy=STRICT)
        assert found(pattern, stream("a1 x2 b3 c4")) == ["a1 x2 b3 c4".replace(" x2", "")]
        assert found(pattern, stream("a1 b2 x3 c4")) == []

    def test_the_very_first_step_has_the_gap_before_the_and(self):
        pattern = seq("X", both("A", "B"), strategy=STRICT)
        assert found(pattern, stream("x1 b2 y3 a4")) == ["x1 b2 a4"]
        assert found(pattern, stream("x1 y2 b3 a4")) == []

    def test_the_next_part_follows_the_last_event_of_all_operands(self):
        assert found(seq(both("A", "B"), "C", strategy=STRICT), stream("a1 b2 c3")) == ["a1 b2 c3"]

    def test_not_at_the_edge_of_an_operand_is_refused(self):
        with pytest.raises(BindError, match="NOT_AT_EDGE_OF_AND"):
            found(both(seq(no("X"), "A"), "B"), stream("a1"), window=within(5))


class TestNot:
    def test_between_parts_looks_strictly_between_their_events(self):
        assert found(seq("A", no("A"), "B"), stream("a1 a2 b3")) == ["a2 b3"]

    def test_between_parts_looks_between_the_last_and_the_first_event_of_loops(self):
        assert found(seq("A+", no("X"), "B+"), stream("a1 x2 a3 b4 x5 b6")) == [
            "a1 a3 b4", "a3 b4", "a1 a3 b4 b6", "a3 b4 b6",
        ]  # fmt: skip

    def test_first_looks_back_from_the_last_event_as_far_as_the_window_reaches(self):
        pattern = seq(no("X"), "A", "B")
        assert found(pattern, stream("x1 a5 b11"), window=within(10)) == []
        assert found(pattern, stream("x1 a5 b12"), window=within(10)) == ["a5 b12"]

    def test_last_looks_ahead_from_the_first_event_as_far_as_the_window_reaches(self):
        pattern = seq("A", "B", no("X"))
        assert found(pattern, stream("a1 b5 x11"), window=within(10)) == []
        assert found(pattern, stream("a1 b5 x12"), window=within(10)) == ["a1 b5"]

    @pytest.mark.parametrize("pattern", [seq(no("X"), "A"), seq("A", no("X")), seq("A", seq("B?", no("X")))])
    def test_at_an_edge_needs_a_window(self, pattern):
        with pytest.raises(BindError, match="NOT_NEEDS_WITHIN"):
            found(pattern, stream("a1"))

    def test_at_the_edge_of_an_inner_sequence_rules_the_gap_there(self):
        assert found(seq("A", seq(no("X"), "B")), stream("a1 x2 b3")) == []
        assert found(seq(seq("A", no("X")), "B"), stream("a1 x2 b3")) == []

    def test_with_a_condition_forbids_only_the_events_that_fulfil_it(self):
        events = stream("a1 x2 b3 a4 x5 b6", v=[0, 1, 0, 0, 9, 0])
        assert found(seq("A", no("X", "v > 5"), "B"), events) == ["a1 b3"]

    def test_is_ruled_by_conditions_on_its_variable(self):
        events = stream("a1 x2 b3 a4 x5 b6", v=[0, 1, 0, 0, 9, 0])
        assert found(where(seq("A", no("X x"), "B"), "x.v > 5"), events) == ["a1 b3"]
        assert found(where(seq("A", no("X"), "B"), "X.v > 5"), events) == ["a1 b3"]

    def test_with_a_condition_on_other_variables_forbids_when_it_holds_for_all_their_events(self):
        pattern = where(seq("A+ a", no("X x"), "B"), "x.v > a.v")
        assert sorted(found(pattern, stream("a1 a2 x3 b4", v=[1, 5, 3, 0]))) == ["a1 a2 b4", "a2 b4"]

    def test_has_two_conditions_that_must_hold_for_one_event(self):
        pattern = where(seq("A a", no("X x"), "B"), "x.v > 5 AND x.w = a.w")
        assert found(pattern, stream("a1 x2 x3 b4", v=[0, 9, 1, 0], w=[1, 2, 1, 0])) == ["a1 b4"]
        assert found(pattern, stream("a1 x2 b3", v=[0, 9, 0], w=[1, 1, 0])) == []


class TestNext:
    def test_takes_the_first_event_that_fits(self):
        assert found(seq("A", "B", "C", strategy=NEXT), stream("a1 b2 b3 c4 c5")) == ["a1 b2 c4"]

    def test_may_begin_anywhere(self):
        assert found(seq("A", "B", strategy=NEXT), stream("a1 a2 b3")) == ["a1 b3", "a2 b3"]

    def test_skips_events_that_no_step_can_take(self):
        assert found(seq("A", "B", strategy=NEXT), stream("a1 x2 a3 b4")) == ["a1 b4", "a3 b4"]

    def test_a_loop_reports_every_beginning_but_skips_nothing(self):
        assert found(seq("A", "B+", strategy=NEXT), stream("a1 b2 b3")) == ["a1 b2", "a1 b2 b3"]

    def test_is_blocked_by_a_step_whose_rest_never_comes(self):
        pattern = seq("A", either(seq("B", "C", strategy=NEXT), "D"), strategy=NEXT)
        assert found(pattern, stream("a1 b2 d3")) == []
        assert found(pattern, stream("a1 d2")) == ["a1 d2"]

    def test_is_blocked_by_every_reachable_step_not_only_by_the_one_that_is_taken(self):
        assert found(seq("A", "B*", "C", strategy=NEXT), stream("a1 b2 c3")) == ["a1 b2 c3"]

    def test_steps_over_any_gaps_do_not_block(self):
        events = stream("a1 a2 b3")
        assert sorted(found(seq(many("A", strategy=ANY), "B", gaps=(NEXT,)), events)) == ["a1 a2 b3", "a1 b3", "a2 b3"]
        assert sorted(found(seq(many("A", strategy=NEXT), "B", gaps=(NEXT,)), events)) == ["a1 a2 b3", "a2 b3"]

    def test_the_strategy_belongs_to_each_gap(self):
        assert found(seq("A", "B", "C", gaps=(ANY, NEXT)), stream("a1 b2 b3 c4 c5")) == ["a1 b2 c4", "a1 b3 c4"]
        assert found(seq("A", "B", "C", gaps=(NEXT, ANY)), stream("a1 b2 b3 c4 c5")) == ["a1 b2 c4", "a1 b2 c5"]

    def test_an_event_that_fails_a_local_condition_does_not_block(self):
        pattern = where(seq("A", "B b", strategy=NEXT), "b.v > 5")
        assert found(pattern, stream("a1 b2 b3 b4", v=[0, 1, 9, 9])) == ["a1 b3"]

    def test_an_event_that_fails_a_determined_condition_does_not_block(self):
        pattern = where(seq("A a", "B b", strategy=NEXT), "b.v > a.v")
        assert found(pattern, stream("a1 b2 b3", v=[5, 1, 9])) == ["a1 b3"]

    def test_an_event_whose_condition_is_still_open_blocks(self):
        pattern = where(seq("A", "B b", "C c", strategy=NEXT), "b.v < c.v")
        assert found(pattern, stream("a1 b2 b3 c4", v=[0, 9, 1, 5])) == []

    def test_an_aggregate_is_determined_when_its_variable_is_closed(self):
        pattern = where(seq("A+ a", "B b", strategy=NEXT), "SUM(a.v) < b.v")
        assert found(pattern, stream("a1 b2 b3", v=[5, 1, 9])) == ["a1 b3"]

    def test_an_aggregate_over_another_operand_of_and_is_never_determined(self):
        pattern = where(both("A a", seq("X", "B b", strategy=NEXT), strategy=ANY), "SUM(a.v) < b.v")
        assert found(pattern, stream("a1 x2 b3 b4", v=[5, 0, 1, 9])) == []

    def test_a_variable_that_a_later_round_can_bind_is_not_closed(self):
        pattern = where(many(seq("A a", "B b", strategy=NEXT), 1, 2), "MAX(a.v) < b.v")
        assert found(pattern, stream("a1 b2 b3", v=[5, 1, 9])) == []

    def test_occurrences_with_the_same_variables_are_closed_together(self):
        pattern = where(seq("A a", "B b", "A? a", "B? b", strategy=NEXT), "MAX(a.v) < b.v")
        assert found(pattern, stream("a1 b2 b3", v=[5, 1, 9])) == []

    def test_first_of_another_variable_is_determined_as_soon_as_it_has_an_event(self):
        pattern = where(seq("A+ a", "B b", strategy=NEXT), "FIRST(a.v) < b.v")
        assert found(pattern, stream("a1 b2 b3", v=[5, 1, 9])) == ["a1 b3"]

    def test_a_step_that_a_not_forbids_does_not_block(self):
        pattern = seq("A", either(seq(no("X"), "B"), "C"), strategy=NEXT)
        assert found(pattern, stream("a1 x2 b3 c4")) == ["a1 c4"]
        assert found(pattern, stream("a1 b3 c4")) == ["a1 b3"]

    def test_a_not_with_conditions_on_other_variables_does_not_free_the_event(self):
        pattern = where(seq("A a", either(seq(no("X x"), "B"), "C"), strategy=NEXT), "x.v > a.v")
        assert found(pattern, stream("a1 x2 b3 c4", v=[1, 5, 0, 0])) == []

    def test_events_of_other_operands_are_not_skipped(self):
        pattern = both(seq("A", "B", strategy=NEXT), "B b")
        assert found(pattern, stream("a1 b2 b3")) == ["a1 b2 b3", "a1 b2 b3"]

    def test_a_skipped_event_breaks_the_open_gap_of_every_operand(self):
        pattern = both(seq("A", "B", strategy=NEXT), seq("C", "D", strategy=NEXT))
        assert found(pattern, stream("a1 c2 d3 b4")) == ["a1 c2 d3 b4"]
        assert found(pattern, stream("a1 c2 b3 d4 d5 b6")) == ["a1 c2 b3 d4"]
