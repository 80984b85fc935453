"""Windows: whether the first and the last event of a match, and neighbours in it, lie close enough (section 4)."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from eventide.errors import BindError, DataError
from eventide.pattern import Window, WindowUnit

if TYPE_CHECKING:
    from collections.abc import Callable

    from eventide_reference.sequences.conditions import Row

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def as_number(value: Any) -> Any:
    """Return a time as a number: dates and timestamps as microseconds since the epoch, numbers as they are.

    >>> as_number(datetime(1970, 1, 1, 0, 0, 1)), as_number(7)
    (1000000, 7)
    """
    if isinstance(value, datetime):
        moment = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
        return (moment - EPOCH) // timedelta(microseconds=1)
    if isinstance(value, date):
        return as_number(datetime(value.year, value.month, value.day, tzinfo=UTC))
    return value


def window_test(window: Window | None, rows: list[Row], time: str, time_scale: int) -> Callable[[int, int], bool]:
    """Return the function that tells whether positions i <= j of a partition lie inside the window: clock(i) >= low(j).

    >>> inside = window_test(Window(WindowUnit.TIME_UNITS, 10), [{"time": 3}, {"time": 13}, {"time": 14}], "time", 1)
    >>> inside(0, 1), inside(0, 2)
    (True, False)
    """
    if window is None:
        return lambda _first, _last: True
    clock = _clock(window, rows, time, time_scale)
    if window.slide is None:
        low = [now - window.size for now in clock]
    else:
        if window.unit not in {WindowUnit.DURATION, WindowUnit.TIME_UNITS}:
            raise BindError(
                "SLIDE_NEEDS_TIME", "SLIDE needs a window over time.", span=window.span, hint="WITHIN 10 minutes SLIDE 2 minutes"
            )
        low = [(now // window.slide + 1) * window.slide - window.size for now in clock]
    return lambda i, j: bool(clock[i] >= low[j])


def step_test(step_window: Window | None, rows: list[Row], time: str, time_scale: int) -> Callable[[int, int], bool]:
    """Return the function that tells whether two neighbours i < j of a support are near enough: time(j) - time(i) <= g.

    >>> near = step_test(Window(WindowUnit.TIME_UNITS, 10), [{"time": 3}, {"time": 13}, {"time": 24}], "time", 1)
    >>> near(0, 1), near(1, 2)
    (True, False)
    """
    if step_window is None:
        return lambda _before, _after: True
    if step_window.unit not in {WindowUnit.DURATION, WindowUnit.TIME_UNITS} or step_window.slide is not None:
        raise BindError(
            "STEPS_NEED_TIME",
            "A window between steps is a plain time.",
            span=step_window.span,
            hint="WITHIN 30 seconds BETWEEN STEPS",
        )
    clock, size = _clock(step_window, rows, time, time_scale), step_window.size
    return lambda i, j: bool(clock[j] - clock[i] <= size)


def _clock(window: Window, rows: list[Row], time: str, time_scale: int) -> list[Any]:
    match window.unit:
        case WindowUnit.EVENTS:
            return list(range(len(rows)))
        case WindowUnit.TIME_UNITS:
            return [row[time] for row in rows]
        case WindowUnit.DURATION:
            moments = [row[time] for row in rows]
            return [as_number(moment) if isinstance(moment, date) else moment * time_scale for moment in moments]
        case WindowUnit.ATTRIBUTE:
            values = [as_number(row[window.attribute or time]) for row in rows]
            for before, after in pairwise(values):
                if after < before:
                    raise DataError(
                        "WINDOW_ATTRIBUTE_DECREASES", f"{window.attribute} decreases inside a partition.", span=window.span
                    )
            return values
