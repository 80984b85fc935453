"""Z-regions, their dominance, and the join that rests on it."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from benchmarks.recompute.published_joins.hybrid_join import BLOCKS, COMPARED, REUSED, new_counters
from benchmarks.recompute.published_joins.region_join import region_join
from benchmarks.recompute.published_joins.regions import (
    ANY_SIZE,
    FULL,
    NONE,
    PARTIAL,
    cluster,
    dominance,
    groups_for,
    lanes_by_dominance,
    regions_of,
)
from benchmarks.recompute.published_joins.sides import Side, blocks_of, predicates_of
from eventide.index.zorder import z_order
from eventide.match.recompute.bit_rows.bits import words_for
from eventide.match.recompute.bit_rows.comparisons import GREATER, LESS
from match.recompute.points import address, dirty_bits, joined, random_points, random_predicates, random_side, unpacked
from match.recompute.z_addresses import deinterleave, shared_bits


def points_of(addresses, dimensions=2, bits=3):
    return np.array([deinterleave(one << dimensions * (64 - bits), dimensions) for one in addresses], np.uint64)


def corners(*regions):
    """Return regions from lists of events, each a tuple of coordinates."""
    starts = np.cumsum([0, *map(len, regions)])
    value = np.array([event for region in regions for event in region], np.uint64).T.copy()
    return regions_of(starts, value, np.full(words_for(int(starts[-1])), np.iinfo(np.uint64).max, np.uint64))


def test_regions_of_example_5():
    points = points_of([0b001000, 0b010001, 0b010100, 0b010111, 0b100000, 0b100110, 0b101001, 0b110010, 0b110011, 0b111010])
    shared = [shared_bits(points, place, points, place + 1) for place in range(9)]
    assert [shared[place] >= 2 for place in range(9)] == [False, True, True, False, True, True, False, True, True]
    # Leaves end behind the fifth point; a region may cross them.
    assert cluster(points, 1, ANY_SIZE).tolist() == [0, 1, 4, 7, 10]


def test_dominance_of_example_6():
    # Coordinates are price and time; the outer event is cheaper and later.
    operators = np.array([LESS, GREATER])
    regions = corners([(20, 5), (30, 10)], [(30, 1), (35, 3)], [(5, 6), (9, 9)], [(22, 8), (40, 12)])
    first, second, third, fourth = range(4)
    assert dominance(operators, regions, third, regions, second) == FULL
    assert dominance(operators, regions, second, regions, third) == NONE
    assert dominance(operators, regions, third, regions, fourth) == PARTIAL
    assert dominance(operators, regions, first, regions, fourth) == PARTIAL


def test_one_group_more_cuts_finer_and_none_cuts_nothing():
    points = points_of(range(64))
    assert [len(cluster(points, groups, ANY_SIZE)) - 1 for groups in range(4)] == [1, 4, 16, 64]


def test_a_region_is_no_larger_than_asked():
    assert cluster(points_of(range(64)), 1, 10).tolist() == [0, 10, 16, 26, 32, 42, 48, 58, 64]


@pytest.mark.parametrize("dimensions", range(1, 7))
def test_points_of_a_region_share_their_cell_and_no_two_regions_do(dimensions):
    rng = np.random.default_rng(dimensions)
    for _ in range(60):
        points = random_points(rng, int(rng.integers(0, 120)), dimensions, int(rng.choice([2, 9, 64])))
        points = points[z_order(points)]
        groups = int(rng.integers(0, 20))
        starts = cluster(points, groups, ANY_SIZE).tolist()
        cells = [address(point) >> dimensions * (64 - groups) for point in points]
        assert starts == [place for place in range(len(points)) if place == 0 or cells[place] != cells[place - 1]] + [len(points)]


def test_groups_are_chosen_for_the_wanted_number_of_regions():
    rng = np.random.default_rng(2)
    for _ in range(100):
        dimensions = int(rng.integers(1, 5))
        points = random_points(rng, 100, dimensions, int(rng.choice([3, 12, 64])))
        points = points[z_order(points)]
        wanted = int(rng.integers(1, 120))
        groups = groups_for(points, wanted)
        sizes = [len(cluster(points, number, ANY_SIZE)) - 1 for number in range(65)]
        assert groups == next((number for number, size in enumerate(sizes) if size >= wanted), 64)


def test_z_order_sorts_by_address_and_keeps_equal_points_as_they_were():
    rng = np.random.default_rng(8)
    for _ in range(100):
        points = random_points(rng, int(rng.integers(0, 90)), int(rng.integers(1, 5)), int(rng.choice([1, 4, 64])))
        assert z_order(points).tolist() == sorted(range(len(points)), key=lambda place: (address(points[place]), place))


@pytest.mark.parametrize("lines", [1, 2, 3])
def test_theorem_1_corners_never_lie_about_pairs(lines):
    rng = np.random.default_rng(lines)
    seen = set()
    for _ in range(2_000):
        most = int(rng.choice([2, 4, 30]))
        outer, inner = ([tuple(rng.integers(0, most, lines)) for _ in range(rng.integers(1, 4))] for _ in range(2))
        operators = rng.integers(0, 5, lines)
        compare = [np.less, np.less_equal, np.greater, np.greater_equal, np.equal]
        pairs = [all(compare[operator](x, y) for operator, x, y in zip(operators, a, b, strict=True)) for a, b in itertools.product(outer, inner)]
        answer = dominance(operators, corners(outer), 0, corners(inner), 0)
        seen.add(answer)
        if answer == FULL:
            assert all(pairs)
        elif answer == NONE:
            assert not any(pairs)
        if lines == 1 and all(pairs):
            assert answer == FULL
    assert seen == {FULL, PARTIAL, NONE}


def test_corners_of_64_regions_at_once_say_what_pairs_of_regions_say():
    rng = np.random.default_rng(6)
    for _ in range(200):
        lines = int(rng.integers(1, 4))
        draw = [[tuple(rng.integers(0, 6, lines)) for _ in range(rng.integers(1, 3))] for _ in range(90)]
        outer, inner, operators = corners(*draw[:3]), corners(*draw[3:]), rng.integers(0, 5, lines)
        low, high = blocks_of(inner.low, np.arange(lines)), blocks_of(inner.high, np.arange(lines))
        for region in range(3):
            full, some = [], []
            for word, wanted in enumerate([2**64 - 1, 2 ** (87 - 64) - 1]):
                fully, partly = lanes_by_dominance(operators, outer, region, low, high, word, np.uint64(wanted))
                full += [int(fully) >> lane & 1 for lane in range(64)]
                some += [int(partly) >> lane & 1 for lane in range(64)]
            answers = [dominance(operators, outer, region, inner, other) for other in range(87)]
            assert full[:87] == [answer == FULL for answer in answers]
            assert some[:87] == [answer != NONE for answer in answers]


def in_z_order(rng, count, coordinates, **options):
    """Draw a side whose events are in the Z order of their coordinates, and cut it into regions."""
    drawn = random_side(rng, count, coordinates, ordered=False, **options)
    order = z_order(np.ascontiguousarray(drawn.value.T))
    side = Side(drawn.row[order], np.ascontiguousarray(drawn.value[:, order]), np.ascontiguousarray(drawn.valid[:, order]))
    points = np.ascontiguousarray(side.value.T)
    return side, cluster(points, groups_for(points, int(rng.integers(1, 40))), int(rng.choice([1, 7, 64, 1_000])))


@pytest.mark.parametrize("coordinates", range(1, 7))
def test_the_region_join_finds_the_pairs_of_the_definition(coordinates):
    rng = np.random.default_rng(coordinates)
    for _ in range(300):
        outer, outer_starts = in_z_order(rng, int(rng.integers(0, 200)), coordinates)
        inner, inner_starts = in_z_order(rng, int(rng.integers(0, 200)), coordinates)
        predicates = random_predicates(rng, coordinates, coordinates)
        bits = dirty_bits(outer, inner)
        region_join(outer, inner, outer_starts, inner_starts, predicates, 0, len(outer_starts) - 1, bits, new_counters())
        assert np.array_equal(unpacked(bits, len(inner.row)), joined(outer, inner, predicates))


def test_outer_regions_can_be_joined_in_portions():
    rng = np.random.default_rng(11)
    for _ in range(50):
        outer, outer_starts = in_z_order(rng, 150, 3)
        inner, inner_starts = in_z_order(rng, 150, 3)
        predicates = random_predicates(rng, 3)
        regions = len(outer_starts) - 1
        cuts = sorted({0, regions, *rng.integers(0, regions + 1, 3).tolist()})
        expected = joined(outer, inner, predicates)
        for begin, end in itertools.pairwise(cuts):
            part = slice(outer_starts[begin], outer_starts[end])
            bits = dirty_bits(outer, inner)[part]
            region_join(outer, inner, outer_starts, inner_starts, predicates, begin, end, bits, new_counters())
            assert np.array_equal(unpacked(bits, 150), expected[part])


def test_dominated_data_is_joined_in_blocks_with_few_comparisons():
    rng = np.random.default_rng(12)
    sides = []
    for row in (0, 1):
        points = (rng.integers(0, 2**30, 2_000)[:, None] + rng.integers(0, 2**22, (2_000, 3))).astype(np.uint64)
        points = points[z_order(points)]
        side = Side(np.full(2_000, row), np.ascontiguousarray(points.T), np.ones((3, 2_000), np.uint8))
        sides.append((side, cluster(points, groups_for(points, 60), 64)))
    (outer, outer_starts), (inner, inner_starts) = sides
    predicates = predicates_of([(line, LESS, line) for line in range(3)])
    bits, counters = dirty_bits(outer, inner), new_counters()
    region_join(outer, inner, outer_starts, inner_starts, predicates, 0, len(outer_starts) - 1, bits, counters)
    table = unpacked(bits, 2_000)
    assert np.array_equal(table, joined(outer, inner, predicates))
    assert counters[BLOCKS] > 0.9 * table.sum()
    assert counters[COMPARED] + counters[REUSED] < 2_000 * 2_000 / 10
