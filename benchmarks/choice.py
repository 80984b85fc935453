"""What the planner chooses after a look at the first events, against forcing the automaton and recomputation.

*Narrow* conditions are those of `windows`: about one event of a step in a window fits another. Of *half*, every second pair
fits. Processor time of the matcher, and for the planner that of the sample as well; all in one process, the best of some runs.
"""

from __future__ import annotations

import time

import numpy as np
import pyarrow as pa

import eventide as et
from benchmarks.preparing import planned, prepared
from benchmarks.report import Figure
from eventide.plan.matchers.protocol import DAG, RECOMPUTE
from eventide.plan.matchers.registry import make_matcher, plan_with_sample
from eventide.plan.matchers.sample import Sample
from eventide.runtime.budget.limits import StageLimits
from eventide.runtime.prepare.sequences import layout_of
from eventide.runtime.stage.assembly import encoded_table

QUERIES = {
    "narrow pair": ("AB", "A AS a ; B AS b FILTER a.x > b.x AND a.y < b.y"),
    "narrow sequence": ("ABC", "A AS a ; B AS b ; C AS c FILTER a.x > b.x AND a.y < b.y AND b.x > c.x AND b.y < c.y"),
    "half of the pairs": ("ABC", "A AS a ; B AS b ; C AS c FILTER a.x < b.x AND b.x < c.x"),
}
WINDOWS = {
    "narrow pair": (10, 100, 1_000, 10_000),
    "narrow sequence": (10, 100, 1_000, 10_000),
    # Matches grow with the square of the window.
    "half of the pairs": (10, 100, 300),
}
SMALLEST = 20_000
RUNS = 2
PLANNER = "planner"


def events_of(query: str, window: int) -> pa.Table:
    """Draw events that fill two windows at the least."""
    rng = np.random.default_rng(1)
    kinds = np.array(list(QUERIES[query][0]))
    count = max(SMALLEST, 2 * window)
    x = rng.random(count)
    # Two differences of uniform numbers cross with a probability of a sixth of the noise, as long as it is small.
    y = x + min(6 * len(kinds) / window, 10.0) * rng.random(count)
    return pa.table({"ts": np.arange(count), "kind": pa.array(rng.choice(kinds, count)), "x": x, "y": y})


def spent(query: str, window: int, who: str) -> tuple[float, int, str]:
    """Return the microseconds that an event takes, the number of matches, and the matcher that found them."""
    text = f"SELECT * WHERE {QUERIES[query][1]} WITHIN {window} events"
    table = events_of(query, window)
    source, plan = planned(text, et.events(table, time="ts", type="kind"), None if who == PLANNER else who)
    batch = encoded_table(plan, layout_of(plan), prepared(source, plan))
    best, matches = float("inf"), 0
    for _ in range(RUNS):
        started, matches = time.process_time(), 0
        if who == PLANNER:
            plan = plan_with_sample(plan, Sample.of(plan, batch))
        matcher, _ = make_matcher(plan, StageLimits())
        for found in (*matcher.advance(batch), *matcher.finish()):
            matches += len(found.start)
        best = min(best, time.process_time() - started)
    return 1e6 * best / table.num_rows, matches, plan.choice.matcher


def choice() -> list[Figure]:
    """Compare the planner with both matchers, over windows and conditions."""
    figures = []
    for query, windows in WINDOWS.items():
        for who in (DAG, RECOMPUTE):
            # Kernels are compiled and cached, which is not what is measured.
            spent(query, 5, who)
        for window in windows:
            name = f"choice, {query}, window {window:,}"
            taken = {who: spent(query, window, who) for who in (DAG, RECOMPUTE, PLANNER)}
            if len({matches for _, matches, _ in taken.values()}) > 1:
                raise AssertionError(f"{name}: {taken}")
            planner, _, chosen = taken[PLANNER]
            figures += [Figure(f"{name}, {who}", taken[who][0], "us/event") for who in (DAG, RECOMPUTE)]
            figures.append(Figure(f"{name}, planner takes {chosen}", planner, "us/event"))
            better = min(taken[who][0] for who in (DAG, RECOMPUTE))
            worse = max(taken[who][0] for who in (DAG, RECOMPUTE))
            figures.append(Figure(f"{name}, planner against the better one", planner / better, "times its time", "1.5"))
            figures.append(Figure(f"{name}, planner against the worse one", worse / planner, "times faster"))
    return figures
