"""What totals of groups hold in place of partial matches: it gives every new event what its matches can reach, however events come.

It has no kernel and finds no matches, so neither steps nor matches are capped.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from eventide.match.totals import reached
from eventide.match.totals.reached import ReachableEvents
from match.building import plan_of, prepare
from match.cases import CASES, names_of

WINDOWED = pytest.mark.parametrize("case", [case for case in CASES if "WITHIN" in case.text], ids=names_of)


def told(numbers, events, row):
    """Return the number of an event and all that is told of it."""
    return (
        int(numbers[row]),
        *(column[..., row].tolist() for column in (events.mask, events.clock, events.values, events.valid)),
    )


class Reaching:
    """Events held for a plan: gives them batches and notes what each new event reaches, by the numbers of the events."""

    def __init__(self, plan):
        self.plan = plan
        self.holder = ReachableEvents(len(plan.values))
        self.kept = np.empty(0, np.int64)
        self.reached = {}

    def feed(self, given):
        """Give one batch and keep what is held."""
        events = np.concatenate([self.kept, given.event])
        for found in self.holder.advance(given.batch):
            held = found.events
            numbers = events[found.rows]
            for begin, end in itertools.pairwise(found.offsets):
                assert len(set(held.slot[begin:end].tolist())) == 1
                for row in np.flatnonzero(found.fresh[begin:end]) + begin:
                    near = [other for other in range(begin, row + 1) if held.clock[other] >= held.low[row]]
                    self.reached[int(numbers[row])] = [told(numbers, held, other) for other in near]
        self.kept = events[self.holder.keep()]
        return self

    def moved(self):
        """Return the same in another process."""
        other = Reaching(self.plan)
        other.holder.load(self.holder.dump())
        other.kept, other.reached = self.kept, dict(self.reached)
        return other


def by_definition(given):
    """Return the events of its key that each event can reach: not before its window begins, and none after it."""
    batch = given.batch
    return {
        int(given.event[row]): [
            told(given.event, batch, other)
            for other in range(row + 1)
            if batch.key[other] == batch.key[row] and batch.clock[other] >= batch.window_start[row]
        ]
        for row in range(len(given.event))
    }


def given_to(case, seed=0, length=7):
    plan = case.plan(None)
    return plan, prepare(plan, case.events(seed, length)).interleaved()


@WINDOWED
def test_every_way_to_cut_the_input_gives_new_events_what_they_can_reach(case):
    plan, given = given_to(case)
    inner = range(1, len(given.event))
    for cuts in itertools.chain.from_iterable(itertools.combinations(inner, number) for number in range(len(given.event))):
        run = Reaching(plan)
        for piece in given.cut(*cuts):
            run.feed(piece)
        assert run.reached == by_definition(given), cuts


@WINDOWED
def test_a_dump_after_every_event_changes_nothing(case):
    plan, given = given_to(case, seed=1, length=9)
    run = Reaching(plan)
    for row in range(len(given.event)):
        run = run.feed(given.part(row, row + 1)).feed(given.part(row, row)).moved()
    assert run.reached == by_definition(given)


@WINDOWED
def test_the_arrays_that_are_given_are_neither_changed_nor_kept(case):
    plan, given = given_to(case, seed=2, length=9)
    run, wanted = Reaching(plan), by_definition(given)
    for piece in given.cut(4):
        arrays = [array for array in vars(piece.batch).values() if array is not None]
        before = [array.copy() for array in arrays]
        run.feed(piece)
        assert all((one == other).all() for one, other in zip(arrays, before, strict=True))
        for array in arrays:
            array.fill(1)
    assert run.reached == wanted


def test_events_that_no_window_to_come_can_reach_are_forgotten():
    plan = plan_of("SELECT COUNT(*) AS n WHERE A ; B WITHIN 3 GROUP BY END")
    events = [{"type": "A", "time": time, "key": None, "v": None, "w": None, "s": None} for time in range(50)]
    run = Reaching(plan)
    for piece in prepare(plan, events).interleaved().cut(*range(5, 50, 5)):
        run.feed(piece)
        assert len(run.kept) <= 4
    list(run.holder.advance_time(1000))
    assert not len(run.holder.keep()) and not run.holder.live_keys().any()


def test_a_state_of_another_version_is_refused(monkeypatch):
    holder = ReachableEvents(0)
    monkeypatch.setattr(reached, "STATE_VERSION", 99)
    state = holder.dump()
    monkeypatch.undo()
    with pytest.raises(ValueError, match="version 99"):
        holder.load(state)
