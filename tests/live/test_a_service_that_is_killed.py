"""The asyncio service of the examples, really killed: nothing is lost and nothing comes twice."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest

import eventide as et

SERVICE = Path(__file__).parent.parent.parent / "examples" / "live_service.py"
EVENTS_OF_A_LIFE = 500
"""More than a life reads before it is killed."""
PATIENCE = 120
"""Seconds until a life must have come further."""


def events_of(rng: Random, events: int) -> list[dict]:
    """Return payments, a few seconds out of order."""
    drawn = []
    for number in range(events):
        moment = datetime.fromtimestamp(1_767_225_600 + number - rng.choice((0, 0, 0, 1, 4)), tz=UTC)
        kind = rng.choices(("small", "large", "cancelled"), (5, 2, 1))[0]
        amount = round(rng.random() * (1 if kind == "small" else 200), 2)
        drawn.append({"ts": f"{moment:%Y-%m-%dT%H:%M:%SZ}", "kind": kind, "card": f"c{rng.randrange(40)}", "amount": amount})
    return drawn


def expected(events: list[dict]) -> list[str]:
    """Return the alerts of a table of all events."""
    sys.path.insert(0, str(SERVICE.parent))
    try:
        from live_service import QUERY
    finally:
        sys.path.remove(str(SERVICE.parent))
    columns = {name: [event[name] for event in events] for name in events[0]}
    table = pa.table(columns)
    moments = table["ts"].cast(pa.timestamp("us", "UTC"))
    table = table.set_column(0, "ts", moments)
    found = QUERY.match(et.events(table, time="ts", type="kind"))
    return sorted(json.dumps(alert, default=str) for alert in found.to_pylist())


def offset_of(state: Path) -> int:
    return json.loads(state.read_bytes().split(b"\n", 1)[0])["offset"] if state.exists() else 0


def life(paths: list[Path], rng: Random, pause: float) -> bool:
    """Run the service until it has come further, and kill it; returns whether it ended before."""
    state, done = paths[2], paths[2].with_suffix(".done")
    before = offset_of(state)
    process = subprocess.Popen([sys.executable, str(SERVICE), *map(str, paths), "--pause", str(pause)], env=os.environ)
    try:
        until = time.monotonic() + PATIENCE
        while offset_of(state) == before and process.poll() is None:
            assert time.monotonic() < until, "the service does nothing"
            time.sleep(0.005)
        time.sleep(rng.random() * 0.1)
    finally:
        process.kill()
        process.wait()
    return done.exists()


def kill_again_and_again(folder: Path, kills: int, seed: int) -> str:
    rng = Random(seed)
    events = events_of(rng, EVENTS_OF_A_LIFE * (kills + 1))
    paths = [folder / name for name in ("events.jsonl", "alerts.jsonl", "state.bin")]
    paths[0].write_text("".join(json.dumps(event) + "\n" for event in events), encoding="utf-8")
    survived = 0
    for _ in range(kills):
        assert not life(paths, rng, pause=0.02), "the events are too few for so many kills"
        survived += offset_of(paths[2]) > 0
    subprocess.run([sys.executable, str(SERVICE), *map(str, paths)], check=True, timeout=PATIENCE)
    written = paths[1].read_text(encoding="utf-8").splitlines()
    wanted = expected(events)
    assert len(wanted) > 100
    assert sorted(written) == wanted
    assert survived == kills
    return f"{kills} kills of a service over {len(events)} events; {len(wanted)} alerts; nothing lost, nothing twice"


@pytest.mark.ci
@pytest.mark.crash
@pytest.mark.timeout(5400)
def test_a_service_that_is_killed_loses_nothing_and_repeats_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = kill_again_and_again(tmp_path, int(os.environ.get("EVENTIDE_KILLS", "5")), int(os.environ.get("EVENTIDE_SEED", "1")))
    with capsys.disabled():
        print(f"\n{told}")  # noqa: T201
