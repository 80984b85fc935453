"""A stream of files that a test writes one by one, and the run over them: a checkpoint, a parquet sink, what came out."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import eventide as et
from crash.sink import committed_rows

FIRST_FILE = 1_600_000_000
"""Files are read by the time of their last change, which may be the same for two that are written at once."""


@dataclass
class FileStream:
    """A folder of files; each is a micro-batch."""

    spark: Any
    folder: Path
    schema: pa.Schema
    files_at_once: int = 1
    written: int = 0

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)

    def add(self, *batches: pa.Table | list[dict[str, Any]]) -> FileStream:
        """Write some micro-batches."""
        for batch in batches:
            table = batch if isinstance(batch, pa.Table) else pa.Table.from_pylist(batch, schema=self.schema)
            path = self.folder / f"{self.written:05d}.parquet"
            pq.write_table(table.cast(self.schema), path)
            os.utime(path, (FIRST_FILE + self.written,) * 2)
            self.written += 1
        return self

    def frame(self) -> Any:
        """Return the streaming DataFrame."""
        reader = self.spark.readStream.schema(self._spark_schema()).option("maxFilesPerTrigger", self.files_at_once)
        return reader.parquet(str(self.folder))

    def table(self) -> Any:
        """Return all events that are there as a DataFrame."""
        return self.spark.read.schema(self._spark_schema()).parquet(str(self.folder))

    def _spark_schema(self) -> Any:
        from pyspark.sql.pandas.types import from_arrow_schema

        return from_arrow_schema(self.schema, prefer_timestamp_ntz=True)


@dataclass
class Sink:
    """A parquet sink with its checkpoint; `run` may be called again to go on."""

    spark: Any
    folder: Path
    progress: list[Any] = field(default_factory=list)

    def run(self, frame: Any) -> Sink:
        """Write what is there of a stream, then stop."""
        writer = frame.writeStream.format("parquet").outputMode("append").trigger(availableNow=True)
        running = writer.option("checkpointLocation", str(self.folder / "checkpoint")).start(str(self.folder / "rows"))
        try:
            running.awaitTermination()
        finally:
            running.stop()
        self.progress += running.recentProgress
        return self

    def rows(self, batches: int | None = None) -> list[dict[str, Any]]:
        """Return what came out, or what the first micro-batches put out, in their order; for columns that Spark need not read."""
        return committed_rows(self.folder / "rows", batches)

    def read(self) -> list[Any]:
        """Return what came out as Spark reads it."""
        return spark_rows(self.frame())

    def frame(self) -> Any:
        """Return what came out as a DataFrame."""
        return self.spark.read.parquet(str(self.folder / "rows"))

    def counted(self, name: str, observation: str = "eventide") -> list[int | None]:
        """Return a counter in each micro-batch that had data."""
        counters = (observed(progress, observation) for progress in self.progress)
        return [counter[name] for counter in counters if counter is not None and counter["events"] is not None]


def observed(progress: Any, observation: str) -> dict[str, Any] | None:
    """Return the counters of a micro-batch by name."""
    row = progress.observedMetrics.get(observation)
    if row is None:
        return None
    counters = row.asDict()
    if set(counters) == {"values", "schema"}:  # Spark Connect hands rows over in pieces.
        return dict(zip((column["name"] for column in counters["schema"]["fields"]), counters["values"], strict=True))
    return counters


def plain(value: Any) -> Any:
    """Return a value so that rows compare, whatever made them."""
    if isinstance(value, list | tuple):
        return tuple(map(plain, value))
    if isinstance(value, dict):
        return tuple((name, plain(item)) for name, item in value.items())
    return "NaN" if isinstance(value, float) and value != value else value  # noqa: PLR0124 - only NaN differs from itself


def comparable(rows: Iterable[dict[str, Any]]) -> list[Any]:
    """Return rows in an order of their own."""
    return sorted(map(plain, rows), key=repr)


def spark_rows(frame: Any) -> list[Any]:
    """Return the rows of a DataFrame in an order of their own."""
    return comparable(row.asDict(recursive=True) for row in frame.collect())


@contextmanager
def quiet():
    """Leave warnings out that are not what a test is about."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", et.EventideWarning)
        yield


def quietly(call: Callable[[], Any]) -> Any:
    """Call without the warnings that are not what a test is about."""
    with quiet():
        return call()


@contextmanager
def configured(spark: Any, **settings: str):
    """Set the configuration of a session for a while; dots are written as two underscores."""
    names = {name.replace("__", "."): value for name, value in settings.items()}
    before = {name: spark.conf.get(name) for name in names}
    try:
        for name, value in names.items():
            spark.conf.set(name, value)
        yield
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)
