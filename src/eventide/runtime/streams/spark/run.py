"""Structured Streaming: Catalyst prepares, events are packed by bucket, shuffled and matched statefully, Catalyst finishes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark import TaskContext
from pyspark.errors import PySparkException
from pyspark.sql import functions as sf
from pyspark.sql import types as st

from eventide.errors import BindError
from eventide.runtime.prepare.sequences import SparkDialect
from eventide.runtime.relational.spark_errors import bad_expression
from eventide.runtime.streams.bucket_query import MATCH_HIGH, MATCH_LOW, RESULT_COLUMNS
from eventide.runtime.streams.output import CHANGE, EARLY, ORDERED, RESULT_ORDER
from eventide.runtime.streams.planning.jobs import fingerprint
from eventide.runtime.streams.reorder import sorted_rows
from eventide.runtime.streams.shuffle import spread
from eventide.runtime.streams.spark.processor import BODY, COUNTED, COUNTERS, EMITTED_SCHEMA, QUERY, BucketProcessor
from eventide.runtime.streams.state_bytes import table_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pyspark.sql import Column, DataFrame, SparkSession

    from eventide.runtime.streams.job import StreamJob

    Batches = Iterator[pa.RecordBatch]

DIALECT = SparkDialect()
OBSERVATION = "eventide"
"""The name under which counters stand in the progress of a streaming query."""
PROVIDER = "spark.sql.streaming.stateStore.providerClass"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
CHANGELOG = "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled"


def run_job(
    frame: DataFrame, job: StreamJob, columns: Sequence[tuple[str, str]], observation: str = OBSERVATION
) -> DataFrame:
    """Return what leaves the buckets as rows of (query, packed table); counters are observed on the way."""
    use_rocksdb(frame.sparkSession)
    prepared = selected(frame, columns)
    job = _typed(job, prepared.schema)
    packed = prepared.mapInArrow(_spread_function(job), "bucket int, body binary")
    emitted = packed.groupBy("bucket").transformWithStateInPandas(BucketProcessor(job), EMITTED_SCHEMA, "append", "none")
    observed = emitted.observe(observation, *map(_observed, COUNTERS))
    return observed.where(f"{BODY} IS NOT NULL").select(QUERY, BODY)


def selected(frame: DataFrame, columns: Sequence[tuple[str, str]]) -> DataFrame:
    """Return columns given as (name, SQL)."""
    try:
        return frame.selectExpr(*(f"{sql} AS {DIALECT.quote(name)}" for name, sql in columns))
    except PySparkException as error:
        raise bad_expression(error) from None


def unpacked(emitted: DataFrame, query: str, stage: st.StructType, output: str) -> DataFrame:
    """Return the results of one query with the columns of its match stage and those of its identity."""
    fields = [*stage.fields, *(st.StructField(name, st.LongType()) for name in RESULT_COLUMNS)]
    if output == EARLY:
        fields.append(st.StructField(CHANGE, st.StringType()))
    schema = st.StructType(fields)
    found = emitted.where(sf.col(QUERY) == query).select(BODY).mapInArrow(tables_of, schema)
    if output == ORDERED:
        # One task puts the results of all buckets in order; those of later micro-batches end later.
        found = found.repartition(1).mapInArrow(in_order, schema)
    return found


def shown_columns(columns: Sequence[tuple[str, str]], output: str) -> list[str]:
    """Return the select list of Finish; early results say what they change, and of which match."""
    selected = [f"{sql} AS {DIALECT.quote(name)}" for name, sql in columns]
    if output != EARLY:
        return selected
    for name, _ in columns:
        if name.lower() in ("change", "match_id"):
            raise BindError(
                "DUPLICATE_COLUMN",
                f"Early results have a column {name.lower()} of their own.",
                hint=f"Give yours another name: SELECT ... AS {name}_2.",
            )
    identity = " || ".join(f"lpad(lower(hex({column})), 16, '0')" for column in (MATCH_HIGH, MATCH_LOW))
    return [f"{CHANGE} AS change", f"{identity} AS match_id", *selected]


def refuse_nested(frame: DataFrame, keys: Sequence[str]) -> None:
    """Refuse keys that hold several values: their nulls cannot be told apart by a hash."""
    for name in keys:
        if isinstance(frame.schema[name].dataType, st.ArrayType | st.MapType | st.StructType | st.VariantType):
            raise BindError(
                "TYPE_MISMATCH",
                f"PARTITION BY cannot use {name} on a stream, its type is {frame.schema[name].dataType.simpleString()}.",
                hint="Partition by a number, text or time; take one out of it in a column of its own.",
            )


def use_rocksdb(session: SparkSession) -> None:
    """Choose the state store that stateful processors need, unless the user chose one."""
    chosen = session.conf.get(PROVIDER, "")
    if not chosen or chosen.endswith("HDFSBackedStateStoreProvider"):
        session.conf.set(PROVIDER, ROCKSDB)
    elif chosen != ROCKSDB:
        raise BindError(
            "STATE_STORE",
            f"The state store {chosen} was chosen, but Spark keeps the state of patterns in RocksDB only.",
            hint=f'spark.conf.set("{PROVIDER}", "{ROCKSDB}")',
        )
    if not session.conf.get(CHANGELOG, ""):
        session.conf.set(CHANGELOG, "true")


def _typed(job: StreamJob, schema: st.StructType) -> StreamJob:
    """Return the run with the types of its columns in what names its state: events of other types cannot join those held."""
    kinds = {field.name: field.dataType.simpleString() for field in schema}
    queries = [
        replace(query, fingerprint=fingerprint(query.fingerprint, [(own, kinds[name]) for own, name in query.columns]))
        for query in job.queries
    ]
    return replace(job, queries=tuple(queries))


def _observed(counter: str) -> Column:
    counted = sf.col(COUNTED)[COUNTERS.index(counter)]
    folded = sf.max(counted) if counter == "watermark" else sf.sum(counted)
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
