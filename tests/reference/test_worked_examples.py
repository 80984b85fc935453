"""The worked examples of the literature, with the corrections that their derivations ask for."""

from __future__ import annotations

import pytest

from eventide.pattern import Name, Query, Selector, WindowUnit
from eventide_reference import find_matches, output_rows
from reference.building import ANY, NEXT, STRICT, both, either, found, many, named, no, select, seq, stream, where, within

FIRES = stream(
    "h0 t1 h2 h3 t4 h5 h6 t7 t8", id=[1, 1, 2, 1, 2, 2, 1, 1, 1], val=[50, 24, 49, 24, 24, 42, 23, 40, 45]
)  # fmt: skip


def fires(pattern, last):
    condition = f"t1.val < 30 AND h1.val < 25 AND t2.val {last} AND t1.id = h1.id AND h1.id = t2.id"
    return sorted(found(where(pattern, condition), FIRES, window=within(10, WindowUnit.EVENTS)))


def test_fires_as_printed_have_two_matches():
    assert fires(seq("T t1", "H h1", "T t2"), "> 40") == ["t1 h3 t8", "t1 h6 t8"]


def test_fires_with_an_inclusive_bound_have_four_matches():
    assert fires(seq("T t1", "H h1", "T t2"), ">= 40") == ["t1 h3 t7", "t1 h3 t8", "t1 h6 t7", "t1 h6 t8"]


def test_fires_with_loops_have_the_nine_printed_matches():
    assert fires(seq("T t1", "H+ h1", "T+ t2"), ">= 40") == [
        "t1 h3 h6 t7", "t1 h3 h6 t7 t8", "t1 h3 h6 t8", "t1 h3 t7", "t1 h3 t7 t8", "t1 h3 t8", "t1 h6 t7", "t1 h6 t7 t8", "t1 h6 t8",
    ]  # fmt: skip


def test_fires_with_loops_and_a_strict_bound_have_three_matches():
    assert fires(seq("T t1", "H+ h1", "T+ t2"), "> 40") == ["t1 h3 h6 t8", "t1 h3 t8", "t1 h6 t8"]


def test_fires_show_the_selected_attribute_once_for_each_distinct_last_event():
    pattern = where(
        seq("T t1", "H h1", "T t2"), "t1.val < 30 AND h1.val < 25 AND t2.val > 40 AND t1.id = h1.id AND h1.id = t2.id"
    )
    query = Query(pattern, select("t2.id"), window=within(10, WindowUnit.EVENTS))
    assert output_rows(query, FIRES, find_matches(query, FIRES)) == [{"id": 1}]


def test_partitioned_iteration_doubles_the_matches_at_every_event():
    events = stream("t0 t1 t2 t3 t4", id=[0] * 5, val=[24, 32, 40, 45, 60])
    minute = 60_000_000
    query = Query(
        where(seq("T t1", "T+ ts"), "t1.val < 30 AND ts.val > 30"),
        partition_by=(Name("id"),),
        window=within(5 * minute, WindowUnit.DURATION),
    )
    matches = find_matches(query, events, time_scale=minute)
    assert [sum(match.end == end for match in matches) for end in range(5)] == [0, 1, 2, 4, 8]
    assert {match.key for match in matches} == {(0,)}


def test_max_keeps_the_match_that_holds_the_others():
    events = stream("a3 b4 b6 c7")
    assert found(seq("A", "B+", "C"), events) == ["a3 b4 c7", "a3 b4 b6 c7", "a3 b6 c7"]
    assert found(seq("A", "B+", "C"), events, selector=Selector.MAX) == ["a3 b4 b6 c7"]


def test_max_compares_matches_with_the_same_end_only():
    events = stream("t1 h2 t3 h4")
    assert sorted(found(seq("T+", "H+"), events, selector=Selector.MAX)) == ["t1 h2", "t1 h2 h4", "t1 t3 h4"]


def test_a_loop_with_a_closing_filter_takes_every_choice_of_events():
    events = stream("t0 h1 h2 h3", value=[-2, 30, 20, 65])
    pattern = where(seq("T t1", "H+ hs", "H h1"), "t1.value < 0 AND hs.value < 60 AND h1.value > 60")
    assert sorted(found(pattern, events)) == ["t0 h1 h2 h3", "t0 h1 h3", "t0 h2 h3"]


@pytest.mark.parametrize(
    ("pattern", "letters", "count"),
    [
        (("A", "B", "C"), "aaaabbbbc", 16),
        (("A", "B+", "C"), "abbbbbc", 31),
        (("A+", "B+", "C"), "ababc", 5),
        (("A+", "B+", "C"), "ababababc", 49),
        (("A+", "B+", "C"), "ababababab" + "c", 129),
    ],
)
def test_benchmark_streams_have_the_counts_of_their_formulas(pattern, letters, count):
    events = stream(" ".join(f"{letter}{index}" for index, letter in enumerate(letters)))
    assert len(found(seq(*pattern), events)) == count


def test_a_sequence_keeps_the_order_of_its_parts():
    assert found(seq("A", "B"), stream("a1 b2 e5 a6 e7")) == ["a1 b2"]


def test_a_choice_takes_the_events_of_both_parts():
    assert found(either("B", "C"), stream("a1 b2 c3 e4 a6 d8")) == ["b2", "c3"]


def test_a_negation_splits_the_matches_of_the_sequence():
    events = stream("a1 b2 c2 b3 e5 a6 e7")
    assert found(seq("A", "B"), events) == ["a1 b2", "a1 b3"]
    assert found(seq("A", "C", "B"), events) == ["a1 c2 b3"]
    assert found(seq("A", no("C"), "B"), events) == ["a1 b2"]


class TestSequenceScan:
    events = stream("b1 a3 c5 b6 a7 d10 b11 c13 d15 f16 f17")

    def test_has_four_sequences_without_a_window(self):
        assert found(seq("A", "B", "D"), self.events) == ["a3 b6 d10", "a3 b6 d15", "a3 b11 d15", "a7 b11 d15"]

    def test_loses_the_long_ones_to_the_window(self):
        assert found(seq("A", "B", "D"), self.events, window=within(10)) == ["a3 b6 d10", "a7 b11 d15"]

    def test_loses_one_to_the_negation(self):
        assert found(seq("A", "B", no("C"), "D"), self.events, window=within(10)) == ["a3 b6 d10"]


REGIONS = [
    {"name": f"e{time}", "type": "E", "time": time, "region": region, "volume": volume, "pressure": pressure}
    for time, region, volume, pressure in [
        (0, "r1", 200, 2), (1, "r2", 270, 3), (3, "r1", 210, 3), (4, "r1", 250, 3), (5, "r1", 260, 2), (6, "r1", 300, 4),
        (7, "r1", 340, 1), (8, "r1", 100, 3), (9, "r1", 150, 3), (10, "r1", 100, 3), (11, "r1", 210, 3), (12, "r1", 250, 3),
        (13, "r1", 260, 3), (14, "r1", 300, 2), (15, "r1", 340, 1), (16, "r1", 200, 3), (17, "r1", 250, 3), (18, "r1", 401, 3),
        (19, "r1", 400, 3), (20, "r1", 500, 1),
    ]
]  # fmt: skip


def regions(strategy, *conditions, partitioned=True):
    pattern = seq(named(many("E", 3, None, strategy), "b"), "E c", strategy=strategy)
    condition = " AND ".join(["b.volume < NEXT(b.volume)", "c.pressure <= 1", "b.region = c.region", *conditions])
    key = (Name("region"),) if partitioned else ()
    return found(where(pattern, condition), REGIONS, partition_by=key, window=within(10))


def test_strict_contiguity_sees_the_events_of_other_regions():
    matches = regions(STRICT, partitioned=False)
    assert "e3 e4 e5 e6 e7" in matches
    assert "e0 e3 e4 e5 e6 e7" not in matches


def test_partition_contiguity_does_not_see_other_regions():
    assert {"e0 e3 e4 e5 e6 e7", "e11 e12 e13 e14 e15"} <= set(regions(STRICT))


def test_skip_till_next_skips_only_what_does_not_fit():
    matches = regions(NEXT)
    assert "e8 e9 e11 e12 e13 e14 e15" in matches
    assert "e16 e17 e19 e20" not in matches


def test_skip_till_any_may_skip_what_fits():
    matches = regions(ANY)
    assert {"e3 e4 e5 e6 e7", "e8 e9 e11 e12 e13 e14 e15", "e16 e17 e19 e20"} <= set(matches)


def test_skip_till_any_has_the_derived_number_of_matches_in_a_region():
    assert len(regions(ANY)) == 240
    assert len(regions(ANY, "c.volume > b.volume")) == 239


def test_kleene_inner_join_has_eleven_sequences():
    events = stream("a1 b2 b5 b6 b7", value=[30, 25, 22, 15, 21])
    pattern = where(seq("A a", "B+ b"), "a.value > b.value AND b.value > NEXT(b.value)")
    assert len(found(pattern, events)) == 11


class TestStrategies:
    events = stream("a1 b2 a3 c4 b5 c6")

    def test_contiguous(self):
        assert found(seq("A", "B*", "C", strategy=STRICT), self.events) == ["a3 c4"]

    def test_skip_till_next(self):
        assert found(seq("A", "B*", "C", strategy=NEXT), self.events) == ["a1 b2 c4", "a3 c4"]

    def test_skip_till_any(self):
        assert sorted(found(seq("A", "B*", "C"), self.events)) == [
            "a1 b2 b5 c6", "a1 b2 c4", "a1 b2 c6", "a1 b5 c6", "a1 c4", "a1 c6", "a3 b5 c6", "a3 c4", "a3 c6",
        ]  # fmt: skip


def test_operands_of_and_come_in_any_order():
    assert found(both("A", "B"), stream("b1 a2 b3")) == ["b1 a2", "a2 b3"]
