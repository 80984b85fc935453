"""The Spark data source `eventide_replay`: a file that comes back as a stream.

Offsets are numbers of rows in the order of arrival, and a row number always means the same row, so a query that restarts from
its checkpoint reads again exactly what it had planned to read.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from pyspark.errors import PySparkException
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow

from eventide.errors import BindError, DataError
from eventide.records import record
from eventide.sources.pace import Pace
from eventide.sources.recording import Recording
from eventide.sources.settings import ReplaySettings

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa
    from pyspark.sql.types import StructType

NAME = "eventide_replay"
ROWS_PER_ARROW_BATCH = 10_000


@record
class Rows(InputPartition):
    """The rows from one number up to, not including, another."""

    start: int
    end: int


class ReplaySource(DataSource):
    """A file replayed as a stream, or read at once in the order in which the stream would bring it."""

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return NAME

    def schema(self) -> StructType:
        """Return the schema of the file."""
        recording = recording_of(self._settings())
        try:
            return from_arrow_schema(recording.table.schema)
        except PySparkException as error:
            raise DataError(
                "UNSUPPORTED_COLUMN", f"{recording.settings.path} cannot be read by Spark: {error}", hint="Leave out the column."
            ) from error

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return a reader of all rows at once."""
        return ReplayReader(self._settings(), schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - the name that Spark calls
        """Return a reader of what is due."""
        return ReplayStreamReader(self._settings(), schema)

    def _settings(self) -> ReplaySettings:
        return ReplaySettings.from_options(dict(self.options))


class ReplayReader(DataSourceReader):
    """Reads all rows at once, in the order of their arrival."""

    def __init__(self, settings: ReplaySettings, schema: StructType) -> None:
        self._settings = settings
        self._schema = schema

    def partitions(self) -> Sequence[InputPartition]:
        """Return one partition, for only inside one is there an order."""
        return [Rows(0, _finite(recording_of(self._settings)))]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read the rows of a partition."""
        return _read(self._settings, self._schema, partition)


class ReplayStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads in each micro-batch the rows that are due."""

    def __init__(self, settings: ReplaySettings, schema: StructType) -> None:
        self._settings = settings
        self._schema = schema
        self._at_once = settings.rate is None
        self._pace: Pace | None = None
        self._began = 0.0
        self._first_row = 0

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        """Return the offset before the first row."""
        return self._offset(0)

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """Return the number of rows that a micro-batch should have, if there is one."""
        rows = self._settings.rows_per_batch
        return ReadAllAvailable() if rows is None else ReadMaxRows(rows)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Let all rows be due at once."""
        _finite(recording_of(self._settings))
        self._at_once = True

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        """Return how far the rows are due."""
        recording = recording_of(self._settings)
        first = self._row(start)
        end = first + limit.max_rows if isinstance(limit, ReadMaxRows) else None
        if not self._at_once:
            due = self._due(first)
            end = due if end is None else min(due, end)
        if recording.total is not None:
            end = recording.total if end is None else min(recording.total, end)
        assert end is not None, "settings refuse a replay that has neither a pace nor an end"
        return self._offset(max(first, end))

    def _due(self, first: int) -> int:
        assert self._settings.rate is not None
        if self._pace is None:
            self._pace = Pace(self._settings.rate, self._settings.jitter, self._settings.seed)
            self._began = monotonic()
            self._first_row = first
        return self._first_row + self._pace.due(monotonic() - self._began)

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """Return one partition, for only inside one is there an order."""
        first, last = self._row(start), self._row(end)
        return [Rows(first, last)] if first < last else []

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read the rows of a partition."""
        return _read(self._settings, self._schema, partition)

    def _offset(self, row: int) -> dict[str, Any]:
        return {"row": row, "recording": recording_of(self._settings).fingerprint}

    def _row(self, offset: dict[str, Any]) -> int:
        if offset["recording"] != recording_of(self._settings).fingerprint:
            raise DataError(
                "REPLAY_CHANGED",
                f"The checkpoint is of another replay: {self._settings.path}, its order or its seed is not what it was.",
                hint="Use the file and the options of the earlier run, or another checkpoint.",
            )
        return int(offset["row"])


def _finite(recording: Recording) -> int:
    if recording.total is None:
        raise BindError(
            "BAD_OPTION", "A replay without end cannot be read as a whole.", hint="Give repeat a number, or use another trigger."
        )
    return recording.total


def _read(settings: ReplaySettings, schema: StructType, partition: InputPartition) -> Iterator[pa.RecordBatch]:
    assert isinstance(partition, Rows)
    rows = recording_of(settings).rows(partition.start, partition.end)
    yield from rows.cast(to_arrow_schema(schema, timezone="UTC")).to_batches(max_chunksize=ROWS_PER_ARROW_BATCH)


def recording_of(settings: ReplaySettings) -> Recording:
    """Return the recording with these settings, read once in each process unless the file has changed.

    >>> recording_of(ReplaySettings("trades.parquet"))  # doctest: +SKIP
    """
    place = Path(settings.path)
    state = place.stat() if place.exists() else None
    return _kept_recording(settings, state and (state.st_mtime_ns, state.st_size))


@lru_cache(maxsize=2)
def _kept_recording(settings: ReplaySettings, _state: tuple[int, int] | None) -> Recording:
    return Recording(settings)
