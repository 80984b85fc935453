"""Places where kernels run out of room, are called again, or take up a slot that another key has used."""

from __future__ import annotations

import os

import numpy as np
import pytest

from eventide.match import budget
from eventide.match.budget import Resource, Spent
from eventide.match.dag.matching import arena, enumerator
from eventide_reference import find_matches
from match.building import GENERAL, MATCHERS, Run, ends_of, matches_of, plan_of, prepare, stream, supports

SLOW = os.environ.get("NUMBA_DISABLE_JIT") == "1"
MANY = 300 if SLOW else 6000
BY_GENERAL = pytest.mark.parametrize("matcher", GENERAL)
BY_MATCHER = pytest.mark.parametrize("matcher", MATCHERS)
AUTOMATON = "automaton"


def expected(plan, events):
    return sorted(match.identity() for match in find_matches(plan.query, events))


@pytest.fixture
def small_rooms(monkeypatch):
    """Let every array begin with hardly any room, so that each event asks for more."""
    monkeypatch.setattr(arena, "FIRST_NODES", 8)
    monkeypatch.setattr(arena, "FIRST_ACCEPTS", 2)
    monkeypatch.setattr(enumerator, "CHUNK_MATCHES", 2)
    monkeypatch.setattr("eventide.match.dag.matching.matcher.FIRST_STATES", 1)
    monkeypatch.setattr("eventide.match.dag.matching.matcher.FIRST_WIDTH", 1)
    monkeypatch.setattr("eventide.match.runs.matcher.FIRST_RUNS", 1)
    monkeypatch.setattr("eventide.match.recompute.merged_matches.CHUNK_MATCHES", 1)
    monkeypatch.setattr("eventide.match.recompute.search.MOST_ROW_BYTES", 0)


@BY_GENERAL
@pytest.mark.parametrize(
    "text",
    [
        "SELECT * WHERE (A AND B+) ; C WITHIN 6 events",
        "SELECT * WHERE A AS a ; B+ AS b ; C FILTER a.v <= b.v",
        "SELECT * WHERE A ; B ; NOT C WITHIN 3",
        "SELECT * WHERE NOT C ; A ; B+ WITHIN 5",
        "SELECT MAX * WHERE A+ ; B+ ; C",
        "SELECT LAST * WHERE A+ ; B+ ; C",
        "SELECT b WHERE A ; B+ AS b ; C",
        "SELECT * WHERE A AS a ; B AS b FILTER a.v <= b.v PARTITION BY key CONSUME BY PARTITION",
        "SELECT * WHERE A ; B+ PARTITION BY key CONSUME BY ANY",
    ],
)
@pytest.mark.usefixtures("small_rooms")
def test_growing_from_hardly_any_room_changes_nothing(text, matcher):
    plan = plan_of(text, matcher)
    events = stream("abacbbabcabbc", v=[1, 2, 2, 1, 2, 3, 3, 1, 2, 1, 3, 2, 2], keys=[1, 1, 2, 2, 1, 2, 1, 1, 2, 2, 2, 1, 1])
    given = prepare(plan, events).interleaved()
    assert matches_of(plan, [given]) == expected(plan, events)
    assert matches_of(plan, given.cut(*range(1, len(given.event)))) == expected(plan, events)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * WHERE A AS a ; B+ AS b ; C FILTER a.v <= b.v",
        "SELECT * WHERE A AS a ; B+ AS b FILTER a.v <= b.v AND b.v <= NEXT(b.v)",
        "SELECT * WHERE NOT C ; A ; B+ WITHIN 5",
        "SELECT b WHERE A ; B+ AS b ; C",
        "SELECT * WHERE A+ AS a ; B+ AS b FILTER a.v <= b.v AND a.v >= FIRST(a.v) PARTITION BY key",
        "SELECT * WHERE A? AS a ; B* AS b ; C? AS c FILTER a.v <= b.v AND b.v <= NEXT(b.v) PARTITION BY key",
        "SELECT b WHERE A* ; B* AS b ; (C OR B)",
    ],
)
@pytest.mark.usefixtures("small_rooms")
def test_recomputation_in_hardly_any_room_changes_nothing(text):
    plan = plan_of(text, "recompute")
    events = stream("abacbbabcabbc", v=[1, 2, 2, 1, 2, 3, 3, 1, 2, 1, 3, 2, 2], keys=[1, 1, 2, 2, 1, 2, 1, 1, 2, 2, 2, 1, 1])
    given = prepare(plan, events).interleaved()
    assert matches_of(plan, [given]) == expected(plan, events)
    assert matches_of(plan, given.cut(*range(1, len(given.event)))) == expected(plan, events)


@BY_MATCHER
def test_one_event_may_end_more_matches_than_there_is_room_for(matcher):
    plan = plan_of("SELECT * WHERE A ; B", matcher)
    events = stream("a" * MANY + "b")
    assert ends_of(matches_of(plan, [prepare(plan, events)])) == {MANY: MANY}


@BY_GENERAL
def test_one_event_may_end_more_open_matches_than_there_is_room_for(matcher):
    plan = plan_of("SELECT * WHERE A ; B ; NOT C WITHIN 1000000", matcher)
    events = stream("a" * MANY + "bb")
    assert ends_of(matches_of(plan, [prepare(plan, events)])) == {MANY: MANY, MANY + 1: MANY}


@BY_GENERAL
def test_one_event_may_be_taken_in_many_ways_by_many_partial_matches(matcher):
    plan = plan_of("SELECT * WHERE A ; (B AS p OR B AS q OR B AS r OR B AS s OR B AS t OR B AS u) ; C", matcher)
    events = stream("a" * MANY + "bc")
    assert ends_of(matches_of(plan, [prepare(plan, events)])) == {MANY + 1: 6 * MANY}


@BY_GENERAL
def test_one_match_may_hold_more_events_than_there_is_room_for(matcher):
    many = 2 * MANY
    plan = plan_of("SELECT * WHERE A : B:+ : C", matcher)
    assert supports(matches_of(plan, [prepare(plan, stream("a" + "b" * many + "c"))])) == [tuple(range(many + 2))]


@BY_GENERAL
def test_a_long_match_under_a_condition_still_consumes(matcher):
    plan = plan_of("SELECT * WHERE A AS a : B:+ : C AS c ; D FILTER a.v < c.v CONSUME BY PARTITION", matcher)
    events = stream("a" + "b" * MANY + "cdd", v=[0] * MANY + [1] * 4)
    assert ends_of(matches_of(plan, [prepare(plan, events)])) == {MANY + 2: 1}


def test_many_active_states_with_long_lists_find_room():
    # Every bounded loop is a state of its own, and each of them holds starts from all over the window.
    plan = plan_of("SELECT * WHERE A ; B{1,60} ; C WITHIN 70 events LIMIT 50", AUTOMATON)
    assert len(matches_of(plan, [prepare(plan, stream("ab" * (20 if SLOW else 60) + "c"))])) == 50


def test_the_number_of_paths_may_exceed_64_bits_when_slices_are_cut():
    plan = plan_of("SELECT * WHERE A ; B+ ; C LIMIT 5", AUTOMATON)
    given = prepare(plan, stream("a" + "b" * 200 + "c"))
    found = [matches_of(plan, [given], slices=3, slice_index=index) for index in range(3)]
    assert [len(matches) for matches in found] == [5, 5, 5]
    assert len({match for matches in found for match in matches}) == 15


@BY_MATCHER
def test_a_key_does_not_see_the_window_of_the_key_before_it(matcher):
    plan = plan_of("SELECT * WHERE NOT C ; A ; B PARTITION BY key WITHIN 10", matcher)
    events = stream("a990 b1000 c2 a3 b4", keys=[1, 1, 2, 2, 2])
    given = prepare(plan, events)
    whole = matches_of(plan, [given])
    assert whole == expected(plan, events)
    for cut in range(1, 5):
        assert matches_of(plan, given.cut(cut)) == whole, cut


@BY_GENERAL
def test_a_key_does_not_settle_by_the_window_of_the_key_before_it(matcher):
    plan = plan_of("SELECT * WHERE A ; B ; NOT C PARTITION BY key WITHIN 10", matcher)
    events = stream("a990 b1000 a2 b3 c4", keys=[1, 1, 2, 2, 2])
    given = prepare(plan, events)
    for cut in range(1, 5):
        assert matches_of(plan, given.cut(cut)) == expected(plan, events), cut


@BY_MATCHER
def test_forbidden_events_that_nothing_waits_for_are_forgotten(matcher):
    plan = plan_of("SELECT * WHERE NOT C ; A ; B WITHIN 10", matcher)
    run = Run(plan)
    given = prepare(plan, stream("c" * 200))
    kept = [len(run.feed(piece).kept) for piece in given.cut(*range(10, 200, 10))]
    assert max(kept) <= 11


@BY_GENERAL
def test_open_matches_settle_when_only_other_events_come(matcher):
    plan = plan_of("SELECT * WHERE A ; B ; NOT C WITHIN 10", matcher)
    run = Run(plan)
    run.feed(prepare(plan, stream("a1 b2 c30 c40")))
    assert len(run.matches) == 1
    assert len(run.kept) <= 2


@BY_GENERAL
def test_selectors_see_all_matches_of_an_event_though_a_trailing_absence_settles_them_one_by_one(matcher):
    plan = plan_of("SELECT NEXT * WHERE (A AS x OR C AS y) ; B ; NOT D WITHIN 10", matcher)
    events = stream("a1 c5 b6 b12 b40")
    given = prepare(plan, events)
    for cut in range(1, 5):
        assert matches_of(plan, given.cut(cut)) == expected(plan, events), cut


@BY_GENERAL
def test_limit_before_a_trailing_absence_takes_the_matches_that_end_first(matcher):
    plan = plan_of("SELECT * WHERE ((A ; B) OR (C ; E)) ; NOT D WITHIN 10 LIMIT 1", matcher)
    # The match that begins at 1 and ends at 9 is certain before the one that begins at 5 and ends at 6.
    events = stream("c1 a5 b6 e9 b12 b13")
    given = prepare(plan, events)
    for cuts in ((), (4,), (5,), (4, 5)):
        assert supports(matches_of(plan, given.cut(*cuts))) == [(1, 2)], cuts


@BY_GENERAL
@pytest.mark.parametrize("condition", ["", "FILTER a.v <= b.v"])
def test_what_another_key_consumed_stays_consumed(matcher, condition):
    plan = plan_of(f"SELECT * WHERE A AS a ; B AS b {condition} PARTITION BY key CONSUME BY ANY", matcher)
    events = stream("aabbbab", keys=[1, 2, 1, 2, 2, 2, 2], v=[1] * 7)
    given = prepare(plan, events).interleaved()
    assert expected(plan, events) == [(0, 2, (("a", (0,)), ("b", (2,)))), (5, 6, (("a", (5,)), ("b", (6,))))]
    assert matches_of(plan, [given]) == expected(plan, events)
    assert matches_of(plan, given.cut(*range(1, 7))) == expected(plan, events)


@BY_GENERAL
def test_a_candidate_that_fails_its_condition_consumes_nothing(matcher):
    plan = plan_of("SELECT * WHERE A AS a ; B AS b FILTER a.v < b.v CONSUME BY PARTITION", matcher)
    events = stream("abbb", v=[5, 1, 9, 10])
    assert supports(matches_of(plan, [prepare(plan, events)])) == [(0, 2)]


@BY_MATCHER
def test_a_quota_counts_each_key_over_all_batches(matcher):
    plan = plan_of("SELECT * WHERE A ; B PARTITION BY key", matcher)
    events = stream("ab" * 6, keys=[1] * 6 + [2] * 4 + [3] * 2)
    given = prepare(plan, events)
    for pieces in ([given], given.cut(*range(1, 12)), given.interleaved().cut(*range(1, 12)), given.cut(5, 8, 11)):
        found = matches_of(plan, pieces, quota=2)
        assert [sum(start in keys for start, _, _ in found) for keys in (range(6), range(6, 10), range(10, 12))] == [2, 2, 1]


@BY_GENERAL
def test_a_quota_stops_before_all_is_enumerated(matcher):
    plan = plan_of("SELECT * WHERE A ; B:+ ; C LIMIT 3", matcher)
    assert len(matches_of(plan, [prepare(plan, stream("a" + "b" * (20 if SLOW else 400) + "c"))])) == 3


@pytest.mark.parametrize("matcher", [AUTOMATON, "recompute"])
def test_a_quota_makes_an_endless_enumeration_possible(matcher):
    plan = plan_of("SELECT * WHERE A ; B+ ; C LIMIT 7", matcher)
    assert len(matches_of(plan, [prepare(plan, stream("a" + "b" * 400 + "c"))])) == 7


@BY_GENERAL
@pytest.mark.parametrize("text", ["SELECT MAX * WHERE A ; B+ ; C", "SELECT LAST * WHERE A ; B+ ; C", "SELECT a, c WHERE A AS a ; B+ ; C AS c"])
def test_what_a_selector_drops_and_what_shows_the_same_does_not_count(text, matcher):
    plan = plan_of(text, matcher)
    given = prepare(plan, stream("abbbc"))
    assert len(matches_of(plan, [given], max_matches=1)) == 1
    with pytest.raises(Spent):
        matches_of(plan, [given], max_matches=0)


@BY_GENERAL
def test_candidates_that_explode_behind_one_match_stop_a_capped_run(matcher, monkeypatch):
    monkeypatch.setattr(budget, "MOST_CANDIDATES", 64)
    monkeypatch.setattr(enumerator, "CHUNK_MATCHES", 16)
    plan = plan_of("SELECT MAX * WHERE A ; B+ ; C", matcher)
    given = prepare(plan, stream("a" + "b" * 8 + "c"))
    with pytest.raises(Spent) as stopped:
        matches_of(plan, [given], max_matches=1)
    assert stopped.value.resource is Resource.CANDIDATES


@BY_GENERAL
def test_many_ends_with_few_candidates_each_are_no_explosion(matcher, monkeypatch):
    monkeypatch.setattr(budget, "MOST_CANDIDATES", 2000)
    ends = 3000
    plan = plan_of("SELECT MAX * WHERE A : B:+ : C PARTITION BY key", matcher)
    given = prepare(plan, stream("abbc" * ends, keys=[key for key in range(ends) for _ in "abbc"]))
    assert len(matches_of(plan, [given], max_matches=ends)) == ends


@BY_MATCHER
def test_matches_end_only_where_the_slab_is_at_home(matcher):
    plan = plan_of("SELECT * WHERE A ; B", matcher)
    given = prepare(plan, stream("abab"))
    batch = given.batch.__class__(**{**vars(given.batch), "reports": np.array([0, 0, 1, 1], np.uint8)})
    assert supports(matches_of(plan, [given.__class__(batch, given.event)])) == [(0, 3), (2, 3)]


@BY_MATCHER
def test_slots_may_come_in_any_order_and_with_holes(matcher):
    plan = plan_of("SELECT * WHERE A ; B", matcher)
    given = prepare(plan, stream("aabb"))
    slot = np.array([40, 3, 3, 40], np.int32)
    batch = given.batch.__class__(**{**vars(given.batch), "key": slot, "restart": None})
    given = given.__class__(batch, given.event)
    assert supports(matches_of(plan, [given])) == [(0, 3), (1, 2)]
    assert supports(matches_of(plan, given.cut(1, 2, 3))) == [(0, 3), (1, 2)]


@BY_MATCHER
def test_times_at_the_edge_of_the_numbers_work(matcher):
    plan = plan_of("SELECT * WHERE A ; B WITHIN 10", matcher)
    largest = np.iinfo(np.int64).max
    given = prepare(plan, stream("abab"))
    given.batch.clock[:] = [largest - 12, largest - 11, largest - 1, largest]
    given.batch.window_start[:] = given.batch.clock - 10
    assert supports(matches_of(plan, given.cut(2))) == [(0, 1), (2, 3)]


@BY_MATCHER
def test_an_event_between_hopping_windows_is_no_match_by_itself(matcher):
    # The windows are [1, 4) and [5, 8).
    plan = plan_of("SELECT * WHERE B+ WITHIN 3 SLIDE 4", matcher)
    events = stream("b3 b4 b5")
    assert matches_of(plan, [prepare(plan, events)]) == expected(plan, events)
    assert supports(expected(plan, events)) == [(0,), (2,)]


@BY_MATCHER
def test_a_gap_is_checked_from_the_event_before_it_even_when_that_is_not_shown(matcher):
    plan = plan_of("SELECT b WHERE A ; C ; NOT D AS d ; B AS b FILTER d.v = b.v", matcher)
    events = stream("acdbb", v=[0, 0, 7, 7, 8])
    assert matches_of(plan, [prepare(plan, events)]) == expected(plan, events) == [(0, 4, (("b", (4,)),))]


@BY_GENERAL
def test_a_gap_inside_an_operand_of_and_reaches_back_to_the_operands_own_event(matcher):
    plan = plan_of("SELECT * WHERE (A AS a ; NOT D AS d ; B) AND C FILTER d.v >= a.v", matcher)
    events = stream("adcb", v=[1, 1, 1, 1])
    assert matches_of(plan, [prepare(plan, events)]) == expected(plan, events) == []
