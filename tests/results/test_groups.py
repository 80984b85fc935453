"""GROUP BY: what is computed of all matches, exactly and without listing them."""

from __future__ import annotations

import warnings
from fractions import Fraction
from random import Random

import pyarrow as pa
import pytest

import eventide as et
from eventide.errors import EventideWarning
from eventide.match.totals import neighbouring


def doubling(size: int) -> et.Events:
    """Return A, then so many B, then C: every non-empty set of the B is a match of A ; B+ ; C."""
    kinds = ["A", *["B"] * size, "C"]
    rng = Random(size)
    table = {
        "ts": range(len(kinds)),
        "kind": kinds,
        "x": [rng.randint(-9, 9) for _ in kinds],
        "y": [rng.random() for _ in kinds],
        "k": [1] * len(kinds),
    }
    return et.events(pa.table(table), time="ts", type="kind")


def only_row(text: str, events: et.Events) -> dict[str, object]:
    """Return the one row of a result."""
    rows = et.query(text).match(events).to_pylist()
    assert len(rows) == 1
    return rows[0]


@pytest.mark.parametrize("size", [1, 10, 60, 61, 62, 200, 300])
def test_counts_and_sums_are_exact_at_any_size(size: int) -> None:
    events = doubling(size)
    row = only_row(
        "SELECT COUNT(*) AS n, COUNT(b) AS m, SUM(b.x) AS s, AVG(b.x) AS a, SUM(b.y) AS t "
        "WHERE A ; B+ AS b ; C GROUP BY PARTITION",
        events,
    )
    table = events.relation.table.to_pydict()
    half = 2 ** (size - 1)
    assert row["n"] == str(2**size - 1)
    assert row["m"] == str(size * half)
    assert row["s"] == str(half * sum(table["x"][1:-1]))
    assert row["a"] == float(Fraction(sum(table["x"][1:-1]), size))
    assert row["t"] == float(half * sum(map(Fraction, table["y"][1:-1])))


def test_two_hundred_doublings_are_what_count_says() -> None:
    events = doubling(200)
    row = only_row("SELECT COUNT(*) AS n WHERE A ; B+ AS b ; C GROUP BY PARTITION", events)
    assert row["n"] == et.query("SELECT * WHERE A ; B+ AS b ; C").count(events)["matches"][0].as_py() == str(2**200 - 1)


def test_windows_of_large_counts_are_exact() -> None:
    kinds = ["B"] * 400
    events = et.events(pa.table({"ts": range(400), "kind": kinds}), time="ts", type="kind")
    rows = et.query("SELECT match_end, COUNT(*) AS n WHERE B+ AS b WITHIN 99 GROUP BY END").match(events).to_pylist()
    # A match that ends at i is i and any set of the 99 events before it.
    assert [row["n"] for row in rows] == [str(2 ** min(row["match_end"], 99)) for row in rows]


def test_rising_values_are_counted_without_listing_them() -> None:
    events = et.events(pa.table({"ts": range(200), "kind": ["B"] * 200, "x": range(200)}), time="ts", type="kind")
    text = "SELECT COUNT(*) AS n, MAX(b.x) AS top WHERE B+ AS b FILTER b.x < NEXT(b.x) GROUP BY PARTITION"
    with warnings.catch_warnings():
        warnings.simplefilter("error", EventideWarning)
        row = only_row(text, events)
        counted = et.query("SELECT * WHERE B+ AS b FILTER b.x < NEXT(b.x)").count(events)
    assert row == {"n": str(2**200 - 1), "n_approx": float(2**200 - 1), "top": 199}
    assert counted["matches"].to_pylist() == [str(2**200 - 1)]


def test_pairs_of_events_are_judged_once_however_many_passes_the_keys_need(monkeypatch: pytest.MonkeyPatch) -> None:
    # A few, more than fit in 64 bits, and more than that: each group of keys has passes of its own, the last one several.
    sizes = {1: 3, 2: 70, 3: 150, 4: 5}
    rows = [(at, kind, key, at) for key, size in sizes.items() for at, kind in enumerate(["A", *["B"] * size, "C"])]
    table = pa.table(dict(zip(("ts", "kind", "k", "x"), map(list, zip(*rows, strict=True)), strict=True)))
    judged = []
    judge_all = neighbouring.judge_all
    monkeypatch.setattr(neighbouring, "judge_all", lambda *given: (judged.append(1), judge_all(*given)))
    text = "SELECT k, COUNT(*) AS n, MIN(b.x) AS low WHERE A ; B+ AS b ; C FILTER b.x < NEXT(b.x) PARTITION BY k GROUP BY PARTITION"
    found = et.query(text).match(et.events(table, time="ts", type="kind")).to_pylist()
    assert {row["k"]: (row["n"], row["low"]) for row in found} == {key: (str(2**size - 1), 1) for key, size in sizes.items()}
    assert len(judged) == 1


def test_sums_beyond_the_doubles_keep_their_digits() -> None:
    events = et.events(pa.table({"ts": range(1100), "kind": ["B"] * 1100}), time="ts", type="kind")
    row = only_row("SELECT COUNT(*) AS n, AVG(b.ts) AS mean WHERE B+ AS b GROUP BY PARTITION", events)
    assert row == {"n": str(2**1100 - 1), "n_approx": float("inf"), "mean": 549.5}


def test_keys_without_matches_count_nothing() -> None:
    table = pa.table({"ts": [1, 2, 3], "kind": ["A", "B", "A"], "k": ["x", "x", "y"], "v": [1, 2, 3]})
    found = et.query("SELECT k, COUNT(*) AS n, SUM(b.v) AS s, MIN(b.v) AS low WHERE A ; B AS b PARTITION BY k GROUP BY PARTITION")
    rows = found.match(et.events(table, time="ts", type="kind")).to_pylist()
    assert rows == [
        {"k": "x", "n": "1", "n_approx": 1.0, "s": "2", "s_approx": 2.0, "low": 2},
        {"k": "y", "n": "0", "n_approx": 0.0, "s": None, "s_approx": None, "low": None},
    ]


def test_no_events_are_one_group_without_a_key_and_none_with() -> None:
    empty = pa.table({"ts": pa.array([], pa.int64()), "kind": pa.array([], pa.string()), "k": pa.array([], pa.int64())})
    events = et.events(empty, time="ts", type="kind")
    assert only_row("SELECT COUNT(*) AS n, MAX(b.ts) AS t WHERE A ; B AS b GROUP BY PARTITION", events)["n"] == "0"
    for group in ("PARTITION", "END", "WINDOW 5"):
        keyed = f"SELECT k, COUNT(*) AS n WHERE A ; B AS b PARTITION BY k GROUP BY {group}"
        assert et.query(keyed).match(events).num_rows == 0


def test_decimals_add_up_exactly() -> None:
    prices = pa.array([1, 2, 3], pa.int64()).cast(pa.decimal128(19, 0)).cast(pa.decimal128(19, 2)).cast(pa.decimal128(10, 2))
    table = pa.table({"ts": [1, 2, 3], "kind": ["B"] * 3, "p": prices})
    row = only_row("SELECT SUM(b.p) AS s, AVG(b.p) AS a WHERE B+ AS b GROUP BY PARTITION", et.events(table, time="ts", type="kind"))
    assert row == {"s": "24.00", "s_approx": 24.0, "a": 2.0}


def test_what_needs_every_match_warns_before_it_runs() -> None:
    events = doubling(5)
    text = "SELECT COUNT(*) AS n WHERE A AS a ; B+ AS b ; C AS c FILTER b.x < c.x WITHIN 99 GROUP BY PARTITION"
    with pytest.warns(EventideWarning, match="GROUP BY enumerates every match here, because b.x < c.x relates events"):
        et.query(text).match(events)


def test_explain_says_which_way_is_taken() -> None:
    linear = et.query("SELECT COUNT(*) AS n WHERE A ; B+ AS b GROUP BY END").explain()
    near = et.query("SELECT COUNT(*) AS n WHERE A ; B+ AS b FILTER b.x < NEXT(b.x) GROUP BY END").explain()
    far = et.query("SELECT COUNT(*) AS n WHERE A AS a ; B+ AS b ; C AS c FILTER b.x < c.x GROUP BY END").explain()
    assert "linear: " in linear
    assert "polynomial: " in near
    assert "enumeration: " in far


@pytest.mark.parametrize("sizes", [((70, 1), (70, 2**62), (3, 1)), ((1100, 1), (200, 1), (3, 1))])
def test_keys_that_need_different_numbers_of_digits_add_up_in_one_group(sizes: tuple[tuple[int, int], ...]) -> None:
    rows = [
        {"kind": kind, "id": number, "v": value}
        for number, (size, value) in enumerate(sizes)
        for kind in ("A", *["B"] * size, "C")
    ]
    table = pa.Table.from_pylist([{"ts": place, **row} for place, row in enumerate(rows)])
    row = only_row(
        "SELECT COUNT(*) AS n, SUM(b.v) AS s WHERE A AS a ; B+ AS b ; C AS c "
        "FILTER a.id = b.id AND b.id = c.id AND a.id = c.id GROUP BY PARTITION",
        et.events(table, time="ts", type="kind"),
    )
    assert row["n"] == str(sum(2**size - 1 for size, _ in sizes))
    assert row["s"] == str(sum(value * size * 2 ** (size - 1) for size, value in sizes))
