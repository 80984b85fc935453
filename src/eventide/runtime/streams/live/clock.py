"""Times of users and clocks of streams."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from eventide.errors import BindError
from eventide.runtime.streams.bucket import END_OF_TIME
from eventide.runtime.streams.live.batches import read_as

DAY = 86_400_000_000


def clock_of(moment: Any, time: pa.DataType) -> int:
    """Return a time, as the time column of the events has it, in the units of the clock.

    >>> from datetime import datetime
    >>> clock_of(datetime(1970, 1, 2), pa.timestamp("us")), clock_of("1970-01-01 00:00:01", pa.timestamp("ms"))
    (86400000000, 1000000)
    """
    whole = isinstance(moment, int) and not isinstance(moment, bool)
    try:
        known = None if whole is not pa.types.is_integer(time) else _scalar(moment, time)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, ValueError, OverflowError):
        known = None
    if known is None or not known.is_valid:
        raise BindError(
            "BAD_WATERMARK",
            f"The watermark {moment!r} is no time of the events, whose time column is {time}.",
            hint="Give it as the time column has it: a datetime, a date or a whole number.",
        )
    if pa.types.is_integer(time):
        return int(known.as_py())
    if pa.types.is_date(time):
        return int(known.cast(pa.date32()).cast(pa.int32()).as_py()) * DAY
    return int(known.cast(pa.timestamp("us", time.tz), safe=False).cast(pa.int64()).as_py())


def _scalar(moment: Any, time: pa.DataType) -> Any:
    return read_as(pa.scalar(moment), time) if isinstance(moment, str) else pa.scalar(moment, time)


def moment_of(clock: int | None, time: pa.DataType) -> Any:
    """Return a clock as the time column of the events has it; None where nothing is known, or the stream has ended.

    >>> moment_of(86_400_000_000, pa.date32()), moment_of(5, pa.int32())
    (datetime.date(1970, 1, 2), 5)
    """
    if clock is None or clock == END_OF_TIME:
        return None
    if pa.types.is_integer(time):
        return clock
    if pa.types.is_date(time):
        return pa.scalar(clock // DAY, pa.int32()).cast(pa.date32()).as_py()
    return pa.scalar(clock, pa.int64()).cast(pa.timestamp("us", time.tz)).as_py()
