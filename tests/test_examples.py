from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"


def run_example(name: str, *arguments: str, told: str | None = None) -> str:
    environment = os.environ | {"PYSPARK_PYTHON": sys.executable}
    command = [sys.executable, str(EXAMPLES / name), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False, env=environment, input=told)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_example_on_arrow_finds_every_planted_burst():
    found, planted = (int(part.split()[0]) for part in run_example("local_arrow.py").splitlines()[0].split(", "))
    assert found >= planted > 0


def test_the_example_with_the_builder_finds_the_three_calls_of_bob():
    assert run_example("builder.py").count("bob") >= 1


def test_the_example_in_sql_finds_every_planted_burst():
    found, planted = (int(part.split()[0]) for part in run_example("match_recognize.py").splitlines()[-1].split(", "))
    assert found >= planted > 0


@pytest.mark.ci
@pytest.mark.spark
def test_the_example_on_spark_shows_rising_runs():
    assert "steps" in run_example("spark_batch.py")


@pytest.mark.ci
@pytest.mark.spark
def test_the_example_on_a_stream_tells_what_each_micro_batch_found():
    shown = run_example("spark_stream.py")
    assert shown.count("500 events") == 4
    assert "taken" in shown


def test_the_example_of_a_service_on_standard_input_writes_an_alert():
    kinds = ("login_failed", "login_failed", "login_failed", "login", "login")
    lines = [{"ts": f"2026-01-01T10:00:0{number}Z", "kind": kind, "user": "bob"} for number, kind in enumerate(kinds)]
    [alert] = run_example("live_alerts.py", told="\n".join(map(json.dumps, lines))).splitlines()
    assert json.loads(alert)["failures"] == 3


def test_the_example_of_an_asyncio_service_writes_alerts(tmp_path):
    lines = [
        {"ts": "2026-01-01T10:00:00Z", "kind": "small", "card": "c1", "amount": 0.5},
        {"ts": "2026-01-01T10:00:09Z", "kind": "large", "card": "c1", "amount": 90.0},
    ]
    (tmp_path / "in").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    run_example("live_service.py", *(str(tmp_path / name) for name in ("in", "out", "state")))
    assert json.loads((tmp_path / "out").read_text(encoding="utf-8"))["amount"] == 90.0


def test_every_example_is_run_by_a_test():
    run_by_tests = {"local_arrow.py", "builder.py", "match_recognize.py", "spark_batch.py", "spark_stream.py"}
    run_by_tests |= {"live_alerts.py", "live_service.py"}
    assert {path.name for path in EXAMPLES.glob("*.py")} == run_by_tests
    run = (EXAMPLES / "match_recognize.py").read_text(encoding="utf-8")
    assert all(path.name in run for path in EXAMPLES.glob("*.sql"))
