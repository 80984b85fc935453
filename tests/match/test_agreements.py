"""Equalities between variables that every match binds, and comparisons of two values, judged without a program."""

from __future__ import annotations

import os
import random

import numpy as np
import pytest

from eventide.compilation import kernel
from eventide.match.dag.agreement import bit_of
from eventide_reference import find_matches
from match.building import Run, matches_of, plan_of, prepare, stream


@kernel
def bit(value):
    return bit_of(value)


SEEDS = range(2 if os.environ.get("NUMBA_DISABLE_JIT") == "1" else 40)
TEXTS = [
    "SELECT * WHERE A AS a ; B AS b ; C FILTER a.v = b.v",
    "SELECT * WHERE A AS a ; B+ AS b ; C FILTER a.v = b.v",
    "SELECT * WHERE A+ AS a ; B+ AS b ; C FILTER a.v = b.v",
    "SELECT * WHERE A+ AS a ; B+ AS b ; C FILTER a.w = b.w",
    "SELECT * WHERE A+ AS a ; B+ AS b ; C FILTER a.s = b.s WITHIN 5 events",
    "SELECT * WHERE A+ AS a ; B+ AS b ; C AS c FILTER a.v = b.v AND b.v = c.v WITHIN 6 events",
    "SELECT * WHERE A+ AS a ; B+ AS b ; C AS c FILTER a.v = b.v AND c.s = b.s",
    "SELECT * WHERE A+ AS a ; B+ AS b ; C AS c FILTER a.v = b.v AND a.s = c.s AND b.w <= c.w",
    "SELECT * WHERE (A AS a AND B+ AS b) ; C FILTER a.v = b.v",
    "SELECT * WHERE (A+ AS a ; B AS b) AS x ; C AS c FILTER a.v = b.v AND x.s = c.s",
    # A part that may be missing ties nothing together.
    "SELECT * WHERE A* AS a ; B+ AS b ; C FILTER a.v = b.v",
    "SELECT * WHERE (A AS a OR B+ AS b) ; C AS c FILTER a.v = b.v AND b.v = c.v",
    "SELECT * WHERE A+ AS a ; B? AS b ; C AS c FILTER a.v = b.v AND a.v = c.v",
    # Comparisons of two values that are no agreement.
    "SELECT * WHERE A+ AS a ; B+ AS b ; C FILTER a.v <= b.v",
    "SELECT * WHERE A+ AS a ; B+ AS b ; C FILTER b.w < a.w",
    "SELECT * WHERE A+ AS a ; B+ AS b ; C FILTER a.w <> b.w AND a.v <> b.v",
    "SELECT * WHERE A+ AS a ; B+ AS b ; C FILTER a.v <=> b.v AND a.w <=> b.w",
    "SELECT * WHERE A ; B+ AS b ; C FILTER b.v < NEXT(b.v)",
    "SELECT * WHERE A ; B+ AS b ; C FILTER NEXT(b.w) <= b.w",
    "SELECT * WHERE A+ AS a ; B+ AS b ; C FILTER a.v = b.v AND COUNT(b) >= 2 AND b.w <= NEXT(b.w)",
]


def drawn(seed, length=9):
    """Draw a stream in which values are often equal, null, NaN or zeros of either sign."""
    draw = random.Random(seed)
    return stream(
        "".join(draw.choice("aabbc") for _ in range(length)),
        v=[draw.choice([1, 1, 2, 65, None]) for _ in range(length)],
        w=[draw.choice([0.0, -0.0, 1.5, float("nan"), None]) for _ in range(length)],
        s=[draw.choice(["x", "x", "y", None]) for _ in range(length)],
    )


@pytest.mark.parametrize("text", TEXTS)
def test_matches_under_comparisons_are_those_of_the_oracle(text):
    plan = plan_of(text, "automaton")
    for seed in SEEDS:
        events = drawn(seed)
        expected = sorted(match.identity() for match in find_matches(plan.query, events))
        given = prepare(plan, events)
        assert matches_of(plan, given.cut(len(given.event) // 2)) == expected, seed


def groups_of(text):
    run = Run(plan_of(text, "automaton"))
    return len(run.labelling.agreeing_programs().agree_float)


GROUPS = [1, 1, 1, 1, 1, 1, 2, 2, 1, 2, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1]


@pytest.mark.parametrize(("text", "groups"), list(zip(TEXTS, GROUPS, strict=True)))
def test_equalities_agree_where_every_match_binds_both_sides(text, groups):
    assert groups_of(text) == groups


def test_values_that_share_a_bit_are_still_told_apart():
    # 1 and 65 differ, but stand for the same bit or not: both must be right.
    values = [value for value in range(400) if bit(np.int64(value)) == bit(np.int64(1))]
    assert len(values) > 1
    plan = plan_of("SELECT * WHERE A+ AS a ; B+ AS b ; C FILTER a.v = b.v", "automaton")
    events = stream("ababc", v=[values[0], values[1], values[1], values[0], 0])
    expected = sorted(match.identity() for match in find_matches(plan.query, events))
    assert len(expected) == 1
    assert matches_of(plan, [prepare(plan, events)]) == expected


def test_no_subtree_is_walked_that_cannot_agree():
    # 2^60 subsets of the Bs differ from the A; walking them would not end.
    plan = plan_of("SELECT * WHERE A AS a ; B+ AS b ; C FILTER a.v = b.v", "automaton")
    events = stream("a" + "b" * 62 + "c", v=[1, *([2] * 60), 1, 1, 0])
    assert len(matches_of(plan, [prepare(plan, events)])) == 3


def test_an_enumeration_goes_on_where_it_stopped_for_room():
    plan = plan_of("SELECT * WHERE A+ AS a ; B+ AS b ; C FILTER a.v = b.v AND a.w = b.w", "automaton")
    given = prepare(plan, stream("a" * 9 + "b" * 9 + "c", v=[1] * 19, w=[1.0] * 19))
    found = matches_of(plan, [given])
    assert len(found) == len(set(found)) == 511 * 511


@pytest.mark.parametrize("text", TEXTS[1:4])
@pytest.mark.parametrize("number", [2, 3, 7])
def test_slices_under_agreements_are_disjoint_and_complete(text, number):
    plan = plan_of(text, "automaton")
    for seed in list(SEEDS)[:10]:
        pieces = [prepare(plan, drawn(seed, 14))]
        parts = [matches_of(plan, pieces, slices=number, slice_index=index) for index in range(number)]
        assert sorted(match for part in parts for match in part) == matches_of(plan, pieces)
