"""Complex event processing for PySpark: patterns over events in, matches as a DataFrame out."""

from __future__ import annotations

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
from eventide.sources.replay import register_sources, replay

__version__ = "0.1.0"

__all__ = [
    "BindError",
    "DataError",
    "EventideError",
    "EventideWarning",
    "Events",
    "LimitError",
    "ParseError",
    "Query",
    "Statement",
    "builder",
    "events",
    "query",
    "register_sources",
    "replay",
    "sql",
    "statement",
]
