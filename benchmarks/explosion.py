"""Queries that explode: loops under skip-till-any with conditions between events (Kammoun 2019, 3.8).

Queries 1, 2, 2 with a condition that few first events fulfil (`% 17`), and 3, on generated stock, card and activity data, over
windows counted in events of a key. Every point runs in a process of its own, which is stopped after a time limit: a matcher that
explodes is reported as cut (0 events/s). All matches are enumerated and counted; none is written as a row. What the planner
takes stands beside them.
"""
# ruff: noqa: ARG002, ARG004 - latency is measured behind the reading of tables, and a collector keeps to its protocol

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from benchmarks.preparing import planned, prepared
from benchmarks.report import Figure
from eventide.match.protocol import EventBatch
from eventide.plan.matchers.registry import make_matcher
from eventide.runtime.budget.limits import StageLimits
from eventide.runtime.stage.assembly import encoded_table
from eventide.runtime.stage.parts import TableCollector

if TYPE_CHECKING:
    from collections.abc import Iterator


MATCHERS = ("recompute", "automaton", "runs", "baseline", "planner")
SECONDS = 20.0
LATENCY_EVENTS = 400
# The canonical texts with PARTITION BY for [key], so that windows count the events of a key.
QUERIES = {
    "query 1, stock": """
        SELECT * WHERE Stock AS a ; Stock+ AS b ; Stock AS c
        FILTER a.price < b.price AND b.price < NEXT(b.price) AND c.price < FIRST(b.price)
        PARTITION BY company WITHIN {} events""",
    "query 2, cards": """
        SELECT * WHERE Card AS a ; Card+ AS b
        FILTER a.amount >= b.amount * 5 AND b.amount > NEXT(b.amount)
        PARTITION BY card WITHIN {} events""",
    "query 2 of multiples of 17, cards": """
        SELECT * WHERE Card AS a ; Card+ AS b
        FILTER a.amount % 17 = 0 AND a.amount >= b.amount * 5 AND b.amount > NEXT(b.amount)
        PARTITION BY card WITHIN {} events""",
    "query 3, activity": """
        SELECT * WHERE Activity AS a ; Activity+ AS b
        FILTER a.rate * 2 < b.rate AND b.rate < NEXT(b.rate) AND b.state = 'passive'
        PARTITION BY person WITHIN {} events""",
}
# (query, share of rising prices or nothing, windows)
SWEEPS = [
    ("query 1, stock", 0.5, (5, 10, 20, 30, 40)),
    ("query 1, stock", 0.1, (10, 20, 40, 80)),
    ("query 2, cards", None, (5, 10, 20, 40)),
    ("query 2 of multiples of 17, cards", None, (5, 10, 20, 40, 80)),
    ("query 3, activity", None, (5, 10, 20, 40)),
]


@dataclass(frozen=True)
class Point:
    """One measurement: a query over a window, the data, and who runs it."""

    query: str
    rising: float | None
    window: int
    events: int
    matcher: str


def events_of(point: Point) -> pa.Table:
    """Generate the data of a point; times are the order of the events."""
    from eventide.datasets import cards, stocks

    if "stock" in point.query:
        table = stocks(point.events, companies=10, seed=1, selectivity=point.rising or 0.5)
    elif "cards" in point.query:
        table = cards(point.events, cards=20, seed=2, fraud=0.2)
        # Kammoun 2019, 3.8 takes whole amounts modulo 17.
        cents = np.round(table["amount"].to_numpy() * 100).astype(np.int64)
        table = table.set_column(table.column_names.index("amount"), "amount", pa.array(cents))
    else:
        table = activities(point.events, seed=3)
    return table.set_column(table.column_names.index("ts"), "ts", pa.array(np.arange(table.num_rows)))


def activities(events: int, seed: int, persons: int = 20) -> pa.Table:
    """Generate heart rates: each person wanders slowly between rest and exercise, and now and then a rate jumps."""
    rng = np.random.default_rng(seed)
    person = rng.integers(0, persons, events)
    slow = 75 + 25 * np.sin(np.arange(events) / 300 + person)
    jump = np.where(rng.random(events) < 0.15, rng.uniform(1.5, 2.5, events), 1.0)
    return pa.table(
        {
            "ts": np.arange(events),
            "kind": pa.array(np.full(events, "Activity")),
            "person": person,
            "rate": np.round(slow * jump + rng.normal(0, 6, events), 1),
            "state": pa.array(np.where(rng.random(events) < 0.7, "passive", "active")),
        }
    )


def measured(point: Point) -> dict[str, float]:
    """Run a point in this process: seconds for all events, matches, peak memory, and the time that an event alone takes."""
    from benchmarks import baseline

    table = events_of(point)
    if point.matcher == "baseline":
        run = baseline.counter(point.query, point.window)
    else:

        def run(rows: pa.Table) -> int:
            from eventide.runtime.collect.choice import stage_for
            from eventide.runtime.prepare.sequences import layout_of

            source, plan = plan_of(point, rows)
            events = prepared(source, plan)
            stage = stage_for(plan, layout_of(plan), events.schema, collector=ListedMatches)
            return sum(batch["matches"][0].as_py() for batch in stage.run(iter(events.to_batches())))

    run(table.slice(0, 50))
    started = time.perf_counter()
    matches = run(table)
    seconds = time.perf_counter() - started
    return {"seconds": seconds, "matches": matches, "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


class ListedMatches(TableCollector):
    """A collector that is handed every match and writes no row of it."""

    def __init__(self, plan: Any, layout: Any, labelling: Any, prepared: pa.Schema) -> None:
        self._clock = layout.clock
        self._matches = 0

    @staticmethod
    def schema(plan: Any, layout: Any, prepared: pa.Schema) -> pa.Schema:
        return pa.schema([("matches", pa.int64())])

    def kept(self, table: pa.Table, spans: Any) -> pa.Table:
        return table.select([self._clock])

    def take(self, found: Any, payload: pa.Table) -> Iterator[pa.RecordBatch]:
        self._matches += len(found.start)
        yield from ()

    def finish(self) -> Iterator[pa.RecordBatch]:
        yield pa.RecordBatch.from_pydict({"matches": [self._matches]})


def plan_of(point: Point, table: pa.Table) -> tuple[Any, Any]:
    """Return the input and the plan that is measured."""
    import eventide as et

    forced = None if point.matcher == "planner" else point.matcher
    return planned(QUERIES[point.query].format(point.window), et.events(table, time="ts", type="kind"), forced)


def latency(point: Point) -> float:
    """Return the mean microseconds from an event's arrival to its matches, one event a batch, windows filled before."""
    from eventide.match.protocol import EventBatch
    from eventide.runtime.prepare.sequences import layout_of

    source, plan = plan_of(point, events_of(point))
    batch = encoded_table(plan, layout_of(plan), prepared(source, plan))
    matcher, _ = make_matcher(plan, StageLimits())
    size = min(len(batch), 40 * point.window + LATENCY_EVENTS)

    def part(begin: int, end: int) -> EventBatch:
        rows = slice(begin, end)
        return EventBatch(
            batch.mask[rows],
            batch.clock[rows],
            batch.window_start[rows],
            restart=batch.restart[rows],
            values=batch.values[:, rows],
            valid=batch.valid[:, rows],
        )

    for _ in matcher.advance(part(0, size - LATENCY_EVENTS)):
        pass
    matcher.keep()
    started = time.perf_counter()
    for place in range(size - LATENCY_EVENTS, size):
        for _ in matcher.advance(part(place, place + 1)):
            pass
        matcher.keep()
    return 1e6 * (time.perf_counter() - started) / LATENCY_EVENTS


def in_a_process(point: Point, what: str, seconds: float) -> dict[str, float] | None:
    """Run a point in a process of its own; None when it took too long."""
    command = [sys.executable, "-m", "benchmarks.explosion", what, json.dumps(asdict(point))]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds + 30, check=True)
    except subprocess.TimeoutExpired:
        return None
    answer = json.loads(done.stdout.splitlines()[-1])
    return answer if answer["seconds"] <= seconds else None


def explosion(events: int = 20_000, seconds: float = SECONDS) -> list[Figure]:
    """Sweep windows and selectivity for all matchers; once a matcher is cut it is not asked for larger windows."""
    figures = []
    for matcher in MATCHERS:
        # Kernels are compiled and cached, which is not what is measured.
        in_a_process(Point("query 1, stock", 0.5, 5, 500, matcher), "measure", 600)
    for query, rising, windows in SWEEPS:
        cut: set[str] = set()
        for window in windows:
            name = f"{query}{'' if rising is None else f', {rising:.0%} rising'}, window {window}"
            rates: dict[str, float] = {}
            for matcher in MATCHERS:
                point = Point(query, rising, window, events, matcher)
                answer = None if matcher in cut else in_a_process(point, "measure", seconds)
                if answer is None:
                    cut.add(matcher)
                    figures.append(Figure(f"explosion, {name}, {matcher}: cut after {seconds:.0f} s", 0.0, "events/s"))
                    continue
                rates[matcher] = events / answer["seconds"]
                figures.append(Figure(f"explosion, {name}, {matcher}", rates[matcher], "events/s"))
                figures.append(Figure(f"explosion, {name}, {matcher}, peak memory", answer["megabytes"], "MB"))
                if matcher == "recompute":
                    figures.append(Figure(f"explosion, {name}, selectivity", answer["matches"] / events, "matches/event"))
            if "recompute" in rates and "automaton" in rates:
                ratio = rates["recompute"] / rates["automaton"]
                figures.append(Figure(f"explosion, {name}, recompute / automaton", ratio, "ratio"))
            others = [rate for matcher, rate in rates.items() if matcher in ("recompute", "automaton", "runs")]
            if "planner" in rates and others:
                best = max(others)
                figures.append(Figure(f"explosion, {name}, planner / best", rates["planner"] / best, "ratio", "about 1"))
            for matcher in ("recompute", "automaton"):
                point = Point(query, rising, window, min(events, 5000), matcher)
                answer = None if matcher in cut else in_a_process(point, "latency", seconds)
                if answer is not None:
                    figures.append(Figure(f"explosion, {name}, {matcher}, latency", answer["latency"], "us/event"))
    return figures


def main() -> None:
    """Measure one point for the process that asked."""
    what, given = sys.argv[1], Point(**json.loads(sys.argv[2]))
    if what == "latency":
        started = time.perf_counter()
        mean = latency(given)
        print(json.dumps({"latency": mean, "seconds": time.perf_counter() - started}))
    else:
        print(json.dumps(measured(given)))


if __name__ == "__main__":
    main()
