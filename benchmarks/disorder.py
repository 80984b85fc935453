"""Disorder: the disorder-native operator against a reorder buffer in front of the in-order automaton (Li 2010, 4.6).

SEQ(A, B, C, D, E, F) WITHIN 20 over one event a time unit, the six types drawn uniformly. A share of the events is delayed by
1 to K time units; the watermark is the latest time less K. Times are those of the processor, best of three; all ratios are
taken in the same run.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

import eventide as et
from benchmarks.report import Figure
from eventide.match.disorder.settings import ArrivalBatch
from eventide.match.protocol import EventBatch
from eventide.plan.expressions.schema import Kind, StreamSchema
from eventide.plan.matchers.disorder import make_disorder_matcher
from eventide.plan.matchers.registry import make_matcher, make_plan
from eventide.runtime.budget.limits import StageLimits

SCHEMA = StreamSchema({"ts": Kind.INTEGER, "kind": Kind.STRING}, time="ts", type="kind")
WINDOW = 20
PLAIN = f"SELECT * WHERE A ; B ; C ; D ; E ; F WITHIN {WINDOW}"
NEGATED = f"SELECT * WHERE A ; B ; NOT G ; C ; D ; E ; F WITHIN {WINDOW}"
SHARES = (0, 10, 30, 50, 70, 90)
SLACKS = (5, 20, 100)
BATCH = 1_000


@dataclass(frozen=True)
class Stream:
    """Events in the order of arrival."""

    mask: np.ndarray
    clock: np.ndarray
    slack: int

    @classmethod
    def drawn(cls, events: int, share: int, slack: int, kinds: int = 6) -> Stream:
        draw = np.random.default_rng(events * 1000 + share * 7 + slack)
        delay = np.where(draw.random(events) < share / 100, draw.integers(1, max(slack, 1) + 1, events), 0)
        arrival = np.argsort(np.arange(events) + delay + np.where(delay > 0, 0.5, 0.0), kind="stable")
        return cls(np.left_shift(1, draw.integers(0, kinds, events))[arrival], arrival.astype(np.int64), slack)

    def watermarks(self, size: int) -> np.ndarray:
        """Return the watermark after each batch of that size."""
        latest = np.maximum.accumulate(self.clock)
        return latest[np.minimum(np.arange(size, len(latest) + size, size), len(latest)) - 1] - self.slack


class Engine:
    """A matcher with the times of its events beside it, as a runtime has their columns; matches come out as times."""

    def __init__(self, matcher) -> None:
        self.matcher = matcher
        self.times = np.empty(0, np.int64)

    @property
    def held(self) -> int:
        """How many events are held."""
        return len(self.times)

    def _read(self, found):
        """Return the times of the events of matches, one row a match."""
        return [self.times[matched.row].reshape(len(matched.start), -1) for matched in found]

    def _keep(self) -> None:
        self.times = self.times[self.matcher.keep()]


class Native(Engine):
    """The disorder-native operator."""

    def __init__(self, text: str) -> None:
        super().__init__(make_disorder_matcher(_plan(text))[0])

    def take(self, batch, watermark):
        self.times = np.concatenate([self.times, batch.clock])
        found = self._read(self.matcher.advance(batch)) + self._read(self.matcher.advance_time(watermark))
        self._keep()
        return found

    def end(self):
        return self._read(self.matcher.finish())


class Buffered(Engine):
    """The automaton behind a reorder buffer: events wait until no earlier one can come."""

    def __init__(self, text: str) -> None:
        super().__init__(make_matcher(_plan(text), StageLimits())[0])
        self.mask = self.clock = np.empty(0, np.int64)

    @property
    def held(self) -> int:
        return len(self.times) + len(self.clock)

    def take(self, batch, watermark):
        mask, clock = np.concatenate([self.mask, batch.mask]), np.concatenate([self.clock, batch.clock])
        ready = clock < watermark
        self.mask, self.clock = mask[~ready], clock[~ready]
        order = np.argsort(clock[ready], kind="stable")
        return self._advance(mask[ready][order], clock[ready][order])

    def end(self):
        return self.take(ArrivalBatch(*[np.empty(0, np.int64)] * 3), np.iinfo(np.int64).max)

    def _advance(self, mask, clock):
        self.times = np.concatenate([self.times, clock])
        found = self._read(self.matcher.advance(EventBatch(mask, clock, clock - WINDOW, key=np.zeros(len(mask), np.int32))))
        self._keep()
        return found


class Direct(Buffered):
    """The automaton alone, for events that are in order."""

    def take(self, batch, watermark):  # noqa: ARG002 - nothing waits here
        return self._advance(batch.mask, batch.clock)


def _plan(text: str):
    return make_plan(et.query(text).model, {"S": SCHEMA}, lambda trees: [Kind.INTEGER] * len(trees))


@dataclass(frozen=True)
class Run:
    """What one run over a stream cost and gave."""

    seconds: float
    matches: int
    rows: float
    counters: dict[str, int]


def run_over(stream: Stream, make, size: int = BATCH, repeat: int = 3) -> Run:
    """Run an engine over a stream in batches; `rows` is the mean number of events that it holds between them."""
    best, matches, rows, engine = float("inf"), 0, 0.0, make()
    sequence, watermarks = np.arange(len(stream.mask)), stream.watermarks(size)
    for attempt in range(repeat):
        engine = engine if attempt == 0 else make()
        matches, held, started = 0, 0, time.process_time()
        for number, begin in enumerate(range(0, len(stream.mask), size)):
            piece = slice(begin, begin + size)
            batch = ArrivalBatch(stream.mask[piece], stream.clock[piece], sequence[piece])
            matches += sum(map(len, engine.take(batch, watermarks[number])))
            held += engine.held
        matches += sum(map(len, engine.end()))
        best = min(best, time.process_time() - started)
        rows = held / len(watermarks)
    counters = engine.matcher.counters() if isinstance(engine, Native) else {}
    return Run(best, matches, rows, counters)


def latency(stream: Stream, make) -> float:
    """Return the mean event time from the arrival of the last of a match's events to the match, event by event."""
    engine, watermarks, latest = make(), stream.watermarks(1), np.maximum.accumulate(stream.clock)
    # The clock at which each event has arrived, by its time, which is unique.
    arrived = np.empty(len(stream.clock), np.int64)
    arrived[stream.clock] = latest
    total = matches = 0
    for at in range(len(stream.mask)):
        piece = slice(at, at + 1)
        batch = ArrivalBatch(stream.mask[piece], stream.clock[piece], np.array([at]))
        for times in engine.take(batch, watermarks[at]):
            total += int((latest[at] - arrived[times].max(axis=1)).sum())
            matches += len(times)
    return total / max(1, matches)


def disorder(events: int = 100_000) -> list[Figure]:
    """Sweep the share of late events, the slack and the size."""
    run_over(Stream.drawn(2_000, 30, 20), lambda: Native(PLAIN), repeat=1)
    figures = []
    for size in (events // 5 * step for step in range(1, 6)):
        stream = Stream.drawn(size, 30, 20)
        native, buffered = run_over(stream, lambda: Native(PLAIN)), run_over(stream, lambda: Buffered(PLAIN))
        assert native.matches == buffered.matches
        name = f"disorder, {size:,} events, 30 % late by up to 20"
        figures.append(Figure(f"{name}, native", size / native.seconds / 1e6, "M events/s"))
        figures.append(Figure(f"{name}, native / buffer", buffered.seconds / native.seconds, "times as fast"))
    for slack in SLACKS:
        for share in SHARES:
            figures += _against_buffer(events, share, slack)
    figures += _in_order(events)
    figures += _latencies(max(500, events // 20))
    figures += _appended(events)
    return figures


def _against_buffer(events: int, share: int, slack: int) -> list[Figure]:
    stream = Stream.drawn(events, share, slack)
    native, buffered = run_over(stream, lambda: Native(PLAIN)), run_over(stream, lambda: Buffered(PLAIN))
    assert native.matches == buffered.matches
    small = Stream(stream.mask[: events // 10], stream.clock[: events // 10], slack)
    native_rows = run_over(small, lambda: Native(PLAIN), size=10, repeat=1).rows
    buffered_rows = run_over(small, lambda: Buffered(PLAIN), size=10, repeat=1).rows
    name = f"disorder, {share} % late by up to {slack}"
    return [
        Figure(f"{name}, native", events / native.seconds / 1e6, "M events/s"),
        Figure(f"{name}, native / buffer", buffered.seconds / native.seconds, "times as fast"),
        Figure(f"{name}, events held, native / buffer", native_rows / buffered_rows, "ratio"),
    ]


def _in_order(events: int) -> list[Figure]:
    """Measure what the readiness for disorder costs when there is none (Fig. 4.9: 5 to 25 %)."""
    stream = Stream.drawn(events, 0, 0)
    native, direct = run_over(stream, lambda: Native(PLAIN)), run_over(stream, lambda: Direct(PLAIN))
    assert native.matches == direct.matches
    return [Figure("disorder, none, native / automaton without a buffer", direct.seconds / native.seconds, "times as fast")]


def _latencies(events: int) -> list[Figure]:
    figures = []
    for text, kinds, named in ((PLAIN, 6, "no NOT"), (NEGATED, 7, "a NOT between B and C")):
        for slack in SLACKS:
            stream = Stream.drawn(events, 30, slack, kinds)
            name = f"disorder, {named}, 30 % late by up to {slack}, latency"
            figures.append(Figure(f"{name}, native", latency(stream, lambda text=text: Native(text)), "time units"))
            figures.append(Figure(f"{name}, buffer", latency(stream, lambda text=text: Buffered(text)), "time units"))
    return figures


def _appended(events: int) -> list[Figure]:
    """Measure how many events AIS-CLOCK spares the search for their place."""
    figures = []
    for share in (0, 30, 90):
        done = run_over(Stream.drawn(events, share, 20), lambda: Native(PLAIN)).counters
        appended = 100 * done["appended"] / done["insertions"]
        figures.append(Figure(f"disorder, {share} % late, insertions that are appended", appended, "%"))
    return figures
