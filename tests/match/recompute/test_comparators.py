"""What the benchmarks compare with gives the same answers as what is compared."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.recompute import event_tree, joins
from benchmarks.recompute.ie_join import ie_join, sorted_lists
from benchmarks.recompute.published_joins.sides import predicates_of
from benchmarks.recompute.r_tree import new_r_tree, r_insert, r_query
from benchmarks.recompute.relations import KINDS, points
from eventide.match.recompute.bit_rows.comparisons import EQUAL, GREATER, GREATER_EQUAL, LESS, LESS_EQUAL
from match.recompute.points import dirty_bits, inside, joined, random_box, random_points, random_side, unpacked

# numba compiles what only benchmarks use.
pytestmark = pytest.mark.ci


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dimensions", range(2, 7))
def test_all_joins_of_the_benchmark_find_the_same_number_of_pairs(kind, dimensions):
    sides = joins.relations(kind, 300, dimensions)
    expected = joined(*sides).sum()
    assert {name: way(*sides) for name, way in joins.WAYS.items()} == dict.fromkeys(joins.WAYS, expected)


def test_dominated_relations_mostly_dominate_and_independent_ones_do_not():
    shares = {kind: joined(*joins.relations(kind, 400, 6)).mean() for kind in KINDS}
    assert shares["dominated"] > 0.4
    assert shares["independent"] < 0.03


def test_relations_are_drawn_from_their_seed():
    assert np.array_equal(points("dominated", 50, 3, 7), points("dominated", 50, 3, 7))
    assert not np.array_equal(points("dominated", 50, 3, 7), points("dominated", 50, 3, 8))


@pytest.mark.parametrize("by_words", [False, True])
def test_ie_join_finds_the_pairs_of_the_definition(by_words):
    rng = np.random.default_rng(by_words)
    for _ in range(150):
        outer = random_side(rng, int(rng.integers(1, 90)), 3, nulls=0)
        inner = random_side(rng, int(rng.integers(1, 90)), 3, nulls=0)
        inner = inner._replace(row=inner.row + 1_000)
        first = rng.choice([LESS, LESS_EQUAL, GREATER, GREATER_EQUAL], 2)
        further = [(2, int(rng.integers(0, 5)), 1)] * int(rng.integers(0, 2))
        predicates = predicates_of([(0, first[0], 0), (1, first[1], 2), *further])
        lists = sorted_lists(outer, inner, predicates)
        bits, marked = dirty_bits(outer, inner), np.zeros(dirty_bits(outer, inner).shape[1], np.uint64)
        middle = len(outer.row) // 2
        for begin, end in ((0, middle), (middle, len(outer.row))):
            ie_join(outer, inner, predicates, lists, begin, end, marked, by_words, bits[begin:end])
        assert np.array_equal(unpacked(bits, len(inner.row)), joined(outer, inner, predicates)[lists.outer_second][:, lists.inner_first])


def test_ie_join_refuses_equality_in_front():
    side = random_side(np.random.default_rng(1), 5, 2)
    with pytest.raises(ValueError, match="inequalities"):
        sorted_lists(side, side, predicates_of([(0, EQUAL, 0), (1, LESS, 1)]))


def test_the_r_tree_finds_the_points_of_a_box():
    rng = np.random.default_rng(3)
    for _ in range(60):
        dimensions = int(rng.integers(1, 5))
        drawn = random_points(rng, int(rng.integers(1, 400)), dimensions, int(rng.choice([2, 9, 60])))
        tree = new_r_tree(100, dimensions)
        for row in range(len(drawn)):
            r_insert(tree, drawn, row, row)
        for _ in range(5):
            box, rows = random_box(rng, drawn), np.empty(len(drawn), np.int64)
            assert sorted(rows[: r_query(tree, box, rows)]) == np.flatnonzero(inside(drawn, box)).tolist()


def test_event_tree_and_r_tree_of_the_benchmark_agree():
    for narrow in (True, False):
        assert len(event_tree.seconds(500, narrow, 1)) == 2
