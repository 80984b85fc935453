"""Any order of arrival within the slack gives the matches of the sorted stream, however it is cut, dumped and paused."""

from __future__ import annotations

import os
import random

import numpy as np
import pytest

from eventide.match import budget
from eventide.match.budget import Budget, Spent
from eventide.match.disorder import matcher as disorder
from eventide.plan.matchers.disorder import make_disorder_matcher
from match.building import plan_of, stream
from match.disordered import Disordered, arrivals, by_oracle, delayed, random_events, watermark, with_tie_break

SLOW = os.environ.get("NUMBA_DISABLE_JIT") == "1"
SLACKS = [0, 1, 3, 6, 15]
SLICES = [1, 2, 7, 1 << 21]
"""Steps of a kernel call."""


def random_query(draw):
    """Draw a sequence: repeated types, NOT anywhere, conditions between events, keys, a window."""
    steps = [f"{draw.choice('ABC')} AS s{number}" for number in range(draw.randint(1, 5))]
    parts, conditions = [], []
    for gap in range(len(steps) + 1):
        for absence in range(draw.choice([0, 0, 0, 0, 0, 0, 1, 1, 2])):
            name = f"n{gap}{absence}"
            parts.append(f"NOT {draw.choice('ADDDD')} AS {name}")
            if draw.random() < 0.4:
                conditions.append(f"{name}.v {draw.choice(['<', '>', '='])} s{draw.randrange(len(steps))}.v")
        parts.extend(steps[gap : gap + 1])
    for _ in range(draw.choice([0, 0, 1, 2])):
        one, other = draw.randrange(len(steps)), draw.randrange(len(steps))
        conditions.append(draw.choice([f"s{one}.v <= s{other}.v", f"s{one}.v + s{other}.v < 7", f"s{one}.w < 1"]))
    text = "SELECT * WHERE " + " ; ".join(parts)
    if conditions:
        text += " FILTER " + " AND ".join(conditions)
    if draw.random() < 0.5:
        text += " PARTITION BY key"
    return f"{text} WITHIN {draw.choice([0, 4, 8, 12, 20])}"


def run_over(plan, events, draw, slack, *, ties=None, cut=(1, 1, 2, 5, 30), dumps=0.0):
    """Run over random batches and return the matches; the clock moves after most of them."""
    given = arrivals(plan, events, ties)
    run = Disordered(plan if ties is None else with_tie_break(plan))
    at = 0
    while at < len(events):
        size = draw.choice(cut)
        run.feed(given.part(at, at + size))
        at += size
        if draw.random() < 0.7:
            run.tell(watermark(events[:at], slack))
        if draw.random() < dumps:
            run = run.moved()
    return run.finish()


def small_rooms(draw, monkeypatch):
    """Let the matcher begin with little room, so that it must grow at every point."""
    for name, sizes in (
        ("CHUNK_MATCHES", (1, 3, 1 << 10)),
        ("FIRST_INSTANCES", (1, 4, 256)),
        ("FIRST_HOLDING", (1, 2, 64)),
    ):
        monkeypatch.setattr(disorder, name, draw.choice(sizes))
    monkeypatch.setattr(budget, "SLICE_STEPS", draw.choice(SLICES))


def judge_streams(seeds, monkeypatch):
    found = 0
    for seed in seeds:
        draw = random.Random(seed)
        text = random_query(draw)
        plan, slack = plan_of(text), draw.choice(SLACKS)
        events = delayed(draw, random_events(draw, "AABBCCD", draw.randint(1, 26), draw.choice([5, 15, 40])), slack)
        ties = draw.choice([None, [draw.randrange(3) for _ in events]])
        small_rooms(draw, monkeypatch)
        matches = run_over(plan, events, draw, slack, ties=ties, dumps=0.3)
        assert matches == by_oracle(plan, events, ties), (seed, text, slack, events, ties)
        found += len(matches)
    return found


def test_any_bounded_order_of_arrival_gives_the_matches_of_the_sorted_stream(monkeypatch):
    assert judge_streams(range(5 if SLOW else 400), monkeypatch) > (0 if SLOW else 500)


@pytest.mark.long
def test_thousands_of_sequences_and_streams_agree_with_the_oracle(monkeypatch):
    assert judge_streams(range(10_000, 16_000), monkeypatch) > 8_000


QUERIES = [
    "SELECT * WHERE A ; B ; C WITHIN 6",
    "SELECT * WHERE A AS x ; A AS y ; B ; A AS z WITHIN 9",
    "SELECT * WHERE A ; B ; NOT C ; D WITHIN 8",
    "SELECT * WHERE NOT D ; A ; NOT C ; B ; NOT D WITHIN 7",
    "SELECT * WHERE A AS a ; NOT D AS d ; B AS b ; C FILTER d.v > a.v AND a.v <= b.v PARTITION BY key WITHIN 9",
    "SELECT * WHERE A{2} AS a ; B AS b FILTER SUM(a.v) > b.v WITHIN 8",
    "SELECT b WHERE A ; B AS b ; C WITHIN 8",
]
BY_QUERY = pytest.mark.parametrize("text", QUERIES)


def drawn(text, seed, length=18):
    draw = random.Random(f"{text} {seed}")
    slack = draw.choice(SLACKS)
    return draw, slack, delayed(draw, random_events(draw, "ABCD", length, 20), slack)


@BY_QUERY
@pytest.mark.parametrize("steps", SLICES)
def test_a_budget_of_few_steps_for_each_call_changes_nothing(text, steps, monkeypatch):
    monkeypatch.setattr(budget, "SLICE_STEPS", steps)
    plan = plan_of(text)
    for seed in range(1 if SLOW else 8):
        draw, slack, events = drawn(text, seed)
        assert run_over(plan, events, draw, slack) == by_oracle(plan, events), seed


@BY_QUERY
def test_every_permutation_of_a_few_events_gives_the_same_matches(text):
    plan = plan_of(text)
    draw, _, events = drawn(text, 1, 12)
    expected = None
    for _ in range(2 if SLOW else 25):
        draw.shuffle(events)
        # Without arrival as the last resort, equal times would be ordered anew by every shuffle.
        ties = [event["time"] * 31 % 7 * 100 + index_of(event) for event in events]
        found = run_over(plan, events, draw, 100, ties=ties)
        assert found == by_oracle(plan, events, ties)
        assert expected in (None, len(found))
        expected = len(found)


def index_of(event):
    """Return a number for what an event holds."""
    return sum(ord(letter) for letter in repr(sorted(event.items(), key=str)))


@BY_QUERY
def test_a_dump_after_every_event_changes_nothing(text):
    plan = plan_of(text)
    draw, slack, events = drawn(text, 2)
    assert run_over(plan, events, draw, slack, cut=(1,), dumps=1.0) == by_oracle(plan, events)


@BY_QUERY
def test_a_dump_is_the_same_after_it_was_loaded(text):
    plan = plan_of(text)
    _, slack, events = drawn(text, 3)
    run = Disordered(plan).feed(arrivals(plan, events)).tell(watermark(events, slack))
    state = run.matcher.dump()
    assert run.moved().matcher.dump() == state == run.matcher.dump()


def test_a_state_of_another_version_is_refused(monkeypatch):
    run = Disordered(plan_of(QUERIES[0]))
    monkeypatch.setattr(disorder, "STATE_VERSION", 99)
    state = run.matcher.dump()
    monkeypatch.undo()
    with pytest.raises(ValueError, match="version 99"):
        run.matcher.load(state)


@pytest.mark.parametrize("text", QUERIES[:2])
def test_a_match_without_negation_is_given_out_when_the_last_of_its_events_arrives(text):
    plan = plan_of(text)
    for seed in range(1 if SLOW else 10):
        _, slack, events = drawn(text, seed)
        given, run = arrivals(plan, events), Disordered(plan)
        for at in range(len(events)):
            run.feed(given.part(at, at + 1))
            # Indices count arrivals, so the last of a match's events to arrive has the largest one.
            arrived = [max(event for _, bound in bindings for event in bound) for _, _, bindings in run.matches]
            assert sorted(run.matches) == by_oracle(plan, events[: at + 1])
            assert all(last <= at for last in arrived)
            run.tell(watermark(events[: at + 1], slack))


@BY_QUERY
def test_stacks_stay_sorted_and_links_are_what_they_are_defined_to_be(text):
    plan = plan_of(text)
    for seed in range(1 if SLOW else 4):
        _, slack, events = drawn(text, seed, 30)
        given, run = arrivals(plan, events), Disordered(plan)
        for at in range(len(events)):
            run.feed(given.part(at, at + 1))
            check_links(run, events)
            run.tell(watermark(events[: at + 1], slack))
            check_links(run, events)


def check_links(run, events):
    matcher = run.matcher
    query, pool = matcher._query, matcher._pool
    steps = len(query.bit)
    order = {None: None} | {at: (event["time"], at) for at, event in enumerate(events)}
    live = 0
    for slot in range(len(matcher._stacks.held)):
        lists = [[order[event] for event in run.listed(number, slot)] for number in range(matcher._lists)]
        live += sum(map(len, lists))
        assert all(events == sorted(events) for events in lists)
        for step in range(steps):
            for (event, rip, rin), own in zip(run.linked(step, slot), run.instances(step, slot), strict=True):
                here = order[event]
                if step > 0:
                    assert order[rip] == max((other for other in lists[step - 1] if other < here), default=None)
                if step < steps - 1:
                    assert order[rin] == min((other for other in lists[step + 1] if other > here), default=None)
                for at in np.flatnonzero(query.step == step):
                    known = run.event_of(pool.before[own, query.column[at]])
                    assert order[known] == max((other for other in lists[steps + at] if other < here), default=None)
    assert live == matcher.counters()["instances"] == int(pool.used.sum())


@pytest.mark.parametrize("text", [*QUERIES[:4], "SELECT * WHERE A ; B ; NOT C WITHIN 4"])
def test_the_state_is_bounded_by_window_and_slack(text):
    plan, slack = plan_of(text), 6
    run, draw = Disordered(plan), random.Random(7)
    events = [{"type": draw.choice("ABCDEEEE"), "time": at // 3, "key": None, "v": 1, "w": None, "s": None} for at in range(600 if SLOW else 6000)]
    events = delayed(draw, events, slack)
    given, rows, dumped = arrivals(plan, events), [], []
    for at in range(0, len(events), 50):
        run.feed(given.part(at, at + 50)).tell(watermark(events[: at + 50], slack))
        rows.append(len(run.kept))
        dumped.append(len(run.matcher.dump()))
    # 50 events of a batch, and three a time unit for window and slack.
    assert max(rows) <= 50 + 3 * (9 + slack + 2)
    assert max(dumped) < 3 * max(dumped[:20])
    assert run.matcher.counters()["instances"] <= 400
    assert len(run.matcher._pool.row) <= 1 << 13


@pytest.mark.parametrize("text", ["SELECT * WHERE A ; B ; C PARTITION BY key WITHIN 4", "SELECT * WHERE A ; NOT C ; B ; NOT C PARTITION BY key WITHIN 4"])
def test_slots_of_keys_that_hold_nothing_are_given_away(text):
    plan, slack, draw = plan_of(text), 3, random.Random(text)
    times = sorted(draw.randrange(80) for _ in range(120))
    # Keys come and go with time.
    events = [{"type": draw.choice("ABC"), "time": time, "key": time // 8 * 4 + draw.randrange(3), "v": 1, "w": None, "s": None} for time in times]
    events = delayed(draw, events, slack)
    given, run, slots, most = arrivals(plan, events), Disordered(plan), {}, 0
    for at in range(len(events)):
        piece = given.part(at, at + 1)
        piece.batch.key[:] = slots.setdefault(events[at]["key"], len(slots))
        run.feed(piece).tell(watermark(events[: at + 1], slack))
        most = max(most, len(slots))
        live = run.matcher.live_keys()[: len(slots)]
        kept = np.flatnonzero(live)
        run.matcher.compact_keys(kept)
        numbers = {old: new for new, old in enumerate(kept.tolist())}
        slots = {key: numbers[slot] for key, slot in slots.items() if slot in numbers}
        if at % 10 == 0:
            run = run.moved()
    assert run.finish() == by_oracle(plan, events)
    assert most < 12 < len({event["key"] for event in events})


def test_an_equal_time_with_an_earlier_tie_break_can_still_come():
    plan = plan_of("SELECT * WHERE A ; NOT C ; B WITHIN 10")
    events = stream("a1 b5 c5")
    for ties, expected in (([0, 1, 0], 0), ([0, 0, 1], 1)):
        given, run = arrivals(plan, events, ties), Disordered(with_tie_break(plan))
        run.feed(given.part(0, 2)).tell(5)
        assert run.matches == [], "a C of the same time may come before the B"
        run.feed(given.part(2, 3)).tell(6)
        assert len(run.matches) == expected
    # Without a tie-break, what arrives later at the same time is later.
    assert len(Disordered(plan).feed(arrivals(plan, events).part(0, 2)).tell(5).matches) == 1


def test_a_watermark_that_stands_still_or_goes_back_changes_nothing():
    plan = plan_of(QUERIES[2])
    _, slack, events = drawn(QUERIES[2], 5)
    given, run = arrivals(plan, events), Disordered(plan)
    for at in range(len(events)):
        known = watermark(events[: at + 1], slack)
        run.feed(given.part(at, at + 1)).tell(known).tell(known).tell(known - 5)
    assert run.finish() == by_oracle(plan, events)


def test_late_events_are_left_out_as_if_they_had_not_come():
    plan = plan_of(QUERIES[3])
    for seed in range(2 if SLOW else 20):
        draw = random.Random(seed)
        events = random_events(draw, "ABCD", 25, 20)
        draw.shuffle(events)
        given, run, on_time, latest = arrivals(plan, events), Disordered(plan), [], 0
        for at, event in enumerate(events):
            if event["time"] >= latest - 4:
                on_time.append(at)
            latest = max(latest, event["time"])
            run.feed(given.part(at, at + 1)).tell(latest - 4)
        expected = by_oracle(plan, [events[at] for at in on_time])
        assert [match[:2] for match in run.finish()] == sorted((on_time[start], on_time[end]) for start, end, _ in expected)
        assert run.matcher.counters()["late"] == len(events) - len(on_time)


def test_times_at_the_ends_of_their_range_are_told_apart():
    low, high = np.iinfo(np.int64).min, np.iinfo(np.int64).max
    for text, times, expected in (
        ("SELECT * WHERE A ; B WITHIN 5", (high - 2, high), 1),
        ("SELECT * WHERE A ; B WITHIN 5", (low + 1, low + 3), 1),
        ("SELECT * WHERE A ; B WITHIN 5", (low + 1, high), 0),
        ("SELECT * WHERE A ; B ; NOT C WITHIN 5", (high - 2, high), 1),
        ("SELECT * WHERE NOT C ; A ; B WITHIN 5", (low, low + 3), 1),
    ):
        plan = plan_of(text)
        events = [{"type": kind, "time": time, "key": None, "v": None, "w": None, "s": None} for kind, time in zip("AB", times, strict=True)]
        run = Disordered(plan).feed(arrivals(plan, events))
        run.tell(low + 1)
        assert len(run.tell(high).finish()) == expected, (text, times)


def test_the_matcher_neither_changes_nor_keeps_the_arrays_it_is_given():
    plan = plan_of(QUERIES[4])
    _, _, events = drawn(QUERIES[4], 6)
    given, run = arrivals(plan, events), Disordered(plan)
    for piece in (given.part(0, 9), given.part(9, 18)):
        arrays = [array for array in vars(piece.batch).values() if array is not None]
        before = [array.copy() for array in arrays]
        run.feed(piece)
        assert all((one == other).all() for one, other in zip(arrays, before, strict=True))
        for array in arrays:
            array.fill(1)
    assert run.finish() == by_oracle(plan, events)


def test_batches_without_events_change_nothing():
    plan = plan_of(QUERIES[2])
    given = arrivals(plan, stream("a1 b2 d3"))
    run = Disordered(plan).feed(given.part(0, 0)).feed(given.part(0, 2)).feed(given.part(2, 2)).feed(given.part(2, 3))
    assert len(run.finish()) == 1
    assert Disordered(plan).finish() == []


def test_more_matches_than_allowed_are_an_error():
    plan = plan_of("SELECT * WHERE A WITHIN 5")
    matcher, _ = make_disorder_matcher(plan, Budget(matches=2))
    with pytest.raises(Spent):
        list(matcher.advance(arrivals(plan, stream("aaa")).batch))


def test_what_was_forgotten_begins_no_match():
    plan = plan_of("SELECT * WHERE A ; B WITHIN 50")
    given = arrivals(plan, stream("a1 a5 b6"))
    run = Disordered(plan).feed(given.part(0, 2))
    run.matcher.shed(3)
    assert [match[:2] for match in run.feed(given.part(2, 3)).finish()] == [(1, 2)]
