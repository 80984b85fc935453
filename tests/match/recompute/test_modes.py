"""The structures of recomputation give the same answers compiled, as plain Python and with their bounds checked."""

from __future__ import annotations

import json

import numpy as np
import pytest

from benchmarks.recompute.published_joins.hybrid_join import hybrid_join, nested_loop_join, new_counters
from benchmarks.recompute.published_joins.region_join import region_join
from benchmarks.recompute.published_joins.regions import cluster, groups_for
from benchmarks.recompute.published_joins.sweep_join import sorted_orders, sweep_join
from eventide.index.box_query import rows_in_box
from eventide.index.moving_window import CPU_FRIENDLY, MEMORY_FRIENDLY, SlidingTrees
from eventide.index.tree import insert_all, new_forest
from eventide.index.tree_deletion import delete
from eventide.index.zorder import z_order
from match.recompute.points import dirty_bits, random_box, random_points, random_predicates, random_side
from match.recompute.test_chains import chains_of
from match.recompute.z_addresses import encoded, next_in_by_splitting
from match.test_jit_modes import elsewhere

SCRIPT = "import json; from match.recompute.test_modes import answers; print(json.dumps(answers()))"


def tree_answers(rng):
    """Insert, delete and query small trees."""
    found = []
    for dimensions in (1, 3):
        points = random_points(rng, 70, dimensions, 6)
        forest = insert_all(new_forest(1, dimensions, 2, 4), np.zeros(70, np.int64), points, np.arange(70))
        for row in range(0, 70, 3):
            assert delete(forest, 0, points, row, row)
        for _ in range(5):
            box, rows = random_box(rng, points), np.empty(70, np.int64)
            found.append(rows[: rows_in_box(forest, 0, box, rows)].tolist())
            found.append([next_in_by_splitting(points, 7, box), *map(int, box.ravel())])
    return found


def join_answers(rng):
    """Run all joins over small sides."""
    found = []
    for _ in range(4):
        outer, inner, predicates = random_side(rng, 20, 2), random_side(rng, 70, 2), random_predicates(rng, 2, 3)
        for join in (nested_loop_join, hybrid_join):
            bits, counters = dirty_bits(outer, inner), new_counters()
            join(outer, inner, predicates, bits, counters)
            found += [bits.tolist(), counters.tolist()]
        bits = dirty_bits(outer, inner)
        sweep_join(outer, inner, predicates, sorted_orders(inner, predicates.inner), bits, new_counters())
        found.append(bits.tolist())
        starts = []
        for side in (outer, inner):
            points = np.ascontiguousarray(side.value.T)
            points = points[z_order(points)]
            starts.append(cluster(points, groups_for(points, 5), 9))
        region_join(outer, inner, *starts, predicates, 0, len(starts[0]) - 1, bits, new_counters())
        found.append(bits.tolist())
    return found


def answers():
    """Run every structure over a few small inputs."""
    rng = np.random.default_rng(1)
    found = [tree_answers(rng), join_answers(rng)]
    found.append(chains_of(random_side(rng, 9, 1), random_predicates(rng, 1, 1), [True] * 9, room=12))
    for method in (MEMORY_FRIENDLY, CPU_FRIENDLY):
        trees, points = SlidingTrees(1, 2, 20, 3, method), random_points(rng, 60, 2, 5)
        points[:, 0] = np.arange(60)
        trees.insert(np.zeros(60, np.int64), points, np.arange(60))
        found.append(sorted(trees.query(0, 59, random_box(rng, points)).tolist()))
    found.append([int(encoded(np.array([-3]), 0))])
    return found


def expected():
    return json.loads(json.dumps(answers()))


def test_plain_python_gives_the_same():
    assert elsewhere(SCRIPT, NUMBA_DISABLE_JIT="1") == expected()


@pytest.mark.long
def test_structures_stay_inside_their_arrays(tmp_path):
    assert elsewhere(SCRIPT, NUMBA_BOUNDSCHECK="1", NUMBA_CACHE_DIR=str(tmp_path)) == expected()
