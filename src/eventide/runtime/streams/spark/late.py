"""The late events of a streaming DataFrame."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from eventide.executors.workers import through_workers
from eventide.runtime.prepare.sequences import CLOCK, STREAM
from eventide.runtime.streams.job import KeyHashing, StreamJob
from eventide.runtime.streams.planning.jobs import Projection
from eventide.runtime.streams.spark.processor import BODY
from eventide.runtime.streams.spark.run import emit, tables_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame

    from eventide.runtime.inputs import EventInput
    from eventide.runtime.relational.adapter import Batches
    from eventide.runtime.relational.spark import SparkAdapter
    from eventide.runtime.streams.planning.jobs import StreamOptions


class LateRun:
    """The run that returns the events that come later than the lateness allows, with their own columns."""

    def __init__(self, engine: SparkAdapter, source: EventInput, bound: StreamOptions) -> None:
        schemas = list(source.schema.values())
        projection = Projection()
        names = dict.fromkeys(name for frame in source.relations.values() for name in frame.columns)
        self._names = {projection.add(engine.dialect.quote(name)): name for name in names}
        clock = projection.add(CLOCK)
        stream = projection.add(STREAM) if len(schemas) > 1 else None
        unkeyed = KeyHashing(None, None)
        job = StreamJob((), (unkeyed,), clock, len(schemas), stream, bound.lateness, bound.buckets, late=True)
        self._job = replace(job, idle=bound.idle)
        self._engine, self._events, self._columns = engine, source.events, projection.columns()

    def prepare(self) -> DataFrame:
        """Return the events with the columns that are shown, and their clocks."""
        return self._engine.select(self._events, self._columns)

    def match(self, prepared: DataFrame) -> DataFrame:
        """Return the late events."""
        names = list(self._names)
        late = emit(prepared, self._job).select(BODY)
        return through_workers(late, _late_function(names), prepared.select(*names).schema)

    def finish(self, found: DataFrame) -> DataFrame:
        """Return the late events under their own names."""
        return found.toDF(*self._names.values())

    def explained(self) -> str:
        """Return Spark's own plan."""
        return self._engine.explained(self.finish(self.match(self.prepare())))


def _late_function(names: list[str]) -> Callable[[Batches], Batches]:
    def run(batches: Batches) -> Batches:
        for batch in tables_of(batches):
            yield batch.select(names)

    return run
