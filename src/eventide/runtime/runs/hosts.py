"""What hosts the buckets of a stream: this process, or Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType

    from eventide.runtime.relational.adapter import Adapter


def host_of(engine: Adapter) -> ModuleType:
    """Return the module with the runs that an engine can host; both have the same functions."""
    if engine.in_process:
        from eventide.runtime.streams.live import host  # noqa: PLC0415 - Spark's workers need no DuckDB

        return host
    from eventide.runtime.streams.spark import host as spark  # noqa: PLC0415 - Spark is optional and slow to import

    return spark
