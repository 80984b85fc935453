"""What a streaming run consists of, as it is shipped to the workers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from eventide.records import record
from eventide.runtime.relational.arrays import arrow_array, numpy_values
from eventide.runtime.relational.functions import is_valid, kept
from eventide.runtime.streams.bucket_numbers import place_numbers
from eventide.runtime.streams.bucket_query import CHECK, ID, KEY
from eventide.runtime.streams.output import FINAL

if TYPE_CHECKING:
    from collections.abc import Callable

    from eventide.runtime.streams.bucket_query import BucketQuery
    from eventide.runtime.streams.clocks import Idle
    from eventide.runtime.streams.state_owner import StateOwner

BUCKETS = 16
"""Where the cores are not known."""
BUCKETS_PER_CORE = 4
"""More than tasks, so that they share the work evenly; a state of a million small keys is then some megabytes each."""
ERROR, DROP_OLDEST = "error", "drop_oldest"
OVERFLOWS = (ERROR, DROP_OLDEST)
SPARK, EMBEDDED = "spark", "duckdb"
RUNTIMES = {SPARK: "Spark", EMBEDDED: "Arrow batches in this process"}
"""Which engine prepares the events: its hashes of keys are part of the state."""


@record
class StreamQuery:
    """One query of a run."""

    name: str
    owner: StateOwner
    """Says whether state belongs to the query."""
    columns: tuple[tuple[str, str], ...]
    """The names that it knows, with the names they have in the run."""
    clock: str
    """The time of an event, in the names of the run."""
    hashing: int
    """Which way of spreading events over buckets it uses."""
    make_bucket_query: Callable[..., BucketQuery]
    """Takes `slices` and `slice_index` where its way of spreading has slices."""
    mask: str | None = None
    relevant: int = 0
    """Events without any of these bits in their mask are left out (0: none is)."""
    required: tuple[str, ...] = ()
    """Events with a null in one of these columns are left out."""
    output: str = FINAL
    hold: int = 0
    """How long a result can take to become certain behind the watermark."""
    timeouts: bool = False
    """Whether its results are partial matches that timed out."""

    def wanted(self, table: pa.Table) -> npt.NDArray[np.bool_]:
        """Return which events matter to the query."""
        wanted = np.ones(table.num_rows, np.bool_)
        if self.mask is not None and self.relevant:
            wanted &= (numpy_values(table.column(self.mask)) & np.int64(self.relevant)) != 0
        for name in self.required:
            if table.column(name).null_count:
                wanted &= numpy_values(is_valid(table.column(name)))
        return wanted

    def events_of(self, table: pa.Table, among: npt.NDArray[np.bool_] | None = None) -> pa.Table:
        """Return the events that matter (of some of them), with the columns that the query knows."""
        wanted = self.wanted(table) if among is None else self.wanted(table) & among
        chosen = table if wanted.all() else kept(table, arrow_array(wanted))
        names = [*self.columns, *((name, name) for name in (KEY, CHECK, ID))]
        return pa.table([chosen.column(shared) for _, shared in names], names=[own for own, _ in names])


@record
class KeyHashing:
    """A way of spreading events: by a key, or all to one bucket."""

    key: str | None
    check: str | None
    """The columns of the two hashes; without a key both are 0."""
    bucket: int | None = None
    """The only bucket, where all keys must be seen together."""
    spread: str | None = None
    """The hash that chooses the bucket, where keys that differ must be seen together; else it is that of the key."""
    slices: int = 1
    """How many bucket queries take the same events, to find a slice of the matches each."""

    def reaches(self, place: BucketSlice) -> bool:
        """Return whether events of this hashing go there."""
        return self.bucket in (None, place.bucket) and place.slice < self.slices


@record
class BucketSlice:
    """Where state is held: a bucket of keys, or one of the slices that share the matches of a bucket."""

    bucket: int
    slice: int = 0


@record
class StreamJob:
    """All queries of a run and how it is cut into buckets."""

    queries: tuple[StreamQuery, ...]
    hashings: tuple[KeyHashing, ...]
    clock: str
    streams: int
    """Several streams have a clock each; the slowest rules."""
    stream: str | None
    """The column with the number of an event's stream, when there are several."""
    lateness: int
    buckets: int = BUCKETS
    max_state: int | None = None
    """The most bytes of state of one bucket."""
    overflow: str = ERROR
    registry: bool = False
    """Whether queries may come, change and go between runs."""
    late: bool = False
    """Whether the result is the late events themselves."""
    engine: str = SPARK
    idle: Idle | None = None
    """After which silence the clocks follow the wall, if ever."""
    finish: bool = False
    """Whether the end of the input is the end of the stream."""

    @property
    def slices(self) -> int:
        """Into how many slices the matches of a bucket are cut at most."""
        return max((hashing.slices for hashing in self.hashings), default=1)

    def places(self) -> dict[int, BucketSlice]:
        """Return all places by the numbers that Spark knows them by; every bucket has one, also where no events go."""
        sliced = [
            bucket
            for bucket in range(self.buckets)
            if any(hashing.slices > 1 and hashing.bucket in (None, bucket) for hashing in self.hashings)
        ]
        numbers = place_numbers(self.buckets, tuple(sliced), self.slices)
        return {number: BucketSlice(*home) for home, number in numbers.items()}

    def bucket_query(self, query: StreamQuery, place: BucketSlice) -> BucketQuery:
        """Return a query of the run, begun anew for a place."""
        slices = self.hashings[query.hashing].slices
        return query.make_bucket_query() if slices == 1 else query.make_bucket_query(slices=slices, slice_index=place.slice)

    def of_place(self, place: BucketSlice) -> list[StreamQuery]:
        """Return the queries that have events in a place."""
        return [query for query in self.queries if self.hashings[query.hashing].reaches(place)]

    def of_hashing(self, hashing: int) -> list[StreamQuery]:
        """Return the queries that use a way of spreading."""
        return [query for query in self.queries if query.hashing == hashing]


def default_buckets(cores: int | None) -> int:
    """Return how many buckets a run has where the user does not say: a power of two, so that a core more changes nothing.

    >>> default_buckets(2), default_buckets(24), default_buckets(None)
    (8, 128, 16)
    """
    return BUCKETS if cores is None else 1 << (BUCKETS_PER_CORE * cores - 1).bit_length()
