"""The streams that are killed again and again: their events, event queries with negation and keys, and a row pattern."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pyarrow as pa

SCHEMA = pa.schema(
    [("ts", pa.timestamp("us", "UTC")), ("n", pa.int64()), ("kind", pa.string()), ("k", pa.string()), ("x", pa.int64())]
)
EPOCH = datetime(2024, 1, 1, tzinfo=UTC)
EVENTS_OF_A_FILE = 60
LATENESS_SECONDS = 5
QUERIES = {
    # One is matched behind a reorder buffer, one as its events arrive.
    "loops": "SELECT k, a.n AS first, COUNT(b) AS n, c.n AS last"
    " WHERE A AS a ; B+ AS b ; NOT E ; C AS c ; NOT D PARTITION BY k WITHIN 20 seconds",
    "steps": "SELECT k, a.n AS first, c.n AS last WHERE A AS a ; NOT E ; B ; C AS c PARTITION BY k WITHIN 15 seconds",
}
CLAUSE = """SELECT * FROM events MATCH_RECOGNIZE (
    PARTITION BY k ORDER BY ts, n
    MEASURES FIRST(DOWN.n) AS first, LAST(UP.n) AS last, COUNT(*) AS length, MATCH_NUMBER() AS number
    AFTER MATCH SKIP TO NEXT ROW
    PATTERN (DOWN+ UP+) WITHIN 30 SECONDS
    DEFINE DOWN AS DOWN.x < PREV(DOWN.x), UP AS UP.x > PREV(UP.x)
)"""
NAMES = ("queries", "clause")


def make_events(seed: int, files: int) -> list[list[dict[str, Any]]]:
    """Return the events of files in an order of arrival in which none is later than the lateness."""
    rng = Random(seed)
    size = files * EVENTS_OF_A_FILE
    rows = [
        {"ts": number // 3, "n": number, "kind": rng.choice("AABBCCDEF"), "k": rng.choice("pqrstuvw"), "x": rng.randrange(30)}
        for number in range(size)
    ]
    rows.sort(key=lambda row: (row["ts"] + rng.randint(0, LATENESS_SECONDS), row["n"]))
    for row in rows:
        row["ts"] = EPOCH + timedelta(seconds=row["ts"])
    return [rows[begin : begin + EVENTS_OF_A_FILE] for begin in range(0, size, EVENTS_OF_A_FILE)]


def last_event(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return an event after which everything before it is certain."""
    return {"ts": max(row["ts"] for row in rows) + timedelta(hours=1), "n": -1, "kind": "Z", "k": "z", "x": 0}


def matches(frame: Any, **options: Any) -> dict[str, Any]:
    """Return the results over a DataFrame or a table by name."""
    import eventide as et

    return {
        "queries": et.queries(QUERIES).match(et.events(frame, time="ts", type="kind", tie_break="n"), **options),
        "clause": et.sql(CLAUSE, events=frame, **options),
    }
