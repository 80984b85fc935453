"""Sections 1, 4 and 6 to 8 of the semantics: order, windows, selectors, projection, consumption, limits, rows."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from eventide.errors import BindError, DataError
from eventide.pattern import Consumption, Event, Name, Query, Selector, WindowUnit
from eventide_reference import Match, admissible, count_matches, find_matches, output_rows
from reference.building import STRICT, either, found, no, part, select, seq, stream, where, within

KEYED = {"partition_by": (Name("key"),)}


class TestOrder:
    def test_is_by_time_whatever_the_arrival(self):
        events = stream("b2 a1")
        [match] = find_matches(Query(seq("A", "B")), events)
        assert (match.start, match.end, match.bindings) == (1, 0, {"A": (1,), "B": (0,)})

    def test_of_equal_times_is_by_arrival(self):
        assert found(seq("A", "B"), stream("a1 b1")) == ["a1 b1"]
        assert found(seq("A", "B"), stream("b1 a1")) == []

    def test_of_equal_times_is_first_by_tie_break_with_null_before_all(self):
        events = stream("b1 a1", tie=[2, 1])
        assert found(seq("A", "B"), events, options={"tie_break": "tie"}) == ["b1 a1"]
        assert found(seq("A", "B"), stream("b1 a1", tie=[0, None]), options={"tie_break": "tie"}) == ["b1 a1"]

    def test_of_equal_times_is_by_stream_before_arrival(self):
        events = stream("b1 a1", source=["S2", "S1"])
        streams = (Name("S1"), Name("S2"))
        assert found(seq("A", "B"), events, streams=streams, options={"stream": "source"}) == ["b1 a1"]
        assert found(seq("A", "B"), events, streams=streams[::-1], options={"stream": "source"}) == []

    def test_leaves_out_events_without_a_time(self):
        events = stream("a1 x2 b3")
        events[1]["time"] = None
        assert found(seq("A", "B", strategy=STRICT), events) == ["a1 b3"]

    def test_equal_rows_are_different_events(self):
        assert found("A", stream("a1 a1")) == ["a1", "a1"]


def test_an_event_may_ask_for_its_stream():
    events = stream("a1 a2", source=["S1", "S2"])
    query = Query(Event("A", stream="S2"), streams=(Name("S1"), Name("S2")))
    assert found(query, events, options={"stream": "source"}) == ["a2"]


def test_streams_that_the_query_does_not_name_take_no_part():
    events = stream("a1 x2 b3", source=["S1", "S2", "S1"])
    assert found("A", events, streams=(Name("S2"),), options={"stream": "source"}) == []


def test_without_a_type_column_every_event_has_the_one_type():
    assert found(seq("A x", "A y"), stream("a1 b2"), options={"type": None}) == ["a1 b2"]
    with pytest.raises(BindError, match="TYPE_COLUMN_NEEDED"):
        found(seq("A", "B"), stream("a1 b2"), options={"type": None})


def test_partitions_do_not_see_one_another_and_null_is_a_key():
    events = stream("a1 a2 b3 b4", key=[1, None, None, 1])
    matches = find_matches(Query(seq("A", "B"), **KEYED), events)
    assert [(match.key, match.start, match.end) for match in matches] == [((None,), 1, 2), ((1,), 0, 3)]
    assert count_matches(Query(seq("A", "B"), **KEYED), events) == {(None,): 1, (1,): 1}


class TestWindow:
    @pytest.mark.parametrize(("size", "expected"), [(1, []), (2, ["a1 b9"])])
    def test_of_events_counts_positions_in_the_partition(self, size, expected):
        assert found(seq("A", "B"), stream("a1 x2 b9"), window=within(size, WindowUnit.EVENTS)) == expected

    @pytest.mark.parametrize(("size", "expected"), [(7, []), (8, ["a1 b9"])])
    def test_of_time_includes_its_bound(self, size, expected):
        assert found(seq("A", "B"), stream("a1 x2 b9"), window=within(size)) == expected

    @pytest.mark.parametrize(("size", "expected"), [(7_999_999, []), (8_000_000, ["a1 b9"])])
    def test_of_a_duration_is_in_microseconds(self, size, expected):
        window = within(size, WindowUnit.DURATION)
        assert found(seq("A", "B"), stream("a1 b9"), window=window, options={"time_scale": 1_000_000}) == expected

    def test_of_a_duration_reads_timestamps(self):
        events = stream("a1 b2 b3")
        for event, second in zip(events, [0, 5, 6], strict=True):
            event["time"] = datetime(2024, 1, 1, 0, 0, second, tzinfo=UTC)
        assert found(seq("A", "B"), events, window=within(5_000_000, WindowUnit.DURATION)) == ["a1 b2"]

    def test_of_an_attribute_measures_the_attribute_and_leaves_out_nulls(self):
        events = stream("a1 b2 b3 b4", distance=[10, 15, 16, None])
        assert found(seq("A", "B"), events, window=within(5, WindowUnit.ATTRIBUTE, attribute="distance")) == ["a1 b2"]

    def test_of_an_attribute_that_decreases_is_refused(self):
        with pytest.raises(DataError, match="WINDOW_ATTRIBUTE_DECREASES"):
            found("A", stream("a1 a2", distance=[2, 1]), window=within(5, WindowUnit.ATTRIBUTE, attribute="distance"))

    @pytest.mark.parametrize(
        ("times", "is_match"),
        [
            ((0, 9), True),
            ((9, 10), True),
            ((4, 10), False),
            ((5, 14), True),
            ((5, 15), False),
            ((10, 15), True),
            ((9, 15), False),
        ],
    )
    def test_that_slides_holds_matches_of_one_half_open_window(self, times, is_match):
        # Windows of 10 every 5: [0, 10), [5, 15), [10, 20), ...
        events = stream("a{} b{}".format(*times))
        assert (found(seq("A", "B"), events, window=within(10, slide=5)) != []) is is_match

    def test_that_tumbles_is_aligned_to_the_epoch(self):
        assert found(seq("A", "B"), stream("a0 b9 a10 b11"), window=within(10, slide=10)) == ["a0 b9", "a10 b11"]

    def test_of_zero_events_admits_single_events(self):
        assert found("A+ a", stream("a1 a2"), window=within(0, WindowUnit.EVENTS)) == ["a1", "a2"]


class TestSelector:
    events = stream("a1 a2 b3 b4 c5")

    @pytest.mark.parametrize(
        ("selector", "expected"),
        [
            (Selector.STRICT, ["a2 b3 b4 c5"]),
            (Selector.NEXT, ["a1 a2 b3 b4 c5"]),
            (Selector.LAST, ["a1 a2 b3 b4 c5"]),
            (Selector.MAX, ["a1 a2 b3 b4 c5"]),
        ],
    )
    def test_keeps_by_support(self, selector, expected):
        pattern = seq("A+", "B+", "C")
        if selector is Selector.STRICT:
            pattern = seq("A", "B+", "C")
        assert found(pattern, self.events, selector=selector) == expected

    def test_next_prefers_the_earliest_position_that_differs(self):
        assert found(seq("A", "B", "C"), self.events, selector=Selector.NEXT) == ["a1 b3 c5"]

    def test_last_prefers_the_latest_position_that_differs(self):
        assert found(seq("A", "B", "C"), self.events, selector=Selector.LAST) == ["a2 b4 c5"]

    def test_max_keeps_all_that_no_other_holds(self):
        assert len(found(seq("A", "B", "C"), self.events, selector=Selector.MAX)) == 4

    def test_compares_per_end_event(self):
        assert found(seq("A", "B"), self.events, selector=Selector.NEXT) == ["a1 b3", "a1 b4"]

    def test_looks_only_at_matches_inside_the_window_that_fulfil_the_conditions(self):
        pattern = where(seq("A a", "B", "C"), "a.time > 1")
        assert found(pattern, self.events, selector=Selector.NEXT) == ["a2 b3 c5"]
        assert found(seq("A", "B", "C"), self.events, selector=Selector.NEXT, window=within(3)) == ["a2 b3 c5"]

    def test_keeps_equal_supports_together(self):
        assert found(either("A x", "A y"), stream("a1"), selector=Selector.NEXT) == ["a1", "a1"]

    def test_comes_before_projection(self):
        query = Query(seq("A", "B", "C"), select("B"), selector=Selector.LAST)
        assert found(query, self.events) == ["b4"]

    def test_any_keeps_one_for_each_end(self):
        query = Query(seq("A", "B"), selector=Selector.ANY)
        matches = find_matches(query, self.events)
        assert [match.end for match in matches] == [2, 3]
        others = [Match((), 1, 2, {"A": (1,), "B": (2,)}), Match((), 0, 3, {"A": (0,), "B": (3,)})]
        assert admissible(query, self.events, others) is None
        assert "0 of 1" in admissible(query, self.events, others[:1])
        assert "2 of 1" in admissible(query, self.events, [*others, Match((), 0, 2, {"A": (0,), "B": (2,)})])


class TestProjection:
    events = stream("a1 b2 b3 c4", v=[1, 2, 3, 4])

    def test_forgets_variables_and_then_equal_matches(self):
        assert found(Query(seq("A a", "B b", "C c"), select("a", "c")), self.events) == ["a1 c4"]
        assert found(Query(seq("A a", "B b", "C c"), select("b.v")), self.events) == ["b2", "b3"]

    def test_keeps_the_interval(self):
        [first, second] = find_matches(Query(seq("A a", "B b"), select("a")), self.events)
        assert (first.bindings, first.end, second.bindings, second.end) == ({"a": (0,)}, 1, {"a": (0,)}, 2)

    def test_count_star_keeps_all(self):
        assert len(find_matches(Query(seq("A a", "B b", "C c"), select("COUNT(*)")), self.events)) == 2

    def test_star_hides_types_that_always_have_a_name(self):
        [match] = find_matches(Query(seq("A a", "C c", "B* b")), self.events)
        assert sorted(match.bindings) == ["a", "b", "c"]
        [match] = find_matches(Query(seq("A a", "A? b", "C")), self.events)
        assert sorted(match.bindings) == ["C", "a", "b"]

    def test_of_a_name_that_is_not_there_is_refused(self):
        with pytest.raises(BindError, match="UNKNOWN_VARIABLE"):
            find_matches(Query(part("A a"), select("x.v")), self.events)


class TestConsumption:
    events = stream("a1 a2 b3 b4 a5 b6", key=[1, 2, 1, 2, 1, 1])

    def test_by_partition_forgets_what_began_before_the_end_of_a_match(self):
        expected = ["a1 b3", "a2 b4", "a5 b6"]
        assert found(seq("A", "B"), self.events, consumption=Consumption.PARTITION, **KEYED) == expected

    def test_by_any_forgets_across_partitions(self):
        assert found(seq("A", "B"), self.events, consumption=Consumption.ANY, **KEYED) == ["a1 b3", "a5 b6"]

    def test_reports_all_matches_of_one_end(self):
        assert found(seq("A", "B"), stream("a1 a2 b3 b4"), consumption=Consumption.PARTITION) == ["a1 b3", "a2 b3"]

    def test_comes_after_selectors(self):
        events = stream("a1 x2 b3 b4")
        asked = {"consumption": Consumption.PARTITION}
        assert found(seq("A", "B"), events, selector=Selector.STRICT, **asked) == []
        assert found(seq("A", "B"), stream("a1 x2 b3 a4 b5"), selector=Selector.STRICT, **asked) == ["a4 b5"]

    def test_hides_consumed_matches_from_selectors(self):
        asked = {"consumption": Consumption.PARTITION, "selector": Selector.NEXT}
        assert found(seq("A+", "B"), stream("a1 b2 a3 b4"), **asked) == ["a1 b2", "a3 b4"]

    def test_cannot_be_combined_with_a_trailing_not(self):
        with pytest.raises(BindError, match="CONSUME_WITH_TRAILING_NOT"):
            found(seq("A", no("X")), stream("a1"), window=within(5), consumption=Consumption.ANY)


class TestLimit:
    events = stream("a1 a2 b3 a4 b5")
    query = Query(seq("A", "B"), limit=3)

    def test_keeps_the_matches_that_end_first(self):
        assert found(self.query, self.events) == ["a1 b3", "a2 b3", "a1 b5"]

    def test_any_match_of_the_last_end_may_be_kept(self):
        produced = [Match((), start, end, {"A": (start,), "B": (end,)}) for start, end in [(1, 2), (0, 2), (3, 4)]]
        assert admissible(self.query, self.events, produced) is None

    def test_all_earlier_ends_must_be_there(self):
        produced = [Match((), start, end, {"A": (start,), "B": (end,)}) for start, end in [(0, 2), (1, 4), (3, 4)]]
        assert "1 of 2 matches end at event 2" in admissible(self.query, self.events, produced)

    def test_no_match_beyond_the_cut_may_be_there(self):
        produced = [Match((), start, end, {"A": (start,), "B": (end,)}) for start, end in [(0, 2), (1, 2), (3, 4)]]
        assert "LIMIT 2 cuts" in admissible(Query(seq("A", "B"), limit=2), self.events, produced)

    def test_a_match_that_is_none_or_there_twice_is_named(self):
        wrong = Match((), 3, 2, {"A": (3,), "B": (2,)})
        right = Match((), 0, 2, {"A": (0,), "B": (2,)})
        assert "no match of the query" in admissible(self.query, self.events, [wrong])
        assert "has not the key ()" in admissible(self.query, self.events, [Match((1,), 0, 2, {"A": (0,), "B": (2,)})])
        assert "more than once" in admissible(self.query, self.events, [right, right])


class TestRows:
    events = stream("a1 b2 b3", v=[10, 1, 2], key=[7, 7, 7])

    def rows(self, pattern, *items, **query):
        asked = Query(pattern, select(*items) if items else None, **query)
        return output_rows(asked, self.events, find_matches(asked, self.events))

    def test_of_star_hold_key_interval_and_events(self):
        assert self.rows(seq("A a", "B{2,2} b"), **KEYED) == [
            {"key": 7, "match_start": 1, "match_end": 3, "a": [self.events[0]], "b": self.events[1:]}
        ]

    def test_hold_attributes_expressions_and_aggregates(self):
        items = ["a.v AS low", "a.v + SUM(b.v) AS total", "COUNT(*) AS n", "LAST(b.v)", "key"]
        assert self.rows(seq("A a", "B{2,2} b"), *items, **KEYED) == [{"low": 10, "total": 13, "n": 3, "LAST(b.v)": 2, "key": 7}]

    def test_hold_the_events_of_a_variable(self):
        assert self.rows(seq("A a", "B{2,2} b"), "b") == [{"b": self.events[1:]}]

    def test_hold_null_for_a_variable_without_events(self):
        assert self.rows(seq("A a", "C? c"), "a.v", "c.w", "COUNT(c) AS n", "SUM(c.v) AS s") == [
            {"v": 10, "w": None, "n": 0, "s": None}
        ]

    def test_are_not_deduplicated_by_value(self):
        assert self.rows(part("B b"), "1 + COUNT(b) AS one") == [{"one": 2}, {"one": 2}]

    def test_of_a_bare_attribute_with_several_events_are_refused(self):
        with pytest.raises(BindError, match="SEVERAL_EVENTS"):
            self.rows(seq("A a", "B{2,2} b"), "b.v")
