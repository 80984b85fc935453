"""Which engine reads the data that a user gave."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eventide.errors import BindError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eventide.runtime.relational.adapter import Adapter, Relation
    from eventide.runtime.relational.duckdb import DuckAdapter
    from eventide.runtime.relational.spark import SparkAdapter

READABLE = "Give a Spark DataFrame, a pyarrow.Table, or anything with __arrow_c_stream__ (pandas, polars, DuckDB)."


def engine_of(data: Any) -> tuple[Adapter, Relation]:
    """Return the engine for data that a user gave, and the data as a relation of that engine."""
    sparks = _is_sparks(data)
    if not hasattr(data, "mapInArrow" if sparks else "__arrow_c_stream__"):
        raise BindError("UNKNOWN_DATA", f"A {type(data).__name__} cannot be read as events.", hint=READABLE)
    if sparks:
        return _spark(data.sparkSession), data
    engine = _duckdb()
    return engine, engine.read(data)


def engine_for(session: Any, tables: Mapping[str, Any]) -> tuple[Adapter, dict[str, Relation]]:
    """Return the engine that fits tables, and the tables as its relations: Spark when a session or a DataFrame is given."""
    frames = [data for data in tables.values() if _is_sparks(data)]
    for name, data in tables.items():
        if not _is_sparks(data) and not hasattr(data, "__arrow_c_stream__"):
            raise BindError(
                "UNKNOWN_DATA", f"The table {name} is a {type(data).__name__}, which cannot be read.", hint=READABLE
            )
    if session is None and not frames:
        engine = _duckdb()
        return engine, {name: engine.read(data) for name, data in tables.items()}
    spark = _spark(session if session is not None else frames[0].sparkSession)
    return spark, {name: data if _is_sparks(data) else spark.taken(data) for name, data in tables.items()}


def _duckdb() -> DuckAdapter:
    from eventide.runtime.relational.duckdb import DuckAdapter  # noqa: PLC0415 - DuckDB is not needed on Spark

    return DuckAdapter()


def _spark(session: Any) -> SparkAdapter:
    from eventide.runtime.relational.spark import SparkAdapter  # noqa: PLC0415 - Spark is optional and slow to import

    return SparkAdapter(session)


def _is_sparks(data: Any) -> bool:
    return type(data).__module__.startswith("pyspark.")
