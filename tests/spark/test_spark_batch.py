"""What only the Spark runtime has: distribution, laziness, schemas, and results that do not depend on how the data is cut."""

from __future__ import annotations

import warnings
from datetime import datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pytest

import eventide as et
from eventide import pipeline
from eventide.runtime.options import RunOptions
from eventide.runtime.spread.distribution import distribute
from spark.streaming import configured

pytestmark = pytest.mark.connect
SIZE = 3_000


def trades(seed: int = 0, size: int = SIZE, keys: int = 7) -> pa.Table:
    generator = np.random.default_rng(seed)
    return pa.table(
        {
            "ts": np.sort(generator.integers(-5_000, 4 * size, size)),
            "seq": np.arange(size),
            "kind": generator.choice(list("ABCDEF"), size),
            "key": generator.integers(0, keys, size),
            "x": generator.integers(0, 50, size),
        }
    )


def given(data, **roles):
    return et.events(data, time="ts", type="kind", tie_break="seq", **roles)


def as_frame(spark, table: pa.Table):
    return spark.createDataFrame(table.to_pandas())


def plain(value):
    if isinstance(value, list):
        return tuple(plain(item) for item in value)
    if isinstance(value, dict):
        return tuple((name, plain(item)) for name, item in value.items())
    return value


def local_rows(query: str, table: pa.Table):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", et.EventideWarning)
        return sorted(map(plain, et.query(query).match(given(table)).to_pylist()))


def spark_rows(query: str, frame, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", et.EventideWarning)
        found = et.query(query).match(given(frame), **options).collect()
    return sorted(plain(row.asDict(recursive=True)) for row in found)


def distribution_of(query: str, frame):
    events = given(frame)
    read = et.query(query)
    return distribute(pipeline.plan(read.model, read.input_of(events, {}), RunOptions()), None, 4)


QUERIES = [
    "SELECT * WHERE A ; B+ ; C PARTITION BY key WITHIN 60",
    "SELECT * WHERE A ; B ; C WITHIN 20",
    "SELECT * WHERE A ; B ; NOT D WITHIN 12",
    "SELECT * WHERE NOT D ; A ; B WITHIN 12",
    "SELECT * WHERE A AS a ; B+ AS b ; C AS c FILTER a.x < b.x AND b.x < NEXT(b.x) WITHIN 40 SLIDE 10",
    "SELECT * WHERE A AS a ; B AS b FILTER a.key = b.key WITHIN 60",
    "SELECT MAX * WHERE A ; B+ ; C PARTITION BY key WITHIN 12 events",
    "SELECT * WHERE A : B WITHIN 9 events",
    "SELECT * WHERE A ; B ; C PARTITION BY key WITHIN 90 CONSUME BY ANY",
    "SELECT a.x AS low, SUM(b.x) AS total, AVG(b.x) AS mean, MAX(b.x) AS top, key WHERE A AS a ; B+ AS b PARTITION BY key WITHIN 30",
]


@pytest.mark.parametrize("query", QUERIES)
def test_spark_finds_what_the_embedded_engine_finds(spark, query):
    table = trades()
    expected = local_rows(query, table)
    assert expected
    assert spark_rows(query, as_frame(spark, table)) == expected


@pytest.mark.parametrize("partitions", [1, 5])
@pytest.mark.parametrize("rows_of_a_batch", [1, 1000])
def test_the_result_does_not_depend_on_partitions_or_batches(spark, partitions, rows_of_a_batch):
    table = trades(seed=3, size=600)
    query = "SELECT * WHERE A ; B+ ; C PARTITION BY key WITHIN 60"
    name, batch = "spark.sql.shuffle.partitions", "spark.sql.execution.arrow.maxRecordsPerBatch"
    before = {setting: spark.conf.get(setting) for setting in (name, batch)}
    try:
        spark.conf.set(name, str(partitions))
        spark.conf.set(batch, str(rows_of_a_batch))
        shuffled = as_frame(spark, table).repartition(3, "x")
        assert spark_rows(query, shuffled) == local_rows(query, table)
    finally:
        for setting, value in before.items():
            spark.conf.set(setting, value)


def test_a_hot_key_is_matched_like_any_other(spark):
    table = trades(seed=4)
    skewed = table.set_column(3, "key", pa.array(np.where(np.arange(SIZE) % 50 == 0, np.arange(SIZE) % 7, 3)))
    query = "SELECT * WHERE A ; B ; C PARTITION BY key WITHIN 12"
    assert spark_rows(query, as_frame(spark, skewed)) == local_rows(query, skewed)


@pytest.mark.parametrize("slices", [2, 5])
def test_slices_together_are_the_whole_result(spark, slices):
    table = trades(seed=5, size=400)
    query = "SELECT * WHERE A ; B+ ; C PARTITION BY key WITHIN 90"
    assert spark_rows(query, as_frame(spark, table), slices=slices) == local_rows(query, table)


def test_an_exploding_query_without_a_key_is_sliced_by_itself(spark):
    table = trades(seed=6, size=60)
    frame = as_frame(spark, table)
    query = "SELECT * WHERE A ; B+ ; C WITHIN 30 events"
    assert distribution_of(query, frame).name == "slices"
    assert spark_rows(query, frame) == local_rows(query, table)


def test_distribution_follows_the_query(spark):
    frame = as_frame(spark, trades(size=10))
    assert distribution_of("SELECT * WHERE A ; B PARTITION BY key", frame).name == "by key"
    assert distribution_of("SELECT * WHERE A ; B WITHIN 10", frame).name == "time slabs"
    assert distribution_of("SELECT * WHERE A ; B WITHIN 10 events", frame).name == "one task"
    assert distribution_of("SELECT * WHERE A ; B PARTITION BY key CONSUME BY ANY", frame).name == "one task"


def test_slices_are_refused_where_matches_are_compared(spark):
    with pytest.raises(et.BindError, match="SLICES_NOT_SOUND"):
        et.query("SELECT NEXT * WHERE A ; B WITHIN 5").match(given(as_frame(spark, trades(size=10))), slices=2)


def test_nothing_runs_before_the_result_is_asked_for(spark):
    broken = as_frame(spark, trades(size=10)).selectExpr("*", "assert_true(ts < -9999999, 'it ran') AS checked")
    found = et.query("SELECT * WHERE A ; B WITHIN 10").match(given(broken))
    assert found.columns == ["match_start", "match_end", "A", "B"]


def test_the_schema_is_known_before_anything_runs(spark):
    events = given(as_frame(spark, trades(size=10)))
    schema = et.query("SELECT a.x, COUNT(b) AS n, AVG(b.x) AS mean, b WHERE A AS a ; B+ AS b WITHIN 9").output_schema(events)
    assert [(field.name, field.dataType.simpleString()) for field in schema][:3] == [
        ("x", "bigint"),
        ("n", "bigint"),
        ("mean", "double"),
    ]
    assert schema["b"].dataType.simpleString().startswith("array<struct<ts:bigint,seq:bigint")


def test_counting_agrees_with_the_embedded_engine(spark):
    table = trades(seed=8, size=900)
    for query in ("SELECT * WHERE A ; B+ ; C PARTITION BY key WITHIN 60", "SELECT * WHERE A AS a ; B AS b FILTER a.key = b.key WITHIN 30"):
        expected = sorted(map(plain, et.query(query).count(given(table)).to_pylist()))
        counted = et.query(query).count(given(as_frame(spark, table))).collect()
        assert sorted(plain(row.asDict()) for row in counted) == expected


def test_limit_keeps_the_matches_that_end_first(spark):
    table = trades(seed=9, size=500)
    query = "SELECT * WHERE A ; B ; C PARTITION BY key WITHIN 900"
    found = spark_rows(f"{query} LIMIT 12", as_frame(spark, table))
    everything = local_rows(query, table)
    ends = sorted(dict(row)["match_end"] for row in everything)
    assert len(found) == 12
    assert set(found) <= set(everything)
    assert sorted(dict(row)["match_end"] for row in found) == ends[:12]


def test_a_cap_on_matches_stops_the_run_with_its_reason(spark):
    from pyspark.errors import PySparkException

    found = et.query("SELECT * WHERE A ; B+ ; C").match(given(as_frame(spark, trades(size=300))), max_matches=10)
    with pytest.raises(PySparkException, match="TOO_MANY_MATCHES"):
        found.collect()


def test_several_streams_are_merged_in_the_order_of_time(spark):
    table = trades(seed=11, size=300)
    first = table.filter(pa.compute.equal(table["kind"], "A"))
    others = table.filter(pa.compute.not_equal(table["kind"], "A"))
    query = et.query("SELECT * FROM S1, S2 WHERE S1>A AS a ; S2>B AS b WITHIN 20")
    expected = sorted(map(plain, query.match(S1=given(first), S2=given(others)).to_pylist()))
    found = query.match(S1=given(as_frame(spark, first)), S2=given(as_frame(spark, others))).collect()
    assert sorted(plain(row.asDict(recursive=True)) for row in found) == expected


def test_times_without_a_zone_keep_their_order_where_the_zone_of_the_session_has_no_such_hour(spark):
    # In Berlin the clocks went from 02:00 to 03:00 that night, so that 02:30 read there would be 03:30.
    rows = [("A", datetime(2026, 3, 29, 2, 30)), ("B", datetime(2026, 3, 29, 3, 10))]  # noqa: DTZ001 - without a zone
    with configured(spark, spark__sql__session__timeZone="Europe/Berlin"):
        frame = spark.createDataFrame(rows, "kind string, ts timestamp_ntz")
        apart = "b.ts - a.ts = INTERVAL 40 MINUTES"
        found = et.query(f"SELECT match_end WHERE A AS a ; B AS b FILTER {apart} WITHIN 40 minutes").match(
            et.events(frame, time="ts", type="kind")
        )
        assert [row.match_end for row in found.collect()] == [datetime(2026, 3, 29, 3, 10)]  # noqa: DTZ001


OVERDUE = [
    "SELECT * WHERE A ; B+ AS b ; C PARTITION BY key WITHIN 40",
    "SELECT * WHERE A AS a ; NOT D ; B AS b ; C AS c FILTER a.x < b.x AND b.x < c.x PARTITION BY key WITHIN 60",
    "SELECT * WHERE A ; B ; NOT C WITHIN 9",
]


@pytest.mark.parametrize("text", OVERDUE)
def test_what_times_out_on_spark_times_out_embedded(spark, text):
    table = trades(seed=5, size=600)
    table = table.set_column(3, "key", pa.array([None if key == 3 else key for key in table["key"].to_pylist()], pa.int64()))
    expected = et.query(text).timeouts(given(table))
    produced = et.query(text).timeouts(given(spark.createDataFrame(table)))
    assert produced.columns == expected.column_names
    rows = sorted((plain(row.asDict()) for row in produced.collect()), key=repr)
    assert rows == sorted(map(plain, expected.to_pylist()), key=repr)
    assert len(rows) > 20


def test_times_that_run_out_are_moments_of_the_events_own_calendar(spark):
    rows = [("A", datetime(2026, 3, 29, 1, 50)), ("A", datetime(2026, 3, 30, 0, 0))]  # noqa: DTZ001 - without a zone
    with configured(spark, spark__sql__session__timeZone="Europe/Berlin"):
        frame = spark.createDataFrame(rows, "kind string, ts timestamp_ntz")
        overdue = et.query("SELECT * WHERE A ; B WITHIN 40 minutes")
        found = overdue.timeouts(et.events(frame, time="ts", type="kind")).orderBy("match_start").collect()
        days = frame.selectExpr("kind", "CAST(ts AS DATE) AS ts")
        of_days = overdue.timeouts(et.events(days, time="ts", type="kind")).orderBy("match_start").collect()
    assert [row.expired_at for row in found] == [datetime(2026, 3, 29, 2, 30), datetime(2026, 3, 30, 0, 40)]  # noqa: DTZ001
    assert [row.expired_at for row in of_days] == [datetime(2026, 3, 29, 0, 40), datetime(2026, 3, 30, 0, 40)]  # noqa: DTZ001
