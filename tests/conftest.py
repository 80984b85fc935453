"""One Spark session a run, started by the first test that asks for it."""

from __future__ import annotations

import os
import sys
import warnings
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from harness.seeds import draw_moving_seed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

# A shared machine makes single examples slow now and then; that is no failure. Failures print how to repeat them.
settings.register_profile("eventide", deadline=None, print_blob=True)
settings.load_profile("eventide")

# What the table of signatures does not name is an error here; elsewhere numba would compile it, and nobody would see.
os.environ.setdefault("EVENTIDE_KERNELS", "linked")

# On a slow machine anything may take two seconds; tests of the lines about it switch them on.
os.environ.setdefault("EVENTIDE_WAITS", "no")

CONNECT = os.environ.get("EVENTIDE_CONNECT") == "yes"
"""Whether the session is one of Spark Connect, with a server of its own."""
collect_ignore = [] if CONNECT else ["spark/test_connect.py"]

SPARK_SETTINGS = {
    # Two tasks at a time show what goes wrong between partitions; more would only wait for cores.
    "spark.master": "local[2]",
    # Two shuffle partitions: the fewest that still split keys, and 100 times fewer tasks than the default.
    "spark.sql.shuffle.partitions": "2",
    "spark.default.parallelism": "2",
    # Adaptive execution would merge the two again, and the tests would see one partition only.
    "spark.sql.adaptive.coalescePartitions.enabled": "false",
    # Nobody looks at it, and it takes a port.
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # The driver talks to itself: no name look-up that a container cannot answer.
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    # Times print the same on every machine.
    "spark.sql.session.timeZone": "UTC",
    # Small tables reach Spark as Arrow; a silent fall-back to pickled rows would hide what users hit.
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.execution.arrow.pyspark.fallback.enabled": "false",
    # Small batches, so that tests of a few rows cross batch edges.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "64",
    # On a local disk the usual one starts some thirty processes (readlink, chmod) in every micro-batch: a sixth of a second each. The
    # streams that are killed (tests/crash) have it.
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
    # A worker that stays has its kernels loaded; a new one per task would pay for that each time.
    "spark.python.worker.reuse": "true",
    "spark.driver.memory": "1g",
}


def pytest_report_header() -> str:
    """Say which seed the tests have that go over other cases each time; the processes of a run share it."""
    return f"moving seed: EVENTIDE_SEED={draw_moving_seed()}"


@pytest.hookimpl(tryfirst=True)  # before -m selects
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that use Spark, so that they can be run in one process, with one session."""
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.spark)


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Give the Spark session of this run."""
    # Workers must be this interpreter, with this environment, not the first python of the PATH.
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName("eventide-tests")
    settings = dict(SPARK_SETTINGS)
    if CONNECT:
        builder = builder.remote(settings.pop("spark.master"))
    for name, value in settings.items():
        builder = builder.config(name, value)
    with warnings.catch_warnings():
        # Connect complains of settings that its server has had from the start, and of those that it does not need.
        warnings.filterwarnings("ignore", "Failed to set|The SQL config", UserWarning)
        session = builder.getOrCreate()
    yield session
    session.stop()


@pytest.fixture(autouse=True)
def _session_as_it_was_made(request: pytest.FixtureRequest) -> None:
    """Undo what tests before left set: the command line gives settings of its own to a session that it joins."""
    if "spark" in request.fixturenames and not CONNECT:
        session = request.getfixturevalue("spark")
        for name, value in SPARK_SETTINGS.items():
            if name.startswith("spark.sql."):
                session.conf.set(name, value)
