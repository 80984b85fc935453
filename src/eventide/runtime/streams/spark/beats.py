"""The clock on the wall as a stream of Spark: its beats let time go on where no event comes.

A timer of Spark would do, but it fires at another moment when a micro-batch is repeated after a crash, and what had come out
before would come out twice or never. The beats of a source are written down with the offsets of the micro-batch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as sf
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import SupportsTriggerAvailableNow

from eventide.runtime.streams.shuffle import RUN, WALL

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame

    from eventide.runtime.streams.clocks import Idle

NAME = "eventide_beats"
SHORTEST = 200_000
"""Microseconds between two beats: each is a micro-batch where no event comes."""
SHARE = 8
"""So many beats make a silence."""


def with_beats(prepared: DataFrame, idle: Idle) -> DataFrame:
    """Return prepared events and, in rows that hold nothing else, beats."""
    session = prepared.sparkSession
    session.dataSource.register(beat_source())
    apart = max(SHORTEST, idle.after // SHARE)
    beats = session.readStream.format(NAME).option("apart", str(apart)).load()
    nothing = [sf.lit(None).cast(field.dataType).alias(field.name) for field in prepared.schema]
    quiet = prepared.select("*", *(sf.lit(None).cast("bigint").alias(name) for name in (WALL, RUN)))
    return quiet.union(beats.select(*nothing, sf.col("wall").alias(WALL), sf.col("run").alias(RUN)))


def beat_source() -> type[DataSource]:
    """Return the source of beats.

    Spark asks a process on the driver for the offsets, which has none of the files that were sent to workers. So the classes are
    pickled with their code and name nothing of this package.
    """

    class Beat(InputPartition):
        def __init__(self, wall: int, run: int) -> None:
            self.wall, self.run = wall, run

    class BeatReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
        def __init__(self, apart: int) -> None:
            self._apart = apart
            self._run = self._now()
            self._silent = False

        @staticmethod
        def _now() -> int:
            from time import time_ns  # noqa: PLC0415 - pickled with its code

            return time_ns() // 1_000

        def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
            """Beat no more: a run over what is there waits for nothing."""
            self._silent = True

        def initialOffset(self) -> dict[str, Any]:  # noqa: N802
            return {"wall": self._now(), "run": 0}

        def latestOffset(self, start: dict[str, Any], limit: Any) -> dict[str, Any]:  # noqa: ARG002, N802
            now = self._now()
            due = not self._silent and now - start["wall"] >= self._apart
            return {"wall": now, "run": self._run} if due else start

        def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
            return [] if start == end else [Beat(end["wall"], end["run"])]

        def read(self, partition: InputPartition) -> Iterator[tuple[int, int]]:
            assert isinstance(partition, Beat)
            yield partition.wall, partition.run

    class BeatSource(DataSource):
        @classmethod
        def name(cls) -> str:
            return "eventide_beats"

        def schema(self) -> str:
            return "wall bigint, run bigint"

        def streamReader(self, schema: Any) -> DataSourceStreamReader:  # noqa: ARG002, N802
            return BeatReader(int(self.options["apart"]))

    return BeatSource
