"""The stream driver of this process: prepared events go to the buckets of a run, which keep their state in memory."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING

from eventide.runtime.streams.bucket import Bucket, BucketOutput, Counters
from eventide.runtime.streams.shuffle import Shares, shared_out

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import pyarrow as pa

    from eventide.runtime.streams.job import StreamJob


@dataclass
class DriverOutput:
    """What leaves the buckets of a run at one step: tables by query, and what was counted."""

    tables: dict[str, list[pa.Table]] = field(default_factory=dict)
    counters: Counters = field(default_factory=Counters)

    def add(self, emitted: BucketOutput) -> None:
        """Take what left one bucket."""
        for name, table in emitted.tables:
            self.tables.setdefault(name, []).append(table)
        mine, its = self.counters, emitted.counters
        for counter in fields(Counters):
            if counter.name not in ("watermark", "buckets"):
                setattr(mine, counter.name, getattr(mine, counter.name) + getattr(its, counter.name))
        # All buckets hear of all clocks.
        mine.watermark, mine.buckets = its.watermark, its.buckets


class StreamDriver:
    """All buckets of a run. It takes prepared events, hears of time, and hands state over by the numbers of places."""

    def __init__(self, job: StreamJob, prepared: pa.Schema) -> None:
        self._job = job
        self._empty = prepared.empty_table()
        self._buckets = {number: Bucket(job, number) for number in job.places()}

    @property
    def job(self) -> StreamJob:
        """The run."""
        return self._job

    @property
    def watermark(self) -> int | None:
        """The time below which no event is taken any more, or None while that is not known."""
        return next(iter(self._buckets.values())).watermark

    def take(self, prepared: pa.Table) -> DriverOutput:
        """Take a batch of prepared events."""
        shares = shared_out(self._job, prepared)
        output = self._stepped(lambda number, bucket: bucket.take(shares.rows[number], shares.clocks))
        output.counters.events, output.counters.untimed = shares.counted["events"], shares.counted["untimed"]
        return output

    def advance(self, clocks: Mapping[int, int]) -> DriverOutput:
        """Let streams come to a time without events."""
        shares = self._nothing()
        return self._stepped(lambda number, bucket: bucket.take(shares.rows[number], clocks))

    def finish(self) -> DriverOutput:
        """Let the streams come to their end."""
        shares = self._nothing()
        return self._stepped(lambda number, bucket: bucket.finish(shares.rows[number]))

    def _nothing(self) -> Shares:
        return shared_out(self._job, self._empty)

    def _stepped(self, step: Callable[[int, Bucket], BucketOutput]) -> DriverOutput:
        output = DriverOutput()
        for number, bucket in self._buckets.items():
            emitted = step(number, bucket)
            if self._job.max_state is not None:
                # As on Spark, where every micro-batch ends with a dump: what is above the cap is shed or refused.
                bucket.dump(emitted.counters)
            output.add(emitted)
        return output

    def measured(self) -> Counters:
        """Return what is held now."""
        held = DriverOutput()
        for bucket in self._buckets.values():
            emitted = BucketOutput()
            bucket.dump(emitted.counters)
            held.add(emitted)
        return held.counters

    def dump(self) -> dict[int, bytes]:
        """Return the state of all buckets by their numbers."""
        return {number: bucket.dump(Counters()) for number, bucket in self._buckets.items()}

    def load(self, states: Mapping[int, bytes]) -> None:
        """Go on from dumped states; those of other queries are refused, or left behind where a registry rules."""
        for number, state in states.items():
            self._buckets[number].load(state)
