from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from eventide.cli import app
from eventide.sources.files import read_table

runner = CliRunner()
QUERY = "SELECT * FROM S WHERE A ; B WITHIN 10 seconds"
EVENTS = pa.table(
    {
        "ts": pa.array([0, 1, 2, 60], pa.int64()).cast(pa.timestamp("s", tz="UTC")).cast(pa.timestamp("us", tz="UTC")),
        "kind": ["A", "A", "B", "B"],
        "price": [1.0, 2.0, 3.0, 4.0],
    }
)


@pytest.fixture
def events(tmp_path):
    target = tmp_path / "events.parquet"
    pq.write_table(EVENTS, target)
    return str(target)


def invoke(*arguments: str, **options):
    result = runner.invoke(app, list(arguments), **options)
    assert "Traceback" not in result.output
    return result


def matches_in(text: str) -> list[dict]:
    return [json.loads(line) for line in text.splitlines()]


def test_run_writes_the_matches_as_json_lines(events):
    result = invoke("run", QUERY, "--data", events, "--type", "kind", "-o", "-", "--output-format", "json")
    assert result.exit_code == 0
    found = {(match["A"][0]["price"], match["B"][0]["price"]) for match in matches_in(result.stdout)}
    assert found == {(1.0, 3.0), (2.0, 3.0)}


def test_run_writes_csv_to_standard_output_by_default(events):
    result = invoke("run", QUERY, "--data", events, "--type", "kind", "-o", "-")
    lines = result.stdout.splitlines()
    assert len(lines) == 3
    assert lines[0].startswith('"match_start","match_end"')


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_run_writes_a_file_in_the_format_of_its_suffix(events, tmp_path, suffix):
    target = tmp_path / f"matches.{suffix}"
    result = invoke("run", QUERY, "--data", events, "--type", "kind", "-o", str(target))
    assert result.exit_code == 0
    assert read_table(str(target)).num_rows == 2
    assert result.stdout == ""
    assert "2 matches" in result.stderr


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_run_reads_text_formats_with_times_as_text(tmp_path, suffix):
    source = tmp_path / f"events.{suffix}"
    rows = [("2024-01-02T00:00:00.250Z", "A"), ("2024-01-02T00:00:01.5Z", "B")]
    if suffix == "csv":
        source.write_text("ts,kind\n" + "".join(f"{ts},{kind}\n" for ts, kind in rows))
    else:
        source.write_text("".join(json.dumps({"ts": ts, "kind": kind}) + "\n" for ts, kind in rows))
    result = invoke("run", QUERY, "--data", str(source), "--type", "kind", "-o", "-", "--output-format", "json")
    assert [match["match_end"] for match in matches_in(result.stdout)] == ["2024-01-02T00:00:01.500000Z"]


def test_run_reads_integer_times_in_the_unit_that_is_given(tmp_path):
    source = tmp_path / "events.csv"
    source.write_text("ts,kind\n0,A\n10000,B\n20001,B\n")
    result = invoke("run", QUERY, "--data", str(source), "--type", "kind", "--time-unit", "ms", "-o", "-")
    assert len(result.stdout.splitlines()) == 2


def test_run_shows_a_table_of_the_first_rows_without_output(events):
    result = invoke("run", QUERY, "--data", events, "--type", "kind", "--limit-rows", "1")
    assert "match_start" in result.stdout
    assert "... 1 more" in result.stdout


def test_run_reads_the_query_from_a_file(events, tmp_path):
    source = tmp_path / "query.ceql"
    source.write_text(QUERY)
    assert "2 matches" in invoke("run", str(source), "--data", events, "--type", "kind").stderr


def test_run_reads_the_query_from_standard_input(events):
    assert "2 matches" in invoke("run", "-", "--data", events, "--type", "kind", input=QUERY).stderr


def test_run_counts_without_listing(events):
    result = invoke("run", QUERY, "--data", events, "--type", "kind", "--count", "-o", "-", "--output-format", "json")
    assert [match["matches"] for match in matches_in(result.stdout)] == ["2"]


def test_run_joins_several_streams_by_name(tmp_path):
    for name, kind in (("S1", "A"), ("S2", "B")):
        pq.write_table(EVENTS.filter(pc.equal(EVENTS["kind"], kind)), tmp_path / f"{name}.parquet")
    streams = [argument for name in ("S1", "S2") for argument in ("--stream", f"{name}={tmp_path / name}.parquet")]
    query = "SELECT * FROM S1, S2 WHERE S1>A ; S2>B WITHIN 10 seconds"
    assert "2 matches" in invoke("run", query, *streams, "--type", "kind").stderr


def test_run_stops_with_exit_code_4_above_the_cap(events):
    result = invoke("run", QUERY, "--data", events, "--type", "kind", "--max-matches", "1")
    assert result.exit_code == 4
    assert "Hint:" in result.stderr
    assert result.stdout == ""


def test_check_says_that_a_query_is_well_formed():
    result = invoke("check", QUERY)
    assert result.exit_code == 0
    assert "well formed" in result.stderr


def test_check_shows_the_columns_of_the_result(events):
    result = invoke("check", QUERY, "--data", events, "--type", "kind")
    assert result.exit_code == 0
    assert "match_start" in result.stdout


@pytest.mark.parametrize("form", ["text", "mermaid", "dot"])
def test_explain_draws_the_plan(form):
    result = invoke("explain", QUERY, "--format", form)
    assert result.exit_code == 0
    assert {"text": "B", "mermaid": "-->", "dot": "digraph"}[form] in result.stdout


def test_explain_shows_the_plan_for_events(events):
    assert invoke("explain", QUERY, "--data", events, "--type", "kind").exit_code == 0


def test_a_wrong_query_shows_its_place_and_a_hint():
    result = invoke("check", "SELECT * FROM S WHERE (A ; B")
    assert result.exit_code == 2
    assert "^" in result.stderr
    assert "Hint:" in result.stderr


def test_an_attribute_that_the_events_lack_is_a_wrong_query(events):
    result = invoke("run", "SELECT * FROM S WHERE A FILTER A[prise > 1]", "--data", events, "--type", "kind")
    assert result.exit_code == 2
    assert "price" in result.stderr


@pytest.mark.parametrize("length", [5_000, 100_000])
def test_a_long_query_is_read_as_text_and_not_as_a_file_name(length):
    result = invoke("check", "SELECT * FROM S WHERE A " + " " * length + "!!!")
    assert result.exit_code == 2


@pytest.mark.parametrize(
    ("arguments", "code", "condition"),
    [
        (("run", QUERY), 2, "NO_DATA"),
        (("run", "missing.ceql", "--data", "x.csv"), 3, "FILE_NOT_FOUND"),
        (("run", QUERY, "--data", "missing.csv"), 3, "FILE_NOT_FOUND"),
        (("run", QUERY, "--data", "EVENTS", "--time", "when"), 3, "MISSING_COLUMN"),
        (("run", QUERY, "--data", "EVENTS", "--type", "knd"), 3, "MISSING_COLUMN"),
        (("run", QUERY, "--data", "EVENTS", "--tie-break", "seq"), 3, "MISSING_COLUMN"),
        (("run", QUERY, "--data", "EVENTS", "--output", "matches.xls"), 3, "UNKNOWN_FORMAT"),
        (("run", QUERY, "--data", "EVENTS", "--stream", "S=x.csv"), 2, "BAD_OPTION"),
        (("run", QUERY, "--stream", "x.csv"), 2, "BAD_OPTION"),
        (("run", QUERY, "--data", "missing.parquet", "--engine", "spark"), 3, "FILE_NOT_FOUND"),
        (("run", QUERY, "--data", "EVENTS", "--time", "when", "--engine", "spark"), 3, "MISSING_COLUMN"),
        (("check", QUERY, "--data", "missing.csv"), 3, "FILE_NOT_FOUND"),
    ],
)
def test_a_mistake_has_its_exit_code_and_condition(events, arguments, code, condition):
    result = invoke(*(events if argument == "EVENTS" else argument for argument in arguments))
    assert result.exit_code == code
    assert f"[{condition}]" in result.stderr
    assert result.stdout == ""


def test_times_that_are_no_times_are_bad_data(tmp_path):
    source = tmp_path / "events.csv"
    source.write_text("ts,kind\nyesterday,A\n")
    result = invoke("run", QUERY, "--data", str(source), "--type", "kind")
    assert result.exit_code == 3
    assert "[BAD_TIME]" in result.stderr


def test_missing_java_is_said_plainly(events, monkeypatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.delenv("SPARK_REMOTE", raising=False)
    result = invoke("run", QUERY, "--data", events, "--type", "kind", "--engine", "spark")
    assert result.exit_code == 1
    assert "[JAVA_MISSING]" in result.stderr


def test_missing_pyspark_is_said_plainly(events, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyspark", None)
    result = invoke("run", QUERY, "--data", events, "--type", "kind", "--engine", "spark")
    assert result.exit_code == 1
    assert "pip install 'eventide[spark]'" in result.stderr


def test_an_unexpected_failure_has_no_traceback_unless_asked_for(events, monkeypatch):
    monkeypatch.setattr("eventide.console.deliver", lambda *_: 1 / 0)
    quiet = runner.invoke(app, ["run", QUERY, "--data", events, "--type", "kind"])
    assert quiet.exit_code == 1
    assert "[UNEXPECTED_FAILURE] ZeroDivisionError" in quiet.stderr
    assert "Traceback" not in quiet.output
    monkeypatch.setenv("EVENTIDE_DEBUG", "1")
    assert "Traceback" in runner.invoke(app, ["run", QUERY, "--data", events, "--type", "kind"]).stderr


def test_spark_finds_the_same_matches(spark, events):
    result = invoke("run", QUERY, "--data", events, "--type", "kind", "--engine", "spark", "-o", "-", "--output-format", "json")
    found = {(match["A"][0]["price"], match["B"][0]["price"]) for match in matches_in(result.stdout)}
    assert found == {(1.0, 3.0), (2.0, 3.0)}


def test_spark_writes_a_folder_of_parquet_files(spark, events, tmp_path):
    target = tmp_path / "matches.parquet"
    for _ in range(2):
        assert "2 matches" in invoke("run", QUERY, "--data", events, "--type", "kind", "--engine", "spark", "-o", str(target)).stderr
    assert pq.read_table(target).num_rows == 2


def test_spark_does_not_replace_a_folder_of_other_files(spark, events, tmp_path):
    target = tmp_path / "matches.parquet"
    target.mkdir()
    (target / "letter.txt").write_text("keep me")
    result = invoke("run", QUERY, "--data", events, "--type", "kind", "--engine", "spark", "-o", str(target))
    assert result.exit_code == 3
    assert (target / "letter.txt").read_text() == "keep me"


def test_spark_shows_a_table_of_the_first_rows(spark, events):
    result = invoke("run", QUERY, "--data", events, "--type", "kind", "--engine", "spark", "--limit-rows", "1")
    assert "... 1 more" in result.stdout


def test_spark_reads_csv_with_the_types_of_the_local_engine(spark, tmp_path):
    source = tmp_path / "events.csv"
    source.write_text("ts,kind\n2024-01-02T00:00:00Z,A\n2024-01-02T00:00:10Z,B\n")
    assert "1 match " in invoke("run", QUERY, "--data", str(source), "--type", "kind", "--engine", "spark").stderr


def test_a_damaged_file_is_bad_data_on_spark_too(spark, events):
    content = bytearray(Path(events).read_bytes())
    content[4:120] = b"\xff" * 116
    Path(events).write_bytes(content)
    result = invoke("run", QUERY, "--data", events, "--type", "kind", "--engine", "spark")
    assert result.exit_code == 3
    assert "[UNREADABLE_FILE]" in result.stderr


@pytest.mark.parametrize("engine", ["local", pytest.param("", marks=[pytest.mark.spark, pytest.mark.ci])])
def test_demo_writes_trades_and_matches_and_shows_the_first(engine, tmp_path):
    command = [sys.executable, "-m", "eventide", "demo", "--events", "3000", "--output", str(tmp_path)]
    done = subprocess.run(
        [*command, "--engine", engine] if engine else command, capture_output=True, text=True, timeout=480, check=False
    )
    assert done.returncode == 0, done.stderr
    assert pq.read_table(tmp_path / "trades.parquet").num_rows == 3000
    assert "WARN" not in done.stderr
    assert done.stdout.count("low") == 1
    found = pq.read_table(tmp_path / "matches.parquet")
    assert {"low", "steps", "peak", "exit"} <= set(found.column_names)
    if not engine:
        assert pq.read_table(tmp_path / "matches-spark.parquet").num_rows == found.num_rows > 0
        assert done.stderr.index("matches.parquet") < done.stderr.index("Now the same query on Spark")


def test_python_m_eventide_is_the_same_command():
    done = subprocess.run([sys.executable, "-m", "eventide", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("eventide ")


def test_a_reader_that_stops_early_causes_no_noise(events):
    command = f'"{sys.executable}" -m eventide generate abc --events 200000 | head -n 1'
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert done.stdout.startswith('"ts"')
    assert "Traceback" not in done.stderr
