"""The matches of one query found by several of Spark's tasks: slices of one enumeration, or candidates that others judge."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import from_arrow_schema

from eventide.plan.plan import Plan
from eventide.runtime.spread.refining import SENT, WORKER, finding, judging
from eventide.runtime.spread.slices import PACKED, SLICE, packing, slicing

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql import types as st

    from eventide.runtime.spread.distribution import Distribution
    from eventide.runtime.stage.assembly import TableStage


def sliced(prepared: DataFrame, stage: TableStage, distribution: Distribution, schema: st.StructType) -> DataFrame:
    """Return the matches of events that one partition holds in order, each task enumerating a slice."""
    number = distribution.slices
    packed = prepared.mapInArrow(packing(stage, number, adaptive=distribution.adaptive), from_arrow_schema(PACKED))
    tasks = prepared.sparkSession.range(0, number, 1, number).select(sf.col("id").cast("int").alias(SLICE))
    return tasks.crossJoin(sf.broadcast(packed)).mapInArrow(slicing(stage), schema)


def refined_elsewhere(
    prepared: DataFrame, stage: TableStage, distribution: Distribution, schema: st.StructType
) -> DataFrame:
    """Return the matches of events that one partition holds in order, judged by several tasks."""
    assert distribution.strategy is not None and isinstance(stage.plan, Plan)
    run = finding(stage.plan, stage.layout, distribution.strategy, distribution.slices)
    sent = prepared.mapInArrow(run, from_arrow_schema(SENT))
    spread = sent.repartitionById(distribution.slices, WORKER).sortWithinPartitions(WORKER, "number")
    return spread.mapInArrow(judging(stage.plan, stage.layout, stage.limits.max_matches), schema)
