"""Spread: prepared events of a task become one packed row for each bucket, so that few and large rows are shuffled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from eventide.runtime.streams.bucket import ARRIVAL, COUNTED, GROUP
from eventide.runtime.streams.bucket_query import CHECK, KEY
from eventide.runtime.streams.clocks import Beat
from eventide.runtime.streams.job import BucketSlice
from eventide.runtime.streams.state_bytes import pack, unpack

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from eventide.runtime.streams.job import KeyHashing, StreamJob

ROWS_AT_ONCE = 1 << 20
TASK_BITS = 40
COUNTING = BucketSlice(0)
"""The place that is told how many events there are."""
WALL, RUN = "__et_wall", "__et_run"
"""Rows with these columns are no events but beats of the clock on the wall; they hold nothing else."""
BUCKET_SCHEMA = pa.schema([("bucket", pa.int32()), ("body", pa.binary())])


def spread(job: StreamJob, task: int, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Pack the events of a task; every bucket gets a row with the clocks, whether or not it has events."""
    waiting: list[pa.RecordBatch] = []
    rows = arrived = 0
    # Every slice gets a copy.
    most_rows = max(1, ROWS_AT_ONCE // job.slices)
    for batch in batches:
        if batch.num_rows:
            waiting.append(batch)
            rows += batch.num_rows
        if rows >= most_rows:
            yield _packed(job, pa.Table.from_batches(waiting), (task << TASK_BITS) + arrived)
            arrived += rows
            waiting, rows = [], 0
    if waiting:
        yield _packed(job, pa.Table.from_batches(waiting), (task << TASK_BITS) + arrived)


def _packed(job: StreamJob, table: pa.Table, first: int) -> pa.RecordBatch:
    shares = shared_out(job, table, first)
    places = job.places()
    bodies = []
    for number, place in places.items():
        counted = shares.counted if place == COUNTING else {}
        beat = None if shares.beat is None else [shares.beat.wall, shares.beat.run]
        bodies.append(pack({"rows": shares.rows[number], "clocks": list(shares.clocks.items()), "beat": beat, **counted}))
    return pa.record_batch([pa.array(list(places), pa.int32()), pa.array(bodies, pa.binary())], schema=BUCKET_SCHEMA)


@dataclass(frozen=True)
class Shares:
    """Events as buckets take them."""

    rows: Mapping[int, pa.Table]
    """By the numbers of the places."""
    clocks: Mapping[int, int]
    """The latest time of each stream, which all places are told."""
    counted: Mapping[str, int]
    beat: Beat | None = None


def shared_out(job: StreamJob, table: pa.Table, first: int = 0) -> Shares:
    """Return the events of each place; `first` is the number of the first one in the order of arrival."""
    table, beat = _without_beats(table)
    table = table.combine_chunks().append_column(ARRIVAL, pa.array(first + np.arange(table.num_rows)))
    events = table.num_rows
    timed = pc.is_valid(table.column(job.clock)).to_numpy()
    if not timed.all():
        table = table.filter(pa.array(timed))
    clocks = _clocks(job, table)
    parts: list[pa.Table] = []
    homes: list[npt.NDArray[np.int64]] = []
    counted_before = np.zeros(table.num_rows, np.bool_)
    read = {name for query in job.queries for _, name in query.columns}
    hashes = {name for hashing in job.hashings for name in (hashing.key, hashing.check, hashing.spread)} - read
    for number, hashing in enumerate(job.hashings):
        wanted = np.zeros(table.num_rows, np.bool_)
        for query in job.of_hashing(number):
            wanted |= query.wanted(table)
        if job.late:
            wanted[:] = True
        chosen = table if wanted.all() else table.filter(pa.array(wanted))
        keys, checks = (_hash(chosen, name) for name in (hashing.key, hashing.check))
        homes.append(_homes(hashing, keys if hashing.spread is None else _hash(chosen, hashing.spread), job.buckets))
        chosen = chosen.drop_columns([name for name in chosen.column_names if name in hashes])
        chosen = chosen.append_column(KEY, pa.array(keys)).append_column(CHECK, pa.array(checks))
        if len(job.hashings) > 1:
            chosen = chosen.append_column(GROUP, pa.array(np.full(chosen.num_rows, number, np.int32)))
            # An event that is hashed in several ways is counted in one of them.
            chosen = chosen.append_column(COUNTED, pa.array(~counted_before[wanted]))
            counted_before |= wanted
        parts.append(chosen)
    rows = pa.concat_tables(parts).combine_chunks()
    home = np.concatenate(homes)
    if job.buckets > 1:
        order = np.argsort(home, kind="stable")
        rows, home = rows.take(pa.array(order)), home[order]
    borders = np.searchsorted(home, np.arange(job.buckets + 1))
    shares = {}
    for number, place in job.places().items():
        part = rows.slice(borders[place.bucket], borders[place.bucket + 1] - borders[place.bucket])
        shares[number] = _sliced(job, part, place)
    return Shares(shares, clocks, {"events": events, "untimed": events - int(timed.sum())}, beat)


def _without_beats(table: pa.Table) -> tuple[pa.Table, Beat | None]:
    """Return the events among some rows, and the last of the beats, where there are any."""
    if WALL not in table.column_names:
        return table, None
    struck = pc.is_valid(table.column(WALL))
    beats, events = table.filter(struck), table.filter(pc.invert(struck)).drop_columns([WALL, RUN])
    strokes = zip(beats.column(WALL).to_pylist(), beats.column(RUN).to_pylist(), strict=True)
    return events, max((Beat(*stroke) for stroke in strokes), key=lambda beat: beat.wall, default=None)


def _sliced(job: StreamJob, rows: pa.Table, place: BucketSlice) -> pa.Table:
    """Return those events of a bucket that go to one of its slices; all go to the first."""
    if place.slice == 0 or len(job.hashings) == 1:
        return rows
    reached = np.array([hashing.reaches(place) for hashing in job.hashings])
    return rows.filter(pa.array(reached[rows.column(GROUP).to_numpy()]))


def _clocks(job: StreamJob, table: pa.Table) -> dict[int, int]:
    """Return the latest time of each stream, events that concern no query included: they too tell that time goes on."""
    time = table.column(job.clock).to_numpy()
    if not len(time):
        return {}
    if job.stream is None:
        return {0: int(time.max())}
    stream = table.column(job.stream).to_numpy()
    return {int(number): int(time[stream == number].max()) for number in np.unique(stream)}


def _hash(table: pa.Table, name: str | None) -> npt.NDArray[np.int64]:
    return np.zeros(table.num_rows, np.int64) if name is None else table.column(name).to_numpy()


def _homes(hashing: KeyHashing, hashes: npt.NDArray[np.int64], buckets: int) -> npt.NDArray[np.int64]:
    if hashing.bucket is not None:
        return np.full(len(hashes), hashing.bucket, np.int64)
    if hashing.key is None:
        return np.arange(len(hashes)) % buckets
    return np.mod(hashes, buckets)


def gathered(bodies: Iterable[bytes]) -> tuple[pa.Table, dict[int, int], Mapping[str, int], Beat | None]:
    """Return the events of packed rows, the latest time of each stream, what was counted on the way, and the last beat."""
    tables: list[pa.Table] = []
    clocks: dict[int, int] = {}
    counted = {"events": 0, "untimed": 0}
    beat: Beat | None = None
    for body in bodies:
        parts: dict[str, Any] = unpack(body)
        tables.append(parts["rows"])
        for stream, clock in parts["clocks"]:
            clocks[stream] = max(clock, clocks.get(stream, clock))
        for name in counted:
            counted[name] += parts.get(name, 0)
        if parts["beat"] is not None and (beat is None or beat.wall < parts["beat"][0]):
            beat = Beat(*parts["beat"])
    return pa.concat_tables(tables).combine_chunks(), clocks, counted, beat
