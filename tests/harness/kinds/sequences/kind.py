"""Sequences for the harness: random queries in CEQL and SASE over random streams."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from random import Random
from typing import Any

import pyarrow as pa

import eventide as et
from eventide import pipeline
from eventide.errors import EventideWarning
from eventide.pattern import Consumption
from eventide.runtime.options import RunOptions
from eventide.runtime.runs.asked import Asked
from harness.kind import Row
from harness.kinds.sequences.oracle import Expected
from harness.kinds.sequences.queries import Trial, make_trial, simpler
from harness.kinds.sequences.streams import as_table, disordered, make_events

CUTS = ((1,), (2,), (3,), (7,), (1, 2, 3, 7, 20), (40,), (200,))
LATENESS = (0, 1, 3, 8)


@dataclass(frozen=True)
class SequenceCase:
    """A query over events."""

    trial: Trial
    rows: list[Row]
    cuts: tuple[int, ...] = ()
    seed: int = 0
    size: int = 1
    lateness: int = 0
    """How far behind the latest one an event may arrive, in units of the time column; batches do not ask."""
    skipped: int = 0

    @cached_property
    def expected(self) -> Expected:
        """What the oracle says."""
        return Expected(self.trial, self.rows)

    @property
    def text(self) -> str:
        """The query, and how its events are given."""
        given = replace(self.trial, query=None)  # type: ignore[arg-type]
        return f"{self.trial.text}\n-- {given}, lateness {self.lateness}"

    @property
    def label(self) -> str:
        """How the work for a result over all matches grows with the events."""
        query = self.trial.query
        if query.group_by is query.order_by is query.sample is None:
            return ""
        return pipeline.plan(query, et.query(query).input_of(None, self.events([])), RunOptions()).totals_method.growth.name

    @property
    def columns(self) -> list[str]:
        """The columns that the query reads."""
        mentioned = self.trial.text + repr(self.trial.query.window)
        attributes = [name for name in ("k", "v", "w", "s", "ok", "m", "f") if f".{name}" in mentioned or f"[{name}" in mentioned]
        return ["id", "case_id", "time", "tie", "stream", "type", *attributes]

    def tables(self, rows: list[Row]) -> dict[str, pa.Table]:
        """Return events by stream."""
        by_stream = {"events": rows}
        if self.trial.several_streams:
            by_stream = {name: [row for row in rows if row["stream"] == name] for name in ("S1", "S2")}
        return {name: as_table(of_stream, timestamps=self.trial.timestamps) for name, of_stream in by_stream.items()}

    def events(self, rows: list[Row], given: Callable[..., Any] = lambda table: table) -> dict[str, et.Events]:
        """Return events by stream, with their roles, in the form that an engine takes."""
        roles: dict[str, Any] = {"time": "time", "type": "type"}
        if self.trial.tie_break:
            roles["tie_break"] = "tie"
        if self.trial.seconds:
            roles["time_unit"] = "s"
        return {name: et.events(given(table), **roles) for name, table in self.tables(rows).items()}

    def ask(self, given: Callable[..., Any] = lambda table: table, **options: Any) -> Any:
        """Ask for the matches, or for what times out."""
        query = et.query(self.trial.query)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EventideWarning)
            return (query.timeouts if self.trial.timeouts else query.match)(**self.events(self.rows, given), **options)

    def carried_out(self, options: RunOptions) -> pa.Table:
        """Run the query below the public interface, with settings that are for tests."""
        source = et.query(self.trial.query).input_of(None, self.events(self.rows))
        asked = Asked.TIMEOUTS if self.trial.timeouts else Asked.MATCHES
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EventideWarning)
            return source.engine.result(pipeline.run(self.trial.query, source, options, asked))

    def count(self, **options: Any) -> pa.Table:
        """Ask for the number of matches."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EventideWarning)
            return et.query(self.trial.query).count(**self.events(self.rows), **options)


@dataclass(frozen=True)
class Sequences:
    """Random queries of one sort, each over a table of several streams."""

    make: Callable[[Random], Trial] = make_trial
    streams: int = 40
    shared_streams: int = 4
    """Of a table whose streams have one result together: it is one case."""
    late: bool = False
    """Whether events come out of order, but none later than a bound; else in any order."""
    accepts: Callable[[SequenceCase], bool] = lambda case: True
    """Which cases to take, judged by their queries, without rows."""

    def draw(self, rng: Random) -> Iterator[SequenceCase]:
        """Yield a random query over random streams."""
        trial = self.make(rng)
        while not self.accepts(SequenceCase(trial, [])):
            trial = self.make(rng)
        shared = trial.is_shared if trial.query.order_by is None else trial.query.consumption is Consumption.ANY or not trial.by_case
        streams = self.streams if not shared else self.shared_streams if trial.by_case else 1
        rows = make_events(rng, trial.query.pattern, streams, trial.longest_stream(), tie_break=trial.tie_break, by_case=trial.by_case)
        lateness = rng.choice(LATENESS) if self.late else 0
        if self.late:
            rows = disordered(rng, rows, lateness, tie_break=trial.tie_break)
        yield SequenceCase(trial, rows, rng.choice(CUTS), rng.randrange(1 << 30), 1 if shared else streams, lateness)

    def simpler(self, case: SequenceCase) -> Iterator[SequenceCase]:
        """Yield cases whose queries ask for less."""
        for query in simpler(case.trial.query):
            yield replace(case, trial=replace(case.trial, query=query))
