"""The clocks of streams: their latest events and, where they are silent for long, the wall."""

from __future__ import annotations

from datetime import timedelta

import pyarrow as pa
import pytest

import eventide as et
from eventide.errors import BindError, DataError
from eventide.runtime.options import RunOptions
from eventide.runtime.streams.bucket import Bucket
from eventide.runtime.streams.clocks import Beat, Clocks, Idle
from eventide.runtime.streams.job import default_buckets
from eventide.runtime.streams.planning.jobs import StreamOptions, bound_options
from eventide.runtime.streams.shuffle import RUN, WALL, gathered, spread
from stream.driving import Run

SECOND = 1_000_000
MINUTE = Idle(60 * SECOND)
KEYS = {"ts": [0], "kind": ["A"], "k": ["p"]}


def beat(seconds, run=1):
    return Beat(seconds * SECOND, run)


def test_without_idleness_a_clock_shows_its_latest_event():
    clocks = Clocks(1)
    clocks.hear({0: 5}, beat(1))
    clocks.hear({}, beat(10_000))
    clocks.hear({0: 3}, beat(10_001))
    assert clocks.slowest() == 5


def test_a_clock_follows_the_wall_once_its_stream_is_silent_for_long_enough():
    clocks = Clocks(1, MINUTE)
    clocks.hear({0: 7 * SECOND}, beat(100))
    clocks.hear({}, beat(159))
    assert clocks.slowest() == 7 * SECOND
    clocks.hear({}, beat(160))
    assert clocks.slowest() == 67 * SECOND
    clocks.hear({}, beat(400))
    assert clocks.slowest() == 307 * SECOND
    clocks.hear({0: 8 * SECOND}, beat(401))
    assert clocks.slowest() == 8 * SECOND


def test_the_time_between_two_runs_is_no_silence():
    clocks = Clocks(1, MINUTE)
    clocks.hear({0: 0}, beat(100, run=1))
    clocks.hear({}, beat(9_000, run=2))
    assert clocks.slowest() == 0
    clocks.hear({}, beat(9_060, run=2))
    assert clocks.slowest() == 60 * SECOND


def test_the_wall_counts_in_the_units_of_the_events():
    clocks = Clocks(1, Idle(2 * SECOND, units_per_second=1_000))
    clocks.hear({0: 5_000}, beat(1))
    clocks.hear({}, beat(4))
    assert clocks.slowest() == 8_000


def test_a_stream_that_never_speaks_holds_nobody_back_for_ever():
    clocks = Clocks(2, MINUTE)
    clocks.hear({0: 5}, beat(1))
    assert clocks.slowest() is None
    clocks.hear({0: 6}, beat(61))
    assert clocks.slowest() == 6
    clocks.hear({1: 2}, beat(62))
    assert clocks.slowest() == 2


def test_the_slowest_of_two_streams_goes_on_where_it_is_idle():
    clocks = Clocks(2, MINUTE)
    clocks.hear({0: 0, 1: 0}, beat(0))
    clocks.hear({0: 100 * SECOND}, beat(100))
    assert clocks.slowest() == 100 * SECOND


def test_clocks_go_on_from_a_dump():
    clocks = Clocks(2, MINUTE)
    clocks.hear({0: 0, 1: 5}, beat(0))
    clocks.hear({1: 9}, beat(50))
    again = Clocks(2, MINUTE)
    again.load(clocks.dump())
    for one in (clocks, again):
        one.hear({}, beat(60))
    assert again.slowest() == clocks.slowest() == 9


# Buckets ----------------------------------------------------------------------------------------------------------------


def run_of(text, **options):
    return Run({"q": et.query(text)}, {"stream": et.events(pa.table(KEYS), time="ts", type="kind")}, StreamOptions(buckets=1, **options))


def fed(run, bucket, rows, stroke):
    """Hand events and a beat to a bucket as Spark's shuffle does."""
    table = run.prepared({"stream": pa.Table.from_pylist(rows, schema=pa.table(KEYS).schema)})
    number = table.num_rows
    table = table.append_column(WALL, pa.nulls(number, pa.int64())).append_column(RUN, pa.nulls(number, pa.int64()))
    nothing = {field.name: pa.nulls(1, field.type) for field in table.schema}
    beats = pa.table(nothing | {WALL: pa.array([stroke.wall]), RUN: pa.array([stroke.run])}, schema=table.schema)
    batches = pa.concat_tables([table, beats]).to_batches()
    rows, clocks, counted, heard = gathered(row["body"] for batch in spread(run.job, 0, batches) for row in batch.to_pylist())
    assert (heard, counted["events"]) == (stroke, number)
    return bucket.take(rows, clocks, heard)


def test_absence_is_told_although_nothing_comes():
    run = run_of("SELECT a.ts AS t WHERE A AS a ; NOT B WITHIN 30000000", idle=Idle(10 * SECOND))
    bucket = Bucket(run.job, next(iter(run.job.places())))
    assert fed(run, bucket, [{"ts": SECOND, "kind": "A", "k": "p"}], beat(100)).tables == []
    assert fed(run, bucket, [], beat(130)).tables == []
    again = Bucket(run.job, next(iter(run.job.places())))
    emitted = fed(run, bucket, [], beat(131))
    assert [table.num_rows for _, table in emitted.tables] == [1]
    again.load(bucket.dump(emitted.counters))
    assert fed(run, again, [{"ts": 2 * SECOND, "kind": "B", "k": "p"}], beat(132)).counters.late == 1


def test_a_bucket_that_was_finished_takes_nothing_more():
    run = run_of("SELECT a.ts AS t WHERE A AS a ; NOT B WITHIN 30", finish=True)
    number = next(iter(run.job.places()))
    bucket = Bucket(run.job, number)
    fed(run, bucket, [{"ts": 1, "kind": "A", "k": "p"}], beat(1))
    again = Bucket(run.job, number)
    again.load(bucket.dump(bucket.finish().counters))
    with pytest.raises(DataError, match="STREAM_FINISHED"):
        fed(run, again, [{"ts": 2, "kind": "A", "k": "p"}], beat(2))


# Settings ---------------------------------------------------------------------------------------------------------------


def schema_of(**roles):
    return et.events(pa.table(KEYS), time="ts", type="kind", **roles).schema


@pytest.mark.parametrize("given", ["2 minutes", timedelta(minutes=2)])
def test_a_silence_is_a_duration(given):
    bound = bound_options(RunOptions(idle_after=given), [schema_of(time_unit="s")])
    assert bound.idle == Idle(120 * SECOND, 1)


@pytest.mark.parametrize("given", ["5 events", "0 seconds", "soon", 5, True])
def test_a_silence_that_is_no_duration_is_refused(given):
    with pytest.raises(BindError, match="BAD_IDLE_AFTER"):
        bound_options(RunOptions(idle_after=given), [schema_of(time_unit="s")])


def test_a_time_without_a_unit_cannot_follow_the_wall():
    with pytest.raises(BindError, match=r"BAD_IDLE_AFTER(.|\n)*time_unit"):
        bound_options(RunOptions(idle_after="1 minute"), [schema_of()])


def test_waiting_for_more_and_ending_contradict_each_other():
    with pytest.raises(BindError, match="SETTINGS_CONTRADICT"):
        bound_options(RunOptions(idle_after="1 minute", finish=True), [schema_of(time_unit="s")])


@pytest.mark.parametrize("settings", [{"idle_after": "1 minute"}, {"finish": True}])
def test_tables_have_no_silence_and_no_end(settings):
    with pytest.raises(BindError, match="NOT_A_STREAM"):
        et.query("SELECT * WHERE A ; B").match(et.events(pa.table(KEYS), time="ts", type="kind"), **settings)


def test_buckets_follow_the_cores():
    assert [default_buckets(cores) for cores in (1, 2, 3, 4, 64)] == [4, 8, 16, 16, 256]
