"""Tables of unusual shape and queries of unusual size."""

from __future__ import annotations

import pyarrow as pa
import pytest

import eventide as et
from bad_input.tables import match, pairs, table
from eventide.errors import BindError, EventideError


def test_an_empty_table_has_no_matches_but_all_columns():
    found = et.query("SELECT a.x AS x, COUNT(*) AS n WHERE A AS a ; B").match(
        et.events(table([1, 2]).slice(0, 0), time="ts", type="kind")
    )
    assert found.to_pydict() == {"x": [], "n": []}
    assert found.schema.types == [pa.int64(), pa.int64()]


@pytest.mark.parametrize("sign", [";", ":", "~>"])
def test_a_table_of_irrelevant_events_has_no_matches(sign):
    assert match(table([1, 2, 3], "ZZZ"), f"SELECT * WHERE A {sign} B") == []


def test_equal_rows_are_different_events():
    assert pairs(table([1, 1, 2, 2], "AABB", ts=[1, 1, 2, 2])) == [(1, 2)] * 4


def test_the_order_of_rows_does_not_matter_when_times_differ():
    rows = table([1, 2, 3, 4, 5], "AABBC")
    shuffled = rows.take([3, 0, 4, 2, 1])
    assert sorted(pairs(shuffled)) == sorted(pairs(rows))


def test_rows_of_equal_time_are_ordered_by_tie_break_then_by_arrival():
    data = table([1, 2], "BA", ts=[7, 7], order=[2, 1])
    assert pairs(data) == []
    assert pairs(data, tie_break="order") == [(2, 1)]


def test_a_missing_tie_break_comes_first():
    assert pairs(table([1, 2], "BA", ts=[7, 7], order=[2, None]), tie_break="order") == [(2, 1)]


@pytest.mark.parametrize(
    "name",
    ["t", "m", "w", "h", "p0", "k0", "s0", "v0", "o0", "c0", "found", "stream0", "rowid", "match_start", "Upper", "SELECT", "with space",
     'dou"ble', "sin'gle", "back`tick", "a.b", "é", "50%", "{x}", "semi;colon", "--", "?", ":x", "$1"],
)  # fmt: skip
def test_a_column_may_have_any_name(name):
    data = pa.table({"ts": [0, 1], "kind": ["A", "B"], name: [1, 2]})
    column = "`" + name.replace("`", "``") + "`"
    found = match(
        data,
        f"SELECT a.{column} AS first, SUM(b.{column}) AS total, b WHERE A AS a ; B AS b "
        f"FILTER a.{column} < b.{column} AND a.{column} > 0 LIMIT 5",
    )
    assert found == [{"first": 1, "total": 2, "b": [{"ts": 1, "kind": "B", name: 2}]}]


@pytest.mark.parametrize("name", ["t", "m", "k0", "with space", 'dou"ble', "back`tick", "Upper"])
def test_a_key_may_have_any_name(name):
    data = pa.table({"ts": [0, 1, 2], "kind": ["A", "B", "B"], name: [1, 1, 2]})
    column = "`" + name.replace("`", "``") + "`"
    found = match(data, f"SELECT {column}, COUNT(*) AS n WHERE A ; B PARTITION BY {column} WITHIN 5")
    assert found == [{name: 1, "n": 2}]


@pytest.mark.parametrize("name", ["__et_time", "__et_clock", "__ET_type", "__et_anything"])
def test_names_that_eventide_uses_itself_are_refused(name):
    with pytest.raises(BindError, match=r"\[RESERVED_COLUMN\]"):
        pairs(table([1, 2], **{name: [1, 2]}))


def test_columns_that_differ_in_case_only_are_refused():
    with pytest.raises(BindError, match=r"\[AMBIGUOUS_COLUMN\] The columns x and X differ"):
        pairs(table([1, 2], X=[3, 4]))


def test_columns_of_one_name_are_refused():
    data = pa.table([[0, 1], ["A", "B"], [1, 2], [3, 4]], names=["ts", "kind", "x", "x"])
    with pytest.raises(BindError, match=r"\[AMBIGUOUS_COLUMN\] The events have several columns x"):
        pairs(data)


def test_a_table_without_columns_is_refused():
    with pytest.raises(BindError, match=r"\[MISSING_COLUMN\]"):
        match(pa.table({}), "SELECT * WHERE A")


def test_numbers_can_be_types():
    data = pa.table({"ts": [0, 1], "kind": [1, 2], "x": [5, 6]})
    assert match(data, "SELECT a.x AS x WHERE `1` AS a ; `2`") == [{"x": 5}]


def test_a_query_of_100_000_characters_runs():
    condition = " OR ".join(f"a.x = {number}" for number in range(8000))
    assert len(condition) > 100_000
    assert pairs(table([7, 8]), f"FILTER ({condition})") == [(7, 8)]


def test_a_pattern_of_100_000_characters_runs():
    pattern = " OR ".join(["A"] * 25_000)
    assert len(pattern) > 100_000
    assert len(match(table([7, 8]), f"SELECT * WHERE ({pattern}) ; B")) == 1


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * WHERE " + "(" * 500 + "A" + ")" * 500 + " ; B",
        "SELECT * WHERE " + "(" * 500 + "A" + " ; B)" * 500,
        "SELECT * WHERE " + "(" * 500 + "A" + ")+" * 500 + " WITHIN 5 events",
        "SELECT * WHERE A AS a FILTER " + "(" * 500 + "a.x > 0" + ")" * 500,
        "SELECT * WHERE A AS a FILTER " + "NOT (" * 500 + "a.x > 0" + ")" * 500,
        "SELECT * WHERE A AS a ; B AS b FILTER " + "(a.x + " * 500 + "b.x" + ")" * 500 + " > 0",
        "SELECT " + "abs(" * 500 + "a.x" + ")" * 500 + " AS x WHERE A AS a",
    ],
    ids=["parentheses", "sequences", "loops", "condition", "negations", "sum", "functions"],
)
def test_500_nested_levels_run_or_give_a_clear_error(text):
    assert outcome(text) in ("matches", "hint")


def outcome(text: str) -> str:
    try:
        match(table([1, 2]), text)
    except EventideError as error:
        return "hint" if error.hint else str(error)
    return "matches"


def test_data_may_come_in_many_pieces():
    rows = table(list(range(10)), "ABABABABAB")
    pieces = pa.concat_tables([rows.slice(number, 1) for number in range(10)] + [rows.slice(0, 0)])
    assert pairs(pieces) == pairs(rows)
