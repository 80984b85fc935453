"""The stateful processor of Spark: it hands the packed rows of a bucket to a `Bucket` and keeps its state as one value."""

from __future__ import annotations

from dataclasses import fields
from functools import partial
from typing import TYPE_CHECKING, Any

from pyspark.sql import types as st
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from eventide.executors.workers import opening
from eventide.runtime.streams.bucket import Bucket, Counters
from eventide.runtime.streams.shuffle import gathered
from eventide.runtime.streams.spark.late_log import LATE_LOG
from eventide.runtime.streams.state_bytes import table_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pandas as pd
    from pyspark.sql.streaming.stateful_processor import ExpiredTimerInfo, StatefulProcessorHandle, TimerValues, ValueState

    from eventide.runtime.streams.bucket import BucketOutput
    from eventide.runtime.streams.job import StreamJob

    Advance = Callable[[ValueState, int, Iterator[pd.DataFrame]], Iterator[pd.DataFrame]]
    Finish = Callable[[ValueState, int], Iterator[pd.DataFrame]]

QUERY, BODY, COUNTED = "query", "body", "counted"
STATE = "bucket"
"""The name of the state variable."""
BYTES_AT_ONCE = 1 << 26
"""A micro-batch may put out far more than came in, and a column of Arrow ends at 2 GiB."""
COUNTERS = tuple(field.name for field in fields(Counters))
EMITTED_SCHEMA = st.StructType(
    [
        st.StructField(QUERY, st.StringType()),
        st.StructField(BODY, st.BinaryType()),
        # One column for all: pandas and Spark take a tenth of a millisecond for each of every frame.
        st.StructField(COUNTED, st.ArrayType(st.LongType())),
    ]
)


def bucket_processor(job: StreamJob) -> StatefulProcessor:
    """Return the processor of a run: one call for each bucket and micro-batch.

    Every query that starts asks a fresh process on the driver for the names of the state. Spark gives it none of the files that
    were sent to workers, so the class is pickled with its code, and only what takes rows needs this package.
    """
    opened = opening((partial(advance, job), partial(finish, job)))
    finishes, state_name = job.finish, STATE

    class BucketProcessor(StatefulProcessor):
        def init(self, handle: StatefulProcessorHandle) -> None:
            self._handle = handle
            self._state = handle.getValueState(state_name, "state binary")
            self._steps: tuple[Advance, Finish] | None = None

        def handleInputRows(  # noqa: N802 - Spark's name
            self,
            key: Any,
            rows: Iterator[pd.DataFrame],
            timerValues: TimerValues,  # noqa: N803 - Spark's name; time is ours inside the bucket
        ) -> Iterator[pd.DataFrame]:
            if self._steps is None:
                self._steps = opened()
            if finishes:
                # Rows come before timers, so this one fires in a micro-batch without any: then there is nothing left to read.
                for timer in list(self._handle.listTimers()):
                    self._handle.deleteTimer(timer)
                self._handle.registerTimer(timerValues.getCurrentWatermarkInMs() + 1)
            yield from self._steps[0](self._state, int(key[0]), rows)

        def handleExpiredTimer(  # noqa: N802
            self,
            key: Any,
            timerValues: TimerValues,  # noqa: ARG002, N803
            expiredTimerInfo: ExpiredTimerInfo,  # noqa: ARG002, N803
        ) -> Iterator[pd.DataFrame]:
            if self._steps is None:
                self._steps = opened()
            yield from self._steps[1](self._state, int(key[0]))

        def close(self) -> None:
            """Nothing is left open."""

    return BucketProcessor()


def advance(job: StreamJob, state: ValueState, number: int, rows: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    """Take the packed rows of a bucket; yields one row for each table that leaves it, and one of counters."""
    bucket = Bucket(job, number)
    before = state.get()
    if before is not None:
        bucket.load(bytes(before[0]))
    table, clocks, counted, beat = gathered(body for frame in rows for body in frame[BODY])
    emitted = bucket.take(table, clocks, beat)
    counters = emitted.counters
    counters.events, counters.untimed = counted["events"], counted["untimed"]
    LATE_LOG.note(counters)
    state.update((bucket.dump(counters),))
    yield from emitted_frames(emitted)


def finish(job: StreamJob, state: ValueState, number: int) -> Iterator[pd.DataFrame]:
    """Let a bucket come to its end; yields what `advance` yields."""
    bucket = Bucket(job, number)
    before = state.get()
    assert before is not None, "a timer is set when a bucket takes rows"
    bucket.load(bytes(before[0]))
    emitted = bucket.finish()
    state.update((bucket.dump(emitted.counters),))
    yield from emitted_frames(emitted)


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
