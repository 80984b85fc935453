from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

from eventide.errors import BindError, DataError
from eventide.sources.disorder import measure_disorder
from eventide.sources.pace import Pace
from eventide.sources.recording import Recording
from eventide.sources.settings import ReplaySettings

START = datetime(2024, 1, 2, tzinfo=UTC)


def seconds(*values: float) -> pa.Array:
    return pa.array([START + timedelta(seconds=value) for value in values], pa.timestamp("us", tz="UTC"))


@pytest.fixture
def trades(tmp_path):
    target = tmp_path / "trades.parquet"
    table = pa.table({"ts": seconds(*range(500)), "n": range(500), "kind": pa.array(["T"] * 500).dictionary_encode()})
    pq.write_table(table, target)
    return str(target)


def replayed(path, **options):
    return Recording(ReplaySettings(path, **options))


def arrived(recording, start=0, end=None):
    return recording.rows(start, recording.total if end is None else end)


def times_of(table):
    return np.asarray(table["ts"].cast(pa.int64()), dtype=np.int64)


def test_rows_come_in_the_order_of_the_file_without_a_time(tmp_path):
    path = tmp_path / "events.jsonl"
    path.write_text('{"at": 2}\n{"at": 1}\n')
    assert arrived(replayed(str(path)))["at"].to_pylist() == [2, 1]


def test_rows_come_in_the_order_of_time(tmp_path):
    path = tmp_path / "events.jsonl"
    path.write_text('{"at": 2}\n{"at": 1}\n')
    assert arrived(replayed(str(path), time="at"))["at"].to_pylist() == [1, 2]


def test_disorder_and_bound_are_those_that_were_asked_for(trades):
    recording = replayed(trades, time="ts", disorder=30, bound="8 seconds", seed=4)
    measured = measure_disorder(times_of(arrived(recording)))
    assert measured.late == 150
    assert measured.largest_delay <= 8_000_000


@pytest.mark.parametrize("size", [1, 7, 499, 1000])
def test_every_way_to_cut_gives_the_same_rows(trades, size):
    options = {"time": "ts", "disorder": 30, "bound": "8 seconds", "repeat": 3, "end_marker": "1 hour"}
    whole = arrived(replayed(trades, **options))
    again = replayed(trades, **options)
    parts = [again.rows(start, min(start + size, again.total)) for start in range(0, again.total, size)]
    assert pa.concat_tables(parts).equals(whole)


def test_rounds_go_on_in_time_and_differ_in_their_disorder(trades):
    recording = replayed(trades, time="ts", disorder=30, bound="8 seconds", repeat=2)
    table = arrived(recording)
    measured = measure_disorder(times_of(table))
    assert table.num_rows == 1000
    assert measured.late == 300
    assert measured.largest_delay <= 8_000_000
    assert table["n"].to_pylist()[:500] != table["n"].to_pylist()[500:]
    assert max(table["ts"].to_pylist()) == START + timedelta(seconds=999)


def test_a_replay_without_end_has_no_total(trades):
    recording = replayed(trades, time="ts", rate=10.0, repeat=0)
    assert recording.total is None
    assert recording.rows(1_000_000, 1_000_003)["n"].to_pylist() == [0, 1, 2]


def test_the_end_marker_is_one_row_with_nothing_but_a_time(trades):
    recording = replayed(trades, time="ts", end_marker="1 hour")
    assert recording.total == 501
    assert recording.rows(500, 501).to_pylist() == [{"ts": START + timedelta(seconds=499, hours=1), "n": None, "kind": None}]


def test_rows_without_a_time_come_behind_the_row_that_they_follow(tmp_path):
    path = tmp_path / "events.csv"
    path.write_text("at,n\n,0\n1,1\n,2\n2,3\n")
    assert arrived(replayed(str(path), time="at"))["n"].to_pylist() == [0, 1, 2, 3]


def test_dates_and_whole_numbers_are_times_too(tmp_path):
    days = tmp_path / "days.parquet"
    pq.write_table(pa.table({"day": [date(2024, 1, day) for day in range(1, 11)]}), days)
    recording = replayed(str(days), time="day", disorder=20, bound="3 days", repeat=2, end_marker="7 days")
    assert max(arrived(recording)["day"].to_pylist()) == date(2024, 1, 27)
    numbers = tmp_path / "numbers.csv"
    pacsv.write_csv(pa.table({"at": list(range(0, 100, 2))}), numbers)
    recording = replayed(str(numbers), time="at", disorder=20, bound="6")
    assert measure_disorder(np.asarray(arrived(recording)["at"])).late == 10


def test_times_of_text_are_read(tmp_path):
    path = tmp_path / "events.csv"
    path.write_text("ts\n2024-01-02T00:00:02.5Z\n2024-01-02T00:00:01Z\n")
    assert arrived(replayed(str(path), time="ts"))["ts"].to_pylist()[0] == START + timedelta(seconds=1)


def test_the_fingerprint_changes_with_what_changes_the_rows(trades):
    same = [replayed(trades, time="ts", rate=rate).fingerprint for rate in (None, 5.0)]
    assert same[0] == same[1]
    assert replayed(trades, time="ts", seed=9).fingerprint != same[0]
    pq.write_table(pa.table({"ts": seconds(1), "n": [1]}), trades)
    assert replayed(trades, time="ts").fingerprint != same[0]


@pytest.mark.parametrize(
    ("options", "condition", "told"),
    [
        ({"path": "nowhere.parquet"}, "FILE_NOT_FOUND", "There is no file"),
        ({"time": "tss"}, "MISSING_COLUMN", "Did you mean ts?"),
        ({"time": "kind"}, "BAD_TIME", "holds text"),
        ({"disorder": "10"}, "BAD_OPTION", "Add bound"),
        ({"disorder": "10", "bound": "5 s"}, "BAD_OPTION", "Add time"),
        ({"bound": "5 s"}, "BAD_OPTION", "Add disorder"),
        ({"disorder": "101", "bound": "5 s", "time": "ts"}, "BAD_OPTION", "percentage from 0 to 100"),
        ({"disorder": "10", "bound": "5", "time": "ts"}, "BAD_OPTION", "bound = 10 seconds"),
        ({"disorder": "10", "bound": "5 parsecs", "time": "ts"}, "BAD_OPTION", "bound = 10 seconds"),
        ({"disorder": "10", "bound": "5 s", "time": "n"}, "BAD_OPTION", "bound = 5"),
        ({"disorder": "90", "bound": "1 s", "time": "ts"}, "TOO_MUCH_DISORDER", "at most 50 percent"),
        ({"rate": "fast"}, "BAD_OPTION", "a number"),
        ({"rate": "0"}, "BAD_OPTION", "more than 0"),
        ({"rows_per_batch": "1.5"}, "BAD_OPTION", "a whole number"),
        ({"repeat": "forever"}, "BAD_OPTION", "Add rate"),
        ({"repeat": "-1"}, "BAD_OPTION", "0 or more"),
        ({"jitter": "5"}, "BAD_OPTION", "Add rate"),
        ({"end_marker": "1 hour"}, "BAD_OPTION", "Add time"),
        ({"rows": "5"}, "BAD_OPTION", "has no option rows"),
        ({"file_format": "avro"}, "BAD_OPTION", "parquet, csv or json"),
    ],
)
def test_what_cannot_be_is_refused_with_a_hint(trades, options, condition, told):
    with pytest.raises((BindError, DataError)) as refused:
        Recording(ReplaySettings.from_options({"path": trades, **options}))
    assert refused.value.condition == condition
    assert told in str(refused.value)


def test_jitter_varies_the_rate_within_its_percentage():
    pace = Pace(1000.0, jitter=30, seed=2)
    a_second = np.diff([pace.due(float(second)) for second in range(200)])
    assert 690 <= a_second.min() < 800
    assert 1200 < a_second.max() <= 1310
    assert 960 < a_second.mean() < 1040
    assert [pace.due(second / 10) for second in range(100)] == sorted(pace.due(second / 10) for second in range(100))
    assert Pace(1000.0, jitter=30, seed=2).due(150.5) == pace.due(150.5)
