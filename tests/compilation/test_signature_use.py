"""No line of the table of signatures is idle: each costs every build a second. A new line needs a use of its kernel here."""

from __future__ import annotations

import random
import warnings

import numpy as np
import pyarrow as pa
import pytest

import eventide as et
from cluster.running import Spread
from eventide.compilation.kernels import BY_NUMBA, PLAIN
from eventide.compilation.library import kernel_names
from eventide.compilation.signatures import read_table
from eventide.errors import EventideWarning
from eventide.index.box_query import count_in_box, rows_in_box
from eventide.index.moving_window import MEMORY_FRIENDLY, SlidingTrees
from eventide.index.tree import insert_all, new_forest
from eventide.index.tree_deletion import delete, drop
from eventide.index.zorder import z_order
from eventide.match.row_pattern.kernel import remember_all
from eventide.match.spread import tries
from match.building import plan_of, stream
from match.disordered import random_events
from match.test_disorder_streams import run_over
from signature_use import noted

pytestmark = pytest.mark.skipif(PLAIN or BY_NUMBA or not kernel_names(), reason="the kernels are not linked: make kernels")

CONDITION = "A AS a ; B AS b FILTER a.v < b.v WITHIN 9 EVENTS"
ABSENCE = "A AS a ; NOT B AS b ; C AS c FILTER a.v < b.v WITHIN 9 EVENTS"
RISING = "A ; B+ AS b ; C FILTER b.v > PREV(b.v) WITHIN 9 EVENTS"
MATCHED = [
    ("A ; B ; C WITHIN 9 EVENTS", "dag"),
    ("A AS a ; B AS b FILTER a.v = b.v WITHIN 9 EVENTS", "dag"),
    ("A ; B+ AS b ; C WITHIN 9 EVENTS SAMPLE 3", None),
    ("A AS a ; NOT B ; C AS c FILTER a.v < c.v WITHIN 9 EVENTS", "recompute"),
    (f"{RISING} SAMPLE 3", None),
    ("A AS a ; B+ AS b ; C FILTER b.v > PREV(b.v) AND a.v < b.v WITHIN 9 EVENTS SAMPLE 3", None),
    *[(text, matcher) for text in (CONDITION, f"{CONDITION} CONSUME BY ANY") for matcher in ("dag", "runs")],
    *[(text, matcher) for text in (CONDITION, ABSENCE) for matcher in ("dag", "recompute")],
]
SELECTED = [
    "SELECT NEXT * WHERE A ; B+ ; C WITHIN 9 EVENTS",
    "SELECT MAX * WHERE A ; B+ ; C WITHIN 9 EVENTS",
    "SELECT SUM(b.v) AS s WHERE A ; B+ AS b ; C WITHIN 9 EVENTS GROUP BY END",
    f"SELECT COUNT(*) AS n WHERE {RISING} GROUP BY END",
]
JUDGED = "A ; B+ AS b ; C AS c FILTER SUM(b.v) > 4 AND c.v < MAX(b.v) + b.v WITHIN 20 EVENTS"
MANY = "A ; B+ AS b ; C FILTER COUNT(b) >= 30"
JUDGED_SELECTS = ("NEXT *", "LAST *", "MAX *", "ANY *", "c.v", "*")
CLAUSES = [
    "MEASURES MAX(B.v) AS m, FIRST(B.v) AS f PATTERN (A B+) DEFINE B AS B.v > PREV(B.v)",
    "MEASURES MAX(B.v) AS m, SUM(B.v) AS s, LAST(B.v) AS f ALL ROWS PER MATCH PATTERN (A B+ C) DEFINE B AS SUM(B.v) < 12",
]
DISORDERED = ["SELECT * WHERE A AS s0 ; B AS s1 WITHIN 8", "SELECT * WHERE A AS s0 ; NOT D AS n ; B AS s1 FILTER n.v < s0.v WITHIN 8"]


def rows(length=60):
    rng = np.random.default_rng(1)
    kinds = np.array(list("ABC"))[rng.integers(0, 3, length)]
    return pa.table({"ts": np.arange(length), "kind": kinds, "v": rng.integers(0, 9, length), "k": rng.integers(0, 2, length)})


def match_tables():
    events = et.events(rows(), time="ts", type="kind")
    for text, matcher in MATCHED:
        et.query(f"SELECT * WHERE {text}").match(events, matcher=matcher)
    for text in SELECTED:
        et.query(text).match(events)
    for select in JUDGED_SELECTS:
        et.query(f"SELECT {select} WHERE {JUDGED} LIMIT 3").match(events)
        et.query(f"SELECT {select} WHERE {JUDGED}").match(events)
    et.query(f"SELECT * WHERE {JUDGED}").count(events)
    long = pa.table({"ts": np.arange(402), "kind": ["A", *["B"] * 400, "C"]})
    et.query(f"SELECT NEXT * WHERE {MANY}").match(et.events(long, time="ts", type="kind"))
    et.query(f"SELECT COUNT(*) AS n WHERE {JUDGED} GROUP BY PARTITION").match(events)
    et.query("SELECT * WHERE A ; B ; C WITHIN 9 EVENTS").count(events)
    for clause in CLAUSES:
        et.sql(f"SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts {clause})", t=rows())


def match_streams():
    live = et.query(f"SELECT * WHERE {CONDITION}").open({"ts": int, "kind": str, "v": int}, time="ts", type="kind", matcher="runs")
    live.push(rows().drop_columns("k"))
    _ = live.progress
    live = et.query(f"SELECT * WHERE {ABSENCE}").open({"ts": int, "kind": str, "v": int}, time="ts", type="kind", matcher="dag")
    for begin in (0, 30):
        live.push(rows().drop_columns("k").slice(begin, 30))
    statement = "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts MEASURES B.v AS m PATTERN (A B+) WITHIN INTERVAL '5' SECOND DEFINE B AS B.v > 1)"
    pushed = rows().set_column(0, "ts", rows()["ts"].cast(pa.timestamp("s")).cast(pa.timestamp("us")))
    et.statement(statement).open(pushed.schema).push(pushed)
    for text in DISORDERED:
        draw = random.Random(1)
        run_over(plan_of(text), random_events(draw, "ABCD", 30, 20), draw, 3)


def spread_matches(monkeypatch):
    monkeypatch.setattr(tries, "FIRST_BRANCHES", 4)
    for way in ("two_choices", "least_loaded", "maximal"):
        text = "SELECT * WHERE A AS a ; B+ AS b ; C AS c FILTER a.v <= b.v"
        Spread(text, stream("ababbcabcbc", v=[1, 2] * 5 + [1])).tasks(way, 3)


def index_events():
    rng = np.random.default_rng(1)
    points = rng.integers(0, 99, (300, 2)).astype(np.uint64)
    box = np.array([[0, 0], [99, 99], [0, 0]], np.uint64)
    z_order(points)
    forest = insert_all(new_forest(1, 2), np.zeros(300, np.int64), points, np.arange(300))
    assert count_in_box(forest, 0, box) == rows_in_box(forest, 0, box, np.empty(300, np.int64)) == 300
    delete(forest, 0, points, 0, 0)
    drop(forest, 0)
    trees = SlidingTrees(1, 2, 20, 3, MEMORY_FRIENDLY)
    trees.insert(np.zeros(9, np.int64), points[:9], np.arange(9))
    trees.query(0, 9, box)


def remember_failures():
    """More searches that failed than there is room for: their table is doubled."""
    remember_all(np.zeros((4, 3), np.uint64), np.zeros(1, np.int64), np.zeros((8, 3), np.uint64))


def test_each_line_of_the_table_is_used(monkeypatch):
    with noted() as used, warnings.catch_warnings():
        warnings.simplefilter("ignore", EventideWarning)
        for work in (match_tables, match_streams, index_events, remember_failures):
            work()
        spread_matches(monkeypatch)
    idle = {f"{one.module}.{one.function}" for number, one in enumerate(read_table()) if number not in used}
    assert not idle
