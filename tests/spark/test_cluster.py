"""Matches spread over Spark's tasks: the same set by every way, no shuffle behind the broadcast, shares that can be seen."""

from __future__ import annotations

import re
import warnings
from random import Random

import pyarrow as pa
import pytest

import eventide as et
from eventide.runtime.spread import estimate, packing
from eventide.runtime.spread.distribution import WAYS
from harness.seeds import at_once
from spark.streaming import configured
from spark.test_spark_batch import as_frame, given, local_rows, spark_rows, trades

pytestmark = pytest.mark.connect
QUERIES = [
    "SELECT * WHERE A AS a ; B+ AS b ; C AS c FILTER a.x <= b.x AND COUNT(b) < 4 WITHIN 60 events",
    "SELECT * WHERE A AS a ; B+ AS b ; C AS c FILTER b.x < NEXT(b.x) PARTITION BY key WITHIN 900",
    "SELECT a.x AS low, SUM(b.x) AS total, c.x AS x WHERE A AS a ; B+ AS b ; C AS c FILTER a.x < c.x PARTITION BY key WITHIN 40 events",
    "SELECT * WHERE A AS a ; B AS b ; C AS c FILTER a.key = b.key WITHIN 900",
]


def exploding(size=20):
    """An A, many Bs and a C of a hot key, and a few events of another."""
    kinds = ["A", *["B"] * size, "C", "A", "B", "C"]
    keys = [1] * (size + 2) + [2] * 3
    rows = {"ts": range(len(kinds)), "seq": range(len(kinds)), "kind": kinds, "key": keys, "x": range(len(kinds))}
    return pa.table({name: list(column) for name, column in rows.items()})


def matched(spark, query, table, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", et.EventideWarning)
        return et.query(query).match(given(as_frame(spark, table)), **options)


@pytest.mark.parametrize(
    "query", [QUERIES[0], pytest.param(QUERIES[1], marks=pytest.mark.ci), *(pytest.param(query, marks=pytest.mark.long) for query in QUERIES[2:])]
)
@pytest.mark.parametrize("way", WAYS)
def test_every_way_finds_what_the_embedded_engine_finds(spark, query, way):
    table = trades(seed=21, size=150, keys=3)
    expected = local_rows(query, table)
    assert len(expected) > 20
    assert spark_rows(query, as_frame(spark, table), distribution=way, slices=None if way == "plain" else 3) == expected


@pytest.mark.parametrize("seed", at_once(range(6), range(2)))
def test_random_streams_have_the_same_matches_by_every_way(spark, seed):
    rng = Random(seed)
    table = trades(seed=30 + seed, size=60, keys=2)
    query = rng.choice(QUERIES)
    frame = as_frame(spark, table)
    expected = local_rows(query, table)
    for way in ("slices", rng.choice(["round_robin", "two_choices", "least_loaded"]), "maximal"):
        assert spark_rows(query, frame, distribution=way, slices=rng.randrange(1, 5)) == expected


def plan_of(frame, events, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", et.EventideWarning)
        return et.query(frame).explain(events=events, **options).split("== Physical Plan ==")[1]


@pytest.mark.parametrize("query", QUERIES[:2])
def test_no_shuffle_stands_behind_the_broadcast_of_the_events(spark, query):
    plan = plan_of(query, given(as_frame(spark, trades(size=50))), distribution="slices", slices=3)
    behind, _, before = plan.partition("BroadcastExchange")
    assert "BroadcastNestedLoopJoin" in behind
    assert "Exchange" not in behind
    # The events come together in one task, which packs them.
    assert len(re.findall("Exchange", before)) == 1


def test_slices_are_as_many_partitions_and_refining_as_many_workers(spark):
    table = exploding(8)
    query = "SELECT * WHERE A AS a ; B+ AS b ; C AS c PARTITION BY key"
    for way in ("slices", "round_robin", "least_loaded", "two_choices"):
        shared = et.balance(matched(spark, query, table, distribution=way, slices=4))
        assert len(shared.tasks) == 4
        assert shared.matches == 256
        assert shared.variation < 0.3, way


@pytest.mark.ci
def test_an_explosion_of_one_key_is_sliced_when_counting_comes_first(spark):
    query = "SELECT * WHERE A AS a ; B+ AS b ; C AS c PARTITION BY key"
    events = given(as_frame(spark, exploding()))
    explained = et.query(query).explain(events=events, distribution="auto", slices=3)
    assert "distribution: slices (at most 1.05e+06 matches of 25 events, 1.05e+06 of them of one key)" in explained
    shares = et.balance(matched(spark, query, exploding(), distribution="auto", slices=3))
    assert len(shares.tasks) == 3 and shares.matches == 2**20
    assert shares.variation < 1e-4


def test_what_is_small_or_even_is_left_as_it_is(spark):
    query = "SELECT * WHERE A AS a ; B+ AS b ; C AS c PARTITION BY key"
    events = given(as_frame(spark, exploding(8)))
    assert "distribution: by key (partitioned by key; at most 256 matches" in et.query(query).explain(events=events, distribution="auto")


def test_an_exploding_query_without_a_key_uses_as_many_tasks_as_pay(spark):
    query = "SELECT * WHERE A AS a ; B+ AS b ; C AS c"
    small = et.balance(matched(spark, query, exploding(6)))
    assert sorted(small.tasks) == [0, small.matches]
    large = et.balance(matched(spark, query, exploding(19)))
    assert large.matches > estimate.WORTH_SPREADING
    assert large.variation < 0.01


def test_events_too_large_to_send_are_refused_with_a_hint(monkeypatch):
    monkeypatch.setattr(packing, "MOST_BYTES", 10)
    with pytest.raises(et.LimitError, match=r"TOO_LARGE_TO_SEND(.|\n)*shuffled_slices"):
        packing.gathered([pa.RecordBatch.from_pydict({"x": [1, 2, 3]})])


def test_a_cap_on_matches_stops_a_worker(spark):
    from pyspark.errors import PySparkException

    capped = matched(spark, QUERIES[0], trades(seed=21, size=150, keys=3), distribution="round_robin", slices=2, max_matches=3)
    with pytest.raises(PySparkException, match="TOO_MANY_MATCHES"):
        capped.collect()


def test_adaptive_execution_leaves_the_shares_apart(spark):
    with configured(spark, spark__sql__adaptive__coalescePartitions__enabled="true"):
        shared = et.balance(matched(spark, QUERIES[1], trades(seed=21, size=150, keys=3), distribution="round_robin", slices=3))
    assert len(shared.tasks) == 3
