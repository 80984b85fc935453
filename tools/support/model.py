"""The shape of the support table."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

PEERS = ("Trino", "Flink SQL", "Snowflake", "Oracle", "Databricks")

SAMPLE: dict[str, list[object]] = {
    "id": [1, 2, 3, 4, 5, 6, 7, 8],
    "symbol": ["X", "X", "X", "X", "X", "Y", "Y", "Y"],
    "price": [10.0, 8.0, 7.0, 9.0, 11.0, 5.0, 4.0, 6.0],
    "volume": [100, 200, 50, None, 300, 10, 20, 30],
    "note": ["a", "b", "c", "d", "e", "f", "g", "h"],
}
"""The rows of the table `ticks` that all examples run over; a column `ts` adds one minute for each id."""


class Ours(StrEnum):
    """What Eventide has of a feature."""

    YES = "yes"
    PARTLY = "partly"
    NO = "no"


@dataclass(frozen=True, slots=True)
class Feature:
    """A construct, an example of it that is run, and who has it.

    `example` runs unless Eventide has nothing of the feature; `refused` is what raises `condition` otherwise.
    """

    clause: str
    name: str
    ours: Ours
    example: str
    peers: tuple[str, str, str, str, str]
    """In the order of PEERS."""
    refused: str = ""
    condition: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Refusal:
    """An error condition, the statement that raises it, and what to do instead; `caps` are options of the run."""

    condition: str
    what: str
    example: str
    instead: str
    caps: tuple[tuple[str, int], ...] = ()
    on_spark: bool = False
    """Whether only Spark raises it."""
    on_stream: bool = False
    """Whether only a stream raises it, under these settings."""
    settings: tuple[tuple[str, str], ...] = ()
    opened: bool = False
    """Whether only a stream without Spark raises it."""


def over_ticks(body: str) -> str:
    """Return the statement that puts a clause over the sample.

    >>> over_ticks("PATTERN (A)")
    'SELECT * FROM ticks MATCH_RECOGNIZE (PATTERN (A)) AS m'
    """
    return f"SELECT * FROM ticks MATCH_RECOGNIZE ({body}) AS m"
