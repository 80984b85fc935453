"""What came too late stands in the log, but not in every micro-batch."""

from __future__ import annotations

import logging

from eventide.runtime.streams.bucket import Counters
from eventide.runtime.streams.spark.late_log import LateLog


def test_late_events_are_logged_once_a_minute(caplog):
    now = [100.0]
    log = LateLog(lambda: now[0])
    with caplog.at_level(logging.WARNING, "eventide"):
        for seconds, late in ((0, 0), (1, 2), (30, 3), (59, 0), (62, 4), (63, 0), (200, 0)):
            now[0] = 100.0 + seconds
            log.note(Counters(late=late))
    assert [record.getMessage().split()[0] for record in caplog.records] == ["2", "7"]
