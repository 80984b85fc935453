"""MATCH_RECOGNIZE on streams: results come out once, when they are certain and no later, and what can be forgotten is."""

from __future__ import annotations

from collections import Counter
from random import Random

import pyarrow as pa
import pytest

from eventide.errors import BindError, DataError
from eventide.runtime.streams.output import EarlyOutput
from eventide.runtime.streams.queries.row_patterns import check_streamable, stream_warnings
from eventide.runtime.streams.state_bytes import pack, unpack
from harness.checking import run_batch as compared
from harness.kinds.row_patterns.kind import RowPatterns
from harness.kinds.row_patterns.queries import make_stream_trial
from harness.seeds import seeds
from harness.stream_ways import OPENED_ROWS, streamable, streamed_rows
from stream_rows.letters import Story, query_of, rows_of
from stream_rows.promptness import check_promptness
from stream_rows.running import identities, plan_of

ONE = "MEASURES FIRST(v) AS first, COUNT(*) AS n"
BATCHES = 5
CASES_OF_A_BATCH = 520
FEWEST_ROWS = 400
"""A batch with fewer would say that the generator no longer makes clauses that find something."""


# Random clauses ------------------------------------------------------------------------------------------------------

CLAUSES = RowPatterns(make_stream_trial, tables=25, late=True, accepts=streamable)


def run_batch(seed):
    """Compare random clauses with the oracle; returns whether they found enough, early enough, to say something."""
    notes = Counter()
    found = compared(CLAUSES, seed, (streamed_rows(notes), OPENED_ROWS), cases=CASES_OF_A_BATCH).found
    return found > FEWEST_ROWS and notes["early"] > 0.3 * found and notes["looks"]


@pytest.mark.parametrize("seed", seeds(BATCHES, quick=1))
def test_a_stream_in_batches_gives_what_the_oracle_gives(seed):
    assert run_batch(seed)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(1000, 1200))
def test_a_stream_in_batches_gives_what_the_oracle_gives_on_many_more(seed):
    assert run_batch(seed)


# When a match is certain ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", seeds(6, quick=1))
def test_a_match_comes_out_exactly_when_all_continuations_of_the_stream_have_it(seed):
    rng = Random(seed)
    assert sum(check_promptness(rng, 12) for _ in range(5)) > 5


def test_a_match_comes_out_when_its_last_row_is_behind_the_watermark():
    story = Story(f"{ONE} PATTERN (A B+ C)", "1A7 2B 3B 4C 9A")
    assert story.step(4) == []
    assert story.step(4, rows=1) == []
    assert story.step(4.000001) == [(7, 4)]


def test_a_greedy_loop_waits_for_a_row_that_ends_it():
    story = Story(f"{ONE} PATTERN (A B+)", "1A7 2B 3B 4C")
    assert story.step(4) == []
    assert story.step(5) == [(7, 3)]


def test_a_reluctant_loop_does_not_wait():
    assert Story(f"{ONE} PATTERN (A B+?)", "1A7 2B 3B").step(2.5) == [(7, 2)]


def test_a_preferred_alternative_is_waited_for_as_long_as_it_can_come():
    story = Story(f"{ONE} PATTERN (A B C | A B)", "1A7 2B 3A8 4B 5C")
    assert story.step(3) == []
    assert story.step(4) == [(7, 2)]
    assert story.step(5.5) == [(8, 3)]


def test_an_alternative_that_comes_second_is_not_waited_for():
    assert Story(f"{ONE} PATTERN (A B | A B C)", "1A7 2B").step(3) == [(7, 2)]


def test_within_decides_by_the_watermark_alone():
    story = Story(f"{ONE} PATTERN (A B+) WITHIN 5 SECONDS", "1A7 2B 3B")
    assert story.step(4) == []
    assert story.step(6) == []
    assert story.step(6.000001) == [(7, 3)]
    assert (story.held, story.keys) == ((0, 0), 0)


def test_within_decides_with_conditions_on_the_match_so_far_as_well():
    story = Story(f"{ONE} PATTERN (A B+) WITHIN 5 SECONDS", "1A7 2B8 3B9", "B AS B.v > A.v AND COUNT(B.*) < 9")
    assert story.step(6) == []
    assert story.step(6.000001) == [(7, 3)]


def test_a_row_outside_the_window_decides_at_once():
    story = Story(f"{ONE} PATTERN (A B+) WITHIN 5 SECONDS", "1A7 2B 3B 7B")
    assert story.step(7, rows=4) == [(7, 3)]


def test_silent_partitions_are_woken_each_at_its_time():
    story = Story(f"{ONE} PATTERN (A B*) WITHIN 5 SECONDS", "1A1x 2A2y 3A3z 4B0z")
    assert story.step(5) == []
    assert story.step(6.5) == [(1, 1)]
    assert story.step(7) == []
    assert story.step(100) == [(2, 1), (3, 2)]
    assert story.keys == 0


def test_conditions_on_the_match_so_far_are_decided_where_no_row_to_come_is_preferred():
    story = Story(f"{ONE} PATTERN (A B+ C)", "1A5 2B6 3B7 4C1", "B AS B.v > A.v, C AS C.v < SUM(B.v)")
    assert story.step(4) == []
    assert story.step(4.5) == [(5, 4)]


def test_the_search_turns_back_only_when_the_preferred_way_is_closed():
    story = Story(f"{ONE} PATTERN (A B+ C)", "1A5 2B6 3B7 4C1", "B AS B.v > A.v, C AS C.v > SUM(B.v) / 2")
    assert story.step(4) == []
    assert story.step(5) == [(5, 3)]


def test_a_pattern_that_nothing_can_complete_holds_nothing():
    story = Story(f"{ONE} PATTERN (A B ^ | C)", "1A 2B 3A")
    assert story.step(4) == []
    assert story.held == (0, 0)


def test_measures_that_look_behind_the_match_wait_for_what_they_see():
    story = Story("MEASURES NEXT(LAST(B.v), 2) AS later PATTERN (A B)", "1A 2B 3C4 5C6")
    assert story.step(4) == []
    assert story.step(6) == [(6,)]


def test_conditions_that_look_ahead_wait_for_what_they_see():
    story = Story(f"{ONE} PATTERN (A B)", "1A7 2B1 3C4", "B AS B.v < NEXT(B.v)")
    assert story.step(3) == []
    assert story.step(3.5) == [(7, 2)]


def test_rows_in_no_match_come_out_when_no_match_can_cover_them():
    story = Story("MEASURES CLASSIFIER() AS c ALL ROWS PER MATCH WITH UNMATCHED ROWS PATTERN (A B+ C)", "1C 2A 3B 4A 5B 6C")
    seen = [[(row[0].second, row[1]) for row in story.step(second + 0.5)] for second in range(1, 7)]
    assert seen == [[(1, None)], [], [], [(2, None), (3, None)], [], [(4, "A"), (5, "B"), (6, "C")]]


def test_rows_that_an_earlier_match_covers_are_not_unmatched_later():
    clauses = "MEASURES MATCH_NUMBER() AS m ALL ROWS PER MATCH WITH UNMATCHED ROWS AFTER MATCH SKIP TO NEXT ROW PATTERN (A B B)"
    story = Story(clauses, "1A 2B 3B 4B 5A")
    seen = [[(row[0].second, row[1]) for row in story.step(second)] for second in (2.5, 3.5, 4.5, 9)]
    assert seen == [[], [(1, 1), (2, 1), (3, 1)], [(4, None)], []]


def test_a_covered_row_that_may_still_begin_a_match_is_not_unmatched_when_it_does_not():
    clauses = "MEASURES MATCH_NUMBER() AS m ALL ROWS PER MATCH WITH UNMATCHED ROWS AFTER MATCH SKIP TO NEXT ROW PATTERN (A B | B C)"
    story = Story(clauses, "1A 2B 3A 4C 5A")
    seen = []
    for second in (1.5, 2.5, 3.5, 4.5, 9):
        seen.append([(row[0].second, row[1]) for row in story.step(second)])
        story.stream.restart()
    assert seen == [[], [(1, 1), (2, 1)], [], [(3, None), (4, None)], []]


def test_empty_matches_come_out_when_nothing_better_can_come():
    story = Story("MEASURES MATCH_NUMBER() AS m, COUNT(*) AS n PATTERN ((A B)?)", "1C 2A 3A 4B")
    assert story.step(2.5) == [(1, 0)]
    assert story.step(3.5) == [(2, 0)]
    assert story.step(4.5) == [(3, 2)]


# Order ---------------------------------------------------------------------------------------------------------------


def test_rows_that_arrive_late_take_their_place():
    story = Story(f"{ONE} PATTERN (A B C)", "3C 1A7 2B")
    assert story.step(1, rows=1) == []
    assert story.step(4) == [(7, 3)]


def test_a_row_at_the_watermark_waits_because_an_equal_one_may_come():
    story = Story(f"{ONE} PATTERN (A B)", "1B9 1A7", order="ts, v")
    assert story.step(1, rows=1) == []
    assert story.step(2) == [(7, 2)]


def test_equal_times_keep_the_order_of_arrival_across_batches():
    story = Story(f"{ONE} PATTERN (A B)", "1A7 1B")
    assert story.step(1, rows=1) == []
    assert story.step(2) == [(7, 2)]


# What is remembered --------------------------------------------------------------------------------------------------


def test_match_numbers_go_on_and_their_keys_are_remembered():
    story = Story("MEASURES MATCH_NUMBER() AS m PATTERN (A)", "1A 2A 3Ay 4A")
    assert story.step(2.5) == [(1,), (2,)]
    assert (story.held, story.keys) == ((0, 0), 1)
    story.stream.restart()
    assert story.step(9) == [(1,), (3,)]


def test_keys_are_forgotten_when_nothing_depends_on_them():
    story = Story(f"{ONE} PATTERN (A)", "1Ax 2Ay 3Cz")
    story.step(9)
    assert (story.held, story.keys, story.stream.engine.expired(), story.stream.engine.expired()) == ((0, 0), 0, 3, 0)


def test_the_first_row_of_a_partition_is_the_first_for_ever():
    story = Story(f"{ONE} PATTERN (^ A)", "1A7 2A8 3A9")
    assert story.step(1.5) == [(7, 1)]
    assert story.keys == 1
    story.stream.restart()
    assert story.step(9) == []


def test_rows_that_prev_sees_are_held_and_no_others():
    story = Story("MEASURES PREV(A.v, 2) AS earlier PATTERN (A)", "1A1 2A2 3A3 4A4 5A5", "A AS PREV(A.v) > 0 OR A.v = 1")
    assert story.step(3.5) == [(1,), (None,), (None,)]
    assert story.held == (2, 0)
    story.stream.restart()
    assert story.step(9) == [(2,), (3,)]


def test_state_does_not_grow_under_within():
    rng = Random(5)
    rows = " ".join(f"{second}{rng.choice('AB')}{rng.choice('xyz')}" for second in range(600))
    story = Story(f"{ONE} AFTER MATCH SKIP TO NEXT ROW PATTERN (A B+) WITHIN 10 SECONDS", rows)
    held = []
    sizes = []
    for second in range(0, 600, 5):
        story.step(second)
        held.append(story.held[0])
        sizes.append(len(story.stream.engine.dump()))
    assert max(held) <= 12
    assert max(sizes[60:]) <= max(sizes[:60]) + 256


def test_what_is_shed_begins_no_match_and_the_rest_goes_on():
    story = Story(f"{ONE} PATTERN (A B+ C)", "1A1x 2B0x 3A2y 4B0y 5C0x 6C0y")
    story.step(4.5)
    assert story.held == (4, 4)
    assert story.stream.engine.shed(0.3) == 2
    assert story.held == (2, 2)
    assert story.step(9) == [(2, 3)]


# What would follow ---------------------------------------------------------------------------------------------------


def test_what_would_follow_is_what_a_table_would_give_and_changes_nothing():
    story = Story(f"{ONE} PATTERN (A B+)", "1A7 2B 4B 3B")
    assert story.step(1.5, rows=3) == []
    assert story.likely() == story.likely() == [(7, 3)]
    assert story.step(1.5, rows=1) == []
    assert story.likely() == [(7, 4)]


def test_a_result_keeps_its_identity_when_it_becomes_certain():
    story = Story("MEASURES PREV(A.v) AS p, NEXT(B.v) AS n ALL ROWS PER MATCH PATTERN (A B+)", "0C1 1A7 2B 3B 4C5 9C")
    story.step(4, rows=5)
    likely = identities(story.stream.speculate())
    assert len(set(likely)) == 3
    story.stream.restart()
    story.step(9)
    assert identities(story.stream.certain) == likely


def test_a_longer_match_has_another_identity():
    story = Story(f"{ONE} PATTERN (A B+)", "1A7 2B 3B")
    story.step(2, rows=2)
    one = identities(story.stream.speculate())
    story.step(2, rows=1)
    assert not set(one) & set(identities(story.stream.speculate()))


# What cannot be ------------------------------------------------------------------------------------------------------


def refusal(text):
    with pytest.raises(BindError) as refused:
        check_streamable(plan_of(text, rows_of("1A")))
    assert refused.value.hint
    return refused.value


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        (query_of("PATTERN (A)").replace("ORDER BY ts", ""), "STREAM_NEEDS_TIME"),
        (query_of("PATTERN (A)").replace("ORDER BY ts", "ORDER BY v, ts"), "STREAM_NEEDS_TIME"),
        (query_of("PATTERN (A)").replace("ORDER BY ts", "ORDER BY ts DESC"), "STREAM_NEEDS_TIME"),
        (query_of("PATTERN (A B $)"), "END_ANCHOR_ON_STREAM"),
        (query_of("PATTERN (A B)", "B AS B.v % 2 = PREV(B.v) % 2"), "NEIGHBOURS_ON_STREAM"),
    ],
)
def test_what_a_stream_cannot_decide_is_refused(text, condition):
    assert refusal(text).condition == condition


def test_a_refusal_shows_the_place():
    error = refusal(query_of("PATTERN (A B $)"))
    assert error.text[error.span.start : error.span.end] == "$"
    error = refusal(query_of("PATTERN (A B)", "B AS B.v % 2 = PREV(B.v) % 2"))
    assert "PREV(B.v" in error.text[error.span.start : error.span.end] and "of B" in error.message


def warned(clauses):
    return stream_warnings(plan_of(query_of(clauses), rows_of("1A")))


def test_state_without_a_bound_is_warned_of():
    assert "WITHIN" in warned("PATTERN (A B+ C)")[0] and "not bounded" in warned("PATTERN (A B+ C)")[0]
    assert "falls silent" in warned("PATTERN (A B C)")[0]
    assert warned("PATTERN (A)") == warned("PATTERN (A+?)") == warned("PATTERN (A B+) WITHIN 5 SECONDS") == ()


def test_how_long_a_result_can_be_uncertain():
    def hold(clauses, define=None):
        return plan_of(query_of(clauses, define), rows_of("1A")).hold

    assert hold("PATTERN (A B+) WITHIN 5 SECONDS") == 5_000_000
    assert hold("PATTERN (A B+)") is None
    assert hold("PATTERN (A B+) WITHIN 5 SECONDS", "A AS NEXT(A.v) > 1") is None


def test_a_skip_to_the_first_row_is_an_error_as_in_a_table():
    story = Story("AFTER MATCH SKIP TO FIRST A PATTERN (A B)", "1A 2B")
    with pytest.raises(DataError) as error:
        story.step(9)
    assert error.value.condition == "MATCH_RECOGNIZE_SKIP_TO_FIRST_ROW"


def test_an_error_that_a_row_to_come_may_avert_ends_no_early_output():
    story = Story(f"{ONE} AFTER MATCH SKIP TO FIRST B PATTERN (A B?)", "1A7 2B 3C")
    story.step(0.5, rows=1)
    with pytest.raises(DataError):
        story.stream.speculate()
    assert EarlyOutput().take([], story.stream.engine, 0) == []
    story.step(0.5, rows=1)
    [shown] = EarlyOutput().take([], story.stream.engine, 0)
    assert shown.num_rows == 1


def test_the_state_of_another_version_is_refused():
    story = Story(f"{ONE} PATTERN (A)", "1A")
    story.step(0.5)
    parts = unpack(story.stream.engine.dump()) | {"version": 999}
    with pytest.raises(DataError, match="STATE_VERSION"):
        story.stream.engine.load(pack(parts))


def test_an_engine_that_has_seen_nothing_has_a_state():
    story = Story(f"{ONE} PATTERN (A)", "1A")
    story.stream.restart()
    assert story.stream.engine.speculate() == []
    assert story.stream.engine.held().events == 0
    assert story.step(9) == [(0, 1)]


def test_results_carry_the_times_of_the_match():
    story = Story(f"{ONE} PATTERN (A B)", "1A 2B")
    story.step(9)
    table = pa.concat_tables(story.stream.certain)
    assert [table.column(name)[0].as_py() - story.stream.clock[0] for name in ("__et_start", "__et_end")] == [0, 1_000_000]
