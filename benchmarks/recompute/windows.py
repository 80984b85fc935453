"""Large windows: rows answered by the event tree, rows computed 64 candidates at a time, and the automaton.

Two values of an event differ by a little noise, and conditions ask for an event that is higher in one and lower in the other:
half of the events fit each comparison, few fit both. The noise is such that some `fit` events of a step fit an event in a window.
Processor time of the matcher alone; every point runs in a process of its own, which is stopped after a time limit.
"""


from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import asdict, dataclass

import numpy as np
import pyarrow as pa

from benchmarks.report import Figure

WAYS = ("tree", "scan", "automaton")
QUERIES = {
    "pair": ("AB", "A AS a ; B AS b FILTER a.x > b.x AND a.y < b.y"),
    "sequence": ("ABC", "A AS a ; B AS b ; C AS c FILTER a.x > b.x AND a.y < b.y AND b.x > c.x AND b.y < c.y"),
    "loop": ("BC", "B+ AS b ; C AS c FILTER b.x > NEXT(b.x) AND b.y < NEXT(b.y) AND LAST(b.x) > c.x AND LAST(b.y) < c.y"),
}
WINDOWS = (1_000, 10_000, 100_000)
AUTOMATON = 10_000
"""The largest window in which the automaton is asked."""
FIT = 1.0
SECONDS = 30.0


@dataclass(frozen=True)
class Point:
    """One measurement: a query over a window of so many events, how many events of a step fit another, and who runs it."""

    query: str
    window: int
    fit: float
    events: int
    way: str


def events_of(point: Point) -> pa.Table:
    """Draw the events of a point."""
    rng = np.random.default_rng(1)
    kinds = QUERIES[point.query][0]
    kind = rng.integers(0, len(kinds), point.events)
    x = rng.random(point.events)
    # Two differences of uniform numbers cross with a probability of a sixth of the noise, as long as it is small.
    noise = min(6 * point.fit * len(kinds) / point.window, 10.0)
    y = x + noise * rng.random(point.events)
    return pa.table({"ts": np.arange(point.events), "kind": pa.array(np.array(list(kinds))[kind]), "x": x, "y": y})


def measured(point: Point) -> dict[str, float]:
    """Run a point in this process."""
    import eventide as et
    from benchmarks.preparing import planned, prepared
    from eventide.match.recompute.bit_rows import row_trees
    from eventide.plan.matchers.registry import make_matcher
    from eventide.runtime.budget.limits import StageLimits
    from eventide.runtime.prepare.sequences import layout_of
    from eventide.runtime.stage.assembly import encoded_table

    if point.way == "scan":
        row_trees.LONG_ROW = 1 << 40
    text = f"SELECT * WHERE {QUERIES[point.query][1]} WITHIN {point.window} events"

    def run(table: pa.Table) -> tuple[float, int]:
        forced = "automaton" if point.way == "automaton" else "recompute"
        source, plan = planned(text, et.events(table, time="ts", type="kind"), forced)
        matcher, _ = make_matcher(plan, StageLimits())
        batch = encoded_table(plan, layout_of(plan), prepared(source, plan))
        started, matches = time.process_time(), 0
        for found in matcher.advance(batch):
            matches += len(found.start)
        for found in matcher.finish():
            matches += len(found.start)
        return time.process_time() - started, matches

    table = events_of(point)
    run(table.slice(0, 50))
    seconds, matches = run(table)
    return {"seconds": seconds, "matches": matches}


def in_a_process(point: Point, seconds: float) -> dict[str, float] | None:
    """Run a point in a process of its own; None when it took too long."""
    command = [sys.executable, "-m", "benchmarks.recompute.windows", json.dumps(asdict(point))]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds + 30, check=True)
    except subprocess.TimeoutExpired:
        return None
    answer: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return answer if answer["seconds"] <= seconds else None


def windows(scale: float = 1.0) -> list[Figure]:
    """Sweep windows; each is passed twice."""
    figures = []
    for way in WAYS:
        # Kernels are compiled and cached, which is not what is measured.
        in_a_process(Point("loop", 10, FIT, 100, way), 600)
    for query in QUERIES:
        for largest in WINDOWS:
            window = max(100, int(largest * scale))
            name = f"windows, {query}, window {window:,}"
            spent: dict[str, float] = {}
            matches: set[float] = set()
            for way in WAYS if largest <= AUTOMATON else WAYS[:2]:
                answer = in_a_process(Point(query, window, FIT, 2 * window, way), SECONDS)
                if answer is None:
                    figures.append(Figure(f"{name}, {way}: cut after {SECONDS:.0f} s", 0.0, "us/event"))
                    continue
                spent[way] = answer["seconds"]
                matches.add(answer["matches"])
                figures.append(Figure(f"{name}, {way}", 1e6 * answer["seconds"] / (2 * window), "us/event"))
            if len(matches) > 1:
                raise AssertionError(f"{name}: {sorted(matches)} matches")
            others = [way for way in WAYS[1:] if way in spent and "tree" in spent]
            figures += [Figure(f"{name}, tree against {way}", spent[way] / spent["tree"], "times faster") for way in others]
    return figures


if __name__ == "__main__":
    print(json.dumps(measured(Point(**json.loads(sys.argv[1])))))
