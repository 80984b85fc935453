"""GROUP BY on Structured Streaming: the rows of a table of the same events, also after a stop, and beside other queries."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import eventide as et
from spark.streaming import FileStream, Sink, comparable, quiet

SCHEMA = pa.schema(
    [("ts", pa.timestamp("us", "UTC")), ("kind", pa.string()), ("k", pa.int64()), ("id", pa.int64()), ("x", pa.float64())]
)
EPOCH = datetime(2024, 3, 9, 12, tzinfo=UTC)
LATENESS = 4
QUERIES = {
    "ends": "SELECT k, match_end, COUNT(*) AS n, SUM(b.x) AS total, MAX(b.ts) AS last WHERE A AS a ; B+ AS b FILTER b.x <= NEXT(b.x)"
    " PARTITION BY k WITHIN 30 seconds GROUP BY END",
    # The planner splits keys by id, and the rows of a key count the matches of all its ids.
    "windows": "SELECT k, window_start, window_end, COUNT(*) AS n, AVG(b.x) AS mean WHERE A AS a ; B AS b FILTER a.id = b.id"
    " PARTITION BY k WITHIN 30 seconds GROUP BY WINDOW 20 seconds",
    "listed": "SELECT window_end, COUNT(*) AS n, MIN(a.kind) AS kind WHERE A AS a ; B AS b ; NOT C PARTITION BY k WITHIN 12 seconds"
    " GROUP BY WINDOW 30 seconds",
}


def made_events(seed: int, size: int = 200) -> list[dict[str, Any]]:
    """Return events in an order of arrival in which none is later than the lateness."""
    rng = Random(seed)
    rows = [
        {
            "ts": EPOCH + timedelta(seconds=number + rng.randint(0, 1)),
            "kind": rng.choice("ABCD"),
            "k": rng.randrange(3),
            "id": rng.randrange(4),
            "x": rng.randrange(20) / 10,
        }
        for number in range(size)
    ]
    return sorted(rows, key=lambda row: row["ts"] + timedelta(seconds=rng.randint(0, LATENESS)))


def ended(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return an event after which everything is certain."""
    return [{**rows[0], "ts": EPOCH + timedelta(days=9), "kind": "Z"}]


def given(data: Any) -> et.Events:
    return et.events(data, time="ts", type="kind")


def streamed(query: str, stream: FileStream, output: str = "final") -> Any:
    with quiet():
        return et.query(query).match(given(stream.frame()), lateness=f"{LATENESS} seconds", output=output, buckets=3)


def of_table(query: str, rows: list[dict[str, Any]]) -> list[Any]:
    with quiet():
        return comparable(et.query(query).match(given(pa.Table.from_pylist(rows, schema=SCHEMA))).to_pylist())


def rows_of(sink: Sink) -> list[dict[str, Any]]:
    return sink.frame().toArrow().to_pylist()


@pytest.mark.parametrize(
    ("name", "output"), [("ends", "ordered"), ("windows", "final"), pytest.param("listed", "final", marks=pytest.mark.long)]
)
def test_groups_of_a_stream_are_those_of_a_table_also_after_a_stop(spark, tmp_path, sink, name, output):
    rows = made_events(len(name))
    stream = FileStream(spark, tmp_path / "events", SCHEMA)
    sink.run(streamed(QUERIES[name], stream.add(rows[:90]), output))
    before = len(sink.rows())
    sink.run(streamed(QUERIES[name], stream.add(rows[90:], ended(rows)), output))
    expected = of_table(QUERIES[name], rows)
    assert 0 < before < len(expected)
    assert comparable(rows_of(sink)) == expected
    if output == "ordered":
        ends = [row["match_end"] for row in sink.rows()]
        assert ends == sorted(ends)


def test_groups_and_matches_leave_one_pass_over_a_stream(spark, tmp_path, sink):
    rows = made_events(5)
    stream = FileStream(spark, tmp_path / "events", SCHEMA).add(rows, ended(rows))
    queries = {"ends": QUERIES["ends"], "plain": "SELECT k, b.x AS x WHERE A : B AS b PARTITION BY k WITHIN 9 seconds"}
    with quiet():
        found = et.queries(queries).match(given(stream.frame()), lateness=f"{LATENESS} seconds", buckets=2)
    sink.run(found)
    for name, query in queries.items():
        expected = of_table(query, rows)
        columns = [column for column, _ in expected[0]]
        mine = [{column: row[column] for column in columns} for row in rows_of(sink) if row["query"] == name]
        assert comparable(mine) == expected


def test_explain_says_when_a_row_leaves(spark, tmp_path):
    stream = FileStream(spark, tmp_path / "events", SCHEMA)
    text = et.query(QUERIES["windows"]).explain(events=given(stream.frame()))
    assert "a row leaves when the watermark has passed its window" in text
    assert "events wait for the watermark (GROUP BY adds up what ends at an event" in text
