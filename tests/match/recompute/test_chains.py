"""Chains come once each, from allowed first to allowed last events, also when the output fills up."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from benchmarks.recompute.published_joins.chains import (
    FINISHED,
    STATE,
    begin_walk,
    keep_reaching,
    new_walk,
    self_join,
    walk_chains,
)
from benchmarks.recompute.published_joins.hybrid_join import new_counters
from benchmarks.recompute.published_joins.sides import Side, predicates_of
from eventide.match.recompute.bit_rows.bits import words_for
from eventide.match.recompute.bit_rows.comparisons import GREATER
from match.recompute.points import joined, random_predicates, random_side

# numba compiles what only benchmarks use.
pytestmark = pytest.mark.ci


def packed(flags):
    """Return flags as words."""
    words = np.zeros(words_for(len(flags)), np.uint64)
    for place in np.flatnonzero(flags):
        words[place // 64] |= np.uint64(1 << int(place) % 64)
    return words


def chains_of(side, predicates, allowed, starts=None, ends=None, room=1 << 16, most=1 << 14):
    """Return the chains in the order in which they come, asking for more until the walk is finished."""
    count = len(side.row)
    steps = np.zeros((count, words_for(count)), np.uint64)
    self_join(side, predicates, steps, new_counters())
    allowed = packed(allowed)
    first = (allowed if starts is None else packed(starts))[None, :]
    last = allowed if ends is None else packed(ends)
    live = np.zeros(len(allowed), np.uint64)
    keep_reaching(steps, allowed, last, live)
    walk, items, offsets = new_walk(count), np.empty(room, np.int64), np.empty(most + 1, np.int64)
    chains = []
    while walk.meta[STATE] != FINISHED:
        written = walk_chains(walk, steps, first, live, last, items, offsets)
        assert written > 0 or walk.meta[STATE] == FINISHED
        chains += [tuple(items[offsets[k] : offsets[k + 1]].tolist()) for k in range(written)]
    assert walk_chains(walk, steps, first, live, last, items, offsets) == 0
    begin_walk(walk)
    assert bool(walk_chains(walk, steps, first, live, last, items, offsets)) == bool(chains)
    return chains


def expected_chains(table, allowed, starts, ends):
    """Return the chains by the definition: subsets in time order whose neighbours join."""
    nodes = np.flatnonzero(allowed).tolist()
    subsets = itertools.chain.from_iterable(itertools.combinations(nodes, size) for size in range(1, len(nodes) + 1))
    linked = (subset for subset in subsets if starts[subset[0]] and ends[subset[-1]])
    return {subset for subset in linked if all(table[a, b] for a, b in itertools.pairwise(subset))}


def side_of(rows, values):
    return Side(np.array(rows), np.array([values], np.uint64), np.ones((1, len(rows)), np.uint8))


def test_falling_chains_of_example_4():
    values = [30, 25, 50, 40, 22, 15, 21]
    side = side_of(range(1, 8), values)
    chains = chains_of(side, predicates_of([(0, GREATER, 0)]), [False, True, False, False, True, True, True])
    assert len(chains) == 11
    assert {tuple(values[place] for place in chain) for chain in chains} == {
        (25,), (22,), (15,), (21,), (25, 22), (25, 15), (25, 21), (22, 15), (22, 21), (25, 22, 15), (25, 22, 21),
    }  # fmt: skip


def test_every_subset_of_table_b_1():
    allowed = [bit == "1" for bit in "0100101"]
    chains = chains_of(side_of(range(7), [0] * 7), predicates_of([]), allowed)
    # Ordinals 1, 2, 3 are the places 2, 5 and 7, counted from one.
    table = {"001": (7,), "010": (5,), "011": (5, 7), "100": (2,), "101": (2, 7), "110": (2, 5), "111": (2, 5, 7)}
    assert sorted(tuple(place + 1 for place in chain) for chain in chains) == sorted(table.values())


@pytest.mark.parametrize("bounded", ["", "starts", "ends", "starts and ends"])
def test_chains_are_those_of_the_definition_once_each(bounded):
    rng = np.random.default_rng(len(bounded))
    for _ in range(400):
        count = int(rng.integers(0, 12))
        side, predicates = random_side(rng, count, 2), random_predicates(rng, 2, 2)
        allowed = rng.random(count) < 0.8
        starts = allowed & (rng.random(count) < (0.4 if "starts" in bounded else 1.1))
        ends = allowed & (rng.random(count) < (0.4 if "ends" in bounded else 1.1))
        table = joined(side, side, predicates)
        chains = chains_of(side, predicates, allowed, starts, ends)
        assert len(set(chains)) == len(chains)
        assert set(chains) == expected_chains(table, allowed, starts, ends)


def test_the_walk_goes_on_where_the_output_was_full():
    rng = np.random.default_rng(5)
    for _ in range(100):
        count = int(rng.integers(1, 11))
        side, predicates, allowed = random_side(rng, count, 1), random_predicates(rng, 1, 1), rng.random(count) < 0.9
        whole = chains_of(side, predicates, allowed)
        assert chains_of(side, predicates, allowed, room=count + int(rng.integers(0, 4))) == whole
        assert chains_of(side, predicates, allowed, most=int(rng.integers(1, 4))) == whole


def test_a_chain_longer_than_the_room_waits():
    side = side_of(range(5), [0] * 5)
    steps = np.zeros((5, 1), np.uint64)
    self_join(side, predicates_of([]), steps, new_counters())
    every, walk = packed([True] * 5), new_walk(5)
    written = 1
    while written:
        written = walk_chains(walk, steps, every[None, :], every, every, np.empty(3, np.int64), np.empty(10, np.int64))
    assert walk.meta[STATE] != FINISHED


def test_chains_over_several_words_are_found():
    rng = np.random.default_rng(6)
    values = rng.permutation(200)
    values[3] = 8
    starts, ends = np.arange(200) == 3, np.arange(200) >= 150
    chains = chains_of(side_of(range(200), values), predicates_of([(0, GREATER, 0)]), [True] * 200, starts, ends, room=300, most=50)
    # Below 8 lie few values, so subsets of their places are all that can follow.
    lower = [place for place in range(4, 200) if values[place] < 8]
    assert len(chains) > 20
    assert set(chains) == expected_chains(values[:, None] > values[None, :], np.isin(np.arange(200), [3, *lower]), starts, ends)


def test_dead_ends_are_left_out_before_the_walk():
    # 2^40 chains begin in the first event, none of them ends in the last.
    count = 41
    side = side_of(range(count), [1] * (count - 1) + [9])
    steps = np.zeros((count, 1), np.uint64)
    self_join(side, predicates_of([(0, 3, 0)]), steps, new_counters())
    every, last, live = packed([True] * count), packed([False] * (count - 1) + [True]), np.zeros(1, np.uint64)
    keep_reaching(steps, every, last, live)
    assert live.tolist() == last.tolist()
    walk = new_walk(count)
    assert walk_chains(walk, steps, packed([True] + [False] * (count - 1))[None, :], live, last, np.empty(9, np.int64), np.empty(9, np.int64)) == 0
    assert walk.meta[STATE] == FINISHED
