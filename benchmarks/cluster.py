"""Matches spread over tasks: the five experiments of Abella 2022, 6 with a real predicate, and beside them simulated waits."""

from __future__ import annotations

import os
import sys
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

import eventide as et
from benchmarks.preparing import planned, prepared
from benchmarks.report import Figure, show
from eventide.runtime.prepare.sequences import layout_of
from eventide.runtime.spread.balance import Balance
from eventide.runtime.spread.refining import match_shares, maximal_shares

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

REFINED = ("round_robin", "two_choices", "least_loaded", "maximal")
PATTERNS = {"Q1": "A AS a ; B AS b ; C AS c", "Q2": "A AS a ; B+ AS b ; C AS c", "Q3": "A+ AS a ; B+ AS b ; C AS c"}
COUNTED = "SELECT COUNT(a) AS a, COUNT(b) AS b, COUNT(c) AS c WHERE"
SAME_ID = "FILTER a.id = b.id"
WAIT = 0.01
"""What Abella 2022, 6.3 waited for each event of a match, in place of a predicate."""


def letters(name: str, matches: int) -> str:
    """Return the stream of a query that has about so many matches: S1 is A..B..C, S2 AB..C, S3 ABAB..C."""
    if name == "Q1":
        side = max(1, round(matches**0.5))
        return "A" * side + "B" * side + "C"
    if name == "Q2":
        return "A" + "B" * max(1, round(np.log2(matches + 1))) + "C"
    pairs = next(number for number in range(1, 60) if (number - 1) * 2**number + 1 >= matches)
    return "AB" * pairs + "C"


def stream(name: str, matches: int, *, ids: int) -> pa.Table:
    """Return the events of a stream; with three ids it is as much longer as keeps about as many matches with equal ones."""
    if ids == 1:
        kinds = letters(name, matches)
        numbers = np.ones(len(kinds), np.int64)
    elif name == "Q1":
        kinds = letters(name, ids * matches)
        numbers = np.random.default_rng(1).integers(1, ids + 1, len(kinds))
    elif name == "Q2":
        # One A has one of the ids, and so has a third of the Bs.
        size = len(letters(name, matches)) - 2
        kinds = "A" + "B" * (ids * size) + "C"
        numbers = np.concatenate([[1], np.random.default_rng(1).permutation(np.repeat([1, 2, 3], size)), [1]])
    else:
        pairs = len(letters(name, matches // ids)) // 2
        kinds = "AB" * (ids * pairs) + "C"
        drawn = np.random.default_rng(1).permutation(np.repeat(np.arange(1, ids + 1), pairs))
        numbers = np.concatenate([np.repeat(drawn, 2), [1]])
    return pa.table({"ts": np.arange(len(kinds)), "kind": list(kinds), "id": numbers})


def session() -> SparkSession:
    """Start Spark with two cores."""
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    return (
        SparkSession.builder.master("local[2]")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.memory", "4g")
        .config("spark.log.level", "ERROR")
        .getOrCreate()
    )


def frame_of(spark: SparkSession, table: pa.Table) -> DataFrame:
    """Return the events as a DataFrame that is read once."""
    frame = spark.createDataFrame(table.to_pandas()).cache()
    frame.count()
    return frame


def timed(frame: DataFrame, text: str, way: str, tasks: int, repeat: int = 2) -> tuple[float, Balance]:
    """Return the best time to find and count all matches, and the share of each task."""
    best = float("inf")
    for _ in range(repeat):
        started = time.perf_counter()
        events = et.events(frame, time="ts", type="kind")
        number = None if way == "plain" else tasks
        shared = et.balance(et.query(text).match(events, distribution=way, slices=number, matcher="automaton"))
        best = min(best, time.perf_counter() - started)
    return best, shared


def refining(spark: SparkSession, scale: float) -> list[Figure]:
    """Experiments 1 to 3: one task, the ways to refine, and slices, with the predicate A[id] = B[id]; load, and 1, 2, 4 tasks.

    Who refines gets all candidates, a third of which or fewer pass, so they are counted among all and not among the results.
    """
    figures = []
    candidates = int(200_000 * scale)
    for name, pattern in PATTERNS.items():
        text = f"{COUNTED} {pattern} {SAME_ID}"
        table = stream(name, candidates, ids=1)
        table = table.set_column(2, "id", pa.array(np.random.default_rng(2).integers(1, 4, table.num_rows)))
        frame = frame_of(spark, table)
        alone, whole = timed(frame, text, "plain", 1)
        figures.append(Figure(f"experiment 1, {name}, {whole.matches:,} of about {candidates:,}, one task", alone, "s"))
        for way in (*REFINED, "slices"):
            spent, shared = timed(frame, text, way, 4)
            assert shared.matches == whole.matches
            figures.append(Figure(f"experiment 1, {name}, {way}, 4 tasks, against one task", spent / alone, "ratio"))
            _, handed = timed(frame, f"{COUNTED} {pattern}", way, 4, repeat=1)
            figures.append(Figure(f"experiment 2, {name}, {way}, variation of load", handed.variation, "CV", "< 0.3"))
        if name == "Q2":
            for way in (*REFINED, "slices"):
                for tasks in (1, 2, 4):
                    spent, _ = timed(frame, text, way, tasks)
                    figures.append(Figure(f"experiment 3, {name}, {way}, {tasks} tasks", spent, "s"))
    return figures


def slicing(spark: SparkSession, scale: float) -> list[Figure]:
    """Experiments 4 and 5: slices at 1, 2 and 4 tasks by the number of results, without a predicate and with it."""
    figures = []
    for name, pattern in PATTERNS.items():
        for matches in (10_000, 100_000, 1_000_000, 10_000_000):
            wanted = int(matches * scale)
            for predicate, ids in (("", 1), (SAME_ID, 3)):
                frame = frame_of(spark, stream(name, wanted, ids=ids))
                text = f"{COUNTED} {pattern} {predicate}"
                alone, whole = timed(frame, text, "plain", 1)
                shown = "with A[id] = B[id]" if predicate else "no predicate"
                label = f"experiment 4, {name}, {whole.matches:,} results, {shown}"
                figures.append(Figure(f"{label}, one task without slices", alone, "s"))
                for tasks in (1, 2, 4):
                    spent, shared = timed(frame, text, "slices", tasks)
                    assert shared.matches == whole.matches
                    figures.append(Figure(f"{label}, {tasks} slices, speed-up", alone / spent, "times"))
                if matches == 1_000_000:
                    figures.append(
                        Figure(f"experiment 5, {name}, {shown}, variation of 4 slices", shared.variation, "CV", "< 0.3")
                    )
    return figures


def judging(spark: SparkSession, scale: float) -> list[Figure]:
    """Experiment 4 once more, with a predicate on the set of all B that nothing prunes: few of many candidates are results."""
    figures = []
    text = f"{COUNTED} {PATTERNS['Q2']} FILTER SUM(b.id) % 1009 = 7"
    for candidates in (1_000_000, 8_000_000):
        kinds = letters("Q2", int(candidates * scale))
        numbers = np.random.default_rng(3).integers(1, 1000, len(kinds))
        frame = frame_of(spark, pa.table({"ts": np.arange(len(kinds)), "kind": list(kinds), "id": numbers}))
        alone, whole = timed(frame, text, "plain", 1)
        label = f"experiment 4, Q2, {whole.matches:,} of {2 ** (len(kinds) - 2):,} candidates"
        figures.append(Figure(f"{label}, one task without slices", alone, "s"))
        for way in ("slices", "round_robin"):
            for tasks in (1, 2, 4):
                spent, shared = timed(frame, text, way, tasks)
                assert shared.matches == whole.matches
                figures.append(Figure(f"{label}, {way}, {tasks} tasks, speed-up", alone / spent, "times"))
    return figures


def waiting() -> list[Figure]:
    """Experiment 1 as Abella 2022, 6.3 measured it: no predicate but a simulated wait of 10 ms for each event of a match."""
    figures = []
    for name, matches in (("Q1", 36), ("Q2", 31), ("Q3", 49)):
        given = et.events(stream(name, matches, ids=1), time="ts", type="kind")
        source, plan = planned(f"SELECT * WHERE {PATTERNS[name]}", given)
        layout = layout_of(plan)
        table = prepared(source, plan)
        alone = sum(len(share["row"]) for _, share in match_shares(plan, layout, table, "round_robin", 1)) * WAIT
        figures.append(Figure(f"simulated waits, {name}, {matches} results, one task", alone, "s of waiting"))
        for way in REFINED:
            handed = maximal_shares if way == "maximal" else match_shares
            loads = [0] * 4
            for worker, share in handed(plan, layout, table, way, 4):
                loads[worker] += _waits(share)
            started = time.perf_counter()
            with ThreadPoolExecutor(4) as workers:
                list(workers.map(lambda load: time.sleep(load * WAIT), loads))
            figures.append(
                Figure(f"simulated waits, {name}, {way}, 4 workers, speed-up", alone / (time.perf_counter() - started), "times")
            )
    return figures


def _waits(share: dict[str, np.ndarray]) -> int:
    """Return how many events the matches of a share have."""
    if "configuration" not in share:
        return len(share["row"])
    from eventide.match.spread.tries import Parts

    made = Parts(*(share[name] for name in ("offset", "row", "size", "configuration", "label")))
    return sum(len(found.row) for found in made)


def cluster(scale: float = 1.0) -> list[Figure]:
    """Run all experiments."""
    warnings.simplefilter("ignore")
    figures = waiting()
    spark = session()
    try:
        for experiments in (refining, slicing, judging):
            figures += experiments(spark, scale)
            show(figures)
        return figures
    finally:
        spark.stop()
