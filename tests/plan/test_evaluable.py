"""What only the engine can judge is said before a run, at its place in the query."""

from __future__ import annotations

import pyarrow as pa
import pytest

import eventide as et
from eventide.errors import BindError

EVENTS = et.events(
    pa.schema({"ts": pa.int64(), "kind": pa.string(), "x": pa.float64(), "name": pa.string()}).empty_table(), time="ts", type="kind"
)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * WHERE A AS a FILTER a.x LIKE 'x%'",
        "SELECT substring(a.x) WHERE A AS a",
        "SELECT substring(SUM(a.x)) WHERE A AS a",
        "SELECT * WHERE A AS a ; B AS b FILTER abs(a.name) = b.name",
        "SELECT * WHERE A AS a ; NOT B AS b ; A FILTER nosuch(b.x) > 3",
        "SELECT * WHERE A AS a ; B AS b FILTER nosuch(a.x, b.x) > 3",
        "SELECT a.x.y WHERE A AS a",
        "SELECT a.x, nosuch(kind) WHERE A AS a PARTITION BY kind",
    ],
)
def test_an_expression_that_the_engine_refuses_is_underlined(text):
    with pytest.raises(BindError) as caught:
        et.query(text).check(EVENTS)
    assert caught.value.condition == "BAD_EXPRESSION"
    assert caught.value.span is not None


@pytest.mark.parametrize(
    "text",
    [
        "SELECT round(AVG(a.x), 2) AS x, upper(FIRST(a.name)) AS n, COUNT(*) + length(kind) AS l WHERE A+ AS a PARTITION BY kind WITHIN 5",
        "SELECT * WHERE A AS a ; B AS b FILTER levenshtein(a.name, b.name) < 3 AND length(a.name) < length(b.name)",
        "SELECT * WHERE A AS a ; NOT B AS b ; A FILTER upper(b.name) = upper(a.name)",
    ],
)
def test_functions_that_the_engine_knows_are_taken(text):
    et.query(text).check(EVENTS)
