from __future__ import annotations

import json
from collections import Counter
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import eventide as et
from eventide.errors import DataError
from eventide.sources.recording import Recording
from eventide.sources.settings import ReplaySettings

START = datetime(2024, 1, 2, tzinfo=UTC)
ORDER = {"time": "ts", "disorder": 30, "bound": "8 seconds", "seed": 4}


@pytest.fixture
def trades(tmp_path):
    target = tmp_path / "trades.parquet"
    times = pa.array([START + timedelta(seconds=value) for value in range(100)], pa.timestamp("us", tz="UTC"))
    pq.write_table(pa.table({"ts": times, "n": range(100), "kind": pa.array(["T"] * 100).dictionary_encode()}), target)
    return str(target)


def numbers_expected(trades):
    recording = Recording(ReplaySettings(trades, **ORDER))
    return recording.rows(0, recording.total)["n"].to_pylist()


def batches_of(frame, checkpoint, **trigger):
    """Run a stream to its end, or to a failure, and return the numbers of each micro-batch."""
    seen: dict[int, list[int]] = {}

    def keep(batch, number):
        seen[number] = [row.n for row in batch.select("n").collect()]

    query = frame.writeStream.foreachBatch(keep).option("checkpointLocation", str(checkpoint)).trigger(**trigger).start()
    try:
        query.awaitTermination(120)
    finally:
        query.stop()
    return seen


def test_a_batch_read_gives_all_rows_in_the_order_of_arrival(spark, trades):
    et.register_sources(spark)
    frame = spark.read.format("eventide_replay").options(**ORDER).load(trades)
    assert frame.schema.simpleString() == "struct<ts:timestamp,n:bigint,kind:string>"
    assert [row.n for row in frame.collect()] == numbers_expected(trades)


def test_a_stream_is_cut_exactly(spark, trades, tmp_path):
    frame = et.replay(spark, trades, **ORDER, rows_per_batch=30)
    seen = batches_of(frame, tmp_path / "checkpoint", availableNow=True)
    assert [len(numbers) for numbers in seen.values()] == [30, 30, 30, 10]
    assert [n for numbers in seen.values() for n in numbers] == numbers_expected(trades)


def test_a_stream_that_crashed_goes_on_with_the_same_rows(spark, trades, tmp_path):
    """Each batch writes a file of its own name, so what is read twice must be the same to leave no trace."""
    from pyspark.errors import StreamingQueryException

    checkpoint, output = tmp_path / "checkpoint", tmp_path / "output"
    output.mkdir()

    def run(crash_in: int | None) -> None:
        def write(batch, number):
            rows = [row.n for row in batch.select("n").collect()]
            (output / f"{number}.json").write_text(json.dumps(rows))
            if number == crash_in:
                raise RuntimeError("crash")

        frame = et.replay(spark, trades, **ORDER, rows_per_batch=30)
        writer = frame.writeStream.foreachBatch(write).option("checkpointLocation", str(checkpoint))
        query = writer.trigger(availableNow=True).start()
        with nullcontext() if crash_in is None else pytest.raises(StreamingQueryException, match="crash"):
            query.awaitTermination(120)
        query.stop()

    run(crash_in=1)
    before = {path.name: path.read_text() for path in output.iterdir()}
    assert sorted(before) == ["0.json", "1.json"]
    run(crash_in=2)
    run(crash_in=None)
    after = {path.name: path.read_text() for path in output.iterdir()}
    assert before.items() <= after.items()
    assert [n for number in range(4) for n in json.loads(after[f"{number}.json"])] == numbers_expected(trades)


def test_a_parquet_sink_holds_every_row_once_after_a_restart(spark, trades, tmp_path):
    for end in ("first run", "second run"):
        frame = et.replay(spark, trades, **ORDER, rate=200.0, rows_per_batch=40)
        writer = frame.writeStream.format("parquet").option("checkpointLocation", str(tmp_path / "checkpoint"))
        query = writer.start(str(tmp_path / "output"))
        try:
            while query.isActive and not _rows_done(query) >= (40 if end == "first run" else 1):
                query.awaitTermination(0.2)
            if end == "second run":
                query.processAllAvailable()
                while _row_offset(query) < 100:
                    query.awaitTermination(0.2)
        finally:
            query.stop()
    found = Counter(pq.read_table(tmp_path / "output", columns=["n"])["n"].to_pylist())
    assert found == Counter(range(100))


def _rows_done(query):
    return sum(progress.numInputRows for progress in query.recentProgress)


def _row_offset(query):
    progress = query.lastProgress
    return json.loads(progress.sources[0].endOffset)["row"] if progress and progress.sources[0].endOffset else 0


def test_a_rate_brings_what_is_due_and_no_more(spark, trades, tmp_path):
    frame = et.replay(spark, trades, time="ts", rate=20.0)
    query = frame.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    try:
        began = datetime.now(tz=UTC)
        while (done := _rows_done(query)) < 20:
            query.awaitTermination(0.1)
        elapsed = (datetime.now(tz=UTC) - began).total_seconds()
    finally:
        query.stop()
    # A busy machine may be late, but it is never early; the clock of the source may have begun a little before ours.
    assert done <= 20 * (elapsed + 3)


def test_another_file_behind_the_same_checkpoint_is_refused(spark, trades, tmp_path):
    batches_of(et.replay(spark, trades, **ORDER), tmp_path / "checkpoint", availableNow=True)
    with pytest.raises(Exception, match="REPLAY_CHANGED"):
        batches_of(et.replay(spark, trades, **ORDER | {"seed": 5}), tmp_path / "checkpoint", availableNow=True)


def test_mistakes_are_errors_of_ours_at_once(spark, trades):
    with pytest.raises(DataError, match="MISSING_COLUMN"):
        et.replay(spark, trades, time="tss")
    with pytest.raises(DataError, match="FILE_NOT_FOUND"):
        et.replay(spark, trades + ".gone")


def test_mistakes_in_options_of_spark_are_named_inside_its_error(spark, trades):
    et.register_sources(spark)
    with pytest.raises(Exception, match="rate = fast is not a number"):
        spark.readStream.format("eventide_replay").option("rate", "fast").load(trades)


def test_an_endless_replay_cannot_be_read_as_a_whole(spark, trades):
    et.register_sources(spark)
    frame = spark.read.format("eventide_replay").options(rate=5, repeat="forever").load(trades)
    with pytest.raises(Exception, match="A replay without end"):
        frame.collect()


def test_text_files_are_replayed_as_well(spark, tmp_path):
    path = Path(tmp_path / "events.jsonl")
    path.write_text('{"at": 2, "n": 1, "tags": ["a"]}\n{"at": 1, "n": 2, "tags": null}\n')
    frame = et.replay(spark, str(path), time="at", repeat=2)
    seen = batches_of(frame, tmp_path / "checkpoint", availableNow=True)
    assert list(seen.values()) == [[2, 1, 2, 1]]
