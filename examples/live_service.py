"""An asyncio service that survives SIGKILL: state and input offset are dumped together, and written by an atomic rename.

    python examples/live_service.py events.jsonl alerts.jsonl state.bin

One task reads the file of events into a bounded queue, another pushes what comes out of it to an open stream and appends alerts.
After each batch it writes one small file: how far the input was read, how long the output is, and the stream itself. Whatever
happens, the next start cuts the output to that length and reads on from that offset: nothing is lost and nothing comes twice.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import eventide as et

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

COLUMNS = {"ts": datetime, "kind": str, "card": str, "amount": float}
QUERY = et.query("""
    SELECT card, a.ts AS first, b.amount AS amount, b.ts AS at
    WHERE  small AS a ; NOT cancelled ; large AS b
    FILTER b.amount > 100 * a.amount
    PARTITION BY card
    WITHIN 1 minute
""")
BATCH = 50
WAITING = 4
"""Batches that may wait: the reader stops when matching does not keep up."""
END = None


class Checkpoint:
    """What a start needs to know: a line of JSON, and behind it the dump of the stream."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.offset = self.written = 0
        self.live = None
        if path.exists():
            head, dump = path.read_bytes().split(b"\n", 1)
            told = json.loads(head)
            self.offset, self.written = told["offset"], told["written"]
            self.live = et.resume(dump, QUERY)

    def write(self, live: et.Live, offset: int, written: int) -> None:
        """Replace the file in one step: a crash leaves the old one or the new one, never half of one."""
        head = json.dumps({"offset": offset, "written": written}).encode()
        fresh = self._path.with_suffix(".new")
        with fresh.open("wb") as file:
            file.write(head + b"\n" + live.dump())
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(self._path)


async def read(path: Path, offset: int, queue: asyncio.Queue, pause: float) -> None:
    """Put batches of lines with the offset behind them into the queue; waits while it is full."""
    with path.open("rb") as file:
        file.seek(offset)
        while lines := [line for _, line in zip(range(BATCH), file, strict=False)]:
            offset += sum(map(len, lines))
            await queue.put(([json.loads(line) for line in lines], offset))
            await asyncio.sleep(pause)
    await queue.put(END)


async def taken(queue: asyncio.Queue) -> AsyncIterator[tuple[list[dict], int]]:
    """Yield what is in the queue until the end."""
    while (item := await queue.get()) is not END:
        yield item


async def serve(events: Path, alerts: Path, state: Path, pause: float) -> None:
    """Read all events, write all alerts."""
    checkpoint = Checkpoint(state)
    live = checkpoint.live or QUERY.open(COLUMNS, time="ts", type="kind", lateness="5 seconds")
    with alerts.open("ab") as out, live:
        # What was written after the last checkpoint comes again.
        out.truncate(checkpoint.written)
        out.seek(checkpoint.written)
        queue: asyncio.Queue = asyncio.Queue(WAITING)
        reader = asyncio.create_task(read(events, checkpoint.offset, queue, pause))
        async for batch, offset in taken(queue):
            append(out, live.push(batch).to_pylist())
            checkpoint.write(live, offset, out.tell())
        await reader
        append(out, live.finish().to_pylist())
    state.with_suffix(".done").touch()


def append(out: object, found: list[dict]) -> None:
    """Write alerts, and see that they are on the disk before a checkpoint says so."""
    out.write(b"".join(json.dumps(alert, default=str).encode() + b"\n" for alert in found))
    out.flush()
    os.fsync(out.fileno())


def main() -> None:
    """Run the service over a file."""
    parser = argparse.ArgumentParser()
    for name in ("events", "alerts", "state"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--pause", type=float, default=0.0, help="seconds between two batches, as a slow source would make")
    told = parser.parse_args()
    asyncio.run(serve(told.events, told.alerts, told.state, told.pause))


if __name__ == "__main__":
    main()
