"""Disagreements that random queries have found and that no case file can tell: errors, and inputs that are made."""

from __future__ import annotations

import pyarrow as pa
import pytest

import eventide as et
from eventide.errors import BindError


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * WHERE A AS a ~> B AS b FILTER a.s < b.s",
        "SELECT a WHERE A AS a ; B AS b FILTER a.s < b.s",
    ],
)
def test_a_condition_that_only_rows_decide_is_refused_where_it_would_change_the_matches(text):
    table = pa.table({"ts": [1, 2], "kind": ["A", "B"], "s": ["p", "q"]})
    with pytest.raises(BindError, match="OPAQUE_CONDITION"):
        et.query(text).match(et.events(table, time="ts", type="kind"))


@pytest.mark.parametrize("kinds", ["CBB", "BCB", "BBC"])
def test_events_without_the_key_that_a_condition_compares_are_equal_to_nothing(kinds):
    query = "SELECT * WHERE B AS x1 AND (B AS x2 AND C AS x3) FILTER x1.k = x2.k AND x2.k = x3.k PARTITION BY k"
    for key, number in ((None, 0), (1, 2)):
        table = pa.table({"ts": [1, 2, 3], "kind": list(kinds), "k": pa.array([key] * 3, pa.int64())})
        assert et.query(query).match(et.events(table, time="ts", type="kind")).num_rows == number


def test_the_search_goes_on_when_the_memory_of_failed_steps_is_full():
    # As many different failed steps as half of the largest memory, and then some; the match is the last word tried.
    rows = 2_200
    clauses = f"""
        ORDER BY id MEASURES COUNT(A.*) AS a, COUNT(B.*) AS b PATTERN (^ A+ B+ C)
        DEFINE C AS C.id = {rows - 1} AND COUNT(A.*) = 1
    """
    found = et.sql(f"SELECT * FROM input MATCH_RECOGNIZE ({clauses})", input=pa.table({"id": range(rows)}))
    assert found.to_pylist() == [{"a": 1, "b": rows - 2}]
