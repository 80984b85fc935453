"""Structured Streaming: Catalyst prepares, events are packed by bucket, shuffled and matched statefully, Catalyst finishes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import functions as sf

from eventide.errors import BindError, warn
from eventide.executors.workers import through_workers
from eventide.runtime.relational.spark_types import spark_schema
from eventide.runtime.streams.output import ORDERED, RESULT_ORDER
from eventide.runtime.streams.planning.jobs import typed_job
from eventide.runtime.streams.planning.results import shown_columns, with_identity, without_identity
from eventide.runtime.streams.reorder import sorted_rows
from eventide.runtime.streams.shuffle import spread
from eventide.runtime.streams.spark.beats import with_beats
from eventide.runtime.streams.spark.checkpoints import refuse_state_of_others
from eventide.runtime.streams.spark.processor import BODY, COUNTED, COUNTERS, EMITTED_SCHEMA, QUERY, bucket_processor
from eventide.runtime.streams.spark.state_store import use_rocksdb
from eventide.runtime.streams.state_bytes import table_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import Column, DataFrame, SparkSession

    from eventide.runtime.relational.spark import SparkAdapter
    from eventide.runtime.streams.job import StreamJob
    from eventide.runtime.streams.planning.work import StreamWork

    Batches = Iterator[pa.RecordBatch]

OBSERVATION = "eventide"
"""The name under which counters stand in the progress of a streaming query."""
ARRIVED = "current_timestamp() AS arrived"
"""The time of the micro-batch. A watermark on it rises with each, so Spark runs one more behind the last: that is the end."""
NO_DATA = "spark.sql.streaming.noDataMicroBatches.enabled"


class StreamRun:
    """The run of one query over a streaming DataFrame."""

    def __init__(self, engine: SparkAdapter, events: DataFrame, work: StreamWork, clause: int = 1, told: str = "") -> None:
        """Counters of further clauses of a statement have names with their numbers; `told` says how events are spread."""
        self._engine = engine
        self._events = events
        self._work = work
        self._observation = OBSERVATION if clause == 1 else f"{OBSERVATION}_{clause}"
        self._told = told
        ((self._name, self._query),) = work.queries.items()
        for warning in work.warnings:
            warn(warning)

    def prepare(self) -> DataFrame:
        """Return the prepared events."""
        return self._engine.select(self._events, self._work.columns)

    def match(self, prepared: DataFrame) -> DataFrame:
        """Return what leaves the buckets."""
        leaving = with_identity(self._query.leaving(self._engine.schema(prepared)), self._work.output)
        schema = spark_schema(leaving, prepared.schema)
        emitted = emit(prepared, self._work.job, self._observation)
        found = through_workers(emitted.where(sf.col(QUERY) == self._name).select(BODY), tables_of, schema)
        if self._work.output != ORDERED:
            return found
        # One task puts the results of all buckets in order; those of later micro-batches end later.
        return through_workers(found.repartition(1), in_order, schema)

    def finish(self, found: DataFrame) -> DataFrame:
        """Return the rows of the result."""
        dialect = self._engine.dialect
        shown = shown_columns(self._query.shown(without_identity(self._engine.schema(found)), dialect), self._work.output)
        return self._engine.select(found, shown, self._query.kept(dialect))

    def refuse_checkpoint(self, checkpoint: str) -> None:
        """Refuse a checkpoint whose state belongs to another query, or to other settings."""
        refuse_state_of_others(self._engine.session, with_types(self._work.job, self.prepare()), checkpoint)

    def explained(self) -> str:
        """Return how events are spread and matched, and Spark's own plan."""
        explained = self._engine.explained(self.finish(self.match(self.prepare())))
        return f"{self._told}\n{explained}" if self._told else explained


def emit(prepared: DataFrame, job: StreamJob, observation: str = OBSERVATION) -> DataFrame:
    """Return what leaves the buckets as rows of (query, packed table); counters are observed on the way."""
    use_rocksdb(prepared.sparkSession)
    job = with_types(job, prepared)
    arriving = prepared if job.idle is None else with_beats(prepared, job.idle)
    packed = through_workers(arriving, _spread_function(job), "bucket int, body binary")
    if job.finish:
        _refuse_no_last_batch(prepared.sparkSession)
        packed = packed.selectExpr("*", ARRIVED).withWatermark("arrived", "0 seconds")
    buckets, time = packed.groupBy("bucket"), "eventTime" if job.finish else "none"
    emitted = buckets.transformWithStateInPandas(bucket_processor(job), EMITTED_SCHEMA, "append", time)
    observed = emitted.observe(observation, *map(_observed, COUNTERS))
    return observed.where(f"{BODY} IS NOT NULL").select(QUERY, BODY)


def with_types(job: StreamJob, prepared: DataFrame) -> StreamJob:
    """Return a run that knows the types of its prepared columns."""
    return typed_job(job, {field.name: field.dataType.simpleString() for field in prepared.schema})


def _refuse_no_last_batch(session: SparkSession) -> None:
    if session.conf.get(NO_DATA, "true") == "false":
        raise BindError(
            "FINISH_NEEDS_NO_DATA_BATCHES",
            f"finish=True acts in a micro-batch without data, but {NO_DATA} is false.",
            hint=f'spark.conf.set("{NO_DATA}", "true")',
        )


def _observed(counter: str) -> Column:
    counted = sf.col(COUNTED)[COUNTERS.index(counter)]
    folded = sf.max(counted) if counter in ("watermark", "buckets") else sf.sum(counted)
    return folded.alias(counter)


def _spread_function(job: StreamJob) -> Callable[[Batches], Batches]:
    def run(batches: Batches) -> Batches:
        context = TaskContext.get()
        yield from spread(job, 0 if context is None else context.partitionId(), map(in_utc, batches))

    return run


def in_utc(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return a batch whose times name UTC and not the zone of the session, which may be another one after a restart."""
    schema = pa.schema([field.with_type(_in_utc(field.type)) for field in batch.schema])
    return batch if schema.equals(batch.schema) else batch.cast(schema)


def _in_utc(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_timestamp(kind):
        return kind if kind.tz is None else pa.timestamp(kind.unit, "UTC")
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_in_utc(field.type)) for field in kind])
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_in_utc(kind.value_type)))
    if pa.types.is_map(kind):
        item = kind.item_field.with_type(_in_utc(kind.item_type))
        return pa.map_(kind.key_field.with_type(_in_utc(kind.key_type)), item)
    return kind


def tables_of(batches: Batches) -> Batches:
    """Yield the tables that a column of packed ones holds."""
    for batch in batches:
        for body in batch.column(0):
            yield from table_of(body.as_buffer()).combine_chunks().to_batches()


def in_order(batches: Batches) -> Batches:
    """Put the results of a micro-batch in the order of their ends."""
    parts = list(batches)
    if parts:
        table = pa.Table.from_batches(parts).combine_chunks()
        yield from table.take(pa.array(sorted_rows(table, RESULT_ORDER))).combine_chunks().to_batches()
