"""Micro-batches as Spark runs them, without Spark: events are packed, every bucket loads its state and dumps it again.

Prepare is that of an open stream. Tests that ask only for results push to an open stream itself (`live/`).
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa

import eventide as et
from eventide import pipeline
from eventide.api import pushed_events
from eventide.errors import EventideWarning
from eventide.runtime.options import RunOptions
from eventide.runtime.relational.duckdb import DuckAdapter
from eventide.runtime.streams.bucket import Bucket, BucketOutput
from eventide.runtime.streams.bucket_query import RESULT_COLUMNS
from eventide.runtime.streams.live.flow import Flow
from eventide.runtime.streams.output import CHANGE
from eventide.runtime.streams.planning.jobs import StreamOptions
from eventide.runtime.streams.planning.sequences import sequence_work
from eventide.runtime.streams.shuffle import gathered, spread

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eventide.plan.plan import Plan
    from eventide.runtime.relational.standing import StandingQuery
    from eventide.runtime.streams.planning.work import StreamWork

ENGINE = DuckAdapter()
END_OF_TIME = 1 << 62


@dataclass
class Run:
    """A streaming run of some queries; every micro-batch loads and dumps the state of every bucket, as on Spark."""

    queries: Mapping[str, et.Query]
    events: Mapping[str, et.Events]
    """Empty tables with the roles of the columns, by stream."""
    options: StreamOptions = field(default_factory=StreamOptions)
    registry: bool = False
    states: dict[int, bytes] = field(default_factory=dict)
    found: dict[str, list[pa.Table]] = field(default_factory=dict)
    counters: list[dict[str, Any]] = field(default_factory=list)
    prepared_schema: pa.Schema | None = None
    force: str | None = None

    def __post_init__(self) -> None:
        self.plans: dict[str, Plan] = {}
        pushed = {name: pushed_events(name, events) for name, events in self.events.items()}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EventideWarning)
            for name, query in self.queries.items():
                self.source = query.input_of(None, pushed)
                self.plans[name] = pipeline.plan(query.model, self.source, RunOptions(matcher=self.force))
        self.work = self.planned()
        self.job = self.work.job

    def planned(self) -> StreamWork:
        """Return what the run does."""
        return sequence_work(self.plans, ENGINE.dialect, self.options, registry=self.registry)

    @cached_property
    def _prepare(self) -> StandingQuery:
        # Warnings are of planning, which is over.
        quiet = replace(self.work, warnings=())
        return ENGINE.standing(Flow(ENGINE, self.source.events, quiet).prepare())

    def prepared(self, tables: Mapping[str, pa.Table]) -> pa.Table:
        """Prepare a micro-batch as the relational engine does."""
        return self._prepare.run(tables)

    def feed(self, tables: Mapping[str, pa.Table]) -> list[BucketOutput]:
        """Take one micro-batch and return what each bucket puts out."""
        batches = self.prepared(tables).to_batches()
        rows = [row for batch in spread(self.job, 0, batches) for row in batch.to_pylist()]
        return self.take({place: [row["body"] for row in rows if row["bucket"] == place] for place in self.job.places()})

    def take(self, bodies: Mapping[int, list[bytes]]) -> list[BucketOutput]:
        emitted = []
        for number, parts in bodies.items():
            if not parts:
                continue
            bucket = Bucket(self.job, number)
            if number in self.states:
                bucket.load(self.states[number])
            table, clocks, counted, _ = gathered(parts)
            self.prepared_schema = table.schema
            result = bucket.take(table, clocks)
            result.counters.events, result.counters.untimed = counted["events"], counted["untimed"]
            self.states[number] = bucket.dump(result.counters)
            emitted.append(self._collected(result))
        return emitted

    def advance_clock(self, time: int = END_OF_TIME) -> list[BucketOutput]:
        """Say that all streams have come to a time, as an event that concerns no query would."""
        emitted = []
        for number in sorted(self.states):
            bucket = Bucket(self.job, number)
            bucket.load(self.states[number])
            assert self.prepared_schema is not None
            result = bucket.take(self.prepared_schema.empty_table(), dict.fromkeys(range(self.job.streams), time))
            self.states[number] = bucket.dump(result.counters)
            emitted.append(self._collected(result))
        return emitted

    def _collected(self, result: BucketOutput) -> BucketOutput:
        self.counters.append(vars(result.counters))
        for name, table in result.tables:
            self.found.setdefault(name, []).append(table)
        return result

    def result(self, name: str) -> pa.Table:
        """Return the rows of a query that came out so far."""
        return self.finished(name, self.found.get(name, []))

    def finished(self, name: str, tables: list[pa.Table]) -> pa.Table:
        """Turn what came out of buckets into rows as a user sees them, corrections applied."""
        query = self.work.queries[name]
        kept = [sums(tables)] if tables and CHANGE in tables[0].column_names else tables
        if kept and kept[0].num_rows:
            found = pa.concat_tables(kept).drop_columns(list(RESULT_COLUMNS))
        else:
            found = query.leaving(self._prepare.schema).empty_table()
        shown = query.shown(found.schema, ENGINE.dialect)
        return ENGINE.result(ENGINE.select(ENGINE.read(found), shown, query.kept(ENGINE.dialect)))


def sums(tables: list[pa.Table]) -> pa.Table:
    """Add corrections up: every match must have been shown once more than taken back, or as often."""
    balance: dict[tuple[int, int], list[Any]] = {}
    for number, table in enumerate(tables):
        ids = zip(table[RESULT_COLUMNS[2]].to_pylist(), table[RESULT_COLUMNS[3]].to_pylist(), strict=True)
        for row, (identity, change) in enumerate(zip(ids, table[CHANGE].to_pylist(), strict=True)):
            entry = balance.setdefault(identity, [0, number, row])
            entry[0] += 1 if change == "+" else -1
            assert entry[0] in (0, 1), "shown twice, or taken back without being shown"
            if change == "+":
                entry[1:] = [number, row]
    kept = [(number, row) for count, number, row in balance.values() if count]
    parts = [tables[number].slice(row, 1) for number, row in kept] or [tables[0].slice(0, 0)]
    return pa.concat_tables(parts).drop_columns([CHANGE])
