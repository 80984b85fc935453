"""Windows of several words of bits, where the oracle would take too long: the automaton is the judge."""

from __future__ import annotations

import os

import numpy as np
import pytest

from eventide.match.recompute import search
from match.building import matches_of, plan_of, prepare, stream

SLOW = os.environ.get("NUMBA_DISABLE_JIT") == "1"
LENGTH = 90 if SLOW else 400

QUERIES = [
    "SELECT * WHERE A AS a ; B AS b ; C AS c FILTER a.v < b.v AND b.v < c.v AND a.w >= c.w WITHIN 150 events",
    "SELECT * WHERE A AS a ; A{1,2} AS b ; A AS c FILTER a.v = b.v AND b.v = c.v AND b.w < NEXT(b.w) WITHIN 120 events",
    "SELECT * WHERE A+ AS a ; B AS b FILTER a.v = b.v AND a.w < NEXT(a.w) WITHIN 140 events",
    "SELECT * WHERE A AS a ; A{2,3} AS b FILTER a.v = b.v AND b.w > FIRST(b.w) WITHIN 130",
    "SELECT * WHERE A{1,2} AS a ; NOT C AS x ; B{1,2} AS b FILTER a.v = b.v AND LAST(a.w) < FIRST(b.w) AND x.v = b.v WITHIN 90 events",
    "SELECT * WHERE A AS a ; NOT C ; B{2} AS b ; C AS c FILTER a.v + b.v = 2 * c.v AND b.w <= NEXT(b.w) AND LAST(b.w) > c.w WITHIN 70 events",
    "SELECT * WHERE A? AS a ; B{0,2} AS b ; C AS c FILTER a.v = c.v AND b.v = c.v AND b.w < NEXT(b.w) WITHIN 150 events",
]


def events_of(types, values, seed):
    rng = np.random.default_rng(seed)
    kinds = rng.choice(list(types), LENGTH)
    return stream(
        " ".join(f"{kind}{time}" for time, kind in enumerate(kinds)),
        keys=rng.integers(0, 2, LENGTH).tolist(),
        v=rng.integers(0, values, LENGTH).tolist(),
        w=rng.random(LENGTH).round(3).tolist(),
    )


@pytest.mark.parametrize("rows", [0, 1 << 14, 1 << 26])
@pytest.mark.parametrize("text", QUERIES)
@pytest.mark.parametrize("keyed", [False, True])
def test_rows_of_several_words_find_what_the_automaton_finds(text, rows, keyed, monkeypatch):
    monkeypatch.setattr(search, "MOST_ROW_BYTES", rows)
    text = text.replace(" WITHIN", " PARTITION BY key WITHIN") if keyed else text
    events = events_of("aabbc" if "B" in text else "a", 40, len(text))
    plan = plan_of(text, "recompute")
    given = prepare(plan, events).interleaved()
    found = matches_of(plan, [given])
    assert found == matches_of(plan_of(text, "automaton"), [given])
    assert matches_of(plan, given.cut(LENGTH // 5, LENGTH // 2)) == found
    assert found or SLOW
