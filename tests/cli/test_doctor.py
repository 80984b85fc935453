"""`eventide doctor` says what is there, what is missing and what to do."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from eventide.cli import app
from eventide.console import doctor
from eventide.executors.probe import Worker

runner = CliRunner()


def examined(*options):
    result = runner.invoke(app, ["doctor", *options])
    return result.exit_code, result.stdout


def test_a_machine_that_has_everything():
    code, said = examined("--no-spark")
    assert code == 0
    for what in ("Eventide", "Python", "kernels", "cache", "Java"):
        assert f"  ok  {what}" in said
    assert "wrong" not in said


def test_a_package_of_another_version_is_wrong(monkeypatch):
    monkeypatch.setattr(doctor, "version", lambda name: "0.0.1" if name == "duckdb" else "30.30.0")
    code, said = examined("--no-spark")
    assert code == 1
    assert "duckdb is 0.0.1, not" in said
    assert "Hint: pip install 'duckdb" in said


def test_java_is_missing(monkeypatch, tmp_path):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    code, said = examined("--no-spark")
    assert code == 1
    assert "wrong  Java        not found" in said
    assert "JAVA_HOME" in said


def test_an_old_java(monkeypatch, tmp_path):
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\"' >&2\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    code, said = examined("--no-spark")
    assert code == 1
    assert "is version 11; Spark needs 17 or newer" in said


def test_kernels_that_are_not_built_are_worth_a_note(monkeypatch):
    monkeypatch.setattr(doctor, "kernel_names", list)
    code, said = examined("--no-spark")
    assert code == 0
    assert " note  kernels     not compiled" in said
    assert "eventide kernels build" in said


@pytest.mark.parametrize(
    ("worker", "wrong", "said"),
    [
        (Worker("h", "3.11.7", "python", None, 0), True, "Eventide is missing"),
        (Worker("h", "3.11.7", "python", "0.0.9", 0), True, "Eventide 0.0.9"),
        (Worker("h", "3.11.7", "python", doctor.VERSION, 0), False, "kernels are not compiled"),
    ],
)
def test_what_workers_lack(worker, wrong, said):
    finding = doctor.of_worker(worker)
    assert finding.wrong is wrong
    assert said in finding.said
    assert finding.hint


def test_the_workers_of_a_session_answer(spark):
    code, said = examined()
    assert code == 0, said
    assert f"Eventide {doctor.VERSION}, " in said
    assert "ok  workers" in said
