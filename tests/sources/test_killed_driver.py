"""A driver that is killed with all its processes, and a second one that goes on from the checkpoint."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

PROGRAM = """
import sys
import eventide as et
from eventide.console.spark import start_session

file, checkpoint, output, trigger = sys.argv[1:]
frame = et.replay(start_session(), file, time="n", disorder=40, bound=25, rows_per_batch=20, seed=3)
writer = frame.writeStream.format("parquet").option("checkpointLocation", checkpoint)
writer = writer.trigger(availableNow=True) if trigger == "end" else writer.trigger(processingTime="1 second")
writer.start(output).awaitTermination()
"""


@pytest.mark.long
def test_every_row_is_there_once_after_a_driver_was_killed(tmp_path):
    pq.write_table(pa.table({"n": range(400)}), tmp_path / "numbers.parquet")
    output = tmp_path / "output"
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "numbers.parquet"), str(tmp_path / "checkpoint"), str(output)]
    # A session of its own, so that the JVM and the Python workers die with the driver.
    killed = subprocess.Popen([*command, "wait"], start_new_session=True)
    deadline = time.monotonic() + 300
    while len(list(output.glob("*.parquet"))) < 4:
        assert time.monotonic() < deadline
        assert killed.poll() is None
        time.sleep(0.05)
    os.killpg(killed.pid, signal.SIGKILL)
    killed.wait()
    before = len(list((tmp_path / "checkpoint" / "offsets").glob("[0-9]*")))
    assert before < 20
    subprocess.run([*command, "end"], check=True, timeout=300)
    # What the killed run left half-written is not in the log of the sink; Spark reads by that log.
    committed = [line for log in sorted((output / "_spark_metadata").glob("[0-9]*")) for line in log.read_text().splitlines()[1:]]
    files = {line.split('"path":"file://')[1].split('"')[0] for line in committed}
    found = Counter(number for file in files for number in pq.read_table(file)["n"].to_pylist())
    assert found == Counter(range(400))
