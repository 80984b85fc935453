"""The event tree is a sorted multiset of events that answers boxes exactly."""

from __future__ import annotations

import numpy as np
import pytest

from eventide.index.box_query import count_in_box, rows_in_box
from eventide.index.tree import FREE_NODES, TOUCHED, insert_all, new_forest, with_trees
from eventide.index.tree_deletion import delete, drop
from match.recompute.points import address, inside, random_box, random_points
from match.recompute.z_addresses import shared_bits, whole_space


def leaves_of(forest, tree=0):
    """Return the entries (address, row) of each leaf, along the chain."""
    capacity = len(forest.row) // len(forest.size)
    node = forest.root[tree]
    if node < 0:
        return []
    while forest.level[node] > 0:
        node = forest.child[node * capacity]
    assert forest.previous[node] == -1
    leaves = []
    while node >= 0:
        entries = range(node * capacity, node * capacity + forest.size[node])
        leaves.append([(address(forest.key[entry]), int(forest.row[entry])) for entry in entries])
        following = forest.following[node]
        assert following < 0 or forest.previous[following] == node
        node = following
    return leaves


def check_nodes(forest, tree=0):
    """Assert that levels, separators and sizes are right, and return the number of nodes."""
    capacity = len(forest.row) // len(forest.size)

    def check(node, low, high):
        assert 0 < forest.size[node] <= capacity
        entries = range(node * capacity, node * capacity + forest.size[node])
        keys = [(address(forest.key[entry]), int(forest.row[entry])) for entry in entries]
        if forest.level[node] == 0:
            assert keys == sorted(keys)
            assert (low is None or low <= keys[0]) and (high is None or keys[-1] < high)
            return 1
        assert keys[1:] == sorted(keys[1:])
        nodes = 1
        for place, entry in enumerate(entries):
            child = forest.child[entry]
            assert forest.level[child] == forest.level[node] - 1
            nodes += check(child, keys[place] if place else low, keys[place + 1] if place + 1 < len(keys) else high)
        return nodes

    return check(forest.root[tree], None, None) if forest.root[tree] >= 0 else 0


def build(points, capacity, rows=None):
    rows = np.arange(len(points)) if rows is None else rows
    return insert_all(new_forest(1, points.shape[1], 2, capacity), np.zeros(len(points), np.int64), points, rows)


def query(forest, box, tree=0):
    rows = np.empty(int(forest.events[tree]), np.int64)
    return rows[: rows_in_box(forest, tree, box, rows)].tolist()


@pytest.mark.parametrize("dimensions", range(1, 7))
@pytest.mark.parametrize("capacity", [4, 5, 32])
def test_random_inserts_keep_the_tree_in_order(dimensions, capacity):
    rng = np.random.default_rng(dimensions * 100 + capacity)
    for _ in range(12):
        points = random_points(rng, int(rng.integers(1, 300)), dimensions, int(rng.choice([1, 3, 9, 64])))
        rows = rng.permutation(len(points))
        forest = build(points, capacity, rows)
        expected = sorted((address(point), int(row)) for point, row in zip(points, rows, strict=True))
        assert [entry for leaf in leaves_of(forest) for entry in leaf] == expected
        nodes = check_nodes(forest)
        assert forest.meta[FREE_NODES] == len(forest.size) - nodes


def test_a_full_leaf_is_cut_where_neighbours_share_the_fewest_bits():
    rng = np.random.default_rng(5)
    for _ in range(300):
        dimensions = int(rng.integers(1, 5))
        points = random_points(rng, 6, dimensions, int(rng.choice([4, 20, 64])))
        ordered = np.array(sorted(points.tolist(), key=address), np.uint64)
        if address(ordered[0]) == address(ordered[-1]):
            continue
        shared = [shared_bits(ordered, place, ordered, place + 1) for place in range(5)]
        forest = build(points, 5)
        assert len(leaves_of(forest)[0]) == shared.index(min(shared)) + 1


def test_equal_points_fill_leaves_by_row():
    forest = build(np.zeros((100, 3), np.uint64), 4)
    assert [row for leaf in leaves_of(forest) for _, row in leaf] == list(range(100))
    assert len(leaves_of(forest)) <= 50
    check_nodes(forest)


@pytest.mark.parametrize("dimensions", range(1, 7))
@pytest.mark.parametrize("capacity", [4, 5, 32])
def test_a_box_query_finds_the_events_inside_and_no_others(dimensions, capacity):
    rng = np.random.default_rng(dimensions * 100 + capacity)
    for _ in range(20):
        points = random_points(rng, int(rng.integers(0, 300)), dimensions, int(rng.choice([1, 3, 9, 40, 64])))
        forest = build(points, capacity)
        for _ in range(10):
            box = random_box(rng, points)
            expected = np.flatnonzero(inside(points, box))
            found = query(forest, box)
            assert sorted(found) == expected.tolist()
            assert found == sorted(found, key=lambda row: (address(points[row]), row))
            assert count_in_box(forest, 0, box) == len(expected)


@pytest.mark.parametrize(("capacity", "share"), [(4, 1 / 20), (32, 1 / 8)])
def test_a_small_box_touches_far_fewer_keys_than_lie_between_its_corners(capacity, share):
    # Leaves that the box meets are read whole, so small leaves are touched less.
    rng = np.random.default_rng(9)
    points = rng.integers(0, 2**16, (5_000, 3), np.uint64)
    forest = build(points, capacity)
    touched = between = hits = 0
    addresses = np.array([address(point) for point in points], object)
    for _ in range(100):
        corner = rng.integers(0, 2**16 - 6_000, 3)
        box = np.array([corner, corner + 6_000, [0, 0, 0]], np.uint64)
        forest.meta[TOUCHED] = 0
        hits += len(query(forest, box))
        touched += forest.meta[TOUCHED]
        between += int(np.sum((addresses >= address(box[0])) & (addresses <= address(box[1]))))
    assert hits < touched
    assert touched - hits < between * share


@pytest.mark.parametrize("capacity", [4, 7, 32])
def test_random_inserts_and_deletes_keep_the_tree_in_order(capacity):
    rng = np.random.default_rng(capacity)
    for _ in range(15):
        dimensions = int(rng.integers(1, 5))
        points = random_points(rng, 250, dimensions, int(rng.choice([1, 4, 64])))
        forest = new_forest(1, dimensions, 2, capacity)
        held = set()
        for step in range(600):
            row = int(rng.integers(0, 250))
            # Growing first and shrinking later takes the tree through every height twice.
            if row not in held and rng.random() < (0.9 if step < 300 else 0.2):
                forest = insert_all(forest, np.zeros(1, np.int64), points[row : row + 1], np.array([row]))
                held.add(row)
            else:
                assert delete(forest, 0, points, row, row) == (row in held)
                held.discard(row)
        assert [entry for leaf in leaves_of(forest) for entry in leaf] == sorted((address(points[row]), row) for row in held)
        assert forest.events[0] == len(held)
        assert forest.meta[FREE_NODES] == len(forest.size) - check_nodes(forest)
        box = random_box(rng, points)
        assert sorted(query(forest, box)) == [row for row in np.flatnonzero(inside(points, box)).tolist() if row in held]
        for row in held:
            assert delete(forest, 0, points, row, row)
        assert forest.root[0] == -1 and forest.meta[FREE_NODES] == len(forest.size)


def test_a_window_that_moves_on_keeps_its_leaves_filled():
    points = np.random.default_rng(1).integers(0, 2**20, (20_000, 3), np.uint64)
    points[:, 0] = np.arange(20_000)
    forest = new_forest(1, 3, 2, 16)
    for row in range(20_000):
        forest = insert_all(forest, np.zeros(1, np.int64), points[row : row + 1], np.array([row]))
        if row >= 500:
            assert delete(forest, 0, points, row - 500, row - 500)
    assert len(leaves_of(forest)) < 500 / 4
    assert len(forest.size) < 500


def test_trees_of_one_forest_do_not_see_each_other():
    rng = np.random.default_rng(4)
    points = random_points(rng, 900, 2, 8)
    trees = rng.integers(0, 9, 900)
    forest = insert_all(with_trees(new_forest(4, 2, 2, 5), 5), trees, points, np.arange(900))
    for tree in range(9):
        assert sorted(query(forest, whole_space(2), tree)) == np.flatnonzero(trees == tree).tolist()


def test_dropping_a_tree_gives_its_nodes_back_and_leaves_the_others():
    rng = np.random.default_rng(6)
    points = random_points(rng, 600, 2, 8)
    trees = rng.integers(0, 2, 600)
    forest = insert_all(new_forest(2, 2, 2, 5), trees, points, np.arange(600))
    drop(forest, 0)
    assert query(forest, whole_space(2)) == []
    assert sorted(query(forest, whole_space(2), 1)) == np.flatnonzero(trees == 1).tolist()
    assert forest.meta[FREE_NODES] == len(forest.size) - check_nodes(forest, 1)
    drop(forest, 1)
    assert forest.meta[FREE_NODES] == len(forest.size)


def test_nodes_with_room_for_fewer_than_four_entries_are_refused():
    with pytest.raises(ValueError, match="four entries"):
        new_forest(1, 2, capacity=3)
