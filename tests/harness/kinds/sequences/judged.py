"""Random queries whose candidates explode and whose results are small: loops with conditions on sets, under what asks for few."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from eventide.language import parse
from harness.kinds.sequences.queries import Trial

if TYPE_CHECKING:
    from random import Random

PATTERNS = (
    "A+ AS x ; B AS y",
    "A+ AS x ; (A OR B) AS y",
    "(A OR B)+ AS x ; (A OR B) AS y",
    "C AS y ; A+ AS x",
    "C AS z ; A+ AS x ; B AS y",
    "A+ AS x ; (A OR B)+ AS y",
    "A+ AS x ; A+ AS y ; B AS z",
    "A* AS x ; B AS y",
    "A{2,3} AS x ; B? AS y ; (A OR C) AS z",
    "(A AS x ; B AS y)+ ; C AS z",
    "A+ AS x AND B+ AS y",
    "(A+ AS x OR B+ AS x) ; (A OR B) AS y",
    "A:+ AS x ; B AS y",
    "A+ AS x ; B+ AS y : C AS z",
)
EXTREMA = (
    "y.w > MAX(x.w)",
    "y.w >= 2 * MAX(x.w)",
    "MAX(x.w) * 2 < y.w",
    "MAX(x.w) - 1 <= y.w",
    "y.w < MIN(x.w)",
    "y.w <= MIN(x.w) / 2",
    "(MIN(x.w) + 1) > y.w",
    "y.v > MAX(x.v)",
    "y.v >= 2 * MAX(x.v) - 1",
    "y.v < MIN(x.v)",
    "MAX(x.v) < 3",
    "MIN(x.w) >= 1.5",
    "MAX(x.w) < MIN(y.w)",
    "MAX(x.v) <= MIN(y.v)",
    "y.w > MIN(x.w)",
    "y.v < MAX(x.v)",
    "AVG(y.w) > MAX(x.w)",
    "COUNT(y) > MAX(x.v)",
    "x.v > MAX(x.v)",
    "y.w - MAX(x.w) > 1",
    "y.w > 0 - MAX(x.w)",
)
SETS = (
    "COUNT(x) >= 2",
    "COUNT(x) < 3",
    "COUNT(x) = 2",
    "COUNT(x) <> COUNT(y)",
    "COUNT(*) >= 4",
    "COUNT(x.v) >= 2",
    "SUM(x.v) > 4",
    "SUM(x.v) <= 3",
    "SUM(x.v) = 4",
    "SUM(x.w) >= 3.0",
    "SUM(x.w) < y.w + 2",
    "SUM(x.v) < SUM(y.v)",
    "AVG(x.v) >= 2",
    "AVG(x.w) < y.w",
    "FIRST(x.v) < LAST(x.v)",
    "FIRST(x.v) <> LAST(y.v)",
    "y.v > FIRST(x.v)",
    "y.v > LAST(x.v)",
    "y.v + COUNT(x) > 3",
    "MAX(x.v) - MIN(x.v) >= 2",
    "MAX(x.v) = y.v",
    "SUM(x.v) % 2 = 0",
    "COUNT(x) * y.v > 3",
    "LAST(x.v) IS NULL OR COUNT(x) > 1",
)
EACH = (
    "x.v < NEXT(x.v)",
    "x.v <= NEXT(x.v)",
    "x.w > NEXT(x.w)",
    "NEXT(x.v) - x.v <= 1",
    "x.v < NEXT(x.v) + y.v",
    "x.v < y.v",
    "x.w <= y.w",
    "x.v = y.v",
    "x.v <> y.v",
    "x.s = y.s",
    "x.s <=> y.s",
    "y.v - x.v > 0",
    "x.v + y.v > 3",
    "x.v * 2 <= y.v + 1",
    "ABS(x.v - y.v) <= 1",
    "x.v IS NULL OR y.v > x.v",
    "x.v >= AVG(x.v)",
    "x.v > LAST(x.v)",
    "x.v <= FIRST(x.v) OR y.ok",
)
LOCAL = ("x.v > 0", "x.w < 5", "x.w > -5 AND x.v > -5", "x.v BETWEEN 1 AND 4", "y.v > 1")
WINDOWS = ("", " WITHIN 8", " WITHIN 5", " WITHIN 6 events")
OUTPUTS = ("*", "*", "y", "COUNT(y) AS c0", "LAST(x.v) AS c0", "x", "MAX(y.w) AS c0, COUNT(x) AS c1")
SELECTORS = ("", "", "NEXT ", "LAST ", "ANY ", "MAX ")


def make_judged_trial(rng: Random, groups: tuple[tuple[str, ...], ...] = (EXTREMA, SETS, EACH)) -> Trial:
    """Return a random query with one to three conditions of some groups."""
    limit = f" LIMIT {rng.choice((1, 2, 5))}" if rng.random() < 0.15 else ""
    return _trial(rng, f"{rng.choice(SELECTORS)}{rng.choice(OUTPUTS)}", groups, limit)


def _trial(rng: Random, shown: str, groups: tuple[tuple[str, ...], ...], clause: str, windows: tuple[str, ...] = WINDOWS) -> Trial:
    conditions = [rng.choice(rng.choice(groups)) for _ in range(rng.choice((1, 1, 2, 3)))]
    if rng.random() < 0.4:
        conditions.append(rng.choice(LOCAL))
    text = f"SELECT {shown} WHERE {rng.choice(PATTERNS)} FILTER "
    text += " AND ".join(f"({condition})" for condition in conditions)
    text += f" PARTITION BY case_id{rng.choice(windows)}{clause}"
    return Trial(parse(text), rng.random() < 0.5, timestamps=False, seconds=False, several_streams=False, by_case=True)


def make_extremum_trial(rng: Random) -> Trial:
    """Return a random query with conditions on MAX and MIN."""
    return make_judged_trial(rng, (EXTREMA,))


def make_judged_group_trial(rng: Random) -> Trial:
    """Return a random query that counts the matches of groups."""
    unit = rng.choice(("PARTITION", "END"))
    return _trial(rng, "COUNT(*) AS n", (EXTREMA, SETS, EACH), f" GROUP BY {unit}")


def make_judged_timeout_trial(rng: Random) -> Trial:
    """Return a random query for what times out."""
    return replace(_trial(rng, "*", (EXTREMA, SETS, EACH), "", (" WITHIN 8", " WITHIN 5")), timeouts=True)
