"""Runs that would take hours stop at once when they are interrupted, whatever kernel is at work."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

EXPLODING = "SELECT {} WHERE A ; B+ AS b ; C FILTER {}"
NEVER = "SUM(b.v) % 7 = 8"
"""No bound tells that it fails, and no two loops have the same sum."""
CASES = {
    "automaton, conditions on whole matches": ("automaton", EXPLODING.format("*", NEVER)),
    "automaton, conditions on neighbours": ("automaton", EXPLODING.format("*", f"b.v + NEXT(b.v) > 0 AND {NEVER}")),
    "automaton, the largest of all": ("automaton", EXPLODING.format("MAX *", NEVER)),
    "automaton, consumed": ("automaton", f"{EXPLODING.format('*', 'SUM(b.v) < 0')} CONSUME BY ANY"),
    "runs": ("runs", EXPLODING.format("*", "SUM(b.v) < 0")),
    "recompute": ("recompute", EXPLODING.format("*", "SUM(b.v) < 0")),
    "recompute, chains of a loop": ("recompute", EXPLODING.format("*", "b.v <= NEXT(b.v) AND SUM(b.v) < 0")),
    "disorder": ("disorder", "SELECT * WHERE " + " ; ".join(f"B AS b{n}" for n in range(12)) + " FILTER b0.v + b11.v < 0 WITHIN 10000"),
}

MATCHER = """
import sys
from match.building import Run, plan_of, prepare, stream
from match.disordered import Disordered, arrivals
matcher, text = sys.argv[1:]
plan = plan_of(text, None if matcher == "disorder" else matcher)
def run(length):
    events = stream("a" + "b" * length + "c", v=[pow(3, number, 1 << 40) for number in range(length + 2)])
    if matcher == "disorder":
        Disordered(plan).feed(arrivals(plan, events)).finish()
    else:
        Run(plan, max_steps=10**18).feed(prepare(plan, events)).finish()
run(3)
print("ready", flush=True)
run(200)
"""

ROWS = """
import pyarrow as pa
import eventide as et
def run(length):
    table = pa.table({"n": range(length), "x": [2.0**n for n in range(length)]})
    et.sql("SELECT * FROM t MATCH_RECOGNIZE (ORDER BY n MEASURES COUNT(*) AS c PATTERN ((A | B)* C) "
           "DEFINE C AS SUM(A.x) < 0.0)", t=table, max_steps=10**18)
run(3)
print("ready", flush=True)
run(100)
"""


def seconds_to_stop(script, *arguments):
    """Interrupt a script one second after it is ready, and return how long it took to end."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])}
    # A shell that runs the tests in the background has them ignore interrupts, and so has all that they start.
    heeding = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    command = [sys.executable, "-c", heeding + script, *arguments]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stdout.readline() == "ready\n", running.stderr.read()
        time.sleep(1)
        assert running.poll() is None, "the run is over before it could be interrupted"
        started = time.monotonic()
        running.send_signal(signal.SIGINT)
        try:
            _, failure = running.communicate(timeout=60)
        finally:
            running.kill()
        assert failure.rstrip().endswith("KeyboardInterrupt"), failure
        return time.monotonic() - started


# A slice takes tens of milliseconds, a run that is not cut takes for ever; the rest is for machines that are busy with other tests.
@pytest.mark.parametrize("case", CASES)
def test_a_matcher_stops_when_it_is_interrupted(case):
    assert seconds_to_stop(MATCHER, *CASES[case]) < 30


def test_a_search_for_row_patterns_stops_when_it_is_interrupted():
    assert seconds_to_stop(ROWS) < 30
