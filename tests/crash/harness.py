"""Kills streams at random moments, starts them again, and compares what came out in the end with the result of a table.

Everything that a life has started is killed at once: the driver, its JVM and the Python workers. They have one session of the
operating system in common, which nothing else has.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from crash.sink import committed_rows
from crash.workload import NAMES, SCHEMA, last_event, make_events, matches

JOB = Path(__file__).with_name("job.py")
FIRST_FILE = 1_600_000_000
FILES_OF_A_LIFE = 6
MOST_FILES_BEFORE_A_KILL = 2
SHARE_OF_SHORT_LIVES = 0.2
"""Lives that are killed while they read their state or do again what the one before did not finish."""
LONGEST_DELAY = 1.5
LOOK_EVERY = 0.02
PATIENCE = 300
"""Seconds without any progress after which a life has failed."""
STARVED = "Python worker failed to connect back"
"""What Spark says when a Python process has not started within ten seconds, which cannot be set; a busy machine is no defect of ours."""
MOST_STARVED = 3


class Starved(Exception):  # noqa: N818 - no error
    """A life ended by itself because the machine was too busy to start a process."""


@dataclass
class Figures:
    """What a run of many lives was like."""

    kills: int = 0
    inside: int = 0
    """Kills in the middle of a micro-batch of one of the streams."""
    starved: int = 0
    """Lives that ended by themselves because the machine was too busy to start a process."""
    batches: int = 0
    events: int = 0
    rows: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0

    def __str__(self) -> str:
        found = ", ".join(f"{number} rows of the {name}" for name, number in self.rows.items())
        return (
            f"{self.kills} kills ({self.inside} inside a micro-batch; {self.starved} lives starved) over {self.batches} micro-batches and {self.events} events "
            f"in {self.seconds:.0f} s; {found}; nothing lost, nothing twice"
        )


class Lives:
    """The lives of the streams in one folder, one after the other."""

    def __init__(self, folder: Path, seed: int, files: int) -> None:
        self._folder = folder
        self._rng = Random(seed)
        self._files = make_events(seed, files)
        self._written: list[list[dict[str, Any]]] = []
        (folder / "events").mkdir(parents=True)
        self.figures = Figures()
        self._recovery = 0.0
        """How many seconds a life took to begin a micro-batch of its own."""

    def kill_one(self) -> None:
        """Live until some micro-batches have begun and a random moment longer; now and then a life ends before its first one."""
        begun = self._done("offsets")
        self._write(begun + FILES_OF_A_LIFE)
        process = self._start()
        begin = time.monotonic()
        if self._recovery and self._rng.random() < SHARE_OF_SHORT_LIVES:
            limit = begin + self._recovery * self._rng.uniform(0.6, 1.0)
            self._wait(process, lambda: time.monotonic() > limit)
        else:
            self._wait(process, lambda: self._done("offsets") > begun)
            self._recovery = time.monotonic() - begin
            goal = begun + self._rng.randint(0, MOST_FILES_BEFORE_A_KILL)
            self._wait(process, lambda: self._done("offsets") > goal)
            time.sleep(self._rng.random() * LONGEST_DELAY)
        self.figures.inside += any(self._last(name, "offsets") > self._last(name, "commits") for name in NAMES)
        self.figures.kills += kill_session(process)

    def live_on(self) -> None:
        """Write the last event and live to the end."""
        rows = [row for file in self._written for row in file]
        self._files[len(self._written)] = [last_event(rows)]
        self._write(len(self._written) + 1)
        ended = False
        while not ended:
            with suppress(Starved):
                self._wait(self._start(), lambda: False)
                ended = True

    def check(self) -> None:
        """Compare with the result of a table."""
        rows = [row for file in self._written for row in file]
        self.figures.events = len(rows)
        self.figures.batches = self.done
        for name, expected in matches(pa.Table.from_pylist(rows, schema=SCHEMA)).items():
            wanted = Counter(tuple(row.items()) for row in expected.to_pylist())
            found = Counter(tuple(row.items()) for row in committed_rows(self._folder / name / "rows"))
            lost, twice = wanted - found, found - wanted
            assert not lost and not twice, f"{name}: lost {list(lost)[:5]}, too many {list(twice)[:5]}"
            self.figures.rows[name] = found.total()

    @property
    def done(self) -> int:
        """How many micro-batches the stream that is ahead has done."""
        return self._done("commits")

    def _write(self, files: int) -> None:
        """Write files up to a number of them; their names appear when they are whole."""
        while len(self._written) < files:
            number = len(self._written)
            path = self._folder / "events" / f"{number:05d}.parquet"
            hidden = path.with_name(f".{path.name}")
            pq.write_table(pa.Table.from_pylist(self._files[number], schema=SCHEMA), hidden)
            os.utime(hidden, (FIRST_FILE + number,) * 2)
            hidden.rename(path)
            self._written.append(self._files[number])

    def _start(self) -> subprocess.Popen[bytes]:
        with (self._folder / "log.txt").open("wb") as log:
            return subprocess.Popen(
                [sys.executable, str(JOB), str(self._folder)], stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True
            )

    def _wait(self, process: subprocess.Popen[bytes], reached: Any) -> None:
        """Wait until something is reached or the process has come to its end."""
        seen, since = -1, time.monotonic()
        while process.poll() is None and not reached():
            done = self._done("offsets")
            if done != seen:
                seen, since = done, time.monotonic()
            if time.monotonic() - since > PATIENCE:
                kill_session(process)
                raise AssertionError(f"nothing happens any more\n{self._log()[-4000:]}")
            time.sleep(LOOK_EVERY)
        if process.poll():
            kill_session(process)
            if STARVED in self._log() and self.figures.starved < MOST_STARVED:
                self.figures.starved += 1
                raise Starved
            raise AssertionError(f"the streams stopped by themselves\n{self._log()[-4000:]}")

    def _done(self, log: str) -> int:
        """Return how many micro-batches the stream that is ahead has begun (offsets) or done (commits)."""
        return max(self._last(name, log) for name in NAMES)

    def _last(self, name: str, log: str) -> int:
        written = (self._folder / name / "checkpoint" / log).glob("*")
        return max((int(path.name) + 1 for path in written if path.name.isdigit()), default=0)

    def _log(self) -> str:
        return (self._folder / "log.txt").read_text(encoding="utf-8", errors="replace")


def kill_session(process: subprocess.Popen[bytes]) -> bool:
    """Kill everything that a process has started, by number; returns whether the process itself was still there."""
    alive = process.poll() is None
    while members := _members(process.pid):
        for member in members:
            try:
                os.kill(member, signal.SIGKILL)
            except ProcessLookupError:
                continue
        if process.poll() is None:
            process.wait()
        time.sleep(LOOK_EVERY)
    return alive


def _members(session: int) -> list[int]:
    """Return the processes of a session that are not dead."""
    members = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            state, _parent, _group, own = (folder / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()[:4]
        except OSError:
            continue
        if int(own) == session and state not in "ZX":
            members.append(int(folder.name))
    return members


def crash(folder: Path, kills: int, seed: int) -> Figures:
    """Kill the streams so many times, let them come to their end and compare."""
    begin = time.monotonic()
    lives = Lives(folder, seed, files=(kills + 2) * (MOST_FILES_BEFORE_A_KILL + 4) + FILES_OF_A_LIFE)
    while lives.figures.kills < kills:
        with suppress(Starved):
            lives.kill_one()
        if os.environ.get("EVENTIDE_CRASH_TALK"):
            print(f"{lives.figures.kills} kills, {lives.done} micro-batches", file=sys.__stderr__, flush=True)
    lives.live_on()
    lives.check()
    lives.figures.seconds = time.monotonic() - begin
    return lives.figures
