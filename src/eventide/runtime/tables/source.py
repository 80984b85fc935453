"""Where events come from: one face for Arrow data and Spark DataFrames."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from eventide.errors import BindError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlglot import exp

    from eventide.pattern import Query
    from eventide.plan.plan import Plan
    from eventide.plan.schema import Kind, StreamSchema


@dataclass(frozen=True)
class StreamSettings:
    """What a caller may set for a stream, in the words of the caller; None leaves it as it is by default."""

    lateness: str | int | None = None
    output: str = "final"
    buckets: int | None = None
    max_state: int | None = None
    overflow: str = "error"

    def refuse_on_a_table(self) -> None:
        """Refuse what means nothing where all events are there; lateness is harmless, so that one call serves both."""
        if self != StreamSettings(self.lateness):
            raise BindError(
                "NOT_A_STREAM",
                "output, buckets, max_state and overflow are for streaming DataFrames; here all events are known.",
                hint="Leave them out, or read the events with spark.readStream.",
            )


@dataclass(frozen=True)
class Options:
    """What a caller of `match` may set."""

    max_matches: int | None = None
    slices: int | None = None
    stream: StreamSettings | None = None
    distribution: str | None = None


class Source(ABC):
    """Events that a runtime can read."""

    @property
    def streaming(self) -> bool:
        """Whether the events are an unbounded stream."""
        return False

    @abstractmethod
    def columns(self) -> dict[str, Kind]:
        """Return the columns with their kinds."""

    @abstractmethod
    def with_streams(self, streams: Mapping[str, tuple[Source, StreamSchema]]) -> Source:
        """Return a source over several streams of this kind."""

    @abstractmethod
    def describe(self, trees: Sequence[exp.Expression]) -> list[Kind]:
        """Return the kinds of expressions over one event."""

    @abstractmethod
    def match(self, plan: Plan, options: Options) -> Any:
        """Run a plan."""

    @abstractmethod
    def find_timeouts(self, plan: Plan, settings: StreamSettings) -> Any:
        """Return the partial matches of a plan that timed out."""

    @abstractmethod
    def match_all(self, plans: Mapping[str, Plan], options: Options) -> Any:
        """Run several plans over these events; a first column `query` names the plan."""

    def late(self, settings: StreamSettings) -> Any:  # noqa: ARG002 - for streams alone
        """Return the events that come too late."""
        raise BindError(
            "NOT_A_STREAM",
            "Only the events of a stream can be late; here all events are known.",
            hint="Read the events with spark.readStream.",
        )

    @abstractmethod
    def count(self, plan: Plan) -> Any:
        """Count the matches of a plan for each key."""

    @abstractmethod
    def output_schema(self, plan: Plan) -> Any:
        """Return the schema of the result without running anything."""

    @abstractmethod
    def physical(self, plan: Plan, options: Options | None = None) -> str | None:
        """Return the engine's own plan as text, if it has one."""

    @staticmethod
    def merged(streams: Mapping[str, tuple[Source, StreamSchema]], query: Query) -> Source:
        """Return one source over all streams that a query reads."""
        wanted = [name.text for name in query.streams]
        chosen = {name: streams[name] for name in wanted if name in streams} if len(streams) > 1 and wanted else dict(streams)
        first = next(iter((chosen or streams).values()))[0]
        for source, _ in streams.values():
            if type(source) is not type(first):
                raise BindError(
                    "MIXED_ENGINES",
                    "Some streams are Spark DataFrames and some are Arrow data.",
                    hint="Give all streams in one form, for example spark.createDataFrame(table.to_pandas()).",
                )
        return first.with_streams(chosen or streams)


def source_of(data: Any) -> Source:
    """Return the source for data that a user gave."""
    module = type(data).__module__
    if module.startswith("pyspark."):
        from eventide.runtime.tables.spark_batch import SparkSource  # noqa: PLC0415 - Spark is optional and slow to import

        return SparkSource.of(data)
    from eventide.runtime.tables.local import LocalSource  # noqa: PLC0415 - DuckDB is not needed on Spark's workers

    if hasattr(data, "__arrow_c_stream__"):
        return LocalSource.of(data)
    raise BindError(
        "UNKNOWN_DATA",
        f"A {type(data).__name__} cannot be read as events.",
        hint="Give a Spark DataFrame, a pyarrow.Table, or anything with __arrow_c_stream__ (pandas, polars, DuckDB).",
    )
