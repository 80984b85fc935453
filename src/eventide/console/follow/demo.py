"""The demo of a stream: payments arrive out of order, card testing is found while they come, and a batch run checks it."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from datetime import timedelta
from queue import Empty
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from rich.text import Text

import eventide as et
from eventide.console import report
from eventide.console.files import write_table
from eventide.console.follow.following import Ending, running, status_line, steps, summary
from eventide.console.spark import start_session
from eventide.datasets import cards
from eventide.errors import errors
from eventide.progress.tally import EPOCH, Tally, read_progress
from eventide.sources.disorder import measure_disorder
from eventide.sources.recording import Recording
from eventide.sources.settings import ReplaySettings

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pyspark.sql.streaming.listener import StreamingQueryProgress
    from rich.console import Console

    from eventide.progress.tally import Batch

CARDS = 3000
FRAUD = 0.02
GAP_MILLISECONDS = 100
PAYMENTS_A_BATCH = 150
# The planted bursts go on a little behind all other payments; without them the end looks like the rest.
TAIL = 0.02
SETTINGS = {
    # Small micro-batches: more tasks would only wait for each other.
    "spark.sql.shuffle.partitions": "2",
}
BUCKETS = 4
TRIGGER = "1 second"
DISORDER = 20
BOUND_SECONDS = 20
LATENESS_SECONDS = 15
END_MARKER = "10 minutes"

QUERY = """\
SELECT card, match_end AS ended, a.amount AS first, b.amount AS second, c.amount AS third, d.amount AS taken, d.country AS country
FROM   payments
WHERE  Card AS a : Card AS b : Card AS c : Card AS d
FILTER a.amount < 5 AND b.amount < a.amount AND c.amount < b.amount AND d.amount >= 500
PARTITION BY card
WITHIN 4 minutes
"""


@dataclass
class Arrivals:
    """What the source has brought so far; late is, as for the engine, what lies behind the watermark of the batch before."""

    recording: Recording
    clock: int | None = None
    delays: list[float] = field(default_factory=list)
    in_time: list[pa.Table] = field(default_factory=list)
    late: int = 0
    ended: bool = False

    def add(self, progress: StreamingQueryProgress) -> tuple[int, int]:
        """Take the rows of a micro-batch; returns how many payments there were and how many of them were out of order."""
        start, end = (_row(offset) for offset in (progress.sources[0].startOffset, progress.sources[0].endOffset))
        table = self.recording.rows(start, end)
        times = np.asarray(table["ts"].cast(pa.int64()), dtype=np.int64)
        known = times if self.clock is None else np.concatenate(([self.clock], times))
        unordered = measure_disorder(known).late
        late = np.zeros(len(times), bool) if self.clock is None else times < self.clock - LATENESS_SECONDS * 1_000_000
        payments = np.asarray(table["card"].is_valid())
        self.ended = not payments.all()
        self.in_time.append(table.filter(pa.array(~late & payments)))
        self.late += int(late.sum())
        self.clock = int(known.max(initial=self.clock if self.clock is not None else times[0]))
        return int(payments.sum()), unordered


def _row(offset: str | None) -> int:
    return 0 if offset in {None, "null"} else int(json.loads(offset or "{}")["row"])


def run_stream_demo(events: int, seed: int, folder: Path, spark_settings: Mapping[str, str]) -> bool:
    """Generate payments, replay them as a stream with disorder, show what is found when, and compare with a batch run.

    >>> run_stream_demo(6000, 7, Path("demo-output"), {})  # doctest: +SKIP
    """
    path = folder / "payments.parquet"
    generated = cards(round(events * (1 + TAIL)) + 1, CARDS, seed, fraud=FRAUD, mean_gap_ms=GAP_MILLISECONDS)
    payments = generated.slice(0, events)
    write_table(payments, str(path))
    console = report.results_console()
    console.print(Text.assemble((f"{events:,} payments of {CARDS} cards", "bold"), f" are in {path}.\n"))
    console.print("Card testing is to be found: three small payments that shrink and then a large one, in a row with one card:\n")
    console.print(Text(QUERY, "cyan"), soft_wrap=True)
    with report.working("Starting Spark") as watch:
        session = start_session({**SETTINGS, **spark_settings}, log=folder / "spark.log")
    console.print(
        f"Spark {session.version} started ({watch}). The payments now arrive as a stream, {PAYMENTS_A_BATCH} at a time.\n"
        f"{DISORDER} percent of them come out of order, up to {BOUND_SECONDS} seconds late. "
        f"The query waits {LATENESS_SECONDS} seconds: up to the watermark\n"
        "everything is decided. A match comes out when the watermark has passed its end.\n",
        soft_wrap=True,
    )
    settings = ReplaySettings(
        str(path.resolve()),
        time="ts",
        rows_per_batch=PAYMENTS_A_BATCH,
        disorder=DISORDER,
        bound=f"{BOUND_SECONDS} seconds",
        seed=seed,
        end_marker=END_MARKER,
    )
    arrivals = Arrivals(Recording(settings))
    et.register_sources(session)
    frame = session.readStream.format("eventide_replay").options(**settings.as_options()).load()
    stream = et.events(frame, time="ts", type="kind", tie_break="seq")
    matches = et.query(QUERY).match(stream, lateness=f"{LATENESS_SECONDS} seconds", buckets=BUCKETS)
    found, tally = _watch(matches, arrivals, console)
    if not arrivals.ended:
        console.print("\nStopped before the end, so there is nothing to compare.")
        return True
    return _compare(found, tally, arrivals, payments, console)


def _watch(matches: Any, arrivals: Arrivals, console: Console) -> tuple[list[dict[str, Any]], Tally]:
    found: list[dict[str, Any]] = []
    tally, told = Tally(), Tally()
    with (
        tempfile.TemporaryDirectory(prefix="eventide-demo-", ignore_cleanup_errors=True) as checkpoint,
        errors(),
        status_line(console) as show,
        running(matches, checkpoint, processingTime=TRIGGER) as (query, arrived),
    ):
        waiting: dict[int, pa.Table] = {}
        show("Waiting for the first payments")
        for _ in steps(query, tally, Ending(rows=arrivals.recording.total)):
            while True:
                try:
                    number, table = arrived.get_nowait()
                except Empty:
                    break
                waiting[number] = table
            for progress in query.recentProgress:
                batch = read_progress(progress)
                if progress.sources[0].endOffset and batch.rows and told.add(batch):
                    _tell_batch(batch, arrivals.add(progress), arrivals, console)
                    show(summary(told))
                    for row in waiting.pop(batch.number).to_pylist():
                        found.append(row)
                        _tell_match(row, arrivals, console)
    return found, tally


def _tell_batch(batch: Batch, arrived: tuple[int, int], arrivals: Arrivals, console: Console) -> None:
    payments, unordered = arrived
    if arrivals.ended:
        console.print(Text("the file ends; time goes on, and what still waits is decided", "dim"))
        return
    late = batch.counters.get("late", 0)
    console.print(
        Text.assemble(
            f"batch {batch.number:>2}  ",
            f"{payments:>3} payments up to {_clock(arrivals.clock)}",
            (f", {unordered:>2} out of order", ""),
            (f", {late} too late".ljust(13) if late else " " * 13, "yellow"),
            (f"  watermark {_clock(batch.watermark)}", "cyan"),
            (f"  {batch.gauges.get('held', 0):>3} held  {batch.seconds:.1f} s", "dim"),
        ),
        soft_wrap=True,
    )


def _tell_match(row: dict[str, Any], arrivals: Arrivals, console: Console) -> None:
    assert arrivals.clock is not None
    ended = (row["ended"] - EPOCH) // timedelta(microseconds=1)
    delay = (arrivals.clock - ended) / 1_000_000
    if not arrivals.ended:
        arrivals.delays.append(delay)
    console.print(
        Text.assemble(
            ("  match   ", "bold green"),
            f"card {row['card']:<4} {row['first']:.2f}, {row['second']:.2f}, {row['third']:.2f}, then ",
            (f"{row['taken']:>8,.2f}", "bold"),
            f" in {row['country']} at {_clock(ended)}",
            ("" if arrivals.ended else f", known {delay:.0f} s later", "dim"),
        ),
        soft_wrap=True,
    )


def _clock(microseconds: int | None) -> str:
    return "--:--:--" if microseconds is None else str(np.datetime64(microseconds, "us"))[11:19]


def _compare(found: list[dict[str, Any]], tally: Tally, arrivals: Arrivals, payments: pa.Table, console: Console) -> bool:
    in_time = pa.concat_tables(arrivals.in_time)
    same, of_all = (_batch(table) for table in (in_time, payments))
    equal = _bag(found) == _bag(same) and tally.counters["late"] == arrivals.late
    rows = [
        ("the stream", in_time.num_rows, len(found), f"{arrivals.late} payments came too late and were left out"),
        ("the same payments at once", in_time.num_rows, len(same), "equal" if equal else "DIFFERENT"),
        ("all payments at once", payments.num_rows, len(of_all), _lost(len(of_all) - len(same))),
    ]
    names = ("run", "payments", "matches", "")
    console.print()
    report.show_rows(pa.table({name: [row[place] for row in rows] for place, name in enumerate(names)}), title="Stream and batch")
    if arrivals.delays:
        middle = float(np.median(arrivals.delays))
        console.print(f"A match was known {middle:.0f} seconds of event time behind its last payment (median).")
    return equal


def _lost(number: int) -> str:
    return "no match was lost to lateness" if number == 0 else f"{number} more: what waiting longer would find"


def _batch(table: pa.Table) -> list[dict[str, Any]]:
    events = et.events(table, time="ts", type="kind", tie_break="seq")
    rows: list[dict[str, Any]] = et.query(QUERY).match(events).to_pylist()
    return rows


def _bag(rows: list[dict[str, Any]]) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row.values()) for row in rows)
