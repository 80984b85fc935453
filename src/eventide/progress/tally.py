"""What a micro-batch of a stream did, read from Spark's progress report, and the totals of a query.

The result of a streaming match observes metrics under the name `eventide`. Counters are of one micro-batch; gauges say what is
held behind it. A report without them, of any other query, still tells its rows and how long it took.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from eventide.records import record

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql.streaming.listener import StreamingQueryProgress

METRICS = "eventide"
COUNTERS = ("events", "untimed", "late", "matches", "timeouts", "expired", "dropped")
GAUGES = ("partial", "held", "state_bytes")
WATERMARK = "watermark"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@record
class Batch:
    """One micro-batch: `counters` and `gauges` by name, the watermark in microseconds, None where it is not known."""

    query_id: str
    run_id: str
    query_name: str | None
    number: int
    rows: int
    seconds: float
    counters: Mapping[str, int]
    gauges: Mapping[str, int]
    watermark: int | None

    @property
    def label(self) -> str:
        """The name of the query, or the beginning of its id."""
        return self.query_name or self.query_id[:8]


def read_progress(progress: StreamingQueryProgress) -> Batch:
    """Read a progress report of Spark.

    >>> read_progress(query.lastProgress)  # doctest: +SKIP
    """
    row = progress.observedMetrics.get(METRICS)
    observed = {} if row is None else _by_name(row.asDict())
    # A batch without rows observes nulls: no counter moves then, and a gauge is as it was.
    known = {name: value for name, value in observed.items() if value is not None}
    return Batch(
        query_id=str(progress.id),
        run_id=str(progress.runId),
        query_name=progress.name,
        number=int(progress.batchId),
        rows=int(progress.numInputRows),
        seconds=progress.batchDuration / 1000,
        counters={name: int(known[name]) for name in COUNTERS if name in known},
        gauges={name: int(known[name]) for name in GAUGES if name in known},
        watermark=_microseconds(known.get(WATERMARK)),
    )


def _by_name(row: dict[str, Any]) -> dict[str, Any]:
    """Return the metrics of a row by name; Spark Connect hands values and schema over apart."""
    if set(row) != {"values", "schema"}:
        return row
    return dict(zip((column["name"] for column in row["schema"]["fields"]), row["values"], strict=True))


def _microseconds(value: datetime | int | None) -> int | None:
    if isinstance(value, datetime):
        # A time without a zone is in that of this process: so PySpark hands out timestamps.
        return (value.astimezone(UTC) - EPOCH) // timedelta(microseconds=1)
    return None if value is None else int(value)


@dataclass
class Tally:
    """The totals of one query over its micro-batches and restarts.

    >>> tally = Tally()
    >>> for number in (0, 1, 1):
    ...     _ = tally.add(Batch("q", "r", None, number, 10, 0.5, {"matches": 2}, {"held": 7}, None))
    >>> tally.batches, tally.counters["matches"], tally.gauges["held"]
    (2, 4, 7)
    """

    batches: int = 0
    rows: int = 0
    counters: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COUNTERS, 0))
    gauges: dict[str, int] = field(default_factory=dict)
    watermark: int | None = None
    last: Batch | None = None

    def add(self, batch: Batch) -> bool:
        """Add a micro-batch; says False for one that was added before, for Spark may report it again while it waits."""
        if self.last is not None and batch.run_id == self.last.run_id and batch.number <= self.last.number:
            return False
        self.batches += 1
        self.rows += batch.rows
        for name, value in batch.counters.items():
            self.counters[name] += max(0, value)
        self.gauges.update(batch.gauges)
        if batch.watermark is not None:
            self.watermark = batch.watermark if self.watermark is None else max(self.watermark, batch.watermark)
        self.last = batch
        return True
