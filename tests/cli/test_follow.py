from __future__ import annotations

import json
import threading
import time
from collections import Counter

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from eventide.cli import app
from eventide.console.follow.match_lines import MatchWriter
from eventide.console.follow.options import FollowOptions, end_marker
from eventide.console.report import results_console
from eventide.console.results import Output
from eventide.errors import LimitError, unwrapped
from eventide.sources.formats import Format

runner = CliRunner()
QUERY = "SELECT user, a.n AS first, b.n AS second WHERE A AS a ; B AS b PARTITION BY user WITHIN 10 seconds"
START = 1_704_188_700_000_000


def events(first=0, last=60):
    numbers = list(range(first, last))
    return pa.table(
        {
            "ts": pa.array([START + 1_000_000 * n for n in numbers], pa.timestamp("us", tz="UTC")),
            "kind": ["AB"[n % 5 == 0] for n in numbers],
            "user": [f"u{n % 3}" for n in numbers],
            "n": numbers,
        }
    )


@pytest.fixture
def file(tmp_path):
    target = tmp_path / "events.parquet"
    pq.write_table(events(), target)
    return str(target)


def invoke(*arguments: str):
    result = runner.invoke(app, ["run", QUERY, "--type", "kind", *arguments])
    assert "Traceback" not in result.output
    return result


def rows_of(text: str) -> Counter[str]:
    return Counter(json.dumps(json.loads(line), sort_keys=True) for line in text.splitlines())


def batch_rows(data: str) -> Counter[str]:
    found = rows_of(invoke("--data", data, "-o", "-", "--output-format", "json").stdout)
    assert found
    return found


@pytest.mark.ci
def test_a_replayed_file_gives_the_matches_of_the_batch_run_whatever_its_disorder(spark, file):
    result = invoke(
        "--data", file, "--follow", "--disorder", "30", "--bound", "8 seconds", "--lateness", "8 seconds", "-o", "-", "--output-format", "json"
    )
    assert result.exit_code == 0, result.output
    assert rows_of(result.stdout) == batch_rows(file)
    assert "0 late" in result.stderr
    assert "ended at the end of the file" in result.stderr


def test_matches_are_lines_of_names_and_values(spark, file):
    result = invoke("--data", file, "--follow", "--emit", "ordered")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert len(lines) == sum(batch_rows(file).values())
    assert lines[0] == "user=u2  first=2  second=5"
    assert [int(line.rpartition("=")[2]) for line in lines] == sorted(int(line.rpartition("=")[2]) for line in lines)


def test_tasks_share_the_matches_of_a_stream(spark, file):
    result = invoke("--data", file, "--follow", "--distribution", "slices", "--slices", "2", "-o", "-", "--output-format", "json")
    assert result.exit_code == 0, result.output
    assert rows_of(result.stdout) == batch_rows(file)


def test_a_distribution_that_is_for_tables_is_refused(spark, file):
    result = invoke("--data", file, "--follow", "--distribution", "maximal")
    assert result.exit_code != 0
    assert "ONLY_ON_TABLES" in result.stderr


@pytest.mark.ci
def test_early_output_says_what_changes(spark, file):
    result = invoke("--data", file, "--follow", "--emit", "early", "--lateness", "5 seconds")
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("change=+  match_id=")


def test_a_folder_is_followed_while_it_grows(spark, tmp_path):
    folder, output = tmp_path / "events", tmp_path / "matches.jsonl"
    folder.mkdir()
    pacsv.write_csv(events(0, 30), folder / "1.csv")

    def add_when_the_first_is_read() -> None:
        deadline = time.monotonic() + 200
        while time.monotonic() < deadline and not (output.exists() and output.stat().st_size):
            time.sleep(0.1)
        pacsv.write_csv(events(30, 60), tmp_path / "2.csv")
        (tmp_path / "2.csv").rename(folder / "2.csv")

    added = threading.Thread(target=add_when_the_first_is_read)
    added.start()
    result = invoke("--data", str(folder), "--follow", "--until-idle", "-o", str(output))
    added.join()
    assert result.exit_code == 0, result.output
    assert "because nothing came any more" in result.stderr
    seconds = {json.loads(line)["second"] for line in output.read_text().splitlines()}
    assert {5, 25, 30, 50} <= seconds


@pytest.mark.ci
def test_a_later_run_with_the_same_checkpoint_goes_on(spark, tmp_path):
    folder, output = tmp_path / "events", tmp_path / "matches.csv"
    folder.mkdir()
    arguments = ("--data", str(folder), "--follow", "--until-idle", "--checkpoint", str(tmp_path / "checkpoint"), "-o", str(output))
    pq.write_table(events(0, 30), folder / "1.parquet")
    assert invoke(*arguments).exit_code == 0
    pq.write_table(events(30, 60), folder / "2.parquet")
    result = invoke(*arguments)
    assert result.exit_code == 0, result.output
    assert "30 events" in result.stderr
    found = pacsv.read_csv(output)
    # No match comes twice; one whose last event is at the watermark itself may still wait.
    assert found.num_rows == len({tuple(row.values()) for row in found.to_pylist()})
    assert {5, 25, 30, 50} <= set(found["second"].to_pylist())


def test_a_run_ends_after_the_time_that_it_is_given(spark, file):
    result = invoke("--data", file, "--follow", "--rate", "1", "--for", "2s")
    assert result.exit_code == 0, result.output
    assert "ended after 2 s" in result.stderr


def test_sql_follows_its_streams(spark, file, tmp_path):
    names = tmp_path / "names.csv"
    names.write_text("user,name\nu0,ann\nu1,bob\nu2,cyd\n")
    text = """SELECT name, first, last FROM events MATCH_RECOGNIZE (
        PARTITION BY user ORDER BY ts MEASURES A.n AS first, B.n AS last
        PATTERN (A B) WITHIN INTERVAL '10' SECOND DEFINE B AS kind = 'B', A AS kind = 'A'
    ) JOIN names USING (user)"""
    arguments = ["run", text, "--stream", f"events={file}", "--table", f"names={names}", "--follow", "-o", "-", "--output-format", "json"]
    result = runner.invoke(app, arguments)
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout.splitlines()[0]).keys() == {"name", "first", "last"}


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("--lateness", "5 seconds"), 2, "--lateness is for a stream"),
        (("--rate", "5"), 2, "--rate is for a stream"),
        (("--until-idle",), 2, "--until-idle is for a stream"),
        (("--follow", "--count"), 2, "--count does not go with --follow"),
        (("--follow", "--max-matches", "5"), 2, "--max-matches does not go with --follow"),
        (("--follow", "--for", "soon"), 2, "--for soon is not a duration"),
        (("--follow", "--disorder", "10"), 2, "Add bound"),
        (("--follow", "--time", "tss"), 3, "Did you mean ts?"),
        (("--follow", "--type", "kindd"), 3, "Did you mean kind?"),
        (("--follow", "-o", "matches.xyz"), 3, "UNKNOWN_FORMAT"),
    ],
)
def test_options_that_do_not_fit_are_refused_before_spark_starts(file, arguments, code, told):
    result = invoke("--data", file, *arguments)
    assert result.exit_code == code
    assert told in result.stderr


def test_a_folder_cannot_be_replayed_and_must_hold_a_first_file(tmp_path):
    result = invoke("--data", str(tmp_path), "--follow", "--rate", "5")
    assert (result.exit_code, "NOT_A_FILE" in result.stderr) == (3, True)
    result = invoke("--data", str(tmp_path), "--follow")
    assert (result.exit_code, "EMPTY_FOLDER" in result.stderr) == (3, True)


def test_sql_that_follows_needs_a_stream(file):
    text = "SELECT * FROM e MATCH_RECOGNIZE (ORDER BY ts MEASURES A.n AS n PATTERN (A))"
    result = runner.invoke(app, ["run", text, "--table", f"e={file}", "--follow"])
    assert result.exit_code == 2
    assert "--stream NAME=FOLDER" in result.stderr


@pytest.mark.parametrize("kind", [Format.CSV, Format.JSON])
def test_matches_are_appended_batch_by_batch(tmp_path, kind):
    target = tmp_path / f"matches.{kind}"
    writer = MatchWriter(Output(str(target)), results_console())
    for numbers in ([], [1, 2], [], [3]):
        writer.write(pa.table({"n": pa.array(numbers, pa.int64()), "tags": pa.array([["a"]] * len(numbers), pa.list_(pa.string()))}))
    writer.close()
    assert writer.matches == 3
    lines = target.read_text().splitlines()
    assert lines == (
        ['"n","tags"', '1,"[""a""]"', '2,"[""a""]"', '3,"[""a""]"']
        if kind is Format.CSV
        else ['{"n": 1, "tags": ["a"]}', '{"n": 2, "tags": ["a"]}', '{"n": 3, "tags": ["a"]}']
    )


def test_an_error_of_ours_is_found_inside_one_of_sparks():
    text = "Py4JJavaError ... \n  File ...\neventide.errors.LimitError: [STATE_TOO_LARGE] Too large.\nline 1, column 8\n  SELECT\n  ^\nHint: Less.\n\n\tat org..."
    error = unwrapped(text)
    assert isinstance(error, LimitError)
    assert (error.condition, error.message, error.hint) == ("STATE_TOO_LARGE", "Too large.", "Less.")
    assert str(error).splitlines()[1:4] == ["line 1, column 8", "  SELECT", "  ^"]
    assert unwrapped("ValueError: [X] y") is None


@pytest.mark.parametrize(
    ("window", "lateness", "kind", "unit", "expected"),
    [
        ("WITHIN 5 seconds", None, pa.timestamp("us"), None, "11000000 us"),
        ("WITHIN 5", "3", pa.int64(), None, "14"),
        ("WITHIN 5 seconds", "500 ms", pa.int64(), "ms", "11500"),
        ("", "2 seconds", pa.timestamp("us"), None, "3000000 us"),
    ],
)
def test_the_end_marker_lies_behind_lateness_and_window(window, lateness, kind, unit, expected):
    import eventide as et

    assert end_marker(et.query(f"SELECT * WHERE A ; B {window}").model, lateness, kind, unit) == expected


def test_a_slow_replay_is_not_taken_for_an_idle_one():
    assert FollowOptions(rate=0.1).ending(10).idle_seconds > 20


@pytest.mark.ci
def test_the_demo_finds_the_same_as_a_batch_run(spark, tmp_path):
    result = runner.invoke(app, ["demo", "--stream", "--events", "1500", "--seed", "2", "-o", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert "too late" in result.stdout
    assert "  match   card" in result.stdout
    assert "equal" in result.stdout
    assert "watermark" in result.stdout


def test_the_demo_of_a_stream_needs_spark():
    result = runner.invoke(app, ["demo", "--stream", "--engine", "local"])
    assert result.exit_code == 2
    assert "A stream runs on Spark" in result.stderr
