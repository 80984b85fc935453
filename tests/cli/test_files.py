from __future__ import annotations

import json
import math
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from eventide.console.files import write_table
from eventide.console.values import plain_value
from eventide.errors import DataError
from eventide.sources.files import read_column_names, read_table
from eventide.sources.formats import Format, format_of

MATCHES = pa.table(
    {
        "low": [1.5, None],
        "name": ['x,"y"', ""],
        "b": pa.array([[{"price": 2.5, "at": datetime(2024, 1, 2, tzinfo=UTC)}], []]),
    }
)


def condition_of(action, *arguments) -> str:
    with pytest.raises(DataError) as caught:
        action(*arguments)
    assert "Traceback" not in str(caught.value)
    return caught.value.condition


def test_csv_holds_lists_of_events_as_json(tmp_path):
    write_table(MATCHES, str(tmp_path / "m.csv"))
    back = read_table(str(tmp_path / "m.csv"))
    assert json.loads(back["b"][0].as_py()) == [{"price": 2.5, "at": "2024-01-02T00:00:00Z"}]
    assert json.loads(back["b"][1].as_py()) == []


def test_csv_keeps_null_and_the_empty_string_apart(tmp_path):
    write_table(MATCHES, str(tmp_path / "m.csv"))
    back = read_table(str(tmp_path / "m.csv"))
    assert back["low"].to_pylist() == [1.5, None]
    assert back["name"].to_pylist() == ['x,"y"', ""]


def test_csv_without_rows_still_has_its_header(tmp_path):
    write_table(MATCHES.slice(0, 0), str(tmp_path / "m.csv"))
    assert (tmp_path / "m.csv").read_text() == '"low","name","b"\n'


def test_csv_words_like_na_and_null_stay_words(tmp_path):
    (tmp_path / "m.csv").write_text("kind,price\nNA,1\nnull,nan\n")
    back = read_table(str(tmp_path / "m.csv"))
    assert back["kind"].to_pylist() == ["NA", "null"]
    assert math.isnan(back["price"][1].as_py())


def test_json_lines_hold_one_match_a_line(tmp_path):
    write_table(MATCHES, str(tmp_path / "m.jsonl"))
    lines = (tmp_path / "m.jsonl").read_text().splitlines()
    assert json.loads(lines[1]) == {"low": None, "name": "", "b": []}


def test_parquet_reads_back_equal(tmp_path):
    write_table(MATCHES, str(tmp_path / "m.parquet"))
    assert read_table(str(tmp_path / "m.parquet")).equals(MATCHES)


def test_a_folder_of_parquet_files_is_one_table(tmp_path):
    for number in range(2):
        pq.write_table(pa.table({"x": [number]}), tmp_path / f"part-{number}.parquet")
    (tmp_path / "_SUCCESS").touch()
    assert sorted(read_table(str(tmp_path))["x"].to_pylist()) == [0, 1]


def test_a_given_format_wins_over_the_suffix(tmp_path):
    (tmp_path / "m.txt").write_text("x\n1\n")
    assert read_table(str(tmp_path / "m.txt"), Format.CSV)["x"].to_pylist() == [1]


def test_a_compressed_file_has_the_format_of_the_suffix_before():
    assert format_of("a.b.csv.gz", None, "--input-format") is Format.CSV


@pytest.mark.parametrize("name", ["m.parquet", "m.csv", "m.json"])
def test_an_empty_file_is_unreadable(tmp_path, name):
    (tmp_path / name).touch()
    assert condition_of(read_table, str(tmp_path / name)) == "UNREADABLE_FILE"


@pytest.mark.parametrize("name", ["m.parquet", "m.json"])
def test_a_file_of_another_format_is_unreadable(tmp_path, name):
    (tmp_path / name).write_text("no such thing, " * 10)
    assert condition_of(read_table, str(tmp_path / name)) == "UNREADABLE_FILE"


def test_a_damaged_parquet_file_is_unreadable(tmp_path):
    target = tmp_path / "m.parquet"
    pq.write_table(pa.table({"x": list(range(1000))}), target)
    content = bytearray(target.read_bytes())
    content[4:200] = b"\xff" * 196
    target.write_bytes(content)
    assert condition_of(read_table, str(target)) == "UNREADABLE_FILE"


def test_a_csv_row_with_too_many_fields_is_unreadable(tmp_path):
    (tmp_path / "m.csv").write_text("a,b\n1,2,3\n")
    assert condition_of(read_table, str(tmp_path / "m.csv")) == "UNREADABLE_FILE"


def test_a_column_that_comes_twice_is_refused(tmp_path):
    (tmp_path / "m.csv").write_text("a,a\n1,2\n")
    assert condition_of(read_table, str(tmp_path / "m.csv")) == "DUPLICATE_COLUMN"


def test_a_missing_file_names_the_closest_one(tmp_path):
    (tmp_path / "trades.parquet").touch()
    with pytest.raises(DataError) as caught:
        read_table(str(tmp_path / "trade.parquet"))
    assert caught.value.condition == "FILE_NOT_FOUND"
    assert caught.value.hint == "Did you mean trades.parquet?"


@pytest.mark.parametrize("name", ["x" * 5000 + ".csv", "a\0b.csv"])
def test_a_name_that_no_file_can_have_is_an_error_about_the_file(name):
    assert condition_of(read_table, name) in {"UNREADABLE_FILE", "FILE_NOT_FOUND"}


def test_a_name_without_a_known_suffix_needs_a_format(tmp_path):
    (tmp_path / "m.dat").touch()
    assert condition_of(read_table, str(tmp_path / "m.dat")) == "UNKNOWN_FORMAT"


def test_the_columns_of_a_folder_are_known_without_its_rows(tmp_path):
    pq.write_table(pa.table({"x": [1], "y": [2]}), tmp_path / "part-0.parquet")
    assert read_column_names(str(tmp_path)) == ["x", "y"]


def test_a_target_below_a_file_cannot_be_written(tmp_path):
    (tmp_path / "file").touch()
    assert condition_of(write_table, MATCHES, str(tmp_path / "file" / "m.csv")) == "UNWRITABLE_FILE"


def test_a_target_that_is_a_folder_cannot_be_written(tmp_path):
    (tmp_path / "m.csv").mkdir()
    assert condition_of(write_table, MATCHES, str(tmp_path / "m.csv")) == "UNWRITABLE_FILE"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (float("inf"), "Infinity"),
        (float("-inf"), "-Infinity"),
        (Decimal("1.50"), "1.50"),
        (date(2024, 1, 2), "2024-01-02"),
        (timedelta(milliseconds=1500), 1.5),
        (b"\x00\xff", "AP8="),
        ([{"x": (1, 2)}], [{"x": [1, 2]}]),
        (datetime(1969, 12, 31, 23, 59, 59, 5, tzinfo=UTC), "1969-12-31T23:59:59.000005Z"),
    ],
)
def test_values_that_json_does_not_have_are_written_in_words_it_has(value, expected):
    assert plain_value(value) == expected
