"""From query text and a short stream to a matcher and its batches, without a runtime in between."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pyarrow as pa

from eventide.language import parse
from eventide.match.dag.matching.matcher import DagMatcher
from eventide.match.disorder.matcher import DisorderMatcher
from eventide.match.disorder.settings import ArrivalBatch
from eventide.match.protocol import EventBatch
from eventide.match.recompute.matcher import RecomputeMatcher
from eventide.match.runs.matcher import RunsMatcher
from eventide.pattern import WindowUnit
from eventide.plan.expressions.operators import Encoding
from eventide.plan.expressions.schema import Kind, StreamSchema
from eventide.plan.matchers.protocol import DISORDER
from eventide.plan.matchers.registry import ARRIVAL as ARRIVES
from eventide.plan.matchers.registry import make_matcher, make_plan
from eventide.runtime.budget.limits import StageLimits
from eventide.runtime.prepare.sequences import ARRIVAL, layout_of, preparation_of, role_columns
from eventide.runtime.relational.duckdb import DuckAdapter

# The matchers that the conformance suite judges, by the name that forces each of them.
MATCHERS = {"automaton": DagMatcher, "runs": RunsMatcher, "recompute": RecomputeMatcher}
# Those that run every query; recomputation is for (some) sequences of events and loops, without NOT at the end.
GENERAL = ("automaton", "runs")
# The one that takes events as they arrive is for sequences of single events in a time window.
CLASSES = MATCHERS | {DISORDER: DisorderMatcher}

ENGINE = DuckAdapter()
LOWEST = np.iinfo(np.int64).min
SCHEMA = StreamSchema(
    {"time": Kind.INTEGER, "type": Kind.STRING, "key": Kind.INTEGER, "v": Kind.INTEGER, "w": Kind.FLOAT, "s": Kind.STRING},
    time="time",
    type="type",
)
COLUMNS = pa.schema(
    [
        pa.field("time", pa.int64()),
        pa.field("type", pa.string()),
        pa.field("key", pa.int64()),
        pa.field("v", pa.int64()),
        pa.field("w", pa.float64()),
        pa.field("s", pa.string()),
        pa.field(ARRIVAL, pa.int64()),
    ]
)


def stream(text, *, keys=None, v=None, w=None, s=None):
    """`a1 b2` is an A at time 1 and a B at time 2, `abc` an A, a B and a C at times 0, 1 and 2."""
    names = text.split() if any(letter.isdigit() for letter in text) else [f"{letter}{at}" for at, letter in enumerate(text)]
    columns = {"key": keys, "v": v, "w": w, "s": s}
    return [
        {"type": name[0].upper(), "time": int(name[1:])}
        | {column: None if given is None else given[at] for column, given in columns.items()}
        for at, name in enumerate(names)
    ]


def plan_of(text, matcher=None):
    """Plan a query over the columns that `stream` makes."""
    query = parse(text) if isinstance(text, str) else text
    return make_plan(query, {"stream": SCHEMA}, _describe, matcher=matcher)


def _describe(trees):
    return ENGINE.kinds(_merged(COLUMNS.empty_table()), trees)


def _merged(events):
    return ENGINE.extend(ENGINE.read(events), role_columns(SCHEMA, 0, ENGINE.dialect))


@dataclass(frozen=True)
class Input:
    """The events of a plan as kernels take them, sorted by key and then by time; `event[row]` is the index of the event."""

    batch: EventBatch
    event: np.ndarray

    def part(self, begin, end):
        """Return a stretch of the input."""
        rows = slice(begin, end)
        return Input(
            EventBatch(
                self.batch.mask[rows].copy(),
                self.batch.clock[rows].copy(),
                self.batch.window_start[rows].copy(),
                None if self.batch.key is None else self.batch.key[rows].copy(),
                None if self.batch.restart is None else self.batch.restart[rows].copy(),
                values=self.batch.values[:, rows].copy(),
                valid=self.batch.valid[:, rows].copy(),
            ),
            self.event[rows],
        )

    def interleaved(self):
        """Return the same events in the order of arrival, each key in a slot of its own."""
        order = np.argsort(self.event, kind="stable")
        batch = self.batch
        slot = (np.cumsum(batch.restart) - 1).astype(np.int32)
        return Input(
            EventBatch(
                batch.mask[order],
                batch.clock[order],
                batch.window_start[order],
                key=slot[order],
                values=np.ascontiguousarray(batch.values[:, order]),
                valid=np.ascontiguousarray(batch.valid[:, order]),
            ),
            self.event[order],
        )

    def cut(self, *places):
        """Return the pieces between the places."""
        edges = [0, *places, len(self.event)]
        return [self.part(begin, end) for begin, end in pairwise(edges)]


def prepare(plan, events):
    """Let DuckDB compute the bits and values of the events, as Prepare does."""
    layout = layout_of(plan)
    rows = pa.Table.from_pylist([{**event, ARRIVAL: at} for at, event in enumerate(events)], COLUMNS)
    preparation = preparation_of(plan, layout, ENGINE.dialect)
    columns = [*preparation.columns, ("event", ARRIVAL)]
    table = ENGINE.result(replace(preparation, spread_by=layout.keys, columns=columns).of(ENGINE, _merged(rows)))
    size = table.num_rows
    keys = list(zip(*(table[name].to_pylist() for name in layout.keys), strict=True)) or [()] * size
    restart = np.array([row == 0 or keys[row] != keys[row - 1] for row in range(size)], np.uint8)
    values = np.zeros((len(plan.values), size), np.int64)
    valid = np.zeros((len(plan.values), size), np.uint8)
    codes = {text: number for number, text in enumerate(plan.strings)}
    for number, value in enumerate(plan.values):
        for row, item in enumerate(table[layout.values[number]].to_pylist()):
            valid[number, row] = item is not None
            if item is None:
                continue
            if value.encoding is Encoding.CODE:
                values[number, row] = codes.setdefault(item, len(codes))
            else:
                values[number, row] = item if value.encoding is Encoding.INTEGER else np.float64(item).view(np.int64)
    clock, low = _window(plan, table[layout.clock].to_numpy().copy(), restart)
    batch = EventBatch(table[layout.mask].to_numpy().copy(), clock, low, restart=restart, values=values, valid=valid)
    return Input(batch, table["event"].to_numpy().copy())


def _window(plan, time, restart):
    window = plan.window
    if window is None:
        return time, np.full(len(time), LOWEST)
    if window.unit is WindowUnit.EVENTS:
        position = np.arange(len(time)) - np.maximum.accumulate(np.where(restart, np.arange(len(time)), 0))
        return position, position - window.size
    if window.slide is not None:
        return time, (time // window.slide + 1) * window.slide - window.size
    return time, time - window.size


class Run:
    """A matcher at work: gives it batches, follows its row numbers and reads the matches it finds."""

    def __init__(self, plan, *, quota=None, **options):
        self.plan = plan
        self.arrives = plan.choice.forced == DISORDER
        make = ARRIVES.make if self.arrives else make_matcher
        self.matcher, self.labelling = make(plan, StageLimits(**options))
        self.key = -1
        if quota is not None:
            self.matcher._settings = replace(self.matcher._settings, quota=quota)
        self.kept = np.empty(0, np.int64)
        self.matches = []
        self.sizes = []

    def feed(self, given):
        """Give one batch and keep what the matcher still needs."""
        events = np.concatenate([self.kept, given.event])
        for found in self.matcher.advance(self.batch(given)):
            self.take(found, events)
        self.kept = events[self.matcher.keep()]
        return self

    def batch(self, given):
        """Return a batch as the matcher takes it: events in order, or in the order of arrival."""
        batch = given.batch
        if not self.arrives:
            return batch
        key = batch.key
        if key is None:
            key = self.key + np.cumsum(batch.restart, dtype=np.int32)
            self.key = int(key[-1]) if len(key) else self.key
        return ArrivalBatch(batch.mask, batch.clock, given.event.copy(), None, key, batch.values, batch.valid)

    def finish(self):
        """End the stream and return the matches, sorted."""
        for found in self.matcher.finish():
            self.take(found, self.kept)
        return sorted(self.matches)

    def take(self, found, events):
        labels = self.labelling.automaton.labels
        self.sizes.append(len(found.start))
        for match in range(len(found.start)):
            begin, end = found.offset[match], found.offset[match + 1]
            steps = list(zip(events[found.row[begin:end]].tolist(), found.label[begin:end].tolist(), strict=True))
            bindings = {
                name: tuple(event for event, label in steps if name in labels[label].variables)
                for name in self.plan.output.kept
            }
            start, last = int(events[found.start[match]]), int(events[found.end[match]])
            self.matches.append((start, last, tuple(sorted(bindings.items()))))

    def moved(self, plan):
        """Return the run as it goes on in another matcher that loads this one's state."""
        other = Run(plan)
        other.matcher.load(self.matcher.dump())
        other.kept, other.matches, other.key = self.kept, list(self.matches), self.key
        return other


def matches_of(plan, pieces, **options):
    """Run a plan over batches and return the matches, sorted."""
    run = Run(plan, **options)
    for piece in pieces:
        run.feed(piece)
    return run.finish()


def ends_of(matches):
    """Return how many matches end at each event."""
    counts = {}
    for _, end, _ in matches:
        counts[end] = counts.get(end, 0) + 1
    return counts


def supports(matches):
    """Return the events of each match, sorted, whatever they are bound to."""
    return sorted(tuple(sorted({event for _, bound in bindings for event in bound})) for _, _, bindings in matches)
