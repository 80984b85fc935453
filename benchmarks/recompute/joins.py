"""Joins of two relations on 2 to 6 inequalities: nested loops, IEJoin, and the joins of recomputation (Kammoun 2019, Fig. 3.9).

Every way includes what it does before it joins (sorting, regions). The bits of 50,000 by 50,000 pairs are 312 MB, so outer events
go in portions into the same room. Times are those of the processor.
"""

from __future__ import annotations

import time

import numpy as np

from benchmarks.recompute.ie_join import ie_join, sorted_lists
from benchmarks.recompute.nested_loop import plain_nested_loop_join
from benchmarks.recompute.published_joins.hybrid_join import hybrid_join, nested_loop_join, new_counters
from benchmarks.recompute.published_joins.region_join import region_join
from benchmarks.recompute.published_joins.regions import cluster, groups_for
from benchmarks.recompute.published_joins.sides import Side
from benchmarks.recompute.published_joins.sweep_join import sorted_orders, sweep_join
from benchmarks.recompute.relations import KINDS, below_in_all, points, side
from benchmarks.report import Figure
from eventide.index.zorder import z_order
from eventide.match.recompute.bit_rows.bits import words_for

PORTION = 1024
REGION = 32
LARGEST_REGION = 64
DIMENSIONS = (2, 3, 4, 5, 6)
SIZES = (0.2, 0.5, 1.0, 2.0)


def portions(count: int):
    for begin in range(0, count, PORTION):
        yield begin, min(begin + PORTION, count)


def room(outer: Side, inner: Side) -> np.ndarray:
    return np.empty((min(PORTION, len(outer.row)), words_for(len(inner.row))), np.uint64)


def part(whole: Side, begin: int, end: int) -> Side:
    value, valid = (np.ascontiguousarray(lines[:, begin:end]) for lines in (whole.value, whole.valid))
    return Side(whole.row[begin:end], value, valid)


def pairs_in(bits) -> int:
    return int(np.bitwise_count(bits).sum())


def plainly(outer, inner, predicates) -> int:
    bits, pairs = room(outer, inner), 0
    for begin, end in portions(len(outer.row)):
        plain_nested_loop_join(outer, inner, predicates, begin, end, bits)
        pairs += pairs_in(bits[: end - begin])
    return pairs


def by_portions(join):
    """Return how to run a join that takes both sides in the order of time."""

    def run(outer, inner, predicates) -> int:
        bits, pairs = room(outer, inner), 0
        for begin, end in portions(len(outer.row)):
            join(part(outer, begin, end), inner, predicates, bits, new_counters())
            pairs += pairs_in(bits[: end - begin])
        return pairs

    return run


def by_sweeps(outer, inner, predicates) -> int:
    orders = sorted_orders(inner, predicates.inner)

    def join(outer, inner, predicates, bits, counters):
        sweep_join(outer, inner, predicates, orders, bits, counters)

    return by_portions(join)(outer, inner, predicates)


def by_ie_join(by_words: bool):
    def run(outer, inner, predicates) -> int:
        lists = sorted_lists(outer, inner, predicates)
        bits, pairs, marked = room(outer, inner), 0, np.zeros(words_for(len(inner.row)), np.uint64)
        for begin, end in portions(len(outer.row)):
            ie_join(outer, inner, predicates, lists, begin, end, marked, by_words, bits)
            pairs += pairs_in(bits[: end - begin])
        return pairs

    return run


def in_regions(whole: Side):
    """Return a side in Z order and where its regions start."""
    found = np.ascontiguousarray(whole.value.T)
    order = z_order(found)
    ordered = found[order]
    starts = cluster(ordered, groups_for(ordered, len(order) // REGION), LARGEST_REGION)
    return Side(whole.row[order], np.ascontiguousarray(ordered.T), np.ascontiguousarray(whole.valid[:, order])), starts


def by_regions(outer, inner, predicates) -> int:
    outer, outer_starts = in_regions(outer)
    inner, inner_starts = in_regions(inner)
    bits, pairs, begin = room(outer, inner), 0, 0
    while begin < len(outer_starts) - 1:
        end = int(np.searchsorted(outer_starts, outer_starts[begin] + len(bits), "right")) - 1
        region_join(outer, inner, outer_starts, inner_starts, predicates, begin, end, bits, new_counters())
        pairs += pairs_in(bits[: int(outer_starts[end] - outer_starts[begin])])
        begin = end
    return pairs


WAYS = {
    "nested loop": plainly,
    "nested loop, 64 pairs at a time": by_portions(nested_loop_join),
    "IEJoin": by_ie_join(by_words=False),
    "IEJoin, whole words": by_ie_join(by_words=True),
    "hybrid": by_portions(hybrid_join),
    "Z-region": by_regions,
    "sweep": by_sweeps,
}


def relations(kind: str, count: int, dimensions: int):
    """Return the two sides of a join, the outer one all before the inner."""
    return side(points(kind, count, dimensions, 1), 0), side(points(kind, count, dimensions, 2), count), below_in_all(dimensions)


def measured(kind: str, count: int, dimensions: int) -> list[Figure]:
    """Run all ways over the same relations; they must find the same number of pairs."""
    sides = relations(kind, count, dimensions)
    what = f"join, {kind}, {dimensions} dimensions, {count:,} a side"
    seconds, pairs = {}, set()
    for name, way in WAYS.items():
        started = time.process_time()
        pairs.add(way(*sides))
        seconds[name] = time.process_time() - started
    if len(pairs) != 1:
        raise AssertionError(f"{what}: the joins disagree on the number of pairs: {pairs}")
    figures = [Figure(f"{what}, pairs that join", pairs.pop() / count**2, "of all")]
    for name, spent in seconds.items():
        figures.append(Figure(f"{what}, {name}", spent, "s"))
        if name != "nested loop":
            figures.append(Figure(f"{what}, {name} against nested loop", seconds["nested loop"] / spent, "times faster"))
    return figures


def joins(count: int = 50_000) -> list[Figure]:
    """Measure joins over dimensions at one size and over sizes at three dimensions."""
    for way in WAYS.values():
        way(*relations("independent", 200, 3))
    figures = []
    for kind in KINDS:
        for dimensions in DIMENSIONS:
            figures += measured(kind, count, dimensions)
        for share in SIZES:
            if share != 1:
                figures += measured(kind, int(count * share), 3)
    return figures
