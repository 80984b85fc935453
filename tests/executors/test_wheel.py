"""A wheel brings its kernels along: nothing is compiled where it is installed, embedded or on Spark's workers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from eventide.compilation.library import library_path
from executors import wheel_jobs
from executors.bare import OF_EVENTIDE, OF_SPARK, bare_python, packages_of

ROOT = Path(__file__).parents[2]
pytestmark = [pytest.mark.ci, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Return the Python of an environment that has the wheel, and neither numba nor the sources."""
    if not library_path().exists():
        pytest.skip("the kernels are not built")
    wheels = tmp_path_factory.mktemp("wheels")
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "wheel", "--no-deps", "--wheel-dir", str(wheels), str(ROOT)], check=True)
    (wheel,) = wheels.glob("*.whl")
    assert "none-any" not in wheel.name
    folder = tmp_path_factory.mktemp("installed")
    python = bare_python(folder, (*OF_EVENTIDE, *OF_SPARK))
    subprocess.run([*pip, "install", "--no-deps", "--no-index", "--target", str(packages_of(folder)), str(wheel)], check=True)
    return python


@pytest.fixture
def found(installed, tmp_path):
    """Return a function that runs one query of each matcher with an empty home, a cache that cannot be written and no compiler."""
    home = tmp_path / "home"
    home.mkdir()

    def run(*arguments):
        done = subprocess.run(
            [installed, str(Path(wheel_jobs.__file__)), *arguments],
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
            env={
                "PATH": os.environ["PATH"],
                "JAVA_HOME": os.environ.get("JAVA_HOME", ""),
                "HOME": str(home),
                "XDG_CACHE_HOME": "/dev/null/cache",
                "CC": "/nonexistent",
                "PYTHONPATH": str(ROOT / "tests"),
                "PYSPARK_PYTHON": installed,
                # What the library does not hold is an error.
                "EVENTIDE_KERNELS": "linked",
            },
        )
        assert done.returncode == 0, done.stderr[-3000:]
        assert not list(home.rglob("*eventide*"))
        return json.loads(done.stdout.splitlines()[-1])

    return run


def expected():
    rows = {name: wheel_jobs.rows_of(frame) for name, frame in wheel_jobs.results(wheel_jobs.TABLE)}
    assert all(rows.values())
    return rows


def test_embedded(found):
    said = found()
    assert said["found"] == expected()
    assert not said["numba"]
    assert str(ROOT) not in said["from"]


@pytest.mark.spark
def test_on_spark(found):
    said = found("spark")
    assert {name: len(rows) for name, rows in said["found"].items()} == {name: len(rows) for name, rows in expected().items()}
    assert not said["numba"]
