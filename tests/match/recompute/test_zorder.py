"""Virtual Z order is the order of interleaved addresses."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from eventide.index.zorder import BOX_ROWS, FOUND, HIGH, LOW
from match.recompute.points import address, inside, random_box, random_points
from match.recompute.z_addresses import (
    compared,
    deinterleave,
    extract,
    highest_bit,
    interleave,
    next_in,
    next_in_by_splitting,
    shared_bits,
    split_box,
)

CURSORS = [next_in, next_in_by_splitting]


def points_of(addresses, dimensions, bits):
    """Return points whose addresses begin with the given ones, so that leading bits are leading bits."""
    return np.array([deinterleave(one << dimensions * (64 - bits), dimensions) for one in addresses], np.uint64)


def test_interleaving_takes_the_first_dimension_first_in_each_group():
    assert interleave([0b100, 0b010, 0b001], bits=3) == 0b100_010_001


def test_interleaving_comes_back_at_any_width():
    rng = np.random.default_rng(1)
    for dimensions in range(1, 7):
        for point in random_points(rng, 50, dimensions, 64).tolist():
            assert deinterleave(interleave(point), dimensions) == point
    assert interleave([2**64 - 1] * 6) == 2**384 - 1


def test_two_addresses_share_four_leading_bits():
    for dimensions in (1, 2, 4):
        pair = points_of([0b10110001, 0b10111010], dimensions, 8 // dimensions)
        assert shared_bits(pair, 0, pair, 1) == 4


def test_extraction_takes_one_bit_and_skips_two():
    assert extract(0b110011, 6, take=1, skip=2) == 0b10


def test_extraction_takes_two_bits_and_skips_one():
    assert extract(0b101101, 6, take=2, skip=1) == 0b1010


def test_the_higher_address_compares_higher():
    for dimensions in (1, 2, 3, 6):
        pair = points_of([0b001110, 0b001010], dimensions, 6 // dimensions)
        assert compared(pair, 0, pair, 1) == 1


def test_top_bit_is_the_length_less_one():
    for length in range(64):
        for value in (1 << length, (1 << length + 1) - 1):
            assert highest_bit(np.uint64(value)) == length


def test_all_pairs_of_four_bits_compare_as_their_addresses():
    points = np.array(list(itertools.product(range(16), repeat=2)), np.uint64)
    addresses = [interleave(point, 4) for point in points.tolist()]
    for one, other in itertools.product(range(256), repeat=2):
        assert compared(points, one, points, other) == (addresses[one] > addresses[other]) - (addresses[one] < addresses[other])


@pytest.mark.parametrize("dimensions", range(1, 7))
def test_random_points_compare_and_share_bits_as_their_addresses(dimensions):
    rng = np.random.default_rng(dimensions)
    for bits in (1, 2, 5, 33, 64):
        points = random_points(rng, 40, dimensions, bits)
        addresses = [address(point) for point in points]
        for one, other in itertools.product(range(40), repeat=2):
            left, right = addresses[one], addresses[other]
            assert compared(points, one, points, other) == (left > right) - (left < right)
            assert shared_bits(points, one, points, other) == 64 * dimensions - (left ^ right).bit_length()


def test_the_mask_of_a_split_keeps_every_bit_above_the_highest_that_differs():
    # The printed mask would lose bit 3 and everything above bit 7 (erratum jump-mask).
    box = np.array([[0b1_0000_1001], [0b1_0000_1110], [0], [0]], np.uint64)
    assert split_box(box, 0, 1, 2, 3)
    assert box[:, 0].tolist() == [0b1_0000_1001, 0b1_0000_1110, 0b1_0000_1011, 0b1_0000_1100]


def test_a_single_point_is_not_split():
    assert not split_box(np.full((4, 3), 7, np.uint64), 0, 1, 2, 3)


@pytest.mark.parametrize("dimensions", [1, 2, 3])
def test_a_split_parts_the_box_at_one_address(dimensions):
    rng = np.random.default_rng(dimensions)
    side = {1: 64, 2: 8, 3: 4}[dimensions]
    grid = np.array(list(itertools.product(range(side), repeat=dimensions)), np.uint64)
    for _ in range(200):
        box = np.zeros((4, dimensions), np.uint64)
        box[:BOX_ROWS] = random_box(rng, grid)
        box[HIGH] = np.minimum(box[HIGH], side - 1)
        if not split_box(box, 0, 1, 2, 3):
            continue
        members = {address(point) for point in grid[inside(grid, box)]}
        last, first = address(box[2]), address(box[3])
        assert last in members and first in members
        assert not any(last < member < first for member in members)
        lower = {address(point) for point in grid[inside(grid, box[[LOW, 2]])]}
        upper = {address(point) for point in grid[inside(grid, box[[3, HIGH]])]}
        assert lower == {member for member in members if member <= last}
        assert upper == members - lower


@pytest.mark.parametrize("cursor", CURSORS)
@pytest.mark.parametrize("dimensions", [1, 2, 3, 4])
def test_the_cursor_finds_the_next_point_of_the_box(cursor, dimensions):
    rng = np.random.default_rng(dimensions)
    side = {1: 32, 2: 8, 3: 4, 4: 3}[dimensions]
    grid = np.array(list(itertools.product(range(side), repeat=dimensions)), np.uint64)
    for _ in range(250):
        box = random_box(rng, grid)
        box[HIGH] = np.minimum(box[HIGH], side - 1)
        members = sorted(address(point) for point in grid[inside(grid, box)])
        for key in rng.integers(0, len(grid), 4):
            later = [member for member in members if member > address(grid[key])]
            assert cursor(grid, key, box) == bool(later)
            if later:
                assert address(box[FOUND]) == later[0]


@pytest.mark.parametrize("dimensions", range(1, 7))
def test_both_cursors_agree_on_full_coordinates(dimensions):
    rng = np.random.default_rng(100 + dimensions)
    for _ in range(60):
        points = random_points(rng, 30, dimensions, int(rng.choice([1, 3, 9, 40, 64])))
        box = random_box(rng, points)
        for key in range(30):
            expected = next_in_by_splitting(points, key, box)
            found = box[FOUND].copy()
            assert next_in(points, key, box) == expected
            if expected:
                assert np.array_equal(box[FOUND], found)
