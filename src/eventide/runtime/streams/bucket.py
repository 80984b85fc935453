"""One bucket of a stream between two micro-batches: its clock, its queries and what they have put out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from eventide.errors import DataError, LimitError
from eventide.runtime.relational.arrays import arrow_array, numpy_values
from eventide.runtime.relational.functions import kept, take
from eventide.runtime.streams.bucket_query import ID, NEVER
from eventide.runtime.streams.clocks import Clocks
from eventide.runtime.streams.job import DROP_OLDEST, ERROR, RUNTIMES, SPARK
from eventide.runtime.streams.output import EARLY, make_output
from eventide.runtime.streams.state_bytes import NotAState, pack, unpack

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import pyarrow as pa

    from eventide.runtime.streams.bucket_query import BucketQuery
    from eventide.runtime.streams.clocks import Beat
    from eventide.runtime.streams.job import StreamJob, StreamQuery
    from eventide.runtime.streams.output import OutputStage
    from eventide.runtime.streams.state_owner import HeldColumns

VERSION = 2
MIGRATIONS: dict[int, Callable[[dict[str, Any]], dict[str, Any]]] = {}
"""From a version of the state to the next one."""
GROUP = "__et_group"
COUNTED = "__et_counted"
ARRIVAL = "__et_arrival"
SHED_SHARE = 0.25
NUMBER_BITS = 44
END_OF_TIME = int(np.iinfo(np.int64).max)
"""The watermark of a stream that has ended."""


@dataclass
class Counters:
    """What happened in one micro-batch of a bucket, and what it holds behind it."""

    events: int = 0
    late: int = 0
    matches: int = 0
    timeouts: int = 0
    expired: int = 0
    dropped: int = 0
    untimed: int = 0
    partial: int = 0
    held: int = 0
    state_bytes: int = 0
    watermark: int | None = None
    buckets: int = 0


@dataclass
class BucketOutput:
    """What leaves a bucket: tables by query, and the counters."""

    tables: list[tuple[str, pa.Table]] = field(default_factory=list)
    counters: Counters = field(default_factory=Counters)


class Bucket:
    """The keys of one bucket, or a slice of their matches. Make it, load the state if there is one, take a micro-batch, dump."""

    def __init__(self, job: StreamJob, number: int) -> None:
        self._job = job
        self._place = job.places()[number]
        self._clocks = Clocks(job.streams, job.idle)
        self._watermark = NEVER
        self._nothing: pa.Table | None = None
        """The columns of events, once there were any."""
        # Numbers of events tell matches apart over all buckets; slices of one number the same events, and find different matches.
        self._next_id = self._place.bucket << NUMBER_BITS
        self._queries: dict[str, BucketQuery] = {query.name: job.bucket_query(query, self._place) for query in self._own()}
        self._outputs: dict[str, OutputStage] = {q.name: make_output(q.output, q.hold) for q in self._own()}

    @property
    def watermark(self) -> int | None:
        """The time below which no event is taken any more, or None while that is not known."""
        return None if self._watermark == NEVER else self._watermark

    def _own(self) -> list[StreamQuery]:
        """Return the queries that have events in this bucket."""
        return self._job.of_place(self._place)

    @property
    def _counts(self) -> bool:
        """Whether what all slices know alike is counted here: events and keys are the same in all, only matches are their own."""
        return self._place.slice == 0

    def take(self, rows: pa.Table, clocks: Mapping[int, int], beat: Beat | None = None) -> BucketOutput:
        """Take a micro-batch: events of this bucket, and the latest time of every stream that brought any to any bucket.

        A beat tells that time has passed, with events or without.
        """
        if self._watermark == END_OF_TIME:
            raise DataError(
                "STREAM_FINISHED",
                "The stream was finished by a run with finish=True, and now there are more events.",
                hint="Begin with a new checkpoint, and leave finish out where more events may come.",
            )
        emitted = BucketOutput()
        rows = self._arrived(rows)
        self._nothing = rows.slice(0, 0)
        rows = self._in_time(rows, emitted)
        self._clocks.hear(clocks, beat)
        slowest = self._clocks.slowest()
        if slowest is not None:
            self._watermark = max(self._watermark, slowest - self._job.lateness)
        self._advance(rows, emitted)
        return emitted

    def finish(self, rows: pa.Table | None = None) -> BucketOutput:
        """Say that no event comes any more: what that makes certain leaves. Rows without any tell the columns of events."""
        emitted = BucketOutput()
        self._watermark = END_OF_TIME
        nothing = self._nothing if rows is None else self._arrived(rows)
        if nothing is not None:
            self._advance(nothing, emitted, ended=True)
        return emitted

    def _advance(self, rows: pa.Table, emitted: BucketOutput, *, ended: bool = False) -> None:
        """Hand events in time and the watermark to the queries."""
        counters = emitted.counters
        hashing = numpy_values(rows.column(GROUP)) if len(self._job.hashings) > 1 else None
        for query in self._own():
            running = self._queries[query.name]
            events = query.events_of(rows, None if hashing is None else hashing == query.hashing)
            certain = running.advance(events, self._watermark)
            if ended and query.output != EARLY:
                # What waits for events and not for time is certain too; early output shows it as it always does.
                certain += running.speculate()
            certain = [table for table in certain if table.num_rows]
            found = sum(table.num_rows for table in certain)
            if query.timeouts:
                counters.timeouts += found
            else:
                counters.matches += found
            for table in self._outputs[query.name].take(certain, running, self._watermark):
                emitted.tables.append((query.name, table))
            expired = running.expired()
            counters.expired += expired if self._counts else 0
        counters.watermark = self.watermark
        counters.buckets = self._job.buckets

    def _arrived(self, rows: pa.Table) -> pa.Table:
        """Put events in the order of their arrival and number them."""
        arrival = numpy_values(rows.column(ARRIVAL))
        if (arrival[1:] < arrival[:-1]).any():
            rows = take(rows, arrow_array(np.argsort(arrival, kind="stable")))
        numbers = self._next_id + np.arange(rows.num_rows)
        self._next_id += rows.num_rows
        place = rows.column_names.index(ARRIVAL)
        return rows.set_column(place, ID, arrow_array(numbers))

    def _in_time(self, rows: pa.Table, emitted: BucketOutput) -> pa.Table:
        late = numpy_values(rows.column(self._job.clock)) < self._watermark
        if not late.any():
            return rows
        counted = late & numpy_values(rows.column(COUNTED)) if len(self._job.hashings) > 1 else late
        emitted.counters.late = int(np.count_nonzero(counted)) if self._counts else 0
        if self._job.late:
            emitted.tables.append(("late", kept(rows, arrow_array(late))))
        return kept(rows, arrow_array(~late))

    def dump(self, counters: Counters) -> bytes:
        """Return the whole state, and count what is held; what is above the cap is shed or refused."""
        state = self._packed()
        if self._job.max_state is not None and len(state) > self._job.max_state:
            state = self._shed(state, counters)
        counters.state_bytes = len(state)
        for running in self._queries.values() if self._counts else ():
            held = running.held()
            counters.held += held.events
            counters.partial += held.partial
        return state

    def _packed(self) -> bytes:
        parts: dict[str, Any] = {
            "version": VERSION,
            "buckets": self._job.buckets,
            "slices": self._job.slices,
            "engine": self._job.engine,
            "clocks": self._clocks.dump(),
            "watermark": self._watermark,
            "next_id": self._next_id,
            # Those that have no events here, too: every bucket can tell whose state it is.
            "queries": {query.name: query.owner.written() for query in self._job.queries},
            "outputs": {query.name: query.output for query in self._job.queries},
        }
        if self._job.finish and self._nothing is not None:
            parts["nothing"] = self._nothing
        for name, running in self._queries.items():
            parts[f"engine/{name}"] = running.dump()
            held = self._outputs[name].held
            if held is not None:
                parts[f"output/{name}"] = held
        return pack(parts)

    def _shed(self, state: bytes, counters: Counters) -> bytes:
        limit = self._job.max_state
        assert limit is not None
        while len(state) > limit:
            shed = 0
            if self._job.overflow == DROP_OLDEST:
                shed = sum(running.shed(SHED_SHARE) for running in self._queries.values())
            if not shed:
                raise LimitError(
                    "STATE_TOO_LARGE",
                    f"The state of a bucket has {len(state)} bytes, more than max_state allows ({limit}).",
                    hint=f"Narrow WITHIN or lateness, use more buckets, or raise max_state{self._other_way()}.",
                )
            counters.dropped += shed
            state = self._packed()
        return state

    def _other_way(self) -> str:
        return f', or let the oldest partial matches go: overflow="{DROP_OLDEST}"' if self._job.overflow == ERROR else ""

    def load(self, state: bytes) -> None:
        """Go on from a dumped state; state of other queries is refused, or left behind where a registry rules."""
        parts = _readable(state)
        # State that is older than streams without Spark was written on Spark.
        engine = parts.get("engine", SPARK)
        if engine != self._job.engine:
            raise DataError(
                "OTHER_RUNTIME",
                f"The state was written by a stream on {RUNTIMES[engine]}, this one runs on {RUNTIMES[self._job.engine]}: "
                "they hash keys in different ways, so no key would be found again.",
                hint="Go on where the state was written, or begin anew and replay the events of one window.",
            )
        if parts["buckets"] != self._job.buckets:
            raise DataError(
                "BUCKETS_CHANGED",
                f"The state was written with buckets={parts['buckets']}, this run has buckets={self._job.buckets}.",
                hint=f"Give buckets={parts['buckets']}, or begin with a new checkpoint.",
            )
        # State that is older than slices has none.
        slices = parts.get("slices", 1)
        if slices != self._job.slices:
            way_back = "Leave distribution and slices out" if slices == 1 else f"Give slices={slices}"
            raise DataError(
                "SLICES_CHANGED",
                f"The state was written with slices={slices}, this run has slices={self._job.slices}.",
                hint=f"{way_back}, or begin with a new checkpoint.",
            )
        streams = len(parts["clocks"]["latest"])
        if streams != self._job.streams:
            raise _changed(f"it read {streams} streams and reads {self._job.streams}")
        self._clocks.load(parts["clocks"])
        self._nothing = parts.get("nothing")
        self._watermark, self._next_id = parts["watermark"], parts["next_id"]
        known = parts["queries"]
        names = [query.name for query in self._job.queries]
        if not self._job.registry and set(known) != set(names):
            raise _changed(f"it was {', '.join(known)} and is {', '.join(names)}")
        for query in self._job.queries:
            if query.name not in known:
                continue
            if parts["outputs"][query.name] != query.output:
                raise _changed(f'output was "{parts["outputs"][query.name]}" and is "{query.output}"')
            change = query.owner.change_since(known[query.name])
            if change is not None and not self._job.registry:
                raise _changed(change)
            if change is None and query.name in self._queries:
                self._load_query(query, parts[f"engine/{query.name}"], query.owner.held_in(known[query.name]))
                self._outputs[query.name].held = parts.get(f"output/{query.name}")

    def _load_query(self, query: StreamQuery, state: bytes, held: HeldColumns) -> None:
        try:
            self._queries[query.name].load(state, held)
        except ValueError as error:
            # Matchers know the versions of their own state.
            raise _other_version(str(error)) from None


def _readable(state: bytes) -> dict[str, Any]:
    try:
        parts = unpack(state)
    except NotAState:
        raise DataError(
            "UNKNOWN_STATE",
            "Eventide did not write this state.",
            hint="Begin anew, with a new checkpoint.",
        ) from None
    while parts["version"] in MIGRATIONS:
        parts = MIGRATIONS[parts["version"]](parts)
    if parts["version"] != VERSION:
        raise _other_version(f"state {parts['version']}, this one reads {VERSION}")
    return parts


def _other_version(what: str) -> DataError:
    return DataError(
        "STATE_VERSION",
        f"The state was written by another version of Eventide ({what}).",
        hint="Run it with that version, or begin anew, with a new checkpoint.",
    )


def _changed(what: str) -> DataError:
    return DataError(
        "QUERY_CHANGED",
        f"The state was written by another query: {what}.",
        hint="Run the query that the state belongs to, or begin anew, with a new checkpoint.",
    )
