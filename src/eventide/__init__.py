"""Complex event processing for PySpark: patterns over events in, matches as a DataFrame out."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from eventide import builder
from eventide.api import Events, Query, Statement, events, query, sql, statement
from eventide.errors import (
    BindError,
    DataError,
    EventideError,
    EventideWarning,
    LimitError,
    ParseError,
)
from eventide.queries import Queries, queries
from eventide.runtime.cluster.balance import Balance, balance
from eventide.sources.replay import register_sources, replay

if TYPE_CHECKING:
    from eventide.progress.exporter import PrometheusExporter
    from eventide.progress.printer import ProgressPrinter

__version__ = "0.1.0"

__all__ = [
    "Balance",
    "BindError",
    "DataError",
    "EventideError",
    "EventideWarning",
    "Events",
    "LimitError",
    "ParseError",
    "ProgressPrinter",
    "PrometheusExporter",
    "Queries",
    "Query",
    "Statement",
    "balance",
    "builder",
    "events",
    "queries",
    "query",
    "register_sources",
    "replay",
    "sql",
    "statement",
]

# Listeners are classes of PySpark, which is an optional package; without it everything else must still be there.
_LISTENERS = {"ProgressPrinter": "eventide.progress.printer", "PrometheusExporter": "eventide.progress.exporter"}


def __getattr__(name: str) -> Any:
    if name not in _LISTENERS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(_LISTENERS[name]), name)
    except ModuleNotFoundError as error:
        raise ImportError(f"{name} needs PySpark: pip install 'eventide[spark]'") from error
