"""State under WITHIN: what is kept depends on the window, never on the length of the stream."""

from __future__ import annotations

import os

import numpy as np
import pytest

from eventide.match.protocol import EventBatch
from match.building import MATCHERS, Run, plan_of, prepare, stream

SLOW = os.environ.get("NUMBA_DISABLE_JIT") == "1"
EVENTS = 4_000 if SLOW else 200_000
BATCH = 500 if SLOW else 10_000


def drawn(plan, types, length, seed, *, keys=1, values=False):
    """Draw a long stream as columns; every event is one of the types with equal chance."""
    random = np.random.default_rng(seed)
    sample = prepare(plan, stream("".join(types)))
    # Types that no bit asks for were dropped from the sample; they are events without bits.
    masks = np.zeros(len(types), np.int64)
    masks[sample.event] = sample.batch.mask
    slot = random.integers(0, keys, length).astype(np.int32)
    clock = np.arange(length, dtype=np.int64)
    low = clock - int(plan.window.size)
    columns = len(plan.values)
    numbers = random.integers(0, 100, (columns, length)) if values else np.zeros((columns, length), np.int64)
    return EventBatch(
        masks[random.integers(0, len(types), length)],
        clock,
        low,
        key=slot,
        reports=np.zeros(length, np.uint8),
        values=numbers,
        valid=np.ones((columns, length), np.uint8),
    )


def part_of(batch, begin, end):
    rows = slice(begin, end)
    return EventBatch(
        batch.mask[rows],
        batch.clock[rows],
        batch.window_start[rows],
        key=batch.key[rows],
        reports=batch.reports[rows],
        values=batch.values[:, rows],
        valid=batch.valid[:, rows],
    )


def footprint(text, matcher, types, length, **options):
    """Return the rows kept, the nodes alive and the room for nodes after each batch."""
    plan = plan_of(text, matcher)
    run = Run(plan)
    batch = drawn(plan, types, length, seed=1, **options)
    sizes = []
    for begin in range(0, length, BATCH):
        for _ in run.matcher.advance(part_of(batch, begin, begin + BATCH)):
            pass
        kept = run.matcher.keep()
        nodes = (0, 0) if matcher == "recompute" else (int(run.matcher._counters[0]), len(run.matcher._nodes.label))
        sizes.append((len(kept), *nodes, len(run.matcher.dump())))
    return np.array(sizes)


CASES = [
    ("SELECT * WHERE A ; B+ ; C WITHIN {}", "abcx"),
    ("SELECT * WHERE (A AND B) ; C+ WITHIN {}", "abcx"),
    ("SELECT * WHERE NOT X ; A ; B+ ; C WITHIN {}", "abcx"),
    ("SELECT * WHERE A ; B+ ; C ; NOT X WITHIN {}", "abcx"),
    ("SELECT MAX * WHERE A ; B+ ; C WITHIN {}", "abcx"),
]


@pytest.mark.parametrize(("text", "types"), CASES)
def test_the_automaton_keeps_no_more_than_the_window(text, types):
    window = 200
    sizes = footprint(text.format(window), "automaton", types, EVENTS)
    assert sizes[:, 0].max() <= window + 1
    half = len(sizes) // 2
    assert sizes[half:, 1].max() <= 1.2 * sizes[:half, 1].max()
    assert sizes[-1, 2] == sizes[half, 2], "the room for nodes grows with the stream"
    assert sizes[half:, 3].max() <= 1.2 * sizes[:half, 3].max(), "the dump grows with the stream"


def test_the_automaton_keeps_no_more_than_the_window_of_each_key():
    window, keys = 400, 50
    sizes = footprint("SELECT * WHERE A ; B+ ; C WITHIN 400", "automaton", "abcx", EVENTS, keys=keys)
    # A key that has had no event for a while still holds its last window.
    assert sizes[:, 0].max() <= 2 * window
    assert sizes[-1, 2] == sizes[len(sizes) // 2, 2]


def test_runs_keep_no_more_than_the_window():
    window = 40
    text = f"PATTERN SEQ(A a, B+ b[], C c) WHERE skip_till_next_match(a, b[], c) {{ a.v <= b[i].v }} WITHIN {window}"
    sizes = footprint(text, "runs", "abc", EVENTS // 2, values=True)
    assert sizes[:, 0].max() <= window + 1
    # A greedy run holds the events it took, and the runs of one window are all there are.
    assert sizes[:, 1].max() <= window * window
    assert sizes[-1, 2] == sizes[len(sizes) // 2, 2]


@pytest.mark.parametrize("text", ["SELECT * WHERE A ; B+ ; C WITHIN {}", "SELECT * WHERE NOT X ; A AS a ; B+ AS b FILTER a.v < b.v WITHIN {}"])
def test_recomputation_holds_the_events_of_the_window_and_nothing_else(text):
    window = 200
    sizes = footprint(text.format(window), "recompute", "abcx", EVENTS, values=True)
    assert sizes[:, 0].max() <= window + 1
    half = len(sizes) // 2
    assert sizes[half:, 3].max() <= 1.2 * sizes[:half, 3].max(), "the dump grows with the stream"
    # Every byte of the state belongs to an event, beside a header.
    assert sizes[:, 3].max() <= 2000 + 50 * window


@pytest.mark.parametrize("matcher", MATCHERS)
def test_a_stream_of_events_that_concern_nobody_keeps_nothing(matcher):
    sizes = footprint("SELECT * WHERE A ; B WITHIN 50", matcher, "x", BATCH * 5)
    assert sizes[:, 0].max() == 0 and sizes[:, 1].max() == 0


def test_the_work_of_an_event_does_not_grow_with_the_window():
    nodes = []
    for window in (100, 1000, 10_000):
        plan = plan_of(f"SELECT * WHERE A ; B+ ; C WITHIN {window}", "automaton")
        run = Run(plan)
        length = 2000 if SLOW else 20_000
        list(run.matcher.advance(drawn(plan, "abc", length, seed=2)))
        nodes.append(int(run.matcher._lists.length.max()))
    # Union-lists are what an event walks over: as long as there are states, not as there are events.
    assert max(nodes) <= 8


@pytest.mark.long
def test_two_million_events_leave_the_state_flat():
    sizes = footprint("SELECT * WHERE A ; B+ ; C WITHIN 1000", "automaton", "abcx", 2_000_000)
    half = len(sizes) // 2
    assert sizes[:, 0].max() <= 1001
    assert sizes[half:, 1].max() <= 1.1 * sizes[:half, 1].max()
    assert sizes[-1, 2] == sizes[10, 2]
