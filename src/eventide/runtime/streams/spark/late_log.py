"""A line in the log of a worker, once a minute at most, where events came too late to be taken."""

from __future__ import annotations

import logging
from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from eventide.runtime.streams.bucket import Counters

SECONDS_APART = 60.0


class LateLog:
    """Adds up what came too late since the last line."""

    def __init__(self, now: Callable[[], float] = monotonic) -> None:
        self._now = now
        self._last: float | None = None
        self._late = 0

    def note(self, counters: Counters) -> None:
        """Take the counters of a micro-batch of one bucket."""
        self._late += counters.late
        if not self._late or (self._last is not None and self._now() - self._last < SECONDS_APART):
            return
        logging.getLogger("eventide").warning(
            "%s events came later than lateness allows and were left out; q.late(events) lists them.", self._late
        )
        self._last, self._late = self._now(), 0


LATE_LOG = LateLog()
"""That of this process."""
