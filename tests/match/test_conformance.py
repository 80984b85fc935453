"""What every matcher promises, checked for every matcher on every case."""

from __future__ import annotations

import itertools
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from eventide.match import budget
from eventide.match.budget import Account, Budget, Resource, Spent
from eventide.match.row_pattern import matcher as row_matcher
from eventide.plan.matchers import registry
from eventide.plan.matchers.registry import ROWS
from eventide.runtime.budget.limits import StageLimits
from eventide_reference import admissible, find_matches
from eventide_reference.sequences.oracle import Match
from harness.seeds import FAST
from match.building import CLASSES, GENERAL, MATCHERS, Run, matches_of, plan_of, prepare, stream
from match.cases import CASES, EVERYWHERE_CONSUMED, names_of, with_matchers
from match.row_building import ROW_CASES, RowRun, by_oracle

# Plain Python kernels are some hundred times slower: then fewer streams say the same.
SLOW = os.environ.get("NUMBA_DISABLE_JIT") == "1"
SEEDS = range(1 if FAST else 4 if SLOW else 15)
# Each of these streams is cut in all of its 64 ways.
CUT_SEEDS = range(1 if SLOW or FAST else 2)
EVERY = pytest.mark.parametrize(("case", "matcher"), with_matchers(CASES), ids=names_of)
ALL = pytest.mark.parametrize(("case", "matcher"), with_matchers([*CASES, *EVERYWHERE_CONSUMED]), ids=names_of)
BY_MATCHER = pytest.mark.parametrize("matcher", MATCHERS)
BY_GENERAL = pytest.mark.parametrize("matcher", GENERAL)
# All that take events, those that take them as they arrive among them.
BY_ANY = pytest.mark.parametrize("matcher", CLASSES)
ROW_PATTERNS = pytest.mark.parametrize("case", ROW_CASES, ids=names_of)
SEARCHES = pytest.mark.parametrize("case", [case for case in ROW_CASES if case.searches], ids=names_of)


def all_cuts(length):
    """Every way to cut that many rows into batches."""
    inner = range(1, length)
    return itertools.chain.from_iterable(itertools.combinations(inner, number) for number in range(length))


def expected(case, events):
    return sorted(match.identity() for match in find_matches(case.plan(None).query, events))


@pytest.fixture
def interrupted(monkeypatch):
    """Let kernels take one step a call, and Ctrl-C come before the third call."""
    calls = itertools.count(1)
    slice_of = Account.slice

    def interrupting(account):
        if next(calls) == 3:
            raise KeyboardInterrupt
        return slice_of(account)

    monkeypatch.setattr(budget, "SLICE_STEPS", 1)
    monkeypatch.setattr(Account, "slice", interrupting)


def test_every_registered_matcher_is_run_here():
    assert set(MATCHERS) == {matcher.name for matcher in registry.ORDERED}
    assert {*CLASSES, ROWS.name} == {matcher.name for matcher in registry.MATCHERS}
    assert set(CLASSES) == {matcher for _, matcher in with_matchers(CASES)}


@EVERY
def test_the_plan_can_be_given_to_the_matcher(case, matcher):
    assert isinstance(Run(case.plan(matcher)).matcher, CLASSES[matcher])


@EVERY
def test_matches_are_those_of_the_oracle(case, matcher):
    plan = case.plan(matcher)
    for seed in SEEDS:
        events = case.events(seed, 6 + seed % 5)
        found = matches_of(plan, [prepare(plan, events)])
        if case.exact:
            assert found == expected(case, events), (seed, events)
        else:
            produced = [Match((), start, end, dict(bindings)) for start, end, bindings in found]
            assert admissible(plan.query, events, produced) is None, (seed, events)


@EVERY
def test_every_way_to_cut_the_input_gives_the_same_matches(case, matcher):
    plan = case.plan(matcher)
    for seed in CUT_SEEDS:
        given = prepare(plan, case.events(seed))
        whole = matches_of(plan, [given])
        for cuts in all_cuts(len(given.event)):
            assert matches_of(plan, given.cut(*cuts)) == whole, (seed, cuts)


@ALL
def test_every_way_to_cut_interleaved_keys_gives_the_same_matches(case, matcher):
    plan = case.plan(matcher)
    for seed in CUT_SEEDS:
        given = prepare(plan, case.events(seed)).interleaved()
        whole = matches_of(plan, [given])
        for cuts in all_cuts(len(given.event)):
            assert matches_of(plan, given.cut(*cuts)) == whole, (seed, cuts)


@EVERY
def test_interleaved_keys_are_the_same_as_one_key_after_the_other(case, matcher):
    if case.plan(matcher).query.limit is not None:
        pytest.skip("which matches LIMIT keeps depends on the order of the keys")
    plan = case.plan(matcher)
    for seed in SEEDS:
        given = prepare(plan, case.events(seed, 9))
        assert matches_of(plan, [given.interleaved()]) == matches_of(plan, [given]), seed


@pytest.mark.parametrize(("case", "matcher"), with_matchers(EVERYWHERE_CONSUMED), ids=names_of)
def test_a_match_of_one_key_consumes_the_events_of_all(case, matcher):
    plan = case.plan(matcher)
    for seed in range(10 if SLOW else 60):
        events = case.events(seed, 10)
        assert matches_of(plan, [prepare(plan, events).interleaved()]) == expected(case, events), (seed, events)


@EVERY
def test_a_fresh_matcher_goes_on_from_a_dump_at_every_point(case, matcher):
    plan = case.plan(matcher)
    given = prepare(plan, case.events(1, 8))
    whole = matches_of(plan, [given])
    for place in range(len(given.event) + 1):
        first, second = given.cut(place)
        assert Run(plan).feed(first).moved(case.plan(matcher)).feed(second).finish() == whole, place


@ALL
def test_a_dump_after_every_event_changes_nothing(case, matcher):
    plan = case.plan(matcher)
    given = prepare(plan, case.events(2, 8)).interleaved()
    run = Run(plan)
    for place in range(len(given.event)):
        run = run.feed(given.part(place, place + 1)).moved(case.plan(matcher))
    assert run.finish() == matches_of(plan, [given])


@BY_MATCHER
def test_a_dump_is_the_same_after_it_was_loaded(matcher):
    case = CASES[1]
    run = Run(case.plan(matcher)).feed(prepare(case.plan(matcher), case.events(3, 9)))
    assert run.moved(case.plan(matcher)).matcher.dump() == run.matcher.dump()


@BY_MATCHER
def test_a_state_of_another_version_is_refused(matcher, monkeypatch):
    run = Run(plan_of("SELECT * WHERE A ; B", matcher))
    module = "eventide.match.recompute.matcher" if matcher == "recompute" else "eventide.match.dag.matching.arena"
    monkeypatch.setattr(f"{module}.STATE_VERSION", 99)
    state = run.matcher.dump()
    monkeypatch.undo()
    with pytest.raises(ValueError, match="version 99"):
        run.matcher.load(state)


CONTINUE = """
import pickle, sys
from match.building import Run
from match.cases import CASES
with open(sys.argv[1], "rb") as file:
    jobs = pickle.load(file)
results = []
for number, matcher, state, kept, matches, key, rest in jobs:
    run = Run(CASES[number].plan(matcher))
    run.matcher.load(state)
    run.kept, run.matches, run.key = kept, matches, key
    results.append(run.feed(rest).finish())
with open(sys.argv[2], "wb") as file:
    pickle.dump(results, file)
"""


def test_another_process_goes_on_from_a_dump(tmp_path):
    jobs, wholes = [], []
    for number, case in enumerate(CASES):
        for matcher in case.matchers:
            plan = case.plan(matcher)
            given = prepare(plan, case.events(4, 9))
            first, rest = given.cut(len(given.event) // 2)
            run = Run(plan).feed(first)
            jobs.append((number, matcher, run.matcher.dump(), run.kept, run.matches, run.key, rest))
            wholes.append(matches_of(plan, [given]))
    asked, answered = tmp_path / "asked", tmp_path / "answered"
    asked.write_bytes(pickle.dumps(jobs))
    # Sets of strings are walked in another order there.
    environment = {**os.environ, "PYTHONHASHSEED": "12345", "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])}
    subprocess.run([sys.executable, "-c", CONTINUE, asked, answered], check=True, env=environment)
    assert pickle.loads(answered.read_bytes()) == wholes


@pytest.mark.parametrize("steps", [1, 5])
@ALL
def test_a_budget_of_few_steps_for_each_call_changes_nothing(case, matcher, steps, monkeypatch):
    plan = case.plan(matcher)
    for seed in CUT_SEEDS:
        given = prepare(plan, case.events(seed, 9)).interleaved()
        whole = matches_of(plan, given.cut(4))
        with monkeypatch.context() as few:
            few.setattr(budget, "SLICE_STEPS", steps)
            assert matches_of(plan, given.cut(4)) == whole, seed


@BY_ANY
def test_more_steps_than_allowed_stop_the_run(matcher):
    plan = plan_of("SELECT * WHERE A ; B ; C WITHIN 90", matcher)
    run = Run(plan)
    run.matcher._account.budget = Budget(steps=10)
    with pytest.raises(Spent) as stopped:
        run.feed(prepare(plan, stream("a" + "b" * 15 + "c")))
    assert (stopped.value.resource, stopped.value.amount) == (Resource.STEPS, 10)


@BY_ANY
def test_more_matches_than_allowed_stop_the_run(matcher):
    plan = plan_of("SELECT * WHERE A ; B WITHIN 90", matcher)
    given = prepare(plan, stream("aaabbb"))
    assert len(matches_of(plan, given.cut(2, 4), max_matches=9)) == 9
    with pytest.raises(Spent) as stopped:
        matches_of(plan, given.cut(2, 4), max_matches=8)
    assert (stopped.value.resource, stopped.value.amount) == (Resource.MATCHES, 8)


@BY_ANY
@pytest.mark.usefixtures("interrupted")
def test_an_interrupt_between_two_slices_gets_through(matcher):
    plan = plan_of("SELECT * WHERE A ; B ; C WITHIN 90", matcher)
    given = prepare(plan, stream("aabbcc"))
    with pytest.raises(KeyboardInterrupt):
        matches_of(plan, [given])


@EVERY
def test_the_matcher_neither_changes_nor_keeps_the_arrays_it_is_given(case, matcher):
    plan = case.plan(matcher)
    given = prepare(plan, case.events(5, 9))
    whole = matches_of(plan, [given])
    half = len(given.event) // 2
    for pieces in (given.cut(half), given.interleaved().cut(half)):
        run = Run(plan)
        for piece in pieces:
            batch = run.batch(piece)
            arrays = [array for array in vars(batch).values() if array is not None]
            before = [array.copy() for array in arrays]
            events = [*run.kept, *piece.event]
            for found in run.matcher.advance(batch):
                run.take(found, np.array(events))
            assert all((one == other).all() for one, other in zip(arrays, before, strict=True))
            for array in arrays:
                array.fill(1)
            run.kept = np.array(events, "int64")[run.matcher.keep()]
        if plan.query.limit is None or pieces[0].batch.key is None:
            assert run.finish() == whole


@BY_MATCHER
def test_arrays_that_cannot_be_written_are_taken(matcher):
    plan = plan_of("SELECT * WHERE A AS a ; B AS b FILTER a.v < b.v WITHIN 4", matcher)
    events = stream("abab", v=[1, 2, 3, 4])
    given = prepare(plan, events)
    for array in vars(given.batch).values():
        if array is not None:
            array.flags.writeable = False
    assert len(matches_of(plan, [given])) == 3


@BY_GENERAL
def test_batches_without_events_change_nothing(matcher):
    plan = plan_of("SELECT * WHERE A AS a ; B AS b ; NOT D FILTER a.v < b.v WITHIN 4", matcher)
    given = prepare(plan, stream("abdabb", v=[1, 2, 3, 4, 5, 6]))
    whole = matches_of(plan, [given])
    assert matches_of(plan, given.cut(0, 0, 2, 2, 6, 6)) == whole
    assert matches_of(plan, [given.part(0, 0)]) == []


def test_batches_without_events_change_nothing_to_recomputation():
    plan = plan_of("SELECT * WHERE NOT D ; A AS a ; B AS b FILTER a.v < b.v WITHIN 4", "recompute")
    given = prepare(plan, stream("abdabb", v=[1, 2, 3, 4, 5, 6]))
    assert matches_of(plan, given.cut(0, 0, 2, 2, 6, 6)) == matches_of(plan, [given])
    assert matches_of(plan, [given.part(0, 0)]) == []


@BY_GENERAL
def test_the_end_of_the_stream_decides_what_a_trailing_absence_left_open(matcher):
    plan = plan_of("SELECT * WHERE A ; B ; NOT D WITHIN 10", matcher)
    run = Run(plan).feed(prepare(plan, stream("a1 b2")))
    assert run.matches == []
    assert run.finish() == [(0, 1, (("A", (0,)), ("B", (1,))))]


@BY_GENERAL
def test_a_trailing_absence_is_decided_as_soon_as_the_window_is_over(matcher):
    plan = plan_of("SELECT * WHERE A ; B ; NOT D WITHIN 10", matcher)
    given = prepare(plan, stream("a1 b2 b11 b12 d13"))
    run = Run(plan)
    seen = [len(run.feed(given.part(row, row + 1)).matches) for row in range(5)]
    assert seen == [0, 0, 0, 2, 2]
    assert len(run.finish()) == 2


@BY_GENERAL
def test_finish_without_events_finds_nothing(matcher):
    assert Run(plan_of("SELECT * WHERE A ; B ; NOT D WITHIN 10", matcher)).finish() == []


# Row patterns, whose matcher takes partitions ------------------------------------------------------------------------


@ROW_PATTERNS
def test_mapped_rows_are_those_of_the_oracle(case):
    plan = case.plan
    mapped = 0
    for seed in SEEDS:
        rows = case.rows(seed, 6 + seed % 5)
        found = RowRun(plan, rows).whole()
        assert found == by_oracle(case, rows), (seed, rows)
        mapped += len(found)
    assert mapped or FAST


@ROW_PATTERNS
def test_every_way_to_cut_between_partitions_maps_the_same_rows(case):
    for seed in CUT_SEEDS:
        run = RowRun(case.plan, case.rows(seed, 10))
        whole = run.whole()
        for cuts in all_cuts(run.partitions):
            assert run.whole(cuts) == whole, (seed, cuts)


@pytest.mark.parametrize("case", [case for case in ROW_CASES if case.grows], ids=names_of)
def test_every_way_to_wait_for_the_rest_of_partitions_maps_the_same_rows(case):
    for seed in CUT_SEEDS:
        run = RowRun(case.plan, case.rows(seed))
        whole = run.whole()
        for cuts in all_cuts(len(run.table)):
            assert run.growing(cuts) == whole, (seed, cuts)


@pytest.mark.parametrize("steps", [1, 5])
@SEARCHES
def test_a_budget_of_few_steps_for_each_call_maps_the_same_rows(case, steps, monkeypatch):
    for seed in SEEDS:
        run = RowRun(case.plan, case.rows(seed, 9))
        whole = run.whole()
        with monkeypatch.context() as few:
            few.setattr(budget, "SLICE_STEPS", steps)
            assert run.whole() == whole, seed


@SEARCHES
def test_more_steps_than_allowed_stop_the_search(case, monkeypatch):
    # What every batch has for nothing is more than these rows need.
    monkeypatch.setattr(row_matcher, "FREE_STEPS", -64 * 9)
    run = RowRun(case.plan, case.rows(0, 9))
    rows = run.encoded(run.table)
    with pytest.raises(Spent) as stopped:
        run.take(run.table, rows, max_steps=3)
    assert (stopped.value.resource, stopped.value.amount) == (Resource.STEPS, 3)


@ROW_PATTERNS
def test_more_matches_of_rows_than_allowed_stop_the_run(case):
    run = RowRun(case.plan, case.rows(1, 14))

    def matches(most=None):
        limited = ROWS.make(run.plan, StageLimits(max_matches=most))
        return sum(len(found.start) for table in run.cut(1, 2) for found in limited.advance(run.encoded(table)))

    number = matches()
    assert number and matches(number) == number
    with pytest.raises(Spent) as stopped:
        matches(number - 1)
    assert (stopped.value.resource, stopped.value.amount) == (Resource.MATCHES, number - 1)


@SEARCHES
@pytest.mark.usefixtures("interrupted")
def test_an_interrupt_between_two_slices_of_a_search_gets_through(case):
    with pytest.raises(KeyboardInterrupt):
        RowRun(case.plan, case.rows(0, 9)).whole()


@ROW_PATTERNS
def test_the_matcher_of_row_patterns_does_not_change_the_rows_it_is_given(case):
    run = RowRun(case.plan, case.rows(5, 9))
    rows = run.encoded(run.table)
    before = [array.copy() for array in rows.rows]
    run.take(run.table, rows)
    assert all((one == other).all() for one, other in zip(rows.rows, before, strict=True))
