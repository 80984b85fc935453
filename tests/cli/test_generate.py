from __future__ import annotations

import json

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from eventide.cli import app
from eventide.datasets import generate
from eventide.sources.files import read_table

runner = CliRunner()


def test_generate_writes_parquet_with_the_rows_of_the_data_set(tmp_path):
    target = tmp_path / "trades.parquet"
    result = runner.invoke(app, ["generate", "stocks", "--events", "50", "--keys", "3", "--seed", "9", "--output", str(target)])
    assert result.exit_code == 0
    assert pq.read_table(target).equals(generate("stocks", 50, 3, 9))
    assert "50 events" in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet", "csv.gz.parquet"])
def test_generated_files_read_back_with_the_same_values(tmp_path, suffix):
    target = tmp_path / f"payments.{suffix}"
    assert runner.invoke(app, ["generate", "cards", "--events", "40", "--output", str(target)]).exit_code == 0
    expected = generate("cards", 40)
    columns = ["seq", "kind", "card", "amount", "country", "fraud"]
    assert read_table(str(target)).select(columns).to_pydict() == expected.select(columns).to_pydict()


def test_generate_writes_csv_to_standard_output_by_default():
    result = runner.invoke(app, ["generate", "s2", "--events", "4"])
    lines = result.stdout.splitlines()
    assert lines[0] == '"ts","seq","kind","id"'
    assert [line.split(",")[2] for line in lines[1:]] == ['"A"', '"B"', '"B"', '"C"']


def test_generate_writes_json_lines_to_standard_output_when_asked():
    result = runner.invoke(app, ["generate", "s1", "--events", "5", "--output", "-", "--output-format", "json"])
    assert [json.loads(line)["kind"] for line in result.stdout.splitlines()] == ["A", "A", "B", "B", "C"]


def test_generate_takes_the_settings_of_a_data_set():
    result = runner.invoke(app, ["generate", "abc", "--events", "50", "--set", "types=3", "--output-format", "json"])
    assert {json.loads(line)["kind"] for line in result.stdout.splitlines()} == {"A", "B", "C"}


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["generate", "stokcs"], 3, "[UNKNOWN_DATASET] There is no data set stokcs.\nHint: Did you mean stocks?"),
        (["generate", "stocks", "--set", "selectivity"], 2, "[BAD_OPTION]"),
        (["generate", "stocks", "--set", "noise=1"], 3, "[UNKNOWN_SETTING]"),
        (["generate", "stocks", "--output", "trades.xls"], 3, "[UNKNOWN_FORMAT]"),
        (["generate", "stocks", "--output-format", "parquet"], 3, "[UNKNOWN_FORMAT] Parquet cannot be written to standard output."),
        (["generate", "stocks", "--events", "-1"], 2, "--events"),
        (["generate"], 2, "DATASET"),
        (["generte"], 2, "generte"),
    ],
)
def test_wrong_usage_of_generate_has_its_exit_code_and_message(arguments, code, message):
    result = runner.invoke(app, arguments)
    assert result.exit_code == code
    assert message in result.stderr
    assert "Traceback" not in result.output
