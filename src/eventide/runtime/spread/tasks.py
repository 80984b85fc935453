"""How Spark's tasks share the events and the matches of a plan over a table."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import from_arrow_schema

from eventide.errors import errors, warn
from eventide.executors.workers import through_workers
from eventide.plan.matchers.registry import enumerated_plan
from eventide.plan.matchers.slices import why_not_sliced
from eventide.plan.plan import Plan
from eventide.runtime.budget.limits import StageLimits
from eventide.runtime.collect.choice import stage_for
from eventide.runtime.prepare.sequences import CLOCK, finish_of, layout_of, preparation_of
from eventide.runtime.relational.spark import SparkAdapter
from eventide.runtime.relational.spark_types import spark_schema
from eventide.runtime.spread.distribution import AUTO, PLAIN, SHUFFLED_SLICES, SLICES, distribute
from eventide.runtime.spread.estimate import Estimate, EstimateRow
from eventide.runtime.spread.packing import MOST_BYTES
from eventide.runtime.spread.refining import SENT, WORKER, finding, judging
from eventide.runtime.spread.slices import PACKED, SLICE, by_slice, packing, slicing
from eventide.runtime.waiting import waiting

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql import types as st

    from eventide.runtime.inputs import EventInput
    from eventide.runtime.options import RunOptions
    from eventide.runtime.prepare.sequences import Layout
    from eventide.runtime.spread.distribution import Distribution
    from eventide.runtime.stage.assembly import TableStage

SLAB = "__et_slab"
HOME = "__et_home"


class TaskWork:
    """The run of a plan whose matches Spark's tasks share in one of several ways."""

    def __init__(self, source: EventInput, plan: Plan, options: RunOptions) -> None:
        assert isinstance(source.engine, SparkAdapter)
        self._engine = source.engine
        self._source = source
        self._limits = StageLimits(options.max_matches, options.max_steps, max_memory=options.max_memory)
        self._distribution = distribution_of(source, plan, options)
        cut = self._distribution.strategy is not None or options.distribution == SLICES
        self._plan = enumerated_plan(plan) if cut else plan
        self._layout = layout_for(self._plan, self._distribution)
        if self._distribution.name == "one task" and plan.window is None:
            warn("The query has neither PARTITION BY nor a window that cuts the stream, so one task does all the matching.")

    def prepare(self) -> DataFrame:
        """Return the prepared events, spread over tasks and sorted."""
        return prepared_for_tasks(self._source, self._plan, self._layout, self._distribution)

    def match(self, prepared: DataFrame) -> DataFrame:
        """Return what the match stages of all tasks find."""
        distribution = self._distribution
        stage = stage_for(self._plan, self._layout, self._engine.schema(prepared), self._limits)
        if distribution.strategy is not None or distribution.broadcast:
            found_by = _sliced if distribution.strategy is None else _refined
            return found_by(prepared, stage, distribution, spark_schema(stage.schema, prepared.schema))
        run = stage.run if distribution.slices == 1 else by_slice(stage, distribution.slices)
        found: DataFrame = self._engine.through(prepared, run, stage.schema)
        return found

    def finish(self, found: DataFrame) -> DataFrame:
        """Return the rows of the result."""
        finished: DataFrame = finish_of(self._plan, self._engine.dialect).of(self._engine, found)
        return finished

    def explained(self) -> str:
        """Return how the events are distributed, and Spark's own plan."""
        return f"distribution: {self._distribution}\n{self._engine.explained(self.finish(self.match(self.prepare())))}"


def _sliced(prepared: DataFrame, stage: TableStage, distribution: Distribution, schema: st.StructType) -> DataFrame:
    """Return the matches of events that one partition holds in order, each task enumerating a slice."""
    number = distribution.slices
    packed = through_workers(prepared, packing(stage, number, adaptive=distribution.adaptive), from_arrow_schema(PACKED))
    tasks = prepared.sparkSession.range(0, number, 1, number).select(sf.col("id").cast("int").alias(SLICE))
    return through_workers(tasks.crossJoin(sf.broadcast(packed)), slicing(stage), schema)


def _refined(prepared: DataFrame, stage: TableStage, distribution: Distribution, schema: st.StructType) -> DataFrame:
    """Return the matches of events that one partition holds in order, judged by several tasks."""
    assert distribution.strategy is not None and isinstance(stage.plan, Plan)
    run = finding(stage.plan, stage.layout, distribution.strategy, distribution.slices)
    sent = through_workers(prepared, run, from_arrow_schema(SENT))
    spread = sent.repartitionById(distribution.slices, WORKER).sortWithinPartitions(WORKER, "number")
    return through_workers(spread, judging(stage.plan, stage.layout, stage.limits.max_matches), schema)


def distribution_of(source: EventInput, plan: Plan, options: RunOptions) -> Distribution:
    """Choose how a plan is spread over tasks; "auto" counts first, all other ways look at nothing."""
    assert isinstance(source.engine, SparkAdapter)
    default = source.engine.default_tasks()
    if options.distribution != AUTO:
        return distribute(plan, options.slices, default, options.distribution)
    plain = distribute(plan, None, default, PLAIN)
    tasks = options.slices or default
    if why_not_sliced(plan) is not None or tasks == 1:
        return plain
    estimate = _estimate(source, plan, plain)
    if not estimate.worth_spreading or not estimate.uneven(tasks):
        return replace(plain, reason=f"{plain.reason}; {estimate.described()}")
    way = SLICES if estimate.bytes < MOST_BYTES else SHUFFLED_SLICES
    return replace(distribute(plan, tasks, tasks, way), reason=estimate.described())


def _estimate(source: EventInput, plan: Plan, distribution: Distribution) -> Estimate:
    layout = layout_for(plan, distribution)
    prepared = prepared_for_tasks(source, plan, layout, distribution)
    stage = stage_for(plan, layout, source.engine.schema(prepared), collector=EstimateRow)
    counted = source.engine.through(prepared, stage.run, stage.schema)
    with errors(), waiting("Eventide counts the matches on Spark, to see how to share them"):
        return Estimate.total(Estimate(*row) for row in counted.collect())


def layout_for(plan: Plan, distribution: Distribution) -> Layout:
    """Return the names of the prepared columns; a slab is a key, and says which of its events are its own."""
    slab = distribution.slab is not None
    return layout_of(plan, home=slab, slab=slab)


def prepared_for_tasks(source: EventInput, plan: Plan, layout: Layout, distribution: Distribution) -> DataFrame:
    """Return the prepared events, spread over tasks and sorted."""
    preparation = preparation_of(plan, layout, source.engine.dialect)
    frame = source.events
    if layout.home is not None:
        frame = _with_slabs(frame, plan, distribution)
        preparation = replace(preparation, narrow=[*preparation.narrow, (layout.keys[-1], SLAB), (layout.home, HOME)])
    elif distribution.shuffled_slices:
        numbers = sf.sequence(sf.lit(0), sf.lit(distribution.slices - 1))
        frame = frame.withColumn(SLICE, sf.explode(numbers))
        preparation = preparation.carrying(SLICE)
    elif not distribution.keyed:
        preparation = preparation.together()
    prepared: DataFrame = preparation.of(source.engine, frame)
    return prepared


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
