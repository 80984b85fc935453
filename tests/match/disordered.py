"""Streams in the order of arrival, the disorder-native matcher at work on them, and what the oracle says of the sorted stream."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from eventide.match.disorder.settings import ArrivalBatch
from eventide.match.disorder.state import NEWER, NONE, RIN, RIP, SEQUENCE
from eventide.plan.matchers.disorder import make_disorder_matcher
from eventide_reference import find_matches
from match.building import prepare


@dataclass(frozen=True)
class Arrivals:
    """The events of a plan as the disorder-native matcher takes them; `event[row]` is the index of the event."""

    batch: ArrivalBatch
    event: np.ndarray

    def part(self, begin, end):
        """Return a stretch of the arrivals."""
        rows, batch = slice(begin, end), self.batch
        return Arrivals(
            ArrivalBatch(
                batch.mask[rows].copy(),
                batch.clock[rows].copy(),
                batch.sequence[rows].copy(),
                batch.tie[rows].copy(),
                batch.key[rows].copy(),
                batch.values[:, rows].copy(),
                batch.valid[:, rows].copy(),
            ),
            self.event[rows],
        )


def arrivals(plan, events, ties=None):
    """Prepare events that stand in the order of arrival; `ties` are the tie-breaks.

    Events that concern no step are there as well, without a bit: they move the clock.
    """
    given = prepare(plan, events)
    size, columns = len(events), len(plan.values)
    batch = ArrivalBatch(
        np.zeros(size, np.int64),
        np.array([event["time"] for event in events], np.int64),
        np.arange(size, dtype=np.int64),
        np.zeros(size, np.int64) if ties is None else np.array(ties, np.int64),
        np.zeros(size, np.int32),
        np.zeros((columns, size), np.int64),
        np.zeros((columns, size), np.uint8),
    )
    batch.mask[given.event] = given.batch.mask
    batch.key[given.event] = np.cumsum(given.batch.restart) - 1
    batch.values[:, given.event] = given.batch.values
    batch.valid[:, given.event] = given.batch.valid
    return Arrivals(batch, np.arange(size))


def with_tie_break(plan):
    """Return the plan as it is for events with a tie-break."""
    return replace(plan, streams=tuple((name, replace(schema, tie_break="tie")) for name, schema in plan.streams))


class Disordered:
    """The matcher at work: gives it batches, moves its clock, follows its row numbers and reads the matches it finds."""

    def __init__(self, plan):
        self.plan = plan
        self.matcher, self.labelling = make_disorder_matcher(plan)
        self.kept = np.empty(0, np.int64)
        self.matches = []

    def feed(self, given):
        """Give one batch and keep what the matcher still needs."""
        events = np.concatenate([self.kept, given.event])
        for found in self.matcher.advance(given.batch):
            self.take(found, events)
        self.kept = events[self.matcher.keep()]
        return self

    def tell(self, watermark):
        """Move the clock."""
        for found in self.matcher.advance_time(watermark):
            self.take(found, self.kept)
        self.kept = self.kept[self.matcher.keep()]
        return self

    def finish(self):
        """End the stream and return the matches, sorted."""
        for found in self.matcher.finish():
            self.take(found, self.kept)
        return sorted(self.matches)

    def take(self, found, events):
        labels = self.labelling.automaton.labels
        for match in range(len(found.start)):
            begin, end = found.offset[match], found.offset[match + 1]
            steps = list(zip(events[found.row[begin:end]].tolist(), found.label[begin:end].tolist(), strict=True))
            bindings = {
                name: tuple(event for event, label in steps if name in labels[label].variables)
                for name in self.plan.output.kept
            }
            self.matches.append(
                (int(events[found.start[match]]), int(events[found.end[match]]), tuple(sorted(bindings.items())))
            )

    def moved(self):
        """Return the run as it goes on in another matcher that loads this one's state."""
        other = Disordered(self.plan)
        other.matcher.load(self.matcher.dump())
        other.kept, other.matches = self.kept, list(self.matches)
        return other

    def listed(self, number, slot=0):
        """Return the events of a list: of a step, or (behind all steps) of a NOT; oldest first."""
        return [self.event_of(own) for own in self.instances(number, slot)]

    def linked(self, step, slot=0):
        """Return the events of a step as (event, event of its RIP, event of its RIN), oldest first."""
        pool = self.matcher._pool
        return [tuple(map(self.event_of, (own, pool.link[own, RIP], pool.link[own, RIN]))) for own in self.instances(step, slot)]

    def instances(self, number, slot=0):
        """Return the instances of a list, oldest first."""
        pool, own, instances = self.matcher._pool, int(self.matcher._stacks.oldest[slot, number]), []
        while own != NONE:
            instances.append(own)
            own = int(pool.link[own, NEWER])
        return instances

    def event_of(self, instance):
        """Return the event of an instance; its number is the sequence in these tests."""
        return None if instance == NONE else int(self.matcher._pool.order[instance, SEQUENCE])


def by_oracle(plan, events, ties=None):
    """Return the matches of the sorted stream, in indices of the arrivals."""
    order = sorted(range(len(events)), key=lambda at: (events[at]["time"], 0 if ties is None else ties[at], at))
    found = find_matches(plan.query, [events[at] for at in order])
    return sorted(
        (
            order[match.start],
            order[match.end],
            tuple(sorted((name, tuple(order[at] for at in bound)) for name, bound in match.bindings.items())),
        )
        for match in found
    )


def delayed(draw, events, slack):
    """Let events arrive late, but never below the latest time before them less the slack."""
    arrival = sorted(range(len(events)), key=lambda at: (events[at]["time"] + draw.randint(0, slack), draw.random()))
    return [events[at] for at in arrival]


def watermark(events, slack):
    """Return what is known after these events have arrived."""
    return max(event["time"] for event in events) - slack


def random_events(draw, kinds, length, span):
    """Draw events in the order of time: types, keys, values with nulls, times with ties."""
    return [
        {
            "type": draw.choice(kinds),
            "time": time,
            "key": draw.choice([1, 2, 2, 3]),
            "v": draw.choice([1, 2, 3, 4, None]),
            "w": draw.choice([0.5, 1.5, None]),
            "s": None,
        }
        for time in sorted(draw.randrange(span) for _ in range(length))
    ]
