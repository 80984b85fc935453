"""The invariants of the shared DAG (Abella 2022, 5.1 and 5.2) on random automata and streams, seen through the engine."""

from __future__ import annotations

import os
import random
from itertools import pairwise

import pytest

from eventide.match.dag.nodes import UNION
from eventide_reference import find_matches
from match.building import Run, ends_of, matches_of, plan_of, prepare, stream, supports
from match.cases import CASES, names_of

SLOW = os.environ.get("NUMBA_DISABLE_JIT") == "1"
SEEDS = range(10 if SLOW else 60)


def drawn_pattern(draw, depth):
    if depth == 0:
        return draw.choice(["A", "B", "C", "A AS x", "B AS y"])
    inner = [drawn_pattern(draw, depth - 1) for _ in range(2)]
    return draw.choice(
        [
            f"({inner[0]} ; {inner[1]})",
            f"({inner[0]} ; {inner[1]})",
            f"({inner[0]} : {inner[1]})",
            f"({inner[0]} OR {inner[1]})",
            f"({inner[0]})+",
            f"({inner[0]} AND {inner[1]})",
        ]
    )


def drawn_query(seed):
    """A random pattern, mostly in a window, and a random stream for it."""
    draw = random.Random(seed)
    window = draw.choice(["", " WITHIN 3 events", " WITHIN 4", " WITHIN 7"])
    times = sorted(draw.randrange(12) for _ in range(8))
    text = " ".join(f"{draw.choice('aabbc')}{time}" for time in times)
    return f"SELECT * WHERE {drawn_pattern(draw, 2)} ; {drawn_pattern(draw, 1)}{window}", stream(text)


class Inspected(Run):
    """A run that looks at the arena each time before matches are read from it."""

    def __init__(self, plan):
        super().__init__(plan)
        self.unions = 0
        enumerate_ = self.matcher._enumerate

        def inspecting(count):
            for accept in range(count):
                self.check(int(self.matcher._accepts.node[accept]))
            yield from enumerate_(count)

        self.matcher._enumerate = inspecting

    def check(self, root):
        nodes = self.matcher._nodes
        pending, seen = [root], set()
        assert self.depth(root) <= 3
        while pending:
            node = pending.pop()
            if node in seen:
                continue
            seen.add(node)
            left, right = int(nodes.left[node]), int(nodes.right[node])
            assert left < node
            if nodes.label[node] == UNION:
                self.unions += 1
                assert right < node
                assert nodes.start[left] >= nodes.start[right], "a union is not in the order of time"
                assert nodes.start[node] == nodes.start[left]
                pending += [left, right]
            elif left >= 0:
                assert nodes.start[node] == nodes.start[left]
                assert self.depth(left) <= 3, "too many unions before the next event"
                pending.append(left)

    def depth(self, node):
        """The unions on the leftmost way from a node to its next event."""
        nodes, depth = self.matcher._nodes, 0
        while nodes.label[node] == UNION:
            node, depth = nodes.left[node], depth + 1
        return depth

    def check_lists(self):
        lists, nodes = self.matcher._lists, self.matcher._nodes
        for slot in range(len(lists.active)):
            for position in range(lists.active[slot]):
                members = lists.node[slot, position, : lists.length[slot, position]]
                starts = nodes.start[members].tolist()
                assert nodes.label[members[0]] != UNION
                assert starts[:2] == sorted(starts[:2], reverse=True)
                assert all(one > other for one, other in pairwise(starts[1:]))


@pytest.mark.parametrize("seed", SEEDS)
def test_random_automata_keep_the_invariants_and_find_what_the_oracle_finds(seed):
    text, events = drawn_query(seed)
    plan = plan_of(text, "automaton")
    run = Inspected(plan)
    given = prepare(plan, events)
    for piece in given.cut(*range(1, len(given.event))):
        run.feed(piece)
        run.check_lists()
    found = run.finish()
    assert len(found) == len(set(found)), "a match is there twice"
    assert found == sorted(match.identity() for match in find_matches(plan.query, events)), text


@pytest.mark.parametrize("seed", SEEDS[: len(SEEDS) // 2])
def test_both_matchers_agree_on_random_automata(seed):
    text, events = drawn_query(seed)
    found = [matches_of(plan, prepare(plan, events).cut(3)) for plan in (plan_of(text, "automaton"), plan_of(text, "runs"))]
    assert found[0] == found[1], text


LONG = [case for case in CASES if "automaton" in case.matchers and "LIMIT" not in case.text]


@pytest.mark.parametrize("case", LONG, ids=names_of)
def test_the_invariants_hold_on_a_long_stream(case):
    plan = case.plan("automaton")
    given = prepare(plan, case.events(7, 14))
    run = Inspected(plan)
    for piece in given.cut(3, 7, 8):
        run.feed(piece)
        run.check_lists()
    assert run.finish() == matches_of(plan, [given])


def test_the_inspection_sees_the_unions_of_a_loop():
    plan = plan_of("SELECT * WHERE A+ ; B+ ; C", "automaton")
    run = Inspected(plan)
    run.feed(prepare(plan, stream("ab" * 6 + "c")))
    assert run.unions > 20


def test_the_partitioned_iteration_doubles_the_matches_at_every_event():
    plan = plan_of("SELECT * WHERE (T AS t1 ; T+ AS ts) FILTER t1[v < 30] AND ts[v > 30] PARTITION BY key WITHIN 5", "automaton")
    events = stream("ttttt", keys=[0] * 5, v=[24, 32, 40, 45, 60])
    assert ends_of(matches_of(plan, [prepare(plan, events)])) == {1: 1, 2: 2, 3: 4, 4: 8}


@pytest.mark.parametrize("matcher", ["automaton", "runs"])
@pytest.mark.parametrize(
    ("pattern", "letters", "count"),
    [
        ("A ; B ; C", "a" * 30 + "b" * 30 + "c", 900),
        ("A ; B+ ; C", "a" + "b" * 10 + "c", 2**10 - 1),
        ("A+ ; B+ ; C", "ab" * 4 + "c", 49),
        ("A+ ; B+ ; C", "ab" * 5 + "c", 129),
        ("A+ ; B+ ; C", "ab" * 9 + "c", 8 * 2**9 + 1),
    ],
)
def test_the_benchmark_streams_have_the_numbers_of_their_formulas(pattern, letters, count, matcher):
    plan = plan_of(f"SELECT * WHERE {pattern} WITHIN 100 events", matcher)
    assert len(set(matches_of(plan, prepare(plan, stream(letters)).cut(len(letters) // 2)))) == count


class TestSequenceScan:
    text = "b1 a3 c5 b6 a7 d10 b11 c13 d15 f16 f17"
    events = stream(text)
    names = text.split()

    def found(self, text):
        plan = plan_of(text)
        found = matches_of(plan, prepare(plan, self.events).cut(4, 6))
        return [" ".join(self.names[event] for event in support) for support in supports(found)]

    def test_has_four_sequences_without_a_window(self):
        assert self.found("PATTERN SEQ(A a, B b, D d)") == ["a3 b6 d10", "a3 b6 d15", "a3 b11 d15", "a7 b11 d15"]

    def test_loses_the_long_ones_to_the_window(self):
        assert self.found("PATTERN SEQ(A a, B b, D d) WITHIN 10") == ["a3 b6 d10", "a7 b11 d15"]

    def test_loses_one_to_the_negation(self):
        assert self.found("PATTERN SEQ(A a, B b, !C c, D d) WITHIN 10") == ["a3 b6 d10"]

    def test_forgets_events_with_the_window_that_began_with_them(self):
        plan = plan_of("PATTERN SEQ(A a, B b, !C c, D d) WITHIN 10")
        given = prepare(plan, self.events)
        run, kept = Run(plan), {}
        for piece in given.cut(*range(1, len(given.event))):
            run.feed(piece)
            kept[self.names[piece.event[0]]] = [self.names[event] for event in run.kept]
        # b1 begins nothing; exactly 10 apart is kept; b6 is kept by a3 alone and goes with it. C is a bit, not an event to keep.
        assert kept["b1"] == []
        assert kept["d10"] == ["a3", "b6", "a7"]
        assert kept["b11"] == ["a3", "b6", "a7", "b11"]
        assert "a3" in kept["c13"]
        assert "a3" not in kept["d15"] and "b6" not in kept["d15"] and "a7" in kept["d15"]
