"""The event tree against an R-tree: inserts and queries of four-dimensional stock events (Kammoun 2019, Fig. 3.8).

Each window is filled event by event; after every tenth event a range query asks for what a closing event asks for. A *narrow*
one wants the events of its company with a higher price and at least its volume, a *wide* one those of all companies. Times are
those of the processor.
"""

from __future__ import annotations

import itertools
import time

import numpy as np

from benchmarks.recompute.compiling import kernel
from benchmarks.recompute.r_tree import new_r_tree, r_insert, r_query
from benchmarks.report import Figure
from eventide.index.box_query import rows_in_box
from eventide.index.encoding import HIGHEST
from eventide.index.tree import insert_some, new_forest
from eventide.index.zorder import BITS, BOX_ROWS, HIGH, LOW

SIZES = (0.001, 0.01, 0.1, 1.0)
COMPANIES = 100
EVERY = 10
DIMENSIONS = 4


def stock_events(count: int, seed: int) -> np.ndarray:
    """Draw (time, company, price, volume); prices walk at random for each company."""
    draw = np.random.default_rng(seed)
    company = draw.integers(0, COMPANIES, count)
    price = 10_000 + np.zeros(count, np.int64)
    steps = draw.integers(-50, 51, count)
    for one in range(COMPANIES):
        price[company == one] += np.cumsum(steps[company == one])
    columns = np.stack([np.arange(count), company, np.maximum(price, 1), draw.integers(1, 1_000, count)], 1).astype(np.uint64)
    # Values of different widths meet in the same groups of bits only when all of them begin at the top.
    return columns << np.array([BITS - int(highest).bit_length() for highest in columns.max(axis=0)], np.uint64)


@kernel
def ask(points, point, narrow, box):
    """Make the box of what an event that closes a match would ask for."""
    for dimension in range(DIMENSIONS):
        box[LOW, dimension] = 0
        box[HIGH, dimension] = HIGHEST
    if narrow:
        box[LOW, 1] = points[point, 1]
        box[HIGH, 1] = points[point, 1]
    box[LOW, 2] = points[point, 2] + np.uint64(1)
    box[LOW, 3] = points[point, 3]


@kernel
def run_event_tree(forest, points, rows, narrow, found, box):
    """Fill the event tree and query it; returns the number of hits."""
    hits = 0
    zero = np.zeros(EVERY, np.int64)
    for begin in range(0, points.shape[0] - EVERY + 1, EVERY):
        insert_some(forest, zero, points[begin : begin + EVERY], rows[begin : begin + EVERY], 0)
        ask(points, begin + EVERY - 1, narrow, box)
        hits += rows_in_box(forest, 0, box, found)
    return hits


@kernel
def run_r_tree(tree, points, rows, narrow, found, box):
    """Fill the R-tree and query it; returns the number of hits."""
    hits = 0
    for begin in range(0, points.shape[0] - EVERY + 1, EVERY):
        for index in range(begin, begin + EVERY):
            r_insert(tree, points, index, rows[index])
        ask(points, begin + EVERY - 1, narrow, box)
        hits += r_query(tree, box, found)
    return hits


def seconds(window: int, narrow: bool, repeat: int) -> tuple[float, float]:
    """Return the time of the event tree and of the R-tree for windows of so many events."""
    spent = [0.0, 0.0]
    for seed in range(repeat):
        points, rows = stock_events(window, seed), np.arange(window)
        found, box = np.empty(window, np.int64), np.zeros((BOX_ROWS, DIMENSIONS), np.uint64)
        # Both get their room beforehand: how arrays grow is not the question.
        forest, tree = new_forest(1, DIMENSIONS, window // 4 + 16), new_r_tree(window // 4 + 16, DIMENSIONS)
        started = time.process_time()
        hits = run_event_tree(forest, points, rows, narrow, found, box)
        between = time.process_time()
        others = run_r_tree(tree, points, rows, narrow, found, box)
        spent[0] += between - started
        spent[1] += time.process_time() - between
        if hits != others:
            raise AssertionError(f"the event tree finds {hits} events, the R-tree {others}")
    return spent[0] / repeat, spent[1] / repeat


def event_tree(window: int = 100_000) -> list[Figure]:
    """Measure inserts and queries over window sizes."""
    seconds(100, True, 1)
    figures = []
    for share, narrow in itertools.product(SIZES, (True, False)):
        size = max(int(window * share), 2 * EVERY)
        ours, theirs = seconds(size, narrow, max(1, min(50, 100_000 // size)))
        name = f"event tree, window {size:,}, {'narrow' if narrow else 'wide'} queries"
        figures.append(Figure(name, size / ours / 1e3, "K events/s"))
        figures.append(Figure(f"{name}, R-tree", size / theirs / 1e3, "K events/s"))
        figures.append(Figure(f"{name}, against the R-tree", theirs / ours, "times faster", ">= 2"))
    return figures
