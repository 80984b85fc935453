"""Matches of a stream found in slices on Spark itself: the same rows, by several tasks, over restarts."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import functions as sf

import eventide as et
from eventide.runtime.streams.bucket_numbers import place_numbers, spark_hash
from spark.streaming import FileStream, comparable, quiet
from spark.test_streams import END, LATENESS, SCHEMA, cut, given, made_events, matched

SLICES = 2
"""Tests have few shuffle partitions; slices are in different ones only as long as there are enough."""
UNKEYED = "SELECT a.n AS first, COUNT(b) AS n, SUM(b.x) AS total, c.n AS last WHERE A AS a ; B+ AS b ; C AS c FILTER a.x <= b.x WITHIN 12"
KEYED = "SELECT k, a.n AS first, SUM(b.x) AS total, c.n AS last WHERE A AS a ; B+ AS b ; C AS c PARTITION BY k WITHIN 40"


@pytest.fixture
def stream(spark, tmp_path):
    return FileStream(spark, tmp_path / "events", SCHEMA)


def of_table(query: str, rows: list[dict]) -> list:
    """Return the rows of the matcher that slices share out, over a table."""
    with quiet():
        return comparable(et.query(query).match(given(pa.Table.from_pylist(rows, schema=SCHEMA)), matcher="automaton").to_pylist())


def burst(size: int) -> list[dict]:
    kinds = ["A", *["B"] * size, "C"]
    return [{"ts": 1000 + number, "n": 1000 + number, "kind": kind, "k": 1, "x": 1} for number, kind in enumerate(kinds)]


@pytest.mark.parametrize(("query", "slices"), [(UNKEYED, SLICES), (KEYED, 3)], ids=["unkeyed", "keyed"])
def test_slices_put_out_the_matches_of_a_table_over_a_restart(stream, sink, query, slices):
    rows = made_events(seed=4, size=160)
    first, second = cut(rows, 2)
    stream.add(first)
    sink.run(matched(query, stream.frame(), distribution="slices", slices=slices))
    before = sink.rows()
    late = {"ts": 0, "n": -2, "kind": "A", "k": 1, "x": 0}
    stream.add(second, [late, *END])
    sink.run(matched(query, stream.frame(), slices=slices))
    assert 0 < len(before) < len(sink.rows())
    assert comparable(sink.rows()) == of_table(query, rows)
    assert sum(sink.counted("events")) == len(rows) + 2
    assert sum(sink.counted("late")) == 1
    assert sum(sink.counted("matches")) == len(sink.rows())


def test_tasks_write_different_matches_in_even_shares(spark, stream, sink):
    stream.add(burst(11), END)
    frame = matched(UNKEYED, stream.frame(), distribution="auto", slices=SLICES)
    sink.run(frame.withColumn("task", sf.spark_partition_id()))
    shares: dict[int, int] = {}
    for row in sink.rows():
        shares[row["task"]] = shares.get(row["task"], 0) + 1
    assert int(spark.conf.get("spark.sql.shuffle.partitions")) >= SLICES
    assert sum(shares.values()) == 2**11 - 1
    assert len(shares) == SLICES
    assert max(shares.values()) - min(shares.values()) < 0.05 * sum(shares.values())


@pytest.mark.parametrize(("before", "after"), [({}, {"slices": 2}), ({"slices": 3}, {"slices": 2})])
def test_another_number_of_slices_on_an_old_checkpoint_is_refused(stream, sink, before, after):
    stream.add(made_events(size=20))
    sink.run(matched(UNKEYED, stream.frame(), **before))
    stream.add(END)
    with pytest.raises(PySparkException, match=f"SLICES_CHANGED.*slices={before.get('slices', 1)}, .*slices={after.get('slices', 1)}"):
        sink.run(matched(UNKEYED, stream.frame(), **after))


def test_tasks_are_named_by_the_hash_of_spark(spark):
    numbers = [0, 1, 15, *place_numbers(16, (3,), 4).values()]
    hashed = spark.createDataFrame(pa.table({"n": pa.array(numbers, pa.int32())})).select(sf.hash("n")).collect()
    assert [row[0] for row in hashed] == spark_hash(pa.array(numbers).to_numpy()).tolist()


def test_slices_of_a_stream_are_explained_and_warned_of(stream):
    events = given(stream.frame())
    text = et.query(UNKEYED).explain(events=events, distribution="auto", slices=3)
    assert "distribution: slices (no key, and matches can outgrow events; each of 3 tasks takes all events" in text
    assert "3 times as much state); events wait for the watermark (slices share out the paths" in text
    assert "distribution: buckets of keys (not sliced: partitioned by k)" in et.query(KEYED).explain(events=events, distribution="auto")
    assert "distribution: buckets of keys; events wait" in et.query(KEYED).explain(events=events)
    with pytest.warns(et.EventideWarning, match="in 3 slices, each of which holds the whole state") as warned:
        et.query(UNKEYED).match(events, lateness=LATENESS, slices=3)
    assert len(warned) == 1


def test_what_cannot_be_sliced_on_a_stream_is_refused_before_it_starts(stream):
    events = given(stream.frame())
    with pytest.raises(et.BindError, match=r'ONLY_ON_TABLES(.|\n)*distribution="slices"'):
        et.query(UNKEYED).match(events, distribution="round_robin")
    with pytest.raises(et.BindError, match=r"SLICES_NOT_SOUND.*early"):
        et.query(UNKEYED).match(events, distribution="slices", slices=2, output="early")
    with pytest.raises(et.BindError, match=r"SLICES_NOT_SOUND.*LIMIT"):
        et.query(UNKEYED + " LIMIT 2").match(events, distribution="slices")
    with pytest.raises(et.BindError, match=r"ONLY_ON_TABLES.*max_matches"):
        et.query(UNKEYED).match(events, max_matches=5)
