"""Replay on Spark: register the data source, and make a stream out of a file."""

from __future__ import annotations

from dataclasses import replace as changed
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eventide.sources.recording import Recording
from eventide.sources.settings import ReplaySettings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def register_sources(spark: SparkSession) -> None:
    """Make the format `eventide_replay` known to a Spark session.

    >>> register_sources(spark)  # doctest: +SKIP
    >>> spark.readStream.format("eventide_replay").option("rate", 100).load("trades.parquet")  # doctest: +SKIP
    """
    from eventide.sources.data_source import ReplaySource  # noqa: PLC0415 - PySpark is an optional package

    spark.dataSource.register(ReplaySource)


def replay(
    spark: SparkSession,
    path: str,
    *,
    time: str | None = None,
    rate: float | None = None,
    rows_per_batch: int | None = None,
    jitter: float = 0.0,
    disorder: float = 0.0,
    bound: str | int | None = None,
    seed: int = 0,
    repeat: int | str = 1,
    end_marker: str | int | None = None,
    file_format: str | None = None,
) -> DataFrame:
    """Return a streaming DataFrame that brings the rows of a Parquet, CSV or JSON file as if they happened now.

    With `time` they come in its order, of which `disorder` percent are late by `bound` at most. `rate` is in events a second
    and varies by `jitter` percent; `rows_per_batch` cuts micro-batches exactly. `repeat` is a number or "forever"; the times
    of each round go on behind the last. `end_marker` adds a row that holds only a time, so far behind the last one.

    >>> replay(spark, "trades.parquet", time="ts", rate=500, disorder=20, bound="5 seconds")  # doctest: +SKIP
    """
    given: dict[str, Any] = {
        "path": path,
        "time": time,
        "rate": rate,
        "rows_per_batch": rows_per_batch,
        "jitter": jitter,
        "disorder": disorder,
        "bound": bound,
        "seed": seed,
        "repeat": repeat,
        "end_marker": end_marker,
        "file_format": file_format,
    }
    settings = ReplaySettings.from_options({name: str(value) for name, value in given.items() if value is not None})
    register_sources(spark)
    return spark.readStream.format("eventide_replay").options(**local_settings(settings).as_options()).load()


def local_settings(settings: ReplaySettings) -> ReplaySettings:
    """Return the settings with a whole path, after a look into the file where it is on this machine.

    So a mistake is an error of ours at once, and not one of Spark's that holds it.

    >>> local_settings(ReplaySettings("trades.parquet"))  # doctest: +SKIP
    """
    from pyspark.sql.utils import is_remote  # noqa: PLC0415

    if is_remote():
        return settings
    Recording(settings)
    return changed(settings, path=str(Path(settings.path).resolve()))
