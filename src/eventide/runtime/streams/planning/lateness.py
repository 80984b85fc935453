"""How late an event may come, in the units of the time column."""

from __future__ import annotations

from datetime import timedelta
from math import ceil
from typing import TYPE_CHECKING

from eventide.errors import BindError, ParseError
from eventide.language.parts.windows import parse_window, window_text
from eventide.pattern import WindowUnit
from eventide.plan.expressions.schema import Kind

if TYPE_CHECKING:
    from eventide.plan.expressions.schema import StreamSchema


def bind_lateness(lateness: str | int | timedelta | None, schema: StreamSchema) -> int:
    """Return the lateness that a caller gave, in the units of the time column; without one events must come in order.

    >>> from eventide.plan.expressions.schema import StreamSchema
    >>> bind_lateness("10 seconds", StreamSchema({"ts": Kind.TIMESTAMP}, "ts"))
    10000000
    """
    if lateness is None:
        return 0
    integers = schema.columns[schema.time] is Kind.INTEGER
    if isinstance(lateness, int) and not isinstance(lateness, bool):
        if not integers and lateness:
            raise _bad(f"The time column {schema.time} is not a number, so lateness={lateness} has no unit.")
        return lateness
    if not isinstance(lateness, str | timedelta):
        raise _bad(f"The lateness is a {type(lateness).__name__}.")
    try:
        window = parse_window(window_text(lateness))
    except ParseError as error:
        raise _bad(f"The lateness {lateness!r} is not a duration: {error.message}") from None
    if window.unit is WindowUnit.TIME_UNITS and integers:
        return int(window.size)
    if window.unit is not WindowUnit.DURATION or window.slide is not None:
        raise _bad(f"The lateness {lateness!r} is not a duration.")
    if integers and schema.time_unit is None:
        raise _bad(f"The unit of the time column {schema.time} is not known.", 'Give time_unit="ms" to et.events.')
    # Rounded up: an event that is late by a part of a unit is still in time.
    return ceil(schema.units(int(window.size)))


def _bad(
    message: str, hint: str = 'Give a duration: lateness="10 seconds" (a plain number where the time column is one).'
) -> BindError:
    return BindError("BAD_LATENESS", message, hint=hint)
