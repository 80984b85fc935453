"""A slice of very few steps for each kernel call changes no result of what runs beside the matchers: totals, chosen matches, parts."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest

import eventide as et
from eventide.match import budget
from eventide.match.spread.maximal import configurations, maximal_matches
from eventide.match.spread.tries import Parts

RISING = "A ; B+ AS b ; C FILTER b.x <= NEXT(b.x)"
ABOVE_THE_FIRST = "A AS a ; B+ AS b ; C FILTER b.x >= a.x"
QUERIES = [
    "SELECT k, COUNT(*) AS n, SUM(b.x) AS s, MIN(b.x) AS m WHERE A ; B+ AS b ; C PARTITION BY k WITHIN 9 GROUP BY PARTITION",
    f"SELECT COUNT(*) AS n, SUM(b.x) AS s WHERE {RISING} GROUP BY PARTITION",
    f"SELECT match_end, COUNT(*) AS n WHERE {RISING} WITHIN 9 GROUP BY END",
    f"SELECT k, COUNT(*) AS n, MAX(b.x) AS m WHERE {ABOVE_THE_FIRST} PARTITION BY k WITHIN 12 GROUP BY PARTITION",
    f"SELECT * WHERE {RISING} WITHIN 15 ORDER BY SUM(b.x) DESC LIMIT 5",
    f"SELECT * WHERE {ABOVE_THE_FIRST} WITHIN 15 ORDER BY SUM(b.x) DESC LIMIT 5",
    f"SELECT * WHERE {RISING} SAMPLE 7 SEED 3",
    f"SELECT * WHERE {ABOVE_THE_FIRST} SAMPLE 7 SEED 3",
    "SELECT * WHERE A ; B+ AS b ; C PARTITION BY k SAMPLE 7 SEED 3",
]


def events(seed: int) -> et.Events:
    """Draw a stream of two keys."""
    draw = random.Random(seed)
    size = 24
    table = {
        "ts": range(size),
        "kind": [draw.choice("ABBBC") for _ in range(size)],
        "k": [draw.choice([1, 2]) for _ in range(size)],
        "x": [draw.choice([1, 2, 3, None]) for _ in range(size)],
    }
    return et.events(pa.table(table), time="ts", type="kind")


@pytest.mark.parametrize("steps", [1, 6])
@pytest.mark.parametrize("text", QUERIES)
def test_totals_and_chosen_matches_are_the_same(text, steps, monkeypatch):
    query = et.query(text)
    whole = [query.match(events(seed)).to_pylist() for seed in range(3)]
    monkeypatch.setattr(budget, "SLICE_STEPS", steps)
    assert [query.match(events(seed)).to_pylist() for seed in range(3)] == whole
    assert any(whole)


@pytest.mark.parametrize("steps", [1, 6])
def test_counts_are_the_same(steps, monkeypatch):
    query = et.query("SELECT * WHERE A ; B+ AS b ; C PARTITION BY k WITHIN 9")
    whole = query.count(events(1))
    monkeypatch.setattr(budget, "SLICE_STEPS", steps)
    assert query.count(events(1)) == whole


def parts_of(seed):
    """Return the maximal matches of a random chain and all their parts, by configuration."""
    rng = np.random.default_rng(seed)
    step_of, clock = rng.integers(-1, 3, 30).astype(np.int8), np.arange(30)
    begins = (np.arange(30) % 15 == 0).astype(np.uint8)
    found = maximal_matches(step_of, begins, np.array([0, 1, 1], np.uint8), clock, clock - 9, 10_000)
    assert found is not None
    label = np.arange(3, dtype=np.int32)
    parts = []
    for configuration in configurations(found.size.max(axis=0, initial=0).tolist()):
        enough = np.flatnonzero((found.size >= configuration).all(axis=1))
        lengths = np.diff(found.offset)[enough]
        rows = np.concatenate([found.row[found.offset[match] : found.offset[match + 1]] for match in enough] or [found.row[:0]])
        offset = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        made = Parts(offset, rows, found.size[enough], np.array(configuration, np.int32), label)
        parts += [batch.row[begin:end].tolist() for batch in made for begin, end in zip(batch.offset, batch.offset[1:], strict=False)]
    return [column.tolist() for column in found], parts


@pytest.mark.parametrize("steps", [1, 6])
def test_maximal_matches_and_their_parts_are_the_same(steps, monkeypatch):
    whole = [parts_of(seed) for seed in range(8)]
    monkeypatch.setattr(budget, "SLICE_STEPS", steps)
    assert [parts_of(seed) for seed in range(8)] == whole
    assert any(parts for _, parts in whole)
