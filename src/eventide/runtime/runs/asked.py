"""What a caller can ask of a query."""

from __future__ import annotations

from enum import Enum


class Asked(Enum):
    """What a caller wants to know of the matches of a query."""

    MATCHES = "matches"
    COUNT = "count"
    TIMEOUTS = "timeouts"
    LATE = "late events"
