"""What `eventide run --follow` can be asked for."""

from __future__ import annotations

from contextlib import suppress
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from eventide.console.follow.following import IDLE_SECONDS, Ending
from eventide.console.inputs import UsageMistakeError
from eventide.errors import ParseError
from eventide.language.parts.windows import parse_window
from eventide.pattern import WindowUnit
from eventide.plan.expressions.schema import UNITS_PER_SECOND
from eventide.records import record

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eventide.console.choices import Emit
    from eventide.pattern import Query as QueryModel

A_SECOND = 1_000_000
SECONDS_A_BATCH = 3


@record
class FollowOptions:
    """The options of the command that only a stream has; None is one that was not given."""

    lateness: str | None = None
    emit: Emit | None = None
    checkpoint: str | None = None
    rate: float | None = None
    disorder: float | None = None
    bound: str | None = None
    seed: int | None = None
    run_for: str | None = None
    until_idle: bool = False

    def refuse(self) -> None:
        """Refuse options that mean nothing without --follow."""
        for option, value in (
            ("--lateness", self.lateness),
            ("--emit", self.emit),
            ("--checkpoint", self.checkpoint),
            ("--for", self.run_for),
            ("--until-idle", self.until_idle),
            *((f"--{name}", value) for name, value in self.replay.items()),
        ):
            if value:
                raise UsageMistakeError("BAD_OPTION", f"{option} is for a stream.", hint="Add --follow.")

    @property
    def replay(self) -> dict[str, Any]:
        """The settings of a replay that were given."""
        settings: dict[str, Any] = {"rate": self.rate, "disorder": self.disorder, "bound": self.bound, "seed": self.seed}
        if self.rate is not None:
            # The first micro-batch takes its time; what is due behind it should still come bit by bit.
            settings["rows_per_batch"] = max(1, round(self.rate * SECONDS_A_BATCH))
        return {name: value for name, value in settings.items() if value is not None}

    def stream_settings(self) -> dict[str, Any]:
        """Return the settings of a match on a stream that were given."""
        lateness = int(self.lateness) if self.lateness is not None and self.lateness.strip().isdecimal() else self.lateness
        settings = {"lateness": lateness, "output": self.emit and self.emit.value}
        return {name: value for name, value in settings.items() if value is not None}

    def ending(self, rows: int | None) -> Ending:
        """Return when to end, given how many rows there will be."""
        # With a slow replay nothing comes for a while, and yet it is not over.
        idle = IDLE_SECONDS + (2 / self.rate if self.rate else 0)
        return Ending(self._seconds(), self.until_idle, rows, idle)

    def _seconds(self) -> float | None:
        if self.run_for is None:
            return None
        try:
            window = parse_window(self.run_for)
        except ParseError:
            window = None
        if window is None or window.unit is not WindowUnit.DURATION or window.slide is not None:
            raise UsageMistakeError(
                "BAD_OPTION", f"--for {self.run_for} is not a duration.", hint="--for 60s, or --for '2 minutes'"
            )
        return window.size / A_SECOND


def refuse_batch_options(given: Mapping[str, Any]) -> None:
    """Refuse options that a stream cannot keep, for it has no end.

    >>> refuse_batch_options({"--count": False})
    """
    for option, value in given.items():
        if value:
            raise UsageMistakeError("BAD_OPTION", f"{option} does not go with --follow.", hint="Leave one of them out.")


def end_marker(query: QueryModel, lateness: str | None, kind: pa.DataType, time_unit: str | None) -> str:
    """Return how far behind the last event one must come so that every match of a file becomes certain.

    >>> import eventide as et
    >>> end_marker(et.query("SELECT * WHERE A ; NOT B WITHIN 5 seconds").model, "2 seconds", pa.timestamp("us"), None)
    '13000000 us'
    """
    numbers = pa.types.is_integer(kind)
    scale = Fraction(A_SECOND, UNITS_PER_SECOND[time_unit]) if numbers and time_unit is not None else Fraction(1)
    waited = [0]
    if lateness is not None:
        with suppress(ParseError):
            # One that is wrong is refused with the query.
            allowed = parse_window(lateness)
            waited.append(_in_units(allowed.unit, allowed.size, scale))
    if query.window is not None and query.window.unit.timed:
        # Ordered output waits for the window once more.
        waited.append(2 * _in_units(query.window.unit, query.window.size, scale))
    distance = sum(waited) + max(1, int(A_SECOND // scale) if not numbers or time_unit else 1)
    return str(distance) if numbers else f"{distance} us"


def _in_units(unit: WindowUnit, size: float, scale: Fraction) -> int:
    return ceil(int(size) / scale) if unit is WindowUnit.DURATION else int(size)
