"""Slices of the enumeration: disjoint, complete, even under windows (Abella 2022, 5.4, errata slice-guard and live-slices)."""

from __future__ import annotations

import numpy as np
import pytest

from eventide.match.dag.nodes import UNION, new_nodes
from match.building import Run, ends_of, matches_of, plan_of, prepare, stream, supports

LOOPS = "SELECT * WHERE A ; B+ ; C WITHIN 8 events"


def slices_of(plan, given, number):
    return [matches_of(plan, given, slices=number, slice_index=index) for index in range(number)]


@pytest.mark.parametrize("number", [1, 2, 3, 4, 5, 500])
@pytest.mark.parametrize(
    "text",
    [
        LOOPS,
        "SELECT * WHERE (A AND B+) ; C",
        "SELECT * WHERE A AS a ; B+ AS b ; C FILTER a.v <= b.v",
        "SELECT * WHERE A ; B ; NOT C WITHIN 4 events",
        "SELECT * WHERE (A OR B)+ PARTITION BY key WITHIN 6 events",
    ],
)
def test_slices_are_disjoint_and_complete(text, number):
    plan = plan_of(text, "automaton")
    events = stream("abbabcabbcbc", v=[1, 2, 1, 2, 2, 3, 1, 1, 2, 3, 1, 1], keys=[1, 2] * 6)
    pieces = prepare(plan, events).cut(5)
    whole = matches_of(plan, pieces)
    assert len(whole) >= 5
    assert sorted(match for part in slices_of(plan, pieces, number) for match in part) == whole


@pytest.mark.parametrize("number", [2, 3, 4, 5, 500])
def test_no_slice_of_an_event_is_larger_than_its_share(number):
    plan = plan_of(LOOPS, "automaton")
    pieces = [prepare(plan, stream("abbbabbbbcbbc"))]
    whole = ends_of(matches_of(plan, pieces))
    parts = [ends_of(part) for part in slices_of(plan, pieces, number)]
    for end, matches in whole.items():
        share = -(-matches // number)
        assert all(part.get(end, 0) <= share for part in parts)


@pytest.mark.parametrize(("window", "sizes"), [(100, [25, 25, 25, 25]), (50, [13, 13, 13, 11]), (25, [7, 7, 7, 4])])
def test_slices_count_only_what_the_window_leaves(window, sizes):
    plan = plan_of(f"SELECT * WHERE A ; B WITHIN {window} events", "automaton")
    pieces = [prepare(plan, stream("a" * 100 + "b"))]
    # A window of n events reaches back over n positions: n events A are left.
    assert [len(part) for part in slices_of(plan, pieces, 4)] == sizes


def test_slices_are_equal_where_the_number_of_matches_allows_it():
    for window in (48, 24):
        plan = plan_of(f"SELECT * WHERE A ; B WITHIN {window} events", "automaton")
        assert [len(part) for part in slices_of(plan, [prepare(plan, stream("a" * 100 + "b"))], 4)] == [window // 4] * 4


def test_a_single_match_is_found_by_one_slice_only():
    plan = plan_of("SELECT * WHERE A ; B", "automaton")
    assert sorted(len(part) for part in slices_of(plan, [prepare(plan, stream("ab"))], 3)) == [0, 0, 1]


def drawn(root):
    """The compact set of Figure 5.4 by hand: `root` is node 4 or its union with the second node 4, as (nodes, root number)."""
    nodes = new_nodes(16)
    numbers = {}

    def add(name, row, left=None, right=None):
        number = numbers[name] = len(numbers)
        nodes.label[number] = UNION if right else 1
        nodes.row[number] = row
        nodes.left[number] = numbers[left] if left else -1
        nodes.right[number] = numbers[right] if right else -1
        nodes.start[number] = 0

    add("0", 0)
    add("1", 1, "0")
    add("2r", 2, "0")
    add("2l", 2, "1")
    add("v1", 0, "2l", "1")
    add("v2", 0, "2r", "v1")
    add("3l", 3, "v2")
    add("3r", 3, "0")
    add("v3", 0, "3l", "v2")
    add("v4", 0, "3r", "v3")
    add("4", 4, "v4")
    add("4'", 4, "0")
    add("merged", 0, "4'", "4")
    return nodes, numbers[root], len(numbers)


def slices_of_drawn(root, number):
    plan = plan_of("SELECT * WHERE T AS t1 ; T+ AS ts", "automaton")
    parts = []
    for index in range(number):
        run = Run(plan, slices=number, slice_index=index)
        run.feed(prepare(plan, stream("t")))
        matcher = run.matcher
        matcher._nodes, accepted, top = drawn(root)
        matcher._accepts.row[0], matcher._accepts.node[0] = 4, accepted
        matcher._accepts.low[0], matcher._accepts.key[0] = 0, 0
        matcher._counters[0], matcher._counters[1] = top, 1
        rows = []
        for found in matcher._flush(1):
            rows += [tuple(found.row[a:b].tolist()) for a, b in zip(found.offset, found.offset[1:], strict=False)]
        parts.append(rows)
    return parts


def test_the_slices_of_the_drawn_set_are_those_of_the_worked_example():
    assert slices_of_drawn("4", 3) == [
        [(0, 3, 4), (0, 2, 3, 4), (0, 1, 2, 3, 4)],
        [(0, 1, 3, 4), (0, 2, 4), (0, 1, 2, 4)],
        [(0, 1, 4)],
    ]


def test_the_merged_set_has_eight_paths_in_slices_of_three_three_and_two():
    parts = slices_of_drawn("merged", 3)
    assert [len(part) for part in parts] == [3, 3, 2]
    assert len({path for part in parts for path in part}) == 8


def test_slices_of_an_engine_run_are_complete_on_the_worked_example():
    plan = plan_of("SELECT * WHERE T AS t1 ; T+ AS ts FILTER t1.v < 30 AND ts.v > 30", "automaton")
    pieces = [prepare(plan, stream("ttttt", v=[24, 32, 40, 45, 60]))]
    parts = slices_of(plan, pieces, 3)
    assert supports([match for part in parts for match in part if match[1] == 4]) == supports(
        [match for match in matches_of(plan, pieces) if match[1] == 4]
    )
    assert np.sum([len(part) for part in parts]) == 15


def test_slices_are_complete_where_conditions_leave_few_of_more_paths_than_can_be_counted():
    # 2^120 subsets of the Bs, of which those that rise are few: all but one value fall.
    values = [0, *range(120, 0, -1), 0]
    for condition in ("b.v < NEXT(b.v)", "a.v <> b.v AND b.v < NEXT(b.v)"):
        plan = plan_of(f"SELECT * WHERE A AS a ; B+ AS b ; C FILTER {condition}", "automaton")
        pieces = [prepare(plan, stream("a" + "b" * 120 + "c", v=values))]
        parts = slices_of(plan, pieces, 3)
        assert sorted(match for part in parts for match in part) == matches_of(plan, pieces)
        assert sum(map(len, parts)) == 120


def test_slices_are_even_in_what_agrees():
    draw = np.random.default_rng(3)
    plan = plan_of("SELECT * WHERE A+ AS a ; B+ AS b ; C FILTER a.v = b.v", "automaton")
    pieces = [prepare(plan, stream("ab" * 20 + "c", v=draw.integers(1, 4, 41).tolist()))]
    sizes = [len(part) for part in slices_of(plan, pieces, 4)]
    assert sum(sizes) == len(matches_of(plan, pieces))
    assert max(sizes) - min(sizes) <= 4
