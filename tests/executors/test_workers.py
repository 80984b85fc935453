"""Workers that cannot work for us say so in one sentence, and a session can be sent the package."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark import cloudpickle

import eventide as et
from eventide.errors import unwrapped
from eventide.executors import workers
from eventide.executors.shipping import pack
from executors.bare import bare_python

FOUND = [[1, 1, 2], [2, 3, 4]]
OPEN = "import pickle, sys; print(pickle.loads(sys.stdin.buffer.read())())"


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    return bare_python(tmp_path_factory.mktemp("bare"))


def said_by(python, value, **environment):
    """Return what a process prints that unpacks a value, and what it fails with."""
    done = subprocess.run(
        [python, "-c", OPEN],
        input=cloudpickle.dumps(workers.opening(value)),
        capture_output=True,
        check=False,
        env={**os.environ, **environment},
    )
    return done.stdout.decode(), done.stderr.decode()


def test_what_is_sent_comes_back():
    assert pickle.loads(cloudpickle.dumps(workers.opening(et.LimitError)))() is et.LimitError


def test_a_worker_without_the_package_says_so(bare):
    _, failed = said_by(bare, et.LimitError)
    error = unwrapped(failed)
    assert isinstance(error, et.SetupError)
    assert error.condition == "WORKERS_WITHOUT_EVENTIDE"
    assert bare in error.message
    assert "et.ship(spark)" in error.hint


def test_a_worker_with_another_version_says_so(monkeypatch):
    monkeypatch.setattr(workers, "VERSION", "9.9")
    _, failed = said_by(sys.executable, et.LimitError)
    error = unwrapped(failed)
    assert error.condition == "WORKERS_WITH_ANOTHER_EVENTIDE"
    assert "9.9" in error.message


def test_a_worker_that_lacks_another_package_names_it(bare, tmp_path):
    import numba

    _, failed = said_by(bare, numba.njit, PYTHONPATH=str(pack(tmp_path)))
    error = unwrapped(failed)
    assert (error.condition, "numba" in error.message) == ("WORKERS_LACK_A_PACKAGE", True)


def test_kernels_run_out_of_the_zip_file(bare, tmp_path):
    from eventide.compilation.library import kernel_names

    environment = {"PYTHONPATH": str(pack(tmp_path)), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    for _ in range(2):
        printed, failed = said_by(bare, kernel_names, **environment)
        assert failed == ""
    printed = subprocess.run(
        [bare, "-c", "from eventide.compilation.library import kernel_names as n; print(len(n()))"],
        capture_output=True,
        check=True,
        text=True,
        env={**os.environ, **environment},
    ).stdout
    assert int(printed) == len(kernel_names()) > 0
    assert [path.suffix for path in (tmp_path / "cache").rglob("*") if path.is_file()] == [".so"]


def test_the_same_package_is_the_same_zip_file(tmp_path):
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
    one, other = pack(tmp_path / "one"), pack(tmp_path / "other")
    assert one.name == other.name
    assert one.read_bytes() == other.read_bytes()


def test_another_python_is_named_by_pysparks_own_words():
    text = (
        "[PYTHON_VERSION_MISMATCH] Python in worker has different version: 3.10 than that in driver: 3.11, PySpark cannot run"
        " with different minor versions."
    )
    error = unwrapped(text)
    assert error.condition == "WORKERS_RUN_ANOTHER_PYTHON"
    assert "PYSPARK_PYTHON" in error.hint


def test_ship_wants_a_session():
    with pytest.raises(et.SetupError, match="NOT_A_SESSION"):
        et.ship("spark")


def test_errors_of_others_pass():
    with pytest.raises(ValueError, match="of others"), et.errors():
        raise ValueError("of others")


def told(bare, *jobs, **environment):
    """Return what each job of a program says whose workers run a bare Python."""
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("jobs.py")), *jobs],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYSPARK_PYTHON": bare, "EVENTIDE_KERNELS": "", **environment},
    )
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert len(lines) == len(jobs), done.stderr[-3000:]
    return {name: said for line in lines for name, said in line.items()}


@pytest.mark.spark
@pytest.mark.ci
@pytest.mark.timeout(600)
def test_a_local_session_is_refused_before_a_job_and_works_once_the_package_is_sent(bare):
    jobs = ("refused", "shipped", "loaded", "streamed", "limited", "refused_by_the_worker")
    said = told(bare, *jobs)
    assert said["refused"]["condition"] == "WORKERS_WITHOUT_EVENTIDE"
    assert said["shipped"] == sorted(FOUND) * 2
    assert "numba" not in said["loaded"]
    assert "eventide" in said["loaded"]
    assert said["streamed"] == FOUND[:1]
    assert (said["limited"]["error"], said["limited"]["condition"]) == ("LimitError", "TOO_MANY_MATCHES")
    assert said["refused_by_the_worker"] == FOUND


@pytest.mark.spark
@pytest.mark.ci
@pytest.mark.timeout(600)
@pytest.mark.parametrize("connect", ["", "yes"])
def test_workers_elsewhere_say_it_themselves(bare, connect):
    said = told(bare, "refused_by_the_worker", "unguarded", *(("shipped", "limited") if connect else ()), EVENTIDE_CONNECT=connect)
    assert said["refused_by_the_worker"]["condition"] == "WORKERS_WITHOUT_EVENTIDE"
    assert "Hint: Call et.ship(spark)" in "\n".join(said["unguarded"])
    if connect:
        assert said["shipped"] == sorted(FOUND) * 2
        assert said["limited"]["condition"] == "TOO_MANY_MATCHES"
