"""Expressions that are written without sqlglot's dialect say what sqlglot would have written."""

import duckdb
import pyarrow as pa
import pytest
from sqlglot import exp, parse_one

import eventide as et
from eventide.runtime.relational.dialect import DuckDialect
from eventide.runtime.relational.plain_sql import plain_sql, quoted_name, quoted_text

TEXTS = ("", "a", "it's", "''", "back\\slash", "\\'", 'say "so"', "two\nlines", "é€😀", "%_", "$1", "--", "/* */")
PLAIN = (
    "v > 0.5",
    "v < w AND w <= 3 OR NOT kind = 'A'",
    "(v + 1) * (w - 2) >= 10",
    "v - (w - 1) <> 4",
    "`V` = 3",
    "v = 1e3",
    "kind <> 'it\\'s'",
    "NOT (v = 1 OR w = 2) AND kind > 'B'",
)
OTHERS = ("v / 2", "v % 2", "upper(kind) = 'A'", "CAST(v AS BIGINT) = 1", "t.v = 1", "v <=> w", "v = 2L", "-v = 1", "v IN (1, 2)")
ROWS = "(VALUES (1, 2, 'A'), (3, 4, 'B'), (NULL, 3, 'C'), (1000, 0, NULL), (7, 9, 'it''s')) AS r(v, w, kind)"


@pytest.mark.parametrize("text", PLAIN)
def test_it_means_the_same(text):
    tree = parse_one(text, dialect="spark")
    written = plain_sql(tree)
    assert written is not None
    connection = duckdb.connect()
    expected, found = (
        connection.sql(f"SELECT {sql} FROM {ROWS}").fetchall() for sql in (tree.sql(dialect="duckdb"), written)
    )
    assert found == expected


@pytest.mark.parametrize("text", OTHERS)
def test_what_differs_between_dialects_is_left_to_sqlglot(text):
    tree = parse_one(text, dialect="spark")
    assert plain_sql(tree) is None
    assert DuckDialect().sql(tree) == tree.sql(dialect="duckdb")


@pytest.mark.parametrize("text", TEXTS)
def test_names_and_texts_are_those_of_sqlglot(text):
    assert quoted_text(text) == exp.Literal.string(text).sql(dialect="duckdb")
    assert quoted_name(text) == exp.to_identifier(text, quoted=True).sql(dialect="duckdb")
    assert duckdb.connect().sql(f"SELECT {quoted_text(text)}").fetchall() == [(text,)]


def test_long_chains_are_left_to_sqlglot():
    assert plain_sql(parse_one(" AND ".join(["v = 1"] * 500))) is None


def test_neighbours_take_the_place_of_plain_names():
    rows = pa.table({"n": [1, 2, 3, 4], "t": [1, 1, 5, 9], "w": [0.5, 2.5, 1.0, 1.0]})
    clause = "ORDER BY n MEASURES D.n AS d PATTERN (B D) DEFINE D AS (NEXT(D.t) + PREV(D.w)) > 7.0"
    # Of the second row 5 + 0.5, of the third 9 + 2.5; the fourth has no next one.
    assert et.sql(f"SELECT * FROM rows MATCH_RECOGNIZE ({clause})", rows=rows)["d"].to_pylist() == [3]
