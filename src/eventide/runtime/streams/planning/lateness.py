"""How late an event may come, and after which silence clocks follow the wall."""

from __future__ import annotations

from datetime import timedelta
from math import ceil
from typing import TYPE_CHECKING

from eventide.errors import BindError, ParseError
from eventide.language.parts.windows import parse_window, window_text
from eventide.pattern import WindowUnit
from eventide.plan.expressions.schema import Kind
from eventide.runtime.streams.clocks import Idle

if TYPE_CHECKING:
    from collections.abc import Sequence

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


def bind_idle(idle_after: str | int | timedelta | None, schemas: Sequence[StreamSchema]) -> Idle | None:
    """Return after which silence clocks follow the wall; the units of the time columns must be known.

    >>> from eventide.plan.expressions.schema import StreamSchema
    >>> bind_idle("1 minute", [StreamSchema({"ts": Kind.INTEGER}, "ts", time_unit="ms")])
    Idle(after=60000000, units_per_second=1000)
    """
    if idle_after is None:
        return None
    hint = 'Give a duration: idle_after="1 minute".'
    try:
        window = parse_window(window_text(idle_after)) if isinstance(idle_after, str | timedelta) else None
    except ParseError:
        window = None
    if window is None or window.unit is not WindowUnit.DURATION or window.slide is not None or window.size <= 0:
        raise BindError("BAD_IDLE_AFTER", f"idle_after={idle_after!r} is not a duration.", hint=hint)
    schema = schemas[0]
    if schema.columns[schema.time] is Kind.INTEGER and schema.time_unit is None:
        raise BindError(
            "BAD_IDLE_AFTER",
            f"The unit of the time column {schema.time} is not known, so it cannot follow the wall.",
            hint='Give time_unit="ms" to et.events.',
        )
    return Idle(int(window.size), int(schema.units(1_000_000)))


def _bad(
    message: str, hint: str = 'Give a duration: lateness="10 seconds" (a plain number where the time column is one).'
) -> BindError:
    return BindError("BAD_LATENESS", message, hint=hint)
