"""Recomputation of patterns with parts that may be missing, and with alternatives: one sequence for each choice of parts."""

from __future__ import annotations

from dataclasses import replace

import pytest

import eventide as et
from eventide.errors import BindError
from eventide.match.budget import Spent
from eventide.match.state_bytes import pack_arrays, unpack_arrays
from eventide.plan.matchers.recompute import condition_kinds
from eventide_reference import find_matches
from match.building import Run, matches_of, plan_of, prepare, stream

STAR = "SELECT * WHERE A AS a ; B* AS b ; C AS c FILTER a.v < b.v AND b.v < NEXT(b.v) WITHIN 30"


def supports_of(text, events):
    """Return the events of each match that recomputation finds, in the order of the stream; the oracle must find the same."""
    plan = plan_of(text, "recompute")
    found = matches_of(plan, prepare(plan, events).cut(len(events) // 2))
    assert found == sorted(match.identity() for match in find_matches(plan.query, events))
    return sorted(tuple(sorted({event for _, bound in bindings for event in bound})) for _, _, bindings in found)


# The planner ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("quantifier", ["*", "{0,4}"])
def test_the_planner_takes_recomputation_for_a_loop_that_may_be_missing(quantifier):
    choice = plan_of(STAR.replace("B*", f"B{quantifier}")).choice
    assert choice.matcher == "recompute"
    assert "2 sequences are searched" in choice.reason


def test_the_planner_leaves_a_single_event_that_may_be_missing_to_the_automaton():
    assert plan_of("SELECT * WHERE A AS a ; B? AS b ; C FILTER a.v < b.v WITHIN 30").choice.matcher == "automaton"


def test_explain_says_how_many_sequences_are_searched():
    explained = et.query(STAR).explain()
    assert "recompute" in explained
    assert "2 sequences are searched, one for each choice of the parts that a match may have" in explained


def test_a_sequence_that_no_condition_lets_match_is_not_searched():
    # FIRST of no event is null, so every match has a b.
    choice = plan_of(STAR.replace(" WITHIN", " AND c.v < FIRST(b.v) WITHIN")).choice
    assert choice.matcher == "recompute"
    assert "sequences" not in choice.reason


def test_a_condition_between_alternatives_is_vacuous():
    plan = plan_of("SELECT * WHERE (A AS a OR B AS b) ; C+ AS c FILTER a.v < b.v AND a.v < c.v WITHIN 9", "recompute")
    assert condition_kinds(plan) == ("vacuous", "index")


def test_a_condition_may_become_something_else_where_a_part_is_missing():
    plan = plan_of("SELECT * WHERE A AS x ; A? AS y ; B+ AS b FILTER A.v < b.v WITHIN 9", "recompute")
    assert condition_kinds(plan) == ("residual or index",)


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("A? ; B? ; C? ; D? ; A? ; B+ AS b", "more than 16 ways to leave parts out or to choose between them"),
        ("(A ; B)* ; B+ AS b", "a loop of several steps"),
        ("A : B? ; B+ AS b", "a gap that may not skip events"),
        ("A:* ; B+ AS b", "a loop that may not skip events"),
        ("(A AND C?) ; B+ AS b", "AND"),
    ],
)
def test_what_is_no_small_number_of_sequences_is_refused_with_a_reason(pattern, reason):
    with pytest.raises(BindError, match=f"the pattern holds {reason}"):
        plan_of(f"SELECT * WHERE {pattern} FILTER b.v < NEXT(b.v)", "recompute")
    assert plan_of(f"SELECT * WHERE {pattern} FILTER b.v < NEXT(b.v) WITHIN 9").choice.matcher != "recompute"


# What missing parts mean ----------------------------------------------------------------------------------------------


def test_a_condition_on_a_part_that_is_missing_is_vacuous():
    assert supports_of("SELECT * WHERE A AS a ; B* AS b ; C FILTER a.v < b.v", stream("abc", v=[3, 1, 1])) == [(0, 2)]


def test_first_of_a_part_that_is_missing_is_null():
    assert supports_of("SELECT * WHERE A AS a ; B* AS b ; C FILTER a.v < FIRST(b.v)", stream("abc", v=[0, 1, 1])) == [(0, 1, 2)]


def test_next_without_an_event_is_vacuous_even_beside_a_null():
    assert supports_of("SELECT * WHERE A+ AS a ; B? AS b ; C FILTER NEXT(a.v) > LAST(b.v)", stream("aac", v=[1, 2, 3])) == [(0, 2), (1, 2)]


@pytest.mark.parametrize(("condition", "expected"), [("COUNT(b) = 0", [(0, 2)]), ("COUNT(b) > 0", [(0, 1, 2)]), ("SUM(b.v) > 0", [(0, 1, 2)])])
def test_an_aggregate_reads_no_event_of_a_part_that_is_missing(condition, expected):
    assert supports_of(f"SELECT * WHERE A AS a ; B* AS b ; C FILTER {condition}", stream("abc", v=[1, 1, 1])) == expected


def test_a_nested_filter_is_asked_of_matches_that_bind_something_inside():
    text = "SELECT * WHERE ((A? AS a ; B? AS b) FILTER COUNT(b) > 0) ; C"
    assert supports_of(text, stream("abc")) == [(0, 1, 2), (1, 2), (2,)]


def test_every_not_between_the_neighbours_holds_where_a_part_is_missing():
    text = "SELECT * WHERE A ; NOT D ; B? ; NOT E AS e ; C FILTER e.v > 1"
    assert supports_of(text, stream("adbcaebc", v=[2] * 8)) == [(4, 6, 7)]
    assert supports_of(text, stream("abdc", v=[2] * 4)) == [(0, 1, 3)]


def test_the_same_not_twice_around_a_missing_part_holds_once():
    assert supports_of("SELECT * WHERE A ; NOT D ; B? ; NOT D ; C", stream("adc abc".replace(" ", ""))) == [(3, 4, 5), (3, 5)]


def test_a_not_before_a_last_part_that_is_missing_is_void():
    assert supports_of("SELECT * WHERE A ; NOT D ; B?", stream("adb")) == [(0,)]


def test_a_pattern_of_parts_that_may_all_be_missing_never_matches_nothing():
    assert supports_of("SELECT * WHERE A? ; B*", stream("abb")) == [(0,), (0, 1), (0, 1, 2), (0, 2), (1,), (1, 2), (2,)]


def test_a_window_is_that_of_the_last_event_a_match_has():
    assert supports_of("SELECT * WHERE A ; B ; C? WITHIN 2", stream("a1 b2 c9")) == [(0, 1)]


def test_a_pattern_whose_conditions_no_sequence_can_meet_has_no_matches():
    assert supports_of("SELECT * WHERE A AS a OR B AS b FILTER FIRST(a.v) < FIRST(b.v)", stream("ab", v=[1, 2])) == []


# What shows the same, and limits --------------------------------------------------------------------------------------


def test_sequences_that_show_the_same_match_give_it_once():
    assert supports_of("SELECT b WHERE A? ; B AS b ; (C OR B) WITHIN 9", stream("bcabc")) == [(0,), (0,), (0,), (3,), (3,)]


def test_limit_takes_the_matches_that_end_first_whatever_parts_they_have():
    plan = plan_of("SELECT * WHERE A AS a ; B? AS b ; C? AS c LIMIT 3", "recompute")
    run = Run(plan).feed(prepare(plan, stream("abac")).interleaved())
    assert [(start, end) for start, end, _ in run.matches] == [(0, 0), (0, 1), (2, 2)]


@pytest.mark.parametrize("shown", ["*", "b"])
@pytest.mark.parametrize("cuts", [(), tuple(range(1, 12))])
def test_a_quota_counts_the_matches_of_a_key_in_all_sequences_and_batches(shown, cuts):
    plan = plan_of(f"SELECT {shown} WHERE A? ; B AS b PARTITION BY key", "recompute")
    given = prepare(plan, stream("ab" * 6, keys=[1] * 6 + [2] * 4 + [3] * 2))
    for pieces in (given.cut(*cuts), given.interleaved().cut(*cuts)):
        found = matches_of(plan, pieces, quota=2)
        assert [sum(start in keys for start, _, _ in found) for keys in (range(6), range(6, 10), range(10, 12))] == [2, 2, 2]


def test_a_quota_makes_an_endless_enumeration_of_several_sequences_possible():
    plan = plan_of("SELECT * WHERE A? ; B* ; C LIMIT 7", "recompute")
    assert len(matches_of(plan, [prepare(plan, stream("a" + "b" * 400 + "c"))])) == 7


@pytest.mark.parametrize("pattern", ["A ; B+ ; B AS b", "A? ; B ; B* ; B AS b"])
def test_what_shows_the_same_counts_once_for_max_matches(pattern):
    plan = plan_of(f"SELECT b WHERE {pattern}", "recompute")
    given = prepare(plan, stream("abbbb"))
    matches = len(matches_of(plan, [given]))
    assert len(matches_of(plan, given.cut(3), max_matches=matches)) == matches
    with pytest.raises(Spent):
        matches_of(plan, given.cut(3), max_matches=matches - 1)


def test_a_run_with_too_many_matches_stops_before_it_has_gathered_them_all(monkeypatch):
    monkeypatch.setattr("eventide.match.recompute.merged_matches.CHUNK_MATCHES", 8)
    # With forgotten variables the matches of an event are compared before they leave; there are 2^60 of them.
    plan = plan_of("SELECT b WHERE A ; B+ AS b ; (B OR C)", "recompute")
    with pytest.raises(Spent):
        matches_of(plan, [prepare(plan, stream("a" + "b" * 60 + "c"))], max_matches=100)


# The state ------------------------------------------------------------------------------------------------------------


def sliced(plan, slice_index):
    run = Run(plan)
    run.matcher._settings = replace(run.matcher._settings, slices=2, slice_index=slice_index)
    return run


def test_slices_share_the_triggers_out_across_a_dump():
    plan = plan_of("SELECT * WHERE A ; B? ; C", "recompute")
    given = prepare(plan, stream("aabcbccabc"))
    parts = []
    for slice_index in range(2):
        run = sliced(plan, slice_index)
        for piece in given.cut(4, 6):
            state, kept, matches = run.matcher.dump(), run.kept, run.matches
            run = sliced(plan, slice_index)
            run.matcher.load(state)
            run.kept, run.matches = kept, matches
            run.feed(piece)
        parts.append(run.finish())
    assert sorted(parts[0] + parts[1]) == matches_of(plan, [given])
    assert all(parts)


def test_a_state_of_the_first_version_is_still_read():
    plan = plan_of("SELECT * WHERE A ; B? ; C", "recompute")
    first, rest = prepare(plan, stream("aabcbc")).cut(3)
    run, other = Run(plan).feed(first), Run(plan)
    arrays = {name: array for name, array in unpack_arrays(run.matcher.dump()).items() if name != "triggers"}
    arrays["version"][:] = 1
    other.matcher.load(pack_arrays(arrays))
    other.kept, other.matches = run.kept, list(run.matches)
    assert other.feed(rest).finish() == run.feed(rest).finish()
