"""Numbers of a stream in words that fit on a line."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from eventide.progress.tally import EPOCH, Batch

if TYPE_CHECKING:
    from collections.abc import Mapping

# Below a day behind 1970 a watermark is no moment but a number of a time column that counts something else.
FIRST_MOMENT = 86_400_000_000
# Keys expire all the time; the others are worth a look.
UNUSUAL = {"untimed": "without a time", "timeouts": "timeouts", "dropped": "dropped"}


def moment(watermark: int | None) -> str:
    """Return a watermark as a time, or as the number that it is.

    >>> moment(1704188700250000), moment(12), moment(None)
    ('2024-01-02 09:45:00.250', '12', '-')
    """
    if watermark is None:
        return "-"
    if abs(watermark) < FIRST_MOMENT:
        return f"{watermark:,}"
    try:
        return f"{EPOCH + timedelta(microseconds=watermark):%Y-%m-%d %H:%M:%S.%f}"[:-3]
    except OverflowError:
        return f"{watermark:,}"


def size(number: int) -> str:
    """Return a number of bytes.

    >>> size(512), size(1_250_000)
    ('512 B', '1.2 MB')
    """
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if number >= scale:
            return f"{number / scale:.1f} {unit}"
    return f"{number} B"


def batch_words(batch: Batch) -> list[tuple[str, str]]:
    """Return what a batch did as words with their styles.

    >>> "".join(word for word, _ in batch_words(Batch("q", "r", "fraud", 3, 10, 0.5, {"events": 10, "late": 1}, {}, None)))
    'fraud  batch 3      10 events    0 matches   1 late  in 0.50 s'
    """
    events = batch.counters.get("events", batch.rows)
    words = [(batch.label, "bold"), (f"  batch {batch.number:<3}", ""), (f" {events:>5,} events", "")]
    if batch.counters:
        matches, late = batch.counters.get("matches", 0), batch.counters.get("late", 0)
        words.append((f"  {matches:>3,} {'match  ' if matches == 1 else 'matches'}", "green" if matches else "dim"))
        words.append((f" {late:>3,} late", "yellow" if late else "dim"))
        words += [(f"  {batch.counters[name]:,} {told}", "yellow") for name, told in UNUSUAL.items() if batch.counters.get(name)]
    if batch.watermark is not None:
        words.append((f"  watermark {moment(batch.watermark)}", "cyan"))
    return [*words, *_held(batch.gauges), (f"  in {batch.seconds:.2f} s", "dim")]


def _held(gauges: Mapping[str, int]) -> list[tuple[str, str]]:
    shown = [f"{gauges[name]:,} {name}" for name in ("held", "partial") if name in gauges]
    if "state_bytes" in gauges:
        shown.append(f"state {size(gauges['state_bytes'])}")
    return [("  " + ", ".join(shown), "dim")] if shown else []
