"""The engines that run plans: embedded (Arrow and DuckDB) and Spark."""

from __future__ import annotations

from eventide.runtime.tables.source import Options, Source, StreamSettings, source_of

__all__ = ["Options", "Source", "StreamSettings", "source_of"]
