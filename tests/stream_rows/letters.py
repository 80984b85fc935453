"""Small streams written as text, for tests that tell a story: rows, watermarks, and what comes out when."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pyarrow as pa

from stream_rows.running import Stream, plan_of, stream_of

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
SCHEMA = pa.schema(
    [("ts", pa.timestamp("us", "UTC")), ("k", pa.string()), ("type", pa.string()), ("v", pa.int64()), ("w", pa.float64())]
)
SECOND = 1_000_000


def rows_of(text):
    """Return a table of rows `second type value key`, of which the last two may be left out.

    >>> rows_of("1A 2B5 3C5x").to_pylist()[1]["v"]
    5
    """
    rows = []
    for word in text.split():
        time = word.rstrip("xyz").rstrip("-0123456789")
        second = "".join(character for character in time if character in "0123456789.")
        kind = time[len(second) :] or "?"
        rest = word[len(second) + len(kind) :]
        key = rest[-1:] if rest[-1:] in ("x", "y", "z") and rest else "x"
        value = rest.rstrip("xyz")
        rows.append(
            {
                "ts": EPOCH + timedelta(seconds=float(second)),
                "k": key,
                "type": kind,
                "v": int(value) if value else 0,
                "w": float(value) if value else 0.0,
            }
        )
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def micros(second):
    """Return a time of these streams as a watermark."""
    return int((EPOCH - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds()) * SECOND + round(second * SECOND)


def query_of(clauses, define=None, order="ts"):
    """Return a query over the rows of each key in the order of time; variables stand for types unless they are defined."""
    letters = [letter for letter in "ABC" if letter in clauses.partition("PATTERN")[2].partition("WITHIN")[0]]
    define = define or ", ".join(f"{letter} AS type = '{letter}'" for letter in letters)
    return f"SELECT * FROM input MATCH_RECOGNIZE (PARTITION BY k ORDER BY {order} {clauses} DEFINE {define})"


class Story:
    """A stream that is told step by step."""

    def __init__(self, clauses, rows, define=None, order="ts"):
        table = rows_of(rows)
        self.stream: Stream = stream_of(plan_of(query_of(clauses, define, order), table), table)

    def step(self, watermark, rows=None):
        """Let rows arrive (all that are below the watermark unless a number is given); return what comes out, keys left out."""
        if rows is None:
            rows = int((self.stream.clock[self.stream.taken :] < micros(watermark)).sum())
        before = len(self.stream.certain)
        self.stream.advance(rows, micros(watermark))
        return self.shown(self.stream.certain[before:])

    def shown(self, tables):
        """Return results without their keys, in order."""
        return sorted((row[1:] for row in self.stream.finished(tables)), key=repr)

    def likely(self):
        """Return what would follow."""
        return self.shown(self.stream.speculate())

    @property
    def held(self):
        """How many rows are held behind the watermark, and how many may begin a match."""
        engine = self.stream.engine
        waiting = engine._buffer.waiting
        held = engine.held()
        return held.events - (0 if waiting is None else waiting.num_rows), held.partial

    @property
    def keys(self):
        """How many keys are remembered."""
        return len(self.stream.engine._partitions)
