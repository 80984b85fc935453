"""The stateful processor of Spark: it hands the packed rows of a bucket to a `Bucket` and keeps its state as one value."""

from __future__ import annotations

import pickle
from dataclasses import fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pyspark.sql import types as st
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from eventide.runtime.streams.bucket import Bucket, Counters
from eventide.runtime.streams.shuffle import gathered
from eventide.runtime.streams.state_bytes import table_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd
    from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle, TimerValues

    from eventide.runtime.streams.bucket import BucketOutput
    from eventide.runtime.streams.job import StreamJob

QUERY, BODY, COUNTED = "query", "body", "counted"
BYTES_AT_ONCE = 1 << 26
"""A micro-batch may put out far more than came in, and a column of Arrow ends at 2 GiB."""
COUNTERS = tuple(field.name for field in fields(Counters))
STATE_SCHEMA = st.StructType([st.StructField("state", st.BinaryType())])
EMITTED_SCHEMA = st.StructType(
    [
        st.StructField(QUERY, st.StringType()),
        st.StructField(BODY, st.BinaryType()),
        # One column for all: pandas and Spark take a tenth of a millisecond for each of every frame.
        st.StructField(COUNTED, st.ArrayType(st.LongType())),
    ]
)


class BucketProcessor(StatefulProcessor):
    """One call for each bucket and micro-batch."""

    def __init__(self, job: StreamJob) -> None:
        # Every query that starts asks a fresh process for the names of the state; that one need not load plans and compilers.
        self._packed_job = pickle.dumps(job)

    @cached_property
    def _job(self) -> StreamJob:
        job: StreamJob = pickle.loads(self._packed_job)  # noqa: S301 - our own
        return job

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Name the state."""
        self._state = handle.getValueState("bucket", STATE_SCHEMA)

    def handleInputRows(  # noqa: N802 - Spark's name
        self,
        key: Any,
        rows: Iterator[pd.DataFrame],
        timerValues: TimerValues,  # noqa: ARG002, N803 - Spark's name; time is ours inside the bucket
    ) -> Iterator[pd.DataFrame]:
        """Take the packed rows of a bucket; yields one row for each table that leaves it, and one of counters."""
        bucket = Bucket(self._job, int(key[0]))
        before = self._state.get()
        if before is not None:
            bucket.load(bytes(before[0]))
        table, clocks, counted = gathered(body for frame in rows for body in frame[BODY])
        emitted = bucket.take(table, clocks)
        counters = emitted.counters
        counters.events, counters.untimed = counted["events"], counted["untimed"]
        self._state.update((bucket.dump(counters),))
        yield from emitted_frames(emitted)

    def close(self) -> None:
        """Nothing is left open."""


def emitted_frames(emitted: BucketOutput, most_bytes: int = BYTES_AT_ONCE) -> Iterator[pd.DataFrame]:
    """Yield a row for each table that leaves a bucket, in frames of about so many bytes, and at the end one of counters."""
    out: list[tuple[Any, ...]] = []
    size = 0
    for name, part in emitted.tables:
        body = table_bytes(part).to_pybytes()
        out.append((name, body, None))
        size += len(body)
        if size >= most_bytes:
            yield _frame(out)
            out, size = [], 0
    out.append((None, None, [getattr(emitted.counters, name) for name in COUNTERS]))
    yield _frame(out)


def _frame(rows: list[tuple[Any, ...]]) -> pd.DataFrame:
    import pandas as pd  # noqa: PLC0415 - the process that names the state has no frames

    return pd.DataFrame(rows, columns=EMITTED_SCHEMA.names, dtype=object)
