"""Each task reads all events and enumerates its slice of the matches (DCORE, Abella 2022, 4.3).

The prepared events are packed by one task and broadcast; the slices are the rows of a range, one a task. So nothing is shuffled
behind the broadcast, and the slices know nothing of each other.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby, pairwise
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from eventide.runtime.spread.estimate import estimate_of
from eventide.runtime.spread.packing import gathered, pack_events, unpack_events

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from eventide.runtime.stage.assembly import TableStage

    Batches = Iterator[pa.RecordBatch]

SLICE = "__et_slice"
PACKED = pa.schema([("number", pa.int32()), ("tasks", pa.int32()), ("events", pa.binary())])


def by_slice(stage: TableStage, slices: int) -> Callable[[Batches], Batches]:
    """Return what runs a stage over events that a shuffle has sent to every slice."""

    def run(batches: Batches) -> Batches:
        for number, part in _parts(batches):
            yield from _of_slice(stage, slices, number).run(part)

    return run


def _of_slice(stage: TableStage, slices: int, number: int) -> TableStage:
    return replace(stage, limits=replace(stage.limits, slices=slices, slice_index=number))


def _parts(batches: Batches) -> Iterator[tuple[int, Batches]]:
    """Cut batches that are sorted by slice where the slice changes."""

    def pieces() -> Iterator[tuple[int, pa.RecordBatch]]:
        for batch in batches:
            numbers = batch.column(batch.schema.get_field_index(SLICE)).to_numpy()
            borders = np.flatnonzero(np.diff(numbers)) + 1
            for begin, end in pairwise([0, *borders.tolist(), len(numbers)] if len(numbers) else []):
                yield int(numbers[begin]), batch.slice(begin, end - begin)

    for number, part in groupby(pieces(), key=lambda piece: piece[0]):
        yield number, (batch for _, batch in part)


def packing(stage: TableStage, slices: int, *, adaptive: bool) -> Callable[[Batches], Batches]:
    """Return the task that packs all events, and says how many tasks are worth it."""

    def run(batches: Batches) -> Batches:
        table = gathered(batches)
        if table is None:
            return
        tasks = slices
        if adaptive and not estimate_of(stage, table).worth_spreading:
            tasks = 1
        for number, pack in enumerate(pack_events(table)):
            yield pa.RecordBatch.from_arrays(
                [pa.array([number], pa.int32()), pa.array([tasks], pa.int32()), pa.array([pack], pa.binary())], PACKED.names
            )

    return run


def slicing(stage: TableStage) -> Callable[[Batches], Batches]:
    """Return the tasks that enumerate a slice each of what they all unpack."""

    def run(batches: Batches) -> Batches:
        packs: dict[tuple[int, int], list[tuple[int, bytes]]] = {}
        for batch in batches:
            names = (SLICE, "tasks", "number", "events")
            for slice_index, tasks, number, pack in zip(*(batch[name].to_pylist() for name in names), strict=True):
                if slice_index < tasks:
                    packs.setdefault((slice_index, tasks), []).append((number, pack))
        for (slice_index, tasks), parts in packs.items():
            events = unpack_events(pack for _, pack in sorted(parts, key=lambda part: part[0]))
            yield from _of_slice(stage, tasks, slice_index).run(events)

    return run
