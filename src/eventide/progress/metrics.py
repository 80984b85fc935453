"""The totals of all queries as metrics."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from eventide.progress.exposition import Family
from eventide.records import record

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from eventide.progress.tally import Tally

Value = Callable[["Watched"], int | float | None]


@record
class Watched:
    """A query that is or was running."""

    labels: Mapping[str, str]
    tally: Tally
    active: bool


def _counter(name: str) -> Value:
    return lambda watched: watched.tally.counters[name]


def _gauge(name: str) -> Value:
    return lambda watched: watched.tally.gauges.get(name)


def _watermark_seconds(watched: Watched) -> float | None:
    return None if watched.tally.watermark is None else watched.tally.watermark / 1e6


def _last_seconds(watched: Watched) -> float | None:
    return None if watched.tally.last is None else watched.tally.last.seconds


METRICS: tuple[tuple[str, str, str, Value], ...] = (
    ("eventide_batches_total", "counter", "Micro-batches that were run.", lambda watched: watched.tally.batches),
    ("eventide_input_rows_total", "counter", "Rows that the sources have brought.", lambda watched: watched.tally.rows),
    ("eventide_events_total", "counter", "Events that were taken.", _counter("events")),
    ("eventide_untimed_events_total", "counter", "Events without a time, which are left out.", _counter("untimed")),
    ("eventide_late_events_total", "counter", "Late events: they came after the watermark and were dropped.", _counter("late")),
    ("eventide_matches_total", "counter", "Matches that became certain.", _counter("matches")),
    ("eventide_timeouts_total", "counter", "Results that the passing of time alone made certain.", _counter("timeouts")),
    ("eventide_expired_keys_total", "counter", "Keys given up because nothing of them can matter.", _counter("expired")),
    ("eventide_dropped_events_total", "counter", "Held events dropped to keep the state below its cap.", _counter("dropped")),
    ("eventide_partial_matches", "gauge", "Partial matches that may still be completed.", _gauge("partial")),
    ("eventide_held_events", "gauge", "Events that are held.", _gauge("held")),
    ("eventide_state_bytes", "gauge", "Size of the state.", _gauge("state_bytes")),
    ("eventide_watermark_timestamp_seconds", "gauge", "No event before this time is waited for.", _watermark_seconds),
    ("eventide_last_batch_seconds", "gauge", "How long the last micro-batch took.", _last_seconds),
    ("eventide_query_active", "gauge", "1 while the query runs, 0 behind its end.", lambda watched: int(watched.active)),
)


def families(watched: Iterable[Watched]) -> list[Family]:
    """Return the metrics of queries.

    >>> from eventide.progress.tally import Tally
    >>> [family.name for family in families([Watched({"query": "fraud"}, Tally(batches=3), True)])][:2]
    ['eventide_batches_total', 'eventide_input_rows_total']
    """
    queries = list(watched)
    found = []
    for name, kind, meaning, value_of in METRICS:
        values = ((query.labels, value_of(query)) for query in queries)
        found.append(Family(name, kind, meaning, tuple((labels, value) for labels, value in values if value is not None)))
    return [family for family in found if family.samples]
