"""The words that options take. They stand apart, so that --help loads nothing that would run a query."""

from __future__ import annotations

from enum import StrEnum

STANDARD_OUTPUT = "-"


class Engine(StrEnum):
    """Where a query runs."""

    LOCAL = "local"
    SPARK = "spark"


class Emit(StrEnum):
    """When a match is shown: when it is certain, also in the order of ends, or at once with corrections."""

    FINAL = "final"
    ORDERED = "ordered"
    EARLY = "early"
