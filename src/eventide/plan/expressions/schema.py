"""What the planner knows of the events: columns, their kinds, and the roles of some of them."""

from __future__ import annotations

from enum import Enum
from fractions import Fraction
from typing import TYPE_CHECKING

from eventide.records import record

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from sqlglot import exp

    KindsOf = Callable[[Sequence[exp.Expression]], list["Kind"]]
    """What kinds the values of expressions over one event have; the relational engine knows."""


class Kind(Enum):
    """The kind of a value, as far as conditions care."""

    INTEGER = "integer"
    FLOAT = "double"
    DECIMAL = "decimal"
    STRING = "string"
    BOOLEAN = "boolean"
    TIMESTAMP = "timestamp"
    DATE = "date"
    INTERVAL = "interval"
    """What lies between two times; columns are never of this kind."""
    OTHER = "other"

    @property
    def numeric(self) -> bool:
        """Whether arithmetic applies."""
        return self in (Kind.INTEGER, Kind.FLOAT, Kind.DECIMAL)

    @property
    def named(self) -> str:
        """The kind with its article, for messages.

        >>> Kind.INTEGER.named, Kind.FLOAT.named
        ('an integer', 'a double')
        """
        if self is Kind.OTHER:
            return "a value of another type"
        return f"an {self.value}" if self in (Kind.INTEGER, Kind.INTERVAL) else f"a {self.value}"


CLOCK_COLUMN = "__et_clock"
"""The event time as a whole number under one name for all streams: microseconds since 1970, or units of an integer column."""
TIE_COLUMN = "__et_tie"
STREAM_COLUMN = "__et_stream"
"""The tie-break and the number of the stream of an event, under one name for all streams."""
UNITS_PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
"""What an integer time column may count."""


@record
class StreamSchema:
    """The columns of one stream and the roles of some.

    `types` lists the event types where they are declared; `time_unit` says what an integer time column counts.
    """

    columns: Mapping[str, Kind]
    time: str
    type: str | None = None
    tie_break: str | None = None
    types: tuple[str, ...] | None = None
    time_unit: str | None = None

    def units(self, microseconds: int) -> Fraction:
        """Return a duration in the units of the time column, which must have one.

        >>> StreamSchema({"t": Kind.INTEGER}, time="t", time_unit="ms").units(2_500)
        Fraction(5, 2)
        """
        if self.columns[self.time] is not Kind.INTEGER:
            return Fraction(microseconds)
        assert self.time_unit is not None
        return Fraction(microseconds * UNITS_PER_SECOND[self.time_unit], 1_000_000)

    def resolve(self, name: str) -> str | None:
        """Return the column that a name means: exactly, or else without regard to case.

        >>> StreamSchema({"Price": Kind.FLOAT}, time="ts").resolve("price")
        'Price'
        """
        if name in self.columns:
            return name
        lowered = [column for column in self.columns if column.lower() == name.lower()]
        return lowered[0] if len(lowered) == 1 else None
