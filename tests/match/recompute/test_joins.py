"""Every join gives the pairs of the definition, some with fewer comparisons."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.recompute.published_joins.hybrid_join import COMPARED, REUSED, hybrid_join, nested_loop_join, new_counters
from benchmarks.recompute.published_joins.sides import Side, holds, joins, narrow, predicates_of
from benchmarks.recompute.published_joins.sweep_join import sorted_orders, sweep_join
from eventide.index.encoding import HIGHEST, LOWEST
from eventide.index.zorder import HIGH, LOW
from eventide.match.recompute.bit_rows.comparisons import EQUAL, GREATER, GREATER_EQUAL, LESS, LESS_EQUAL, SWAPPED
from match.recompute.points import dirty_bits, joined, random_predicates, random_side, unpacked


def sorting_sweep_join(outer, inner, predicates, bits, counters):
    sweep_join(outer, inner, predicates, sorted_orders(inner, predicates.inner), bits, counters)


JOINS = [nested_loop_join, hybrid_join, sorting_sweep_join]


def run(join, outer, inner, predicates):
    """Return the table of pairs and the counters."""
    bits, counters = dirty_bits(outer, inner), new_counters()
    join(outer, inner, predicates, bits, counters)
    return unpacked(bits, len(inner.row)), counters


def side(rows, values):
    return Side(np.array(rows), np.array([values], np.uint64), np.ones((1, len(rows)), np.uint8))


def lines(table):
    return ["".join("01"[bit] for bit in line) for line in table.astype(int)]


def test_example_2_range_queries_of_the_inverted_v():
    # Prices lie in [0, 18]; c of price 6 closes the match, b must be dearer than c, a cheaper than the dearest b.
    box = np.array([[0], [18], [0]], np.uint64)
    six = np.uint64(6)
    assert narrow(box, 0, GREATER, six, six)
    assert box[:2, 0].tolist() == [7, 18]
    box[:, 0] = [0, 18, 0]
    assert narrow(box, 0, LESS, np.uint64(7), np.uint64(18))
    assert box[:2, 0].tolist() == [0, 17]


@pytest.mark.parametrize("operator", [LESS, LESS_EQUAL, GREATER, GREATER_EQUAL, EQUAL])
def test_a_narrowed_box_holds_all_that_could_join(operator):
    for low in range(8):
        for high in range(low, 8):
            box = np.array([[0], [7], [0]], np.uint64)
            left = [x for x in range(8) if any(holds(operator, x, y) for y in (low, high))]
            found = narrow(box, 0, operator, np.uint64(low), np.uint64(high))
            assert found == bool(left)
            if left:
                expected = [low, high] if operator == EQUAL else [left[0], left[-1]]
                assert box[[LOW, HIGH], 0].tolist() == expected


def test_nothing_is_below_the_lowest_or_above_the_highest_value():
    box = np.array([[LOWEST], [HIGHEST], [0]], np.uint64)
    assert not narrow(box, 0, LESS, LOWEST, LOWEST)
    assert not narrow(box, 0, GREATER, HIGHEST, HIGHEST)


def test_swapped_operators_hold_for_swapped_sides():
    for operator, swapped in enumerate(SWAPPED):
        for x in range(3):
            for y in range(3):
                assert holds(operator, x, y) == holds(swapped, y, x)


def test_hybrid_join_of_example_3():
    inner = side([1, 2, 3, 4, 5, 6, 7], [30, 25, 50, 40, 22, 15, 21])
    outer = side([1, 2, 3, 4], [30, 25, 50, 40])
    table, counters = run(hybrid_join, outer, inner, predicates_of([(0, GREATER, 0)]))
    assert lines(table) == ["0100111", "0000111", "0001111", "0000111"]
    # (3, 50) and (1, 30) reuse the bits of the event behind them.
    assert counters[REUSED] > 0


@pytest.mark.parametrize("join", JOINS)
@pytest.mark.parametrize("coordinates", range(1, 7))
def test_joins_find_the_pairs_of_the_definition(join, coordinates):
    rng = np.random.default_rng(coordinates)
    for _ in range(300):
        outer = random_side(rng, int(rng.integers(0, 200)), coordinates)
        inner = random_side(rng, int(rng.integers(0, 200)), coordinates)
        predicates = random_predicates(rng, coordinates, coordinates)
        table, _ = run(join, outer, inner, predicates)
        assert np.array_equal(table, joined(outer, inner, predicates))


def test_one_pair_joins_as_tables_do():
    rng = np.random.default_rng(7)
    for _ in range(40):
        outer, inner, predicates = random_side(rng, 12, 2), random_side(rng, 12, 2), random_predicates(rng, 2)
        pairs = [[joins(outer, one, inner, other, predicates) for other in range(12)] for one in range(12)]
        assert np.array_equal(pairs, joined(outer, inner, predicates))


@pytest.mark.parametrize("join", JOINS)
def test_events_of_one_row_do_not_join(join):
    table, _ = run(join, side([5, 5], [1, 1]), side([4, 5, 6], [2, 2, 2]), predicates_of([(0, LESS, 0)]))
    assert lines(table) == ["001", "001"]


@pytest.mark.parametrize("join", JOINS)
def test_null_joins_nothing_whatever_its_value(join):
    outer = Side(np.array([1, 2]), np.array([[1, 1]], np.uint64), np.array([[1, 0]], np.uint8))
    inner = Side(np.array([3, 4]), np.array([[1, 1]], np.uint64), np.array([[0, 1]], np.uint8))
    table, _ = run(join, outer, inner, predicates_of([(0, EQUAL, 0)]))
    assert lines(table) == ["01", "00"]


@pytest.mark.parametrize("operator", [LESS, LESS_EQUAL, GREATER, GREATER_EQUAL, EQUAL])
def test_the_hybrid_join_compares_and_reuses_each_pair_once(operator):
    rng = np.random.default_rng(operator)
    outer, inner = random_side(rng, 200, 1, nulls=0), random_side(rng, 200, 1, nulls=0)
    predicates = predicates_of([(0, operator, 0)])
    _, nested = run(nested_loop_join, outer, inner, predicates)
    _, hybrid = run(hybrid_join, outer, inner, predicates)
    assert nested[COMPARED] == np.sum(outer.row[:, None] < inner.row[None, :])
    assert hybrid[COMPARED] + hybrid[REUSED] == nested[COMPARED]


def test_rising_outer_values_are_compared_little():
    count = 500
    outer = side(list(range(count)), list(range(count)))
    inner = side(list(range(count, 2 * count)), [count // 2] * count)
    _, counters = run(hybrid_join, outer, inner, predicates_of([(0, LESS, 0)]))
    # Only the last event and the step from no pair to all pairs are compared.
    assert counters[COMPARED] < 0.51 * count * count


def test_the_sweep_compares_no_pairs():
    rng = np.random.default_rng(9)
    _, counters = run(sorting_sweep_join, random_side(rng, 100, 2), random_side(rng, 100, 2), random_predicates(rng, 2))
    assert counters[COMPARED] == 0
