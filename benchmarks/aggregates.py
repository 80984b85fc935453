"""Results over all matches: time against events while the matches go from 10^3 to 10^60, and what listing them would cost."""

from __future__ import annotations

import time
import warnings

import numpy as np
import pyarrow as pa

import eventide as et
from benchmarks.report import Figure
from eventide.errors import EventideWarning

DIGITS = (3, 10, 20, 30, 40, 50, 60)
LISTED_EVENTS = 20
"""Events of the loop where matches are listed for comparison: about a million matches."""


def seconds(text: str, events: et.Events, repeat: int = 5) -> float:
    """Return the best time of a query."""
    query = et.query(text)
    best = float("inf")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EventideWarning)
        query.match(events)
        for _ in range(repeat):
            started = time.perf_counter()
            query.match(events)
            best = min(best, time.perf_counter() - started)
    return best


def loop(size: int, seed: int = 1, *, rising: bool = False) -> et.Events:
    """Return A, then so many B, then C, with values that go up and down, or never down."""
    rng = np.random.default_rng(seed)
    kinds = ["A", *["B"] * size, "C"]
    values = rng.integers(-50, 50, len(kinds))
    table = {"ts": range(len(kinds)), "kind": kinds, "x": np.sort(values) if rising else values, "y": rng.random(len(kinds))}
    return et.events(pa.table(table), time="ts", type="kind")


def stream(size: int, seed: int = 2) -> et.Events:
    """Return a long stream of A, B and C."""
    rng = np.random.default_rng(seed)
    kinds = np.array(["A", "B", "C"])[rng.integers(0, 3, size)]
    table = {"ts": range(size), "kind": kinds, "x": rng.integers(0, 1000, size), "y": rng.random(size)}
    return et.events(pa.table(table), time="ts", type="kind")


def aggregates(events: int = 200_000) -> list[Figure]:
    """Measure GROUP BY, ORDER BY and SAMPLE; ratios are within this run."""
    return [*_sizes(), *_windows(events), *_neighbours(max(400, events // 100)), *_chosen(), *_near_chosen()]


def _sizes() -> list[Figure]:
    """Time against the events of one loop, whose matches grow from 10^3 to 10^60."""
    pattern = "WHERE A ; B+ AS b ; C GROUP BY PARTITION"
    figures, times, sizes = [], [], []
    for digits in DIGITS:
        size = round(digits / np.log10(2))
        events = loop(size)
        times.append(seconds(f"SELECT COUNT(*) AS n {pattern}", events))
        sizes.append(size)
        figures.append(Figure(f"aggregates, COUNT, {size} events, 10^{digits} matches", 1000 * times[-1], "ms", ""))
    slope, base = np.polyfit(sizes, times, 1)
    worst = max(abs(spent - (base + slope * size)) / spent for size, spent in zip(sizes, times, strict=True))
    figures.append(Figure("aggregates, COUNT, farthest from a straight line", worst, "share", "<= 0.25"))
    events = loop(sizes[-1])
    for item in ("SUM(b.x)", "AVG(b.y)", "MAX(b.y)"):
        spent = seconds(f"SELECT {item} AS v {pattern}", events)
        figures.append(Figure(f"aggregates, {item} beside COUNT, 10^60 matches", spent / times[-1], "ratio", "<= 3"))
    return figures


def _windows(size: int) -> list[Figure]:
    """Many events under windows: the work for an event must not depend on the window."""
    figures = []
    events, half = stream(size), stream(size // 2)
    times = {}
    for window in (10, 100, 1000):
        text = f"SELECT COUNT(*) AS n, SUM(b.x) AS s WHERE A ; B+ AS b ; C WITHIN {window} GROUP BY PARTITION"
        times[window] = seconds(text, events, repeat=2)
        rate = size / times[window] / 1e6
        figures.append(Figure(f"aggregates, COUNT and SUM, {size:,} events, window {window}", rate, "M events/s", ""))
        if window == 100:
            doubled = times[window] / seconds(text, half, repeat=2)
            figures.append(Figure("aggregates, twice the events, window 100", doubled, "ratio", "<= 2.3"))
    return figures


def _neighbours(size: int) -> list[Figure]:
    """Conditions between neighbours: pair by pair beside enumeration, on a window that can still be listed, and beyond."""
    text = "SELECT COUNT(*) AS n WHERE A AS a ; B+ AS b ; C FILTER b.x <= NEXT(b.x) WITHIN {} GROUP BY PARTITION"
    # c is no neighbour of every b, so the same matches have to be listed.
    listed = (
        "SELECT COUNT(*) AS n WHERE A AS a ; B+ AS b ; C AS c FILTER b.x <= NEXT(b.x) AND b.x + c.x >= 0 "
        "WITHIN {} GROUP BY PARTITION"
    )
    events = stream(size)
    near, far = (seconds(query.format(40), events, repeat=2) for query in (text, listed))
    wide = seconds(text.format(200), events, repeat=1)
    return [
        Figure(f"aggregates, neighbours, {size:,} events, window 40", 1000 * near, "ms", ""),
        Figure("aggregates, listing beside neighbours, window 40", far / near, "ratio", ""),
        Figure(f"aggregates, neighbours, {size:,} events, window 200", 1000 * wide, "ms", ""),
    ]


def _chosen() -> list[Figure]:
    """The best ten, and a sample, beside listing all and sorting; then of 10^60 matches."""
    small, large = loop(LISTED_EVENTS), loop(200)
    best = "SELECT SUM(b.x) AS s WHERE A ; B+ AS b ; C ORDER BY SUM(b.x) DESC LIMIT 10"
    sample = "SELECT SUM(b.x) AS s WHERE A ; B+ AS b ; C SAMPLE 10 SEED 1"
    everything = "SELECT SUM(b.x) AS s WHERE A ; B+ AS b ; C"
    listed = seconds(everything, small, repeat=2)
    name = f"aggregates, listing 2^{LISTED_EVENTS} matches beside"
    return [
        Figure(f"{name} the best ten", listed / seconds(best, small), "ratio", ">= 10"),
        Figure(f"{name} a sample", listed / seconds(sample, small), "ratio", ">= 10"),
        Figure("aggregates, the best ten of 10^60 matches", 1000 * seconds(best, large), "ms", ""),
        Figure("aggregates, ten drawn of 10^60 matches", 1000 * seconds(sample, large), "ms", ""),
    ]


def _near_chosen() -> list[Figure]:
    """The same where neighbours are compared; the values never fall, so that the matches are as many."""
    small, large = loop(LISTED_EVENTS, rising=True), loop(200, rising=True)
    pattern = "WHERE A AS a ; B+ AS b ; C FILTER {}"
    best = f"SELECT a.x AS first, SUM(b.x) AS s {pattern} ORDER BY SUM(b.x) DESC LIMIT 10"
    sample = f"SELECT a.x AS first, SUM(b.x) AS s {pattern} SAMPLE 10 SEED 1"
    listed = seconds(f"SELECT a.x AS first, SUM(b.x) AS s {pattern}".format("b.x <= NEXT(b.x)"), small, repeat=1)
    figures = []
    beside = f"listing 2^{LISTED_EVENTS} matches beside"
    for condition, name in (("b.x <= NEXT(b.x)", "neighbours"), ("b.x >= a.x", "the first event")):
        best_small, sample_small = (seconds(text.format(condition), small) for text in (best, sample))
        best_large, sample_large = (seconds(text.format(condition), large) for text in (best, sample))
        figures += [
            Figure(f"aggregates, {name}, {beside} the best ten", listed / best_small, "ratio", ""),
            Figure(f"aggregates, {name}, {beside} a sample", listed / sample_small, "ratio", ""),
            Figure(f"aggregates, {name}, the best ten of 10^60 matches", 1000 * best_large, "ms", ""),
            Figure(f"aggregates, {name}, ten drawn of 10^60 matches", 1000 * sample_large, "ms", ""),
        ]
    return figures
