"""The identity of a match: the same from tables and streams, however they are cut, and that of no other match."""

from __future__ import annotations

import warnings
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from random import Random

import pyarrow as pa
import pytest

import eventide as et
from eventide.errors import BindError
from eventide.runtime.collect.matches import hashed

START = datetime(2026, 1, 1, tzinfo=UTC)
QUERIES = [
    "SELECT match_id, a.seq AS a, COUNT(b) AS n, SUM(b.seq) AS s WHERE A AS a ; B+ AS b PARTITION BY k WITHIN 9 seconds",
    "SELECT match_id, a.seq AS a, b.seq AS b WHERE (A AS a ; B AS b) OR (B AS a ; A AS b) WITHIN 5 seconds",
    "SELECT match_id, a.seq AS a WHERE A AS a ; B ; NOT C PARTITION BY k WITHIN 6 seconds",
    "SELECT match_id, LAST(b.seq) AS b WHERE A ; B+ AS b PARTITION BY k WITHIN 6 seconds",
    "SELECT match_id, match_start, match_end WHERE A ; B WITHIN 6 seconds",
]


def made_table(seed, size=40):
    rng = Random(seed)
    seconds = sorted(rng.randrange(60) for _ in range(size))
    rows = [
        {"ts": START + timedelta(seconds=second), "seq": number, "kind": rng.choice("ABC"), "k": rng.choice(["p", "qq", None])}
        for number, second in enumerate(seconds)
    ]
    return pa.Table.from_pylist(rows)


def quietly(call):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", et.EventideWarning)
        return call()


def told(rows):
    return sorted((row["match_id"], repr(row)) for row in rows)


@pytest.mark.parametrize("text", QUERIES)
def test_tables_and_streams_tell_the_same_identity(text):
    query = et.query(text)
    for seed in range(4):
        table = made_table(seed)
        roles = {"time": "ts", "type": "kind", "tie_break": "seq"}
        of_table = quietly(lambda table=table, roles=roles: query.match(et.events(table, **roles))).to_pylist()
        rng = Random(seed)
        live = quietly(lambda table=table, roles=roles: query.open(table.schema, lateness="5 seconds", buckets=3, **roles))
        found, place = [], 0
        while place < table.num_rows:
            size = rng.randrange(1, 9)
            found += live.push(table.slice(place, size)).to_pylist()
            place += size
        found += live.finish().to_pylist()
        assert told(found) == told(of_table)
        ids = [row["match_id"] for row in of_table]
        assert len(set(ids)) == len(ids)
        assert all(len(one) == 32 for one in ids)


def test_another_zone_and_other_widths_make_no_other_identity():
    seconds = [datetime(2026, 1, 1, tzinfo=UTC), None]
    there = pa.chunked_array([pa.array(seconds, pa.timestamp("ms", "Europe/Berlin"))])
    here = pa.chunked_array([pa.array(seconds, pa.timestamp("us", "UTC"))])
    assert hashed(here).tolist() == hashed(there).tolist()
    assert hashed(pa.chunked_array([pa.array([1, -1], pa.int8())])).tolist() == hashed(pa.chunked_array([[1, -1]])).tolist()
    assert len(set(hashed(pa.chunked_array([[0.0, -0.0, 1.5, None]])).tolist())) == 3


@pytest.mark.parametrize("values", [["a", "b", "ab", "ba", ""], [b"a", b"\0"], [True, False], [date(2026, 1, 1), date(2026, 1, 2)], [Decimal("1.5"), Decimal("2.5")]])
def test_values_of_all_kinds_are_told_apart(values):
    column = pa.chunked_array([values[:1], values[1:]])
    assert len(set(hashed(column).tolist())) == len(values)
    assert hashed(column.slice(1)).tolist() == hashed(column).tolist()[1:]


def test_a_variable_may_be_called_match_id():
    table = made_table(1)
    rows = quietly(lambda: et.query("SELECT match_id WHERE A AS match_id").match(et.events(table, time="ts", type="kind"))).to_pylist()
    assert isinstance(rows[0]["match_id"], list)


def test_a_column_next_to_that_of_early_output_is_refused():
    with pytest.raises(BindError, match="DUPLICATE_COLUMN"):
        quietly(lambda: et.query(QUERIES[0]).open(made_table(1).schema, time="ts", type="kind", output="early"))
