"""Spark batch: Catalyst prepares, shuffles and sorts, Python workers match many keys per Arrow batch, Catalyst finishes."""

from __future__ import annotations

import warnings
from contextlib import redirect_stdout
from dataclasses import replace
from functools import reduce
from io import StringIO
from itertools import groupby
from typing import TYPE_CHECKING

from pyspark.errors import PySparkException
from pyspark.sql import functions as sf
from pyspark.sql import types as st
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

from eventide.errors import BindError, EventideWarning
from eventide.plan.matchers.slices import enumerated_plan, why_not_sliced
from eventide.plan.schema import Kind
from eventide.plan.sequences.output import TIME_COLUMN, Slot, SlotKind
from eventide.plan.totals.results import Groups
from eventide.runtime.collect.counts import APPROXIMATE, MATCHES, CountStage
from eventide.runtime.collect.group_schema import group_schema
from eventide.runtime.collect.groups import GroupStage
from eventide.runtime.collect.ranked import RANK, chosen_stage, with_seed
from eventide.runtime.prepare.sequences import (
    ARRIVAL,
    CLOCK,
    STREAM,
    TIE,
    SparkDialect,
    finish_columns,
    finish_filter,
    layout_of,
    prepared_columns,
    role_columns,
    row_filter,
)
from eventide.runtime.relational.spark_errors import bad_expression
from eventide.runtime.spread.distribution import AUTO, PLAIN, SHUFFLED_SLICES, SLICES, Distribution, distribute
from eventide.runtime.spread.estimate import COLUMNS, Estimate, EstimateStage
from eventide.runtime.spread.packing import MOST_BYTES
from eventide.runtime.spread.refining import refined_elsewhere
from eventide.runtime.spread.slices import SLICE, sliced
from eventide.runtime.stage.stage import MatchStage, StageOptions
from eventide.runtime.tables.source import Options, Source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import pyarrow as pa
    from pyspark.sql import DataFrame
    from sqlglot import exp

    from eventide.plan.plan import Plan
    from eventide.plan.schema import StreamSchema
    from eventide.runtime.prepare.sequences import Layout
    from eventide.runtime.tables.source import StreamSettings

    Batches = Iterator[pa.RecordBatch]

DIALECT = SparkDialect()
SLAB = "__et_slab"
HOME = "__et_home"

_KINDS: list[tuple[type[st.DataType], Kind]] = [
    (st.IntegralType, Kind.INTEGER),
    (st.FractionalType, Kind.FLOAT),
    (st.StringType, Kind.STRING),
    (st.BooleanType, Kind.BOOLEAN),
    (st.TimestampType, Kind.TIMESTAMP),
    (st.TimestampNTZType, Kind.TIMESTAMP),
    (st.DateType, Kind.DATE),
]


def spark_kind(kind: st.DataType) -> Kind:
    """Return what conditions can do with a Spark type."""
    if isinstance(kind, st.DecimalType):
        return Kind.DECIMAL if kind.precision <= 15 else Kind.OTHER
    return next((found for cls, found in _KINDS if isinstance(kind, cls)), Kind.OTHER)


class SparkSource(Source):
    """Spark DataFrames; nothing runs before the result is asked for."""

    def __init__(self, streams: Mapping[str, tuple[StreamSchema, DataFrame]] | None, frame: DataFrame) -> None:
        self._frame = frame
        self._streams = streams

    @classmethod
    def of(cls, frame: DataFrame) -> SparkSource:
        """Take a DataFrame."""
        if not hasattr(frame, "mapInArrow"):
            raise BindError(
                "UNKNOWN_DATA", f"A {type(frame).__name__} cannot be read as events.", hint="Give a Spark DataFrame."
            )
        return cls(None, frame)

    def columns(self) -> dict[str, Kind]:
        """Return the columns with their kinds."""
        return {field.name: spark_kind(field.dataType) for field in self._frame.schema}

    def with_streams(self, streams: Mapping[str, tuple[Source, StreamSchema]]) -> Source:
        """Return a source over several DataFrames."""
        frames = {}
        for name, (source, schema) in streams.items():
            assert isinstance(source, SparkSource)
            frames[name] = (schema, source._frame)  # noqa: SLF001 - the same class
        if len({frame.isStreaming for _, frame in frames.values()}) > 1:
            raise BindError(
                "MIXED_STREAMS",
                "Some DataFrames are streams and some are not.",
                hint="Read all of them with spark.readStream, or all with spark.read.",
            )
        return SparkSource(frames, self._frame)

    @property
    def streaming(self) -> bool:
        """Whether the events are an unbounded stream."""
        return bool(self._frame.isStreaming)

    def describe(self, trees: Sequence[exp.Expression]) -> list[Kind]:
        """Return the kinds of expressions over one event, as Spark's analyser sees them."""
        with_columns = [f"{DIALECT.sql(tree)} AS c{number}" for number, tree in enumerate(trees)]
        try:
            schema = self.all_events().selectExpr(*with_columns).schema
        except PySparkException as error:
            raise bad_expression(error) from None
        return [spark_kind(field.dataType) for field in schema]

    def match(self, plan: Plan, options: Options) -> DataFrame:
        """Return the matches as a lazy DataFrame."""
        if self.streaming:
            return self._stream_match(plan, options)
        if plan.results is not None:
            return self._over_all(with_seed(plan), StageOptions(options.max_matches))
        distribution = self.distribution(plan, options)
        if distribution.name == "one task" and plan.window is None:
            warnings.warn(
                "The query has neither PARTITION BY nor a window that cuts the stream, so one task does all the matching.",
                EventideWarning,
                stacklevel=3,
            )
        return self._finish(plan, self._found(plan, options, distribution))

    def distribution(self, plan: Plan, options: Options) -> Distribution:
        """Choose how a plan is spread over tasks; "auto" counts first, all other ways look at nothing."""
        if options.distribution != AUTO:
            return distribute(plan, options.slices, self._default_slices(), options.distribution)
        plain = distribute(plan, None, self._default_slices(), PLAIN)
        tasks = options.slices or self._default_slices()
        if why_not_sliced(plan) is not None or tasks == 1:
            return plain
        estimate = self._estimate(plan, plain)
        if not estimate.worth_spreading or not estimate.uneven(tasks):
            return replace(plain, reason=f"{plain.reason}; {estimate.described()}")
        way = SLICES if estimate.bytes < MOST_BYTES else SHUFFLED_SLICES
        return replace(distribute(plan, tasks, tasks, way), reason=estimate.described())

    def _estimate(self, plan: Plan, distribution: Distribution) -> Estimate:
        layout, prepared = self.prepared(plan, distribution)
        schema = st.StructType([st.StructField(name, st.DoubleType()) for name in COLUMNS])

        def run(batches: Batches) -> Batches:
            yield EstimateStage(plan, layout).row(batches)

        return Estimate.total(Estimate(*row) for row in prepared.mapInArrow(run, schema).collect())

    def _stream_match(self, plan: Plan, options: Options) -> DataFrame:
        from eventide.runtime.streams.spark.events import match_stream  # noqa: PLC0415 - batch runs need none of it

        return match_stream(self.all_events(None), plan, options, self._stream_distribution(plan, options).slices)

    def _stream_distribution(self, plan: Plan, options: Options) -> Distribution:
        from eventide.runtime.streams.planning.slices import distribute_stream  # noqa: PLC0415 - batch runs need none of it

        return distribute_stream(plan, options, self._default_slices())

    def find_timeouts(self, plan: Plan, settings: StreamSettings) -> DataFrame:
        """Return the partial matches that timed out."""
        if not self.streaming:
            return self._table_timeouts(plan)
        from eventide.runtime.streams.spark.timeouts import timeout_stream  # noqa: PLC0415 - batch runs need none of it

        return timeout_stream(self.all_events(None), plan, self.describe, settings)

    def _table_timeouts(self, plan: Plan) -> DataFrame:
        from eventide.runtime.tables.spark_timeouts import timeout_table  # noqa: PLC0415 - other runs need none of it

        def matches(part: Plan) -> DataFrame:
            distribution = distribute(part, None, self._default_slices())
            return self._finish(part, self._found(part, Options(), distribution))

        return timeout_table(plan, self.describe, self.all_events().schema[TIME_COLUMN].dataType, matches)

    def match_all(self, plans: Mapping[str, Plan], options: Options) -> DataFrame:
        """Run several plans over these events: a stream in one pass, a table once for each."""
        if self.streaming:
            from eventide.runtime.streams.spark.queries import match_queries  # noqa: PLC0415 - batch runs need none of it

            return match_queries(self.all_events(None), plans, options)
        frames = [self.match(plan, options).select(sf.lit(name).alias("query"), "*") for name, plan in plans.items()]
        return reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), frames)

    def late(self, settings: StreamSettings) -> DataFrame:
        """Return the events of a stream that come later than the lateness allows."""
        if not self.streaming:
            return super().late(settings)  # type: ignore[no-any-return]
        from eventide.runtime.streams.spark.events import late_stream  # noqa: PLC0415 - batch runs need none of it

        assert self._streams is not None
        columns = list(dict.fromkeys(name for _, frame in self._streams.values() for name in frame.columns))
        return late_stream(self.all_events(None), columns, [schema for schema, _ in self._streams.values()], settings)

    def count(self, plan: Plan) -> DataFrame:
        """Count the matches of each key."""
        if self.streaming:
            raise BindError(
                "COUNT_ON_STREAM",
                "The number of all matches of a stream is never final.",
                hint='Count what comes out: q.match(events).groupBy("key").count() in complete or update mode.',
            )
        layout, prepared = self._whole_groups(plan)
        keys = [st.StructField(name, prepared.schema[name].dataType) for name in layout.keys[: len(plan.keys)]]
        counts = [st.StructField(MATCHES, st.StringType()), st.StructField(APPROXIMATE, st.DoubleType())]
        counted = prepared.mapInArrow(_count_function(plan, layout), st.StructType([*keys, *counts]))
        return counted.toDF(*(name.text for name in plan.query.partition_by), MATCHES, APPROXIMATE)

    def _whole_groups(self, plan: Plan) -> tuple[Layout, DataFrame]:
        """Return the prepared events, all of a PARTITION BY group in one task."""
        distribution = distribute(plan, None, self._default_slices())
        if distribution.slab is not None or distribution.slices > 1 or (plan.derived_keys and not plan.keys):
            # Totals of parts would have to be added up, and they can be larger than any type that Spark adds.
            distribution = Distribution("one task", "totals of an unkeyed query")
        return self.prepared(plan, distribution, whole_groups=True)

    def _over_all(self, plan: Plan, options: StageOptions) -> DataFrame:
        """Return a result over all matches: whole groups in each task, the chosen ones of all tasks put together."""
        layout, prepared = self._whole_groups(plan)
        if not isinstance(plan.results, Groups):
            schema = found_schema(plan, layout, prepared.schema)
            return self._finish(plan, prepared.mapInArrow(_chosen_function(plan, layout, options), schema))
        arrow = to_arrow_schema(prepared.schema, timezone="UTC")
        schema = from_arrow_schema(group_schema(plan, layout, arrow))
        return prepared.mapInArrow(_group_function(plan, layout, arrow, options), schema)

    def output_schema(self, plan: Plan) -> st.StructType:
        """Return the schema of the result."""
        if self.streaming:
            return self._stream_match(plan, Options()).schema
        if plan.results is not None:
            return self._over_all(plan, StageOptions()).schema
        distribution = distribute(plan, None, self._default_slices())
        return self._finish(plan, self._found(plan, Options(), distribution)).schema

    def physical(self, plan: Plan, options: Options | None = None) -> str | None:
        """Return how the events are distributed and Spark's own plan."""
        options = options or Options()
        if self.streaming:
            from eventide.runtime.streams.planning.jobs import reorder_reason  # noqa: PLC0415 - batch runs need none of it

            distribution = self._stream_distribution(plan, options)
            reason = reorder_reason(plan, slices=distribution.slices)
            order = "events are matched as they arrive" if reason is None else f"events wait for the watermark ({reason})"
            return f"distribution: {distribution}; {order}\n{captured_explain(self._stream_match(plan, options))}"
        if plan.results is not None:
            return captured_explain(self._over_all(plan, StageOptions()))
        distribution = self.distribution(plan, options)
        explained = captured_explain(self._finish(plan, self._found(plan, options, distribution)))
        return f"distribution: {distribution}\n{explained}"

    def _default_slices(self) -> int:
        session = self._frame.sparkSession
        return max(1, min(8, int(session.conf.get("spark.sql.shuffle.partitions", "8") or 8)))

    def all_events(self, arrival: str | None = "monotonically_increasing_id()") -> DataFrame:
        """Return the events of all streams with the columns of their roles; a stream numbers arrivals itself."""
        assert self._streams is not None
        frames = []
        for number, (schema, frame) in enumerate(self._streams.values()):
            roles = role_columns(schema, number, DIALECT, arrival or "CAST(NULL AS BIGINT)")
            frames.append(frame.selectExpr("*", *(f"{sql} AS {name}" for name, sql in roles)))
        merged = frames[0]
        for frame in frames[1:]:
            merged = merged.unionByName(frame, allowMissingColumns=True)
        return merged

    def _order(self) -> list[str]:
        """Return the columns that order events; those that never differ are left out of the sort."""
        assert self._streams is not None
        schemas = [schema for schema, _ in self._streams.values()]
        order = [CLOCK]
        if any(schema.tie_break for schema in schemas):
            order.append(TIE)
        if len(schemas) > 1:
            order.append(STREAM)
        order.append(ARRIVAL)
        return order

    def prepared(
        self, plan: Plan, distribution: Distribution, *, whole_groups: bool = False
    ) -> tuple[Layout, DataFrame]:
        """Return the prepared events, spread and sorted; `whole_groups` keeps all of a PARTITION BY group in one task."""
        slab = distribution.slab is not None
        layout = layout_of(plan, home=slab, slab=slab)
        frame = self.all_events().where(row_filter(plan, DIALECT))
        columns = prepared_columns(plan, layout, DIALECT)
        if slab:
            frame = _with_slabs(frame, plan, distribution)
            columns.append((layout.keys[-1], SLAB))
            assert layout.home is not None
            columns.append((layout.home, HOME))
        if distribution.shuffled_slices:
            numbers = sf.sequence(sf.lit(0), sf.lit(distribution.slices - 1))
            frame = frame.withColumn(SLICE, sf.explode(numbers))
            columns.append((SLICE, SLICE))
        order = self._order()
        try:
            narrow = frame.selectExpr(*(f"{sql} AS {DIALECT.quote(name)}" for name, sql in columns), *order)
        except PySparkException as error:
            raise bad_expression(error) from None
        by_slice = [SLICE] if distribution.shuffled_slices else []
        keys = [] if plan.interleaved else list(layout.keys)
        spread_by = [*by_slice, *(keys[: len(plan.keys)] if whole_groups else keys)]
        alone = not distribution.keyed and not slab and not by_slice
        spread = narrow.repartition(1) if alone or not spread_by else narrow.repartition(*spread_by)
        ordered = spread.sortWithinPartitions(*(sf.col(name).asc_nulls_first() for name in (*by_slice, *keys, *order)))
        return layout, ordered.select(*by_slice, *layout.columns())

    def _found(self, plan: Plan, options: Options, distribution: Distribution) -> DataFrame:
        if distribution.strategy is not None or options.distribution == SLICES:
            plan = enumerated_plan(plan)
        layout, prepared = self.prepared(plan, distribution)
        schema = found_schema(plan, layout, prepared.schema)
        if distribution.strategy is not None:
            return refined_elsewhere(prepared, plan, layout, distribution, options.max_matches, schema)
        if distribution.broadcast:
            return sliced(prepared, plan, layout, distribution, options.max_matches, schema)
        run = _match_function(plan, layout, StageOptions(options.max_matches, distribution.slices))
        return prepared.mapInArrow(run, schema)

    def _finish(self, plan: Plan, found: DataFrame) -> DataFrame:
        condition = finish_filter(plan, DIALECT)
        if condition:
            found = found.where(condition)
        if plan.most_rows is not None:
            chosen = [] if plan.results is None else [RANK]
            found = found.orderBy(*chosen, "t", sf.col("o0").asc_nulls_first(), "o1", "o2").limit(plan.most_rows)
        try:
            return found.selectExpr(*(f"{sql} AS {DIALECT.quote(name)}" for name, sql in finish_columns(plan, DIALECT)))
        except PySparkException as error:
            raise bad_expression(error) from None


def _with_slabs(frame: DataFrame, plan: Plan, distribution: Distribution) -> DataFrame:
    """Give every event to the slab it lies in and to those that need it for their windows."""
    assert plan.window is not None
    size, slab, back = int(plan.window.size), distribution.slab, distribution.back
    home, first, last = (_slab_number(clock, slab) for clock in (CLOCK, f"({CLOCK} - {back})", f"({CLOCK} + {size})"))
    spread = frame.withColumn(SLAB, sf.explode(sf.expr(f"sequence({first}, {last})")))
    return spread.withColumn(HOME, sf.expr(f"CAST({SLAB} = {home} AS TINYINT)"))


def _slab_number(clock: str, slab: int | None) -> str:
    # In whole numbers, and right below zero: a double would lose the edge of a slab.
    return f"(({clock} - pmod({clock}, {slab}L)) div {slab}L)"


def _match_function(plan: Plan, layout: Layout, options: StageOptions) -> Callable[[Batches], Batches]:
    def run(batches: Batches) -> Batches:
        if options.slices == 1:
            yield from MatchStage(plan, layout, options).run(batches)
            return
        for number, part in _by_slice(batches):
            yield from MatchStage(plan, layout, replace(options, slice_index=number)).run(part)

    return run


def _count_function(plan: Plan, layout: Layout) -> Callable[[Batches], Batches]:
    def run(batches: Batches) -> Batches:
        yield from CountStage(plan, layout).run(batches)

    return run


def _chosen_function(plan: Plan, layout: Layout, options: StageOptions) -> Callable[[Batches], Batches]:
    def run(batches: Batches) -> Batches:
        yield from chosen_stage(plan, layout, options).run(batches)

    return run


def _group_function(
    plan: Plan, layout: Layout, prepared: pa.Schema, options: StageOptions
) -> Callable[[Batches], Batches]:
    def run(batches: Batches) -> Batches:
        yield from GroupStage(plan, layout, prepared, options).run(batches)

    return run


def _by_slice(batches: Batches) -> Iterator[tuple[int, Batches]]:
    """Cut batches that are sorted by slice where the slice changes."""

    def pieces() -> Iterator[tuple[int, pa.RecordBatch]]:
        for batch in batches:
            numbers = batch.column(batch.schema.get_field_index(SLICE)).to_numpy()
            begin = 0
            while begin < len(numbers):
                end = begin + int((numbers[begin:] == numbers[begin]).argmin() or len(numbers) - begin)
                if (numbers[begin:] == numbers[begin]).all():
                    end = len(numbers)
                yield int(numbers[begin]), batch.slice(begin, end - begin)
                begin = end

    for number, part in groupby(pieces(), key=lambda piece: piece[0]):
        yield number, (batch for _, batch in part)


def found_schema(plan: Plan, layout: Layout, prepared: st.StructType) -> st.StructType:
    """Return the schema that the match stage yields on Spark; it mirrors `slots.stage_schema` in Spark's types."""
    raw = {tree.name: prepared[name].dataType for tree, name in zip(plan.output.payload, layout.payload, strict=True)}
    events = st.StructType([st.StructField(name, raw[name]) for name in plan.output.event_fields])
    fields = [
        st.StructField(f"s{number}", _slot_type(slot, layout, prepared, events))
        for number, slot in enumerate(plan.output.slots)
    ]
    if layout.order:
        fields.extend(st.StructField(name, prepared[name].dataType) for name in (layout.clock, *layout.order))
    if plan.results is not None:
        fields.append(st.StructField(RANK, st.DoubleType()))
    return st.StructType(fields or [st.StructField("s", st.BooleanType())])


def _slot_type(slot: Slot, layout: Layout, prepared: st.StructType, events: st.StructType) -> st.DataType:
    if slot.kind in (SlotKind.COUNT, SlotKind.COUNT_VALUE):
        return st.LongType()
    if slot.kind is SlotKind.EVENTS:
        return st.ArrayType(events)
    assert slot.payload is not None
    if slot.kind is SlotKind.KEY:
        return prepared[layout.keys[slot.payload]].dataType
    base = prepared[layout.payload[slot.payload]].dataType
    if slot.kind is not SlotKind.SUM:
        return base
    if isinstance(base, st.DecimalType):
        return st.DecimalType(min(38, base.precision + 10), base.scale)
    return st.DoubleType() if isinstance(base, st.FractionalType) else st.LongType()


def captured_explain(frame: DataFrame) -> str:
    """Return what Spark says about how it would run a DataFrame."""
    text = StringIO()
    with redirect_stdout(text):
        frame.explain()
    return text.getvalue()
