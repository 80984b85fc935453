"""Each task reads all events and enumerates its slice of the matches (DCORE, Abella 2022, 4.3).

The prepared events are packed by one task and broadcast; the slices are the rows of a range, one a task. So nothing is shuffled
behind the broadcast, and the slices know nothing of each other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import functions as sf
from pyspark.sql import types as st

from eventide.runtime.spread.estimate import EstimateStage
from eventide.runtime.spread.packing import gathered, pack_events, unpack_events
from eventide.runtime.stage.stage import MatchStage, StageOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import DataFrame

    from eventide.plan.plan import Plan
    from eventide.runtime.prepare.sequences import Layout
    from eventide.runtime.spread.distribution import Distribution

    Batches = Iterator[pa.RecordBatch]

SLICE = "__et_slice"
PACKED = st.StructType(
    [
        st.StructField("number", st.IntegerType()),
        st.StructField("tasks", st.IntegerType()),
        st.StructField("events", st.BinaryType()),
    ]
)


def sliced(
    prepared: DataFrame, plan: Plan, layout: Layout, distribution: Distribution, max_matches: int | None, schema: st.StructType
) -> DataFrame:
    """Return the matches of events that one partition holds in order, each task enumerating a slice."""
    number = distribution.slices
    packed = prepared.mapInArrow(_packing(plan, layout, number, adaptive=distribution.adaptive), PACKED)
    tasks = prepared.sparkSession.range(0, number, 1, number).select(sf.col("id").cast("int").alias(SLICE))
    return tasks.crossJoin(sf.broadcast(packed)).mapInArrow(_slicing(plan, layout, max_matches), schema)


def _packing(plan: Plan, layout: Layout, slices: int, *, adaptive: bool) -> Callable[[Batches], Batches]:
    def run(batches: Batches) -> Batches:
        table = gathered(batches)
        if table is None:
            return
        tasks = slices
        if adaptive and not EstimateStage(plan, layout).estimate(table.to_batches()).worth_spreading:
            tasks = 1
        for number, pack in enumerate(pack_events(table)):
            yield pa.RecordBatch.from_arrays(
                [pa.array([number], pa.int32()), pa.array([tasks], pa.int32()), pa.array([pack], pa.binary())], PACKED.names
            )

    return run


def _slicing(plan: Plan, layout: Layout, max_matches: int | None) -> Callable[[Batches], Batches]:
    def run(batches: Batches) -> Batches:
        packs: dict[tuple[int, int], list[tuple[int, bytes]]] = {}
        for batch in batches:
            names = (SLICE, "tasks", "number", "events")
            for slice_index, tasks, number, pack in zip(*(batch[name].to_pylist() for name in names), strict=True):
                if slice_index < tasks:
                    packs.setdefault((slice_index, tasks), []).append((number, pack))
        for (slice_index, tasks), parts in packs.items():
            stage = MatchStage(plan, layout, StageOptions(max_matches, tasks, slice_index))
            yield from stage.run(unpack_events(pack for _, pack in sorted(parts, key=lambda part: part[0])))

    return run
