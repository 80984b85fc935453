"""Run a query on a stream and show its matches as they come."""

from __future__ import annotations

import json
import signal
import tempfile
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from threading import Event, current_thread, main_thread
from typing import TYPE_CHECKING, Any

from eventide.console import report
from eventide.console.follow.match_lines import MatchWriter
from eventide.errors import errors
from eventide.progress.tally import Tally, read_progress
from eventide.progress.words import UNUSUAL, moment, size
from eventide.records import record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyarrow as pa
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.listener import StreamingQueryProgress
    from pyspark.sql.streaming.query import StreamingQuery
    from rich.console import Console

    from eventide.console.results import Output

POLL_SECONDS = 0.2
# A folder is idle when nothing came for so long, counted from the end of the last micro-batch.
IDLE_SECONDS = 5.0


@record
class Ending:
    """When a followed stream ends: after some seconds, when nothing comes any more, or when so many rows were read."""

    seconds: float | None = None
    until_idle: bool = False
    rows: int | None = None
    idle_seconds: float = IDLE_SECONDS

    def reached(self, query: StreamingQuery, elapsed: float, quiet: float) -> str | None:
        """Return why it ends, or None while it goes on."""
        if self.seconds is not None and elapsed >= self.seconds:
            return f"after {self.seconds:g} s"
        if self.rows is not None and _rows_replayed(query.lastProgress) >= self.rows:
            return "at the end of the file"
        status = query.status
        # While a query starts it is not active either, and says so in words only.
        waiting = status["message"].startswith("Waiting") and not status["isDataAvailable"]
        if (self.until_idle or self.rows is not None) and waiting and quiet >= self.idle_seconds:
            return "because nothing came any more"
        return None


def _rows_replayed(progress: StreamingQueryProgress | None) -> int:
    """Return how far the replays of a query are; a run from a checkpoint begins in the middle."""
    offsets = [] if progress is None else [json.loads(source.endOffset or "null") for source in progress.sources]
    return sum(offset["row"] for offset in offsets if isinstance(offset, dict) and "row" in offset)


def follow(frame: DataFrame, output: Output, ending: Ending, checkpoint: str | None = None) -> Tally:
    """Start a stream of matches and write them as they come, until the end or Ctrl-C; returns the totals.

    >>> follow(query.match(events, lateness="10 seconds"), Output(), Ending(seconds=60))  # doctest: +SKIP
    """
    results = report.results_console()
    writer = MatchWriter(output, results, append=checkpoint is not None)
    watch = report.Stopwatch()
    reason = ""
    tally = Tally()
    try:
        with _checkpoint_folder(checkpoint) as folder, errors(), status_line(results) as show:
            with running(frame, folder) as (query, arrived):
                for told in steps(query, tally, ending):
                    _write_all(arrived, writer)
                    show(summary(tally))
                    reason = told or reason
            _write_all(arrived, writer)
    finally:
        writer.close()
    report.say(f"{summary(tally)}; ended {reason}, {watch}")
    return tally


@contextmanager
def running(
    frame: DataFrame, checkpoint: str, **trigger: Any
) -> Iterator[tuple[StreamingQuery, SimpleQueue[tuple[int, pa.Table]]]]:
    """Run a stream and put the result of each micro-batch in a queue, with its number; stops it at the end."""
    arrived: SimpleQueue[tuple[int, pa.Table]] = SimpleQueue()
    stopping = Event()

    def keep(batch: DataFrame, number: int) -> None:
        try:
            arrived.put((number, batch.toArrow()))
        except Exception:
            # Stopping breaks off the micro-batch that runs; that is no failure.
            if not stopping.is_set():
                raise

    writer = frame.writeStream.foreachBatch(keep).option("checkpointLocation", checkpoint)
    query = (writer.trigger(**trigger) if trigger else writer).start()
    try:
        yield query, arrived
    finally:
        stopping.set()
        query.stop()


def steps(query: StreamingQuery, tally: Tally, ending: Ending) -> Iterator[str | None]:
    """Yield a few times a second, with the totals brought up to date; the last time with the reason of the end."""
    watch = report.Stopwatch()
    quiet_since = watch.seconds
    reason = None
    with _interrupts() as interrupted:
        while reason is None:
            # Raises what stopped the query, if anything did.
            ended = query.awaitTermination(POLL_SECONDS)  # type: ignore[arg-type]  # it takes parts of a second
            rows = tally.rows
            for progress in query.recentProgress:
                tally.add(read_progress(progress))
            if tally.rows > rows:
                quiet_since = watch.seconds
            reason = "by Ctrl-C" if interrupted.is_set() else "by itself" if ended else None
            reason = reason or ending.reached(query, watch.seconds, watch.seconds - quiet_since)
            yield reason


@contextmanager
def _interrupts() -> Iterator[Event]:
    """Note Ctrl-C instead of raising it in the middle of a call to Spark; a second one is raised."""
    interrupted = Event()

    def note(*_: object) -> None:
        if interrupted.is_set():
            raise KeyboardInterrupt
        interrupted.set()

    if current_thread() is not main_thread():
        yield interrupted
        return
    before = signal.signal(signal.SIGINT, note)
    try:
        yield interrupted
    finally:
        signal.signal(signal.SIGINT, before)


def summary(tally: Tally) -> str:
    """Return the totals of a stream on one line.

    >>> summary(Tally())
    '0 events, 0 matches, 0 late; watermark -'
    """
    counters = tally.counters
    events = counters["events"] or tally.rows
    parts = [report.many(events, "event", "events"), report.many(counters["matches"], "match", "matches")]
    parts.append(f"{counters['late']:,} late")
    parts += [f"{counters[name]:,} {told}" for name, told in UNUSUAL.items() if counters[name]]
    parts += [f"{tally.gauges[name]:,} {name}" for name in ("held", "partial") if name in tally.gauges]
    if "state_bytes" in tally.gauges:
        parts.append(f"{size(tally.gauges['state_bytes'])} of state")
    return f"{', '.join(parts)}; watermark {moment(tally.watermark)}"


def _write_all(arrived: SimpleQueue[tuple[int, pa.Table]], writer: MatchWriter) -> None:
    while True:
        try:
            _, table = arrived.get_nowait()
        except Empty:
            return
        writer.write(table)


@contextmanager
def _checkpoint_folder(given: str | None) -> Iterator[str]:
    if given is not None:
        yield given
        return
    with tempfile.TemporaryDirectory(prefix="eventide-checkpoint-", ignore_cleanup_errors=True) as folder:
        yield folder


@contextmanager
def status_line(results: Console) -> Iterator[Callable[[str], Any]]:
    """Keep a line below the matches, on a terminal only; the block calls what it gets with each new text.

    >>> with status_line(report.results_console()) as show:
    ...     show("3 events")
    """
    console = results if results.is_terminal else report.errors_console()
    if not console.is_terminal:
        yield lambda _: None
        return
    with console.status("Starting the stream") as status:
        yield status.update
