"""Complex event processing for PySpark: patterns over events in, matches as a DataFrame out."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from eventide.errors import (
    BindError,
    DataError,
    EventideError,
    EventideWarning,
    LimitError,
    ParseError,
    SetupError,
    errors,
)
from eventide.loading import load_later
from eventide.version import VERSION

if TYPE_CHECKING:
    from eventide import builder
    from eventide.api import Events, Query, events, query
    from eventide.executors.shipping import ship
    from eventide.live.resuming import resume
    from eventide.progress.exporter import PrometheusExporter
    from eventide.progress.printer import ProgressPrinter
    from eventide.query_sets import Queries, queries
    from eventide.runtime.spread.balance import Balance, balance
    from eventide.runtime.streams.live.queries import LiveQueries
    from eventide.runtime.streams.live.stream import Live
    from eventide.sources.replay import register_sources, replay
    from eventide.statements import Statement, sql, statement

__version__ = VERSION

__all__ = [
    "Balance",
    "BindError",
    "DataError",
    "EventideError",
    "EventideWarning",
    "Events",
    "LimitError",
    "Live",
    "LiveQueries",
    "ParseError",
    "ProgressPrinter",
    "PrometheusExporter",
    "Queries",
    "Query",
    "SetupError",
    "Statement",
    "balance",
    "builder",
    "errors",
    "events",
    "queries",
    "query",
    "register_sources",
    "replay",
    "resume",
    "ship",
    "sql",
    "statement",
]

# Spark's workers import parts of this package, in every process anew, and need no parser.
_load = load_later(
    __name__,
    {
        "eventide.api": ("Events", "Query", "events", "query"),
        "eventide.executors.shipping": ("ship",),
        "eventide.live.resuming": ("resume",),
        "eventide.progress.exporter": ("PrometheusExporter",),
        "eventide.progress.printer": ("ProgressPrinter",),
        "eventide.query_sets": ("Queries", "queries"),
        "eventide.runtime.spread.balance": ("Balance", "balance"),
        "eventide.runtime.streams.live.queries": ("LiveQueries",),
        "eventide.runtime.streams.live.stream": ("Live",),
        "eventide.sources.replay": ("register_sources", "replay"),
        "eventide.statements": ("Statement", "sql", "statement"),
    },
)
# Listeners are classes of PySpark, which is an optional package; without it everything else must still be there.
_NEED_SPARK = ("ProgressPrinter", "PrometheusExporter")


def __getattr__(name: str) -> Any:
    if name == "builder":
        return import_module("eventide.builder")
    try:
        return _load(name)
    except ModuleNotFoundError as error:
        if name not in _NEED_SPARK:
            raise
        raise ImportError(f"{name} needs PySpark: pip install 'eventide[spark]'") from error


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
