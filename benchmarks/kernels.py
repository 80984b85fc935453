"""The kernels alone, on one core: update, enumeration, memory of an endless stream."""

from __future__ import annotations

import time

import numpy as np

import eventide as et
from benchmarks.report import Figure
from eventide.match.protocol import EventBatch
from eventide.plan.expressions.schema import Kind, StreamSchema
from eventide.plan.matchers.registry import make_matcher, make_plan
from eventide.runtime.budget.limits import StageLimits

SCHEMA = StreamSchema({"ts": Kind.INTEGER, "kind": Kind.STRING, "id": Kind.INTEGER}, time="ts", type="kind")
BATCH = 1 << 18
NEVER_EXPIRES = np.iinfo(np.int64).min


def matcher_for(text: str):
    """Make the matcher of a query over A, B, C events; bits 0, 1, 2 are its types in order."""
    plan = make_plan(et.query(text).model, {"S": SCHEMA}, lambda trees: [Kind.INTEGER] * len(trees))
    matcher, _ = make_matcher(plan, StageLimits())
    return matcher


def random_masks(events: int, types: int, seed: int) -> np.ndarray:
    """Draw event types uniformly; the first three are A, B and C, the others set no bit."""
    kinds = np.random.default_rng(seed).integers(0, types, events)
    return np.where(kinds < 3, np.left_shift(1, np.minimum(kinds, 3)), 0).astype(np.int64)


def update_seconds(masks: np.ndarray, window: int, keys: int, repeat: int = 3) -> float:
    """Return the best time to take all events into the automaton, matches neither ended nor enumerated."""
    slots = np.random.default_rng(7).integers(0, keys, len(masks)).astype(np.int32)
    best = float("inf")
    for _ in range(repeat):
        matcher = matcher_for("SELECT * WHERE A ; B+ ; C")
        spent = 0.0
        for begin in range(0, len(masks), BATCH):
            end = min(begin + BATCH, len(masks))
            clock = np.arange(begin, end)
            nowhere = np.zeros(end - begin, np.uint8)
            batch = EventBatch(masks[begin:end], clock, clock - window, key=slots[begin:end], reports=nowhere)
            started = time.perf_counter()
            for _found in matcher.advance(batch):
                pass
            matcher.keep()
            spent += time.perf_counter() - started
        best = min(best, spent)
    return best


def update(events: int = 10_000_000) -> list[Figure]:
    """Measure the update step: sparse and dense streams, one key and many, windows from 100 to 100,000 events."""
    figures = []
    sparse, dense = random_masks(events, 16, 1), random_masks(events, 3, 2)
    update_seconds(sparse[:BATCH], 100, 1, repeat=1)
    for name, masks, target in (("3 of 16 types matter", sparse, 20), ("every event matters", dense, 5)):
        rates = {}
        for window in (100, 1_000, 10_000, 100_000):
            rates[window] = len(masks) / update_seconds(masks, window, 1) / 1e6
            figures.append(Figure(f"update, {name}, window {window:,}, 1 key", rates[window], "M events/s", f">= {target}"))
        rate = len(masks) / update_seconds(masks, 10_000, 10_000) / 1e6
        figures.append(Figure(f"update, {name}, window 10,000, 10,000 keys", rate, "M events/s", f">= {target}"))
        spread = max(rates.values()) / min(rates.values())
        figures.append(Figure(f"update, {name}, slowest to fastest window", spread, "ratio", "<= 1.3"))
    return figures


def enumeration(matches: int = 10_000_000) -> list[Figure]:
    """Measure enumeration into arrays for the streams S1, S2, S3 of Abella 2022, 6.2, also with a binary equality."""
    side = round(matches**0.5)
    long_side = round((3 * matches) ** 0.5)
    subsets = round(np.log2(matches))
    pairs = max(4, subsets - 4)
    shapes = {
        "S1, A ; B ; C": ("A AS a ; B AS b ; C AS c", [1] * side + [2] * side + [4], [1] * long_side + [2] * long_side + [4]),
        "S2, A ; B+ ; C": ("A AS a ; B+ AS b ; C AS c", [1] + [2] * subsets + [4], [1] + [2] * (3 * subsets) + [4]),
        "S3, A+ ; B+ ; C": ("A+ AS a ; B+ AS b ; C AS c", [1, 2] * pairs + [4], [1, 2] * (3 * (pairs - 2)) + [4]),
    }
    figures = []
    for name, (pattern, kinds, longer) in shapes.items():
        count, positions, best = enumerated(f"SELECT * WHERE {pattern}", kinds)
        figures.append(Figure(f"enumeration, {name}, {count:,} matches", count / best / 1e6, "M matches/s", ">= 20"))
        figures.append(Figure(f"enumeration, {name}", positions / best / 1e6, "M positions/s", None))
        equal, equal_positions, equal_best = enumerated(f"SELECT * WHERE {pattern} FILTER a.id = b.id", longer)
        rate = equal / equal_best / 1e6
        figures.append(Figure(f"enumeration, {name} with A[id] = B[id], {equal:,} matches", rate, "M matches/s", None))
        figures.append(
            Figure(f"enumeration, {name}, with A[id] = B[id]", equal_positions / equal_best / 1e6, "M positions/s", None)
        )
        ratio = (count / best) / (equal / equal_best)
        figures.append(Figure(f"enumeration, {name}, without against with the equality", ratio, "ratio", "<= 3"))
    return figures


def enumerated(text: str, kinds: list[int]) -> tuple[int, int, float]:
    """Return the matches and positions of a stream, and the best time to enumerate them; every third event has the same id."""
    plan = make_plan(et.query(text).model, {"S": SCHEMA}, lambda trees: [Kind.INTEGER] * len(trees), matcher="automaton")
    masks, clock = np.array(kinds, np.int64), np.arange(len(kinds))
    # Shuffled, so that ids do not follow each other in turns; As and Bs of a pair share theirs.
    draw = np.random.default_rng(1)
    drawn = draw.permutation(np.arange(len(kinds)) % 3)
    ids = np.repeat(drawn, 2)[: len(kinds)] if kinds[:4] == [1, 2, 1, 2] else drawn
    values = np.broadcast_to(ids, (len(plan.values), len(kinds))).copy()
    best, count, positions = float("inf"), 0, 0
    for _ in range(3):
        matcher, _ = make_matcher(plan, StageLimits())
        never = np.full(len(masks), NEVER_EXPIRES)
        batch = EventBatch(masks, clock, never, values=values, valid=np.ones_like(values, np.uint8))
        started = time.perf_counter()
        count = positions = 0
        for found in matcher.advance(batch):
            count += len(found.start)
            positions += len(found.row)
        best = min(best, time.perf_counter() - started)
    return count, positions, best


def memory(events: int = 100_000_000) -> list[Figure]:
    """Measure what is kept of an endless stream: bytes and rows after a tenth and after all of it."""
    masks = random_masks(BATCH, 3, 3)
    matcher = matcher_for("SELECT * WHERE A ; B+ ; C")
    early_bytes = early_rows = late_bytes = late_rows = 0
    started = time.perf_counter()
    for number, begin in enumerate(range(0, events, BATCH)):
        clock = np.arange(begin, begin + BATCH)
        for _found in matcher.advance(EventBatch(masks, clock, clock - 10_000, reports=np.zeros(BATCH, np.uint8))):
            pass
        rows, size = len(matcher.keep()), len(matcher.dump())
        if number * BATCH < events // 10:
            early_bytes, early_rows = max(early_bytes, size), max(early_rows, rows)
        else:
            late_bytes, late_rows = max(late_bytes, size), max(late_rows, rows)
    spent = time.perf_counter() - started
    return [
        Figure(f"memory, {events:,} events, state after / before a tenth", late_bytes / early_bytes, "ratio", "<= 1"),
        Figure("memory, rows kept after / before a tenth", late_rows / early_rows, "ratio", "about 1"),
        Figure("memory, state", late_bytes, "bytes", None),
        Figure("memory, rate over the whole run", events / spent / 1e6, "M events/s", None),
    ]
