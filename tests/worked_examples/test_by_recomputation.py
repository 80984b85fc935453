"""The worked examples and the queries of Kammoun 2019, 3.2 and 3.8, through recomputation."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import eventide as et
from eventide.datasets import cards, stocks
from eventide_reference import find_matches
from harness.case_files import CASES, read_file

QUERY_1 = """
    PATTERN SEQ(Stock a, Stock+ b[], Stock c)
    WHERE skip_till_any_match(a, b[], c) {
        [company] AND a.price < b.price AND b.price < NEXT(b.price) AND c.price < FIRST(b.price) }
    WITHIN %s"""
QUERY_2 = """
    PATTERN SEQ(Card a, Card+ b[])
    WHERE skip_till_any_match(a, b[]) { [card] AND a.amount >= b.amount * 5 AND b.amount > NEXT(b.amount) %s }
    WITHIN %s"""
QUERY_3 = """
    PATTERN SEQ(Activity a, Activity+ b[])
    WHERE skip_till_any_match(a, b[]) {
        [person] AND a.rate * 2 < b.rate AND b.rate < NEXT(b.rate) AND b.state = 'passive' }
    WITHIN %s"""


def numbers(values, *times):
    """Return events of one type with a value each."""
    times = times or range(1, len(values) + 1)
    return et.events(pa.table({"ts": list(times), "kind": ["T"] * len(values), "v": values}), time="ts", type="kind")


def bound(table, name):
    return [tuple(event["v"] for event in row[name]) for row in table.to_pylist()]


def regions_found(more="", window=10):
    table = next(case.table for case in read_file(CASES / "sase" / "02_literature.txt") if "Fig. 2.4" in case.name)
    query = f"""
        PATTERN SEQ(E{{3,}} b[], E c)
        WHERE skip_till_any_match(b[], c) {{ [region] AND b.volume < NEXT(b.volume) AND c.pressure <= 1 {more} }}
        WITHIN {window} ms"""
    return et.query(query).match(et.events(table, time="time", type="type", time_unit="ms"), matcher="recompute").num_rows


def test_figure_2_4_counts_every_rising_run_before_a_fall_in_pressure():
    assert regions_found() == 240


def test_figure_2_4_counts_those_that_rise_to_the_end():
    assert regions_found("AND c.volume > LAST(b.volume)") == 239


@pytest.mark.parametrize("more", ["", "AND c.volume > LAST(b.volume)"])
def test_figure_2_4_counts_fewer_in_a_window_of_nine(more):
    assert regions_found(more, 9) == 141


def test_example_2_leaves_to_each_step_what_the_trigger_and_the_highest_price_allow():
    prices = [0, 3, 7, 18, 5, 12, 17, 6]
    query = "SELECT * WHERE T AS a ; T+ AS b ; T AS c FILTER a.v < b.v AND b.v < NEXT(b.v) AND c.v < FIRST(b.v)"
    with pytest.warns(et.EventideWarning, match="neither WITHIN nor LIMIT"):
        found = et.query(query).match(numbers(prices), matcher="recompute")
    last = [row for row in found.to_pylist() if row["match_end"] == 8]
    assert {event["v"] for row in last for event in row["b"]} == {7, 18, 12, 17}
    assert {event["v"] for row in last for event in row["a"]} == {0, 3, 7, 5, 12}


FALLING = [30, 25, 50, 40, 22, 15, 21]


def test_example_3_joins_an_event_with_all_later_ones_that_it_exceeds():
    found = et.query("SELECT * WHERE T AS o ; T AS i FILTER o.v > i.v").match(numbers(FALLING), matcher="recompute")
    pairs = {(row["o"][0]["ts"], row["i"][0]["ts"]) for row in found.to_pylist() if row["o"][0]["ts"] <= 4}
    assert pairs == {(1, 2), (1, 5), (1, 6), (1, 7), (2, 5), (2, 6), (2, 7), (3, 4), (3, 5), (3, 6), (3, 7), (4, 5), (4, 6), (4, 7)}


def test_example_4_finds_eleven_falling_chains_behind_the_first_event():
    query = "SELECT * WHERE T AS a ; T+ AS b FILTER a.v > b.v AND b.v > NEXT(b.v) WITHIN 10"
    found = et.query(query).match(numbers(FALLING), matcher="recompute").filter(pa.compute.field("match_start") == 1)
    chains = sorted(bound(found, "b"))
    assert chains == sorted([(25,), (22,), (15,), (21,), (25, 22), (25, 15), (25, 21), (22, 15), (22, 21), (25, 22, 15), (25, 22, 21)])


def test_table_b_1_writes_all_combinations_of_three_events():
    found = et.query("SELECT * WHERE T+ AS b WITHIN 10").match(numbers([1, 2, 3]), matcher="recompute")
    assert sorted(bound(found, "b")) == [(1,), (1, 2), (1, 2, 3), (1, 3), (2,), (2, 3), (3,)]


def activities(size, seed):
    rng = np.random.default_rng(seed)
    return pa.table({
        "ts": np.cumsum(rng.integers(0, 3, size)),
        "kind": ["Activity"] * size,
        "person": rng.integers(0, 2, size),
        "rate": rng.integers(40, 200, size),
        "state": rng.choice(["passive", "passive", "active"], size),
    })  # fmt: skip


def counted(table):
    """Return the table with its order as the time, and amounts as cents: Kammoun 2019, 3.8 takes whole numbers modulo 17."""
    columns = {name: table[name] for name in table.column_names if name != "ts"}
    if "amount" in columns:
        columns["amount"] = pa.array([round(100 * amount) for amount in table["amount"].to_pylist()])
    return pa.table({"ts": range(table.num_rows), **columns})


# Small windows: the oracle looks at every combination of the events in them.
CANONICAL = {
    "query 1": (QUERY_1 % 8, lambda seed: counted(stocks(24, companies=2, seed=seed))),
    "query 1 in sliding windows": (QUERY_1 % "9 SLIDE 4", lambda seed: counted(stocks(24, companies=2, seed=seed))),
    "query 2": (QUERY_2 % ("", 8), lambda seed: counted(cards(24, cards=2, seed=seed, fraud=0.6))),
    "query 2 of multiples of 17": (QUERY_2 % ("AND a.amount % 17 = 0", 7), lambda seed: counted(cards(30, cards=1, seed=seed, fraud=0.5))),
    "query 3": (QUERY_3 % 6, lambda seed: activities(24, seed)),
}


@pytest.mark.parametrize("name", CANONICAL)
def test_a_canonical_query_finds_what_the_oracle_finds(name):
    text, make = CANONICAL[name]
    query, total = et.query(text), 0
    for seed in range(8):
        table = make(seed)
        found = query.match(et.events(table, time="ts", type="kind"), matcher="recompute")
        rows = [{**row, "type": row["kind"], "time": row["ts"]} for row in table.to_pylist()]
        assert found.num_rows == len(find_matches(query.model, rows))
        assert found.num_rows == query.match(et.events(table, time="ts", type="kind"), matcher="automaton").num_rows
        total += found.num_rows
    assert total
