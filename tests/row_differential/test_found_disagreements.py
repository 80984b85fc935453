"""Disagreements that random clauses have found, kept as small ones with the rows that are right."""

from __future__ import annotations

import warnings

import pyarrow as pa
import pytest

import eventide as et
from eventide.language.sql.statement import parse_statement
from eventide_reference import recognize
from row_differential.checking import comparable

CASES = {
    "a function of a row of another variable is null where that variable has no row": (
        "MEASURES B.v AS m ALL ROWS PER MATCH AFTER MATCH SKIP TO NEXT ROW PATTERN (A? B) DEFINE B AS NULLIF(A.v, 1) <=> 2",
        {"id": [0, 1, 2, 3], "v": [2, 5, 1, 7]},
        [(0, None, 2), (1, 5, 5)],
    ),
    "LEAST of three values stands in a condition on the match so far": (
        "MEASURES COUNT(*) AS n PATTERN (A+) DEFINE A AS LEAST(v, 7, 5) < SUM(v)",
        {"id": [0, 1, 2, 3], "v": [3, 6, 2, 0]},
        [(3,)],
    ),
    "loops that take no row are many when they are written out, and soon planned": (
        "MEASURES MATCH_NUMBER() AS n, COUNT(B.*) AS b PATTERN (((() | B{2,} C) | (B | ())+){1,33})",
        {"id": [0, 1]},
        [(1, 0), (2, 0)],
    ),
    "MIN and MAX order text": (
        "MEASURES MIN(s) AS least, MAX(s) AS most PATTERN (A+)",
        {"id": [0, 1, 2, 3], "s": ["q", None, "Bb", ""]},
        [("", "q")],
    ),
}


def query_of(clauses):
    return f"SELECT * FROM input MATCH_RECOGNIZE (ORDER BY id {clauses})"


def shown(rows):
    return [tuple(map(comparable, row)) for row in rows]


def values(table):
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


@pytest.mark.parametrize("name", CASES)
def test_the_oracle_says_what_is_right(name):
    clauses, columns, right = CASES[name]
    table = pa.table(columns)
    query = parse_statement(query_of(clauses)).clauses[0].query
    assert shown(recognize(query, table.to_pylist(), table.column_names)[1]) == shown(right)


@pytest.mark.parametrize("name", CASES)
def test_the_local_engine_agrees(name):
    clauses, columns, right = CASES[name]
    assert shown(values(et.sql(query_of(clauses), input=pa.table(columns)))) == shown(right)


@pytest.mark.parametrize("name", CASES)
def test_spark_agrees(spark, name):
    clauses, columns, right = CASES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", et.EventideWarning)
        found = et.sql(query_of(clauses), input=spark.createDataFrame(pa.table(columns))).toArrow()
    assert shown(values(found)) == shown(right)


def test_the_search_goes_on_when_the_memory_of_failed_steps_is_full():
    # As many different failed steps as half of the largest memory, and then some; the match is the last word tried.
    rows = 2_200
    clauses = f"""
        MEASURES COUNT(A.*) AS a, COUNT(B.*) AS b PATTERN (^ A+ B+ C)
        DEFINE C AS C.id = {rows - 1} AND COUNT(A.*) = 1
    """
    assert values(et.sql(query_of(clauses), input=pa.table({"id": range(rows)}))) == [(1, rows - 2)]
