"""MATCH_RECOGNIZE may stand wherever a table may, and leaves a table of a known name there."""

from __future__ import annotations

import pytest
from sqlglot import exp

from eventide.language import parse_statement

CLAUSE = "MATCH_RECOGNIZE (ORDER BY ts MEASURES A.x AS x PATTERN (A B+ $) DEFINE B AS B.x > PREV(B.x) AND y <> ')')"


def outer(text: str) -> str:
    return parse_statement(text.replace("<M>", CLAUSE)).tree.sql(dialect="spark")


def inputs(text: str) -> list[tuple[str, str | None]]:
    clauses = parse_statement(text.replace("<M>", CLAUSE)).clauses
    assert [clause.name for clause in clauses] == [f"__et_match_{number}" for number in range(len(clauses))]
    return [(clause.input.sql(dialect="spark"), clause.input_alias) for clause in clauses]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT * FROM t <M> AS m", "SELECT * FROM __et_match_0 AS m"),
        ("SELECT * FROM t <M> m WHERE m.x > 1;", "SELECT * FROM __et_match_0 AS m WHERE m.x > 1"),
        ("SELECT * FROM t <M> LIMIT 3", "SELECT * FROM __et_match_0 LIMIT 3"),
        ("SELECT * FROM t <M> AS m(p, q)", "SELECT * FROM __et_match_0 AS m(p, q)"),
        ("SELECT * FROM t <M> AS `m 1`", "SELECT * FROM __et_match_0 AS `m 1`"),
        ("SELECT * FROM t <M> AS m JOIN u ON m.x = u.x", "SELECT * FROM __et_match_0 AS m JOIN u ON m.x = u.x"),
        ("SELECT * FROM u LEFT JOIN t <M> AS m USING (x)", "SELECT * FROM u LEFT JOIN __et_match_0 AS m USING (x)"),
        ("SELECT * FROM u, t <M> AS m", "SELECT * FROM u CROSS JOIN __et_match_0 AS m"),
        ("SELECT * FROM (t <M> AS m JOIN u ON m.x = u.x)", "SELECT * FROM (__et_match_0 AS m JOIN u ON m.x = u.x)"),
        ("SELECT * FROM (SELECT x FROM t <M>) AS s", "SELECT * FROM (SELECT x FROM __et_match_0) AS s"),
        ("SELECT * FROM u WHERE x IN (SELECT x FROM t <M>)", "SELECT * FROM u WHERE x IN (SELECT x FROM __et_match_0)"),
        ("SELECT * FROM u WHERE EXISTS (SELECT 1 FROM t <M> m)", "SELECT * FROM u WHERE EXISTS(SELECT 1 FROM __et_match_0 AS m)"),
        ("SELECT (SELECT MAX(x) FROM t <M>) AS top", "SELECT (SELECT MAX(x) FROM __et_match_0) AS top"),
        ("WITH c AS (SELECT * FROM t <M> m) SELECT * FROM c", "WITH c AS (SELECT * FROM __et_match_0 AS m) SELECT * FROM c"),
        ("SELECT x FROM t <M> UNION ALL SELECT x FROM u <M>", "SELECT x FROM __et_match_0 UNION ALL SELECT x FROM __et_match_1"),
        (
            "SELECT * FROM t <M> m LATERAL VIEW EXPLODE(m.xs) e AS y",
            "SELECT * FROM __et_match_0 AS m LATERAL VIEW EXPLODE(m.xs) e AS y",
        ),
        ("SELECT * FROM t <M> m PIVOT(SUM(x) FOR y IN (1, 2))", "SELECT * FROM __et_match_0 AS m PIVOT(SUM(x) FOR y IN (1, 2))"),
        ("SELECT /*+ BROADCAST(m) */ * FROM t <M> m", "SELECT /*+ BROADCAST(m) */ * FROM __et_match_0 AS m"),
        ("FROM t <M> AS m SELECT x", "SELECT x FROM __et_match_0 AS m"),
        ("(SELECT * FROM t <M> m)", "(SELECT * FROM __et_match_0 AS m)"),
        ("SELECT * FROM t <M> AS m <M> AS n", "SELECT * FROM __et_match_1 AS n"),
    ],
)
def test_a_clause_may_stand_wherever_a_table_may(text: str, expected: str) -> None:
    assert outer(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT * FROM t <M>", [("t", None)]),
        ("SELECT * FROM a.b.t AS z <M>", [("a.b.t AS z", "z")]),
        ("SELECT * FROM `t 1` <M>", [("`t 1`", None)]),
        ("SELECT * FROM (SELECT * FROM t) <M>", [("(SELECT * FROM t)", None)]),
        ("SELECT * FROM (SELECT * FROM t) AS s <M>", [("(SELECT * FROM t) AS s", "s")]),
        ("SELECT * FROM (t JOIN u USING (x)) <M>", [("(t JOIN u USING (x))", None)]),
        ("SELECT * FROM VALUES (1, 2), (3, 4) AS t(a, b) <M>", [("VALUES (1, 2), (3, 4) AS t(a, b)", "t")]),
        ("SELECT * FROM (VALUES (1, 2), (3, 4)) AS t(a, b) <M>", [("VALUES (1, 2), (3, 4) AS t(a, b)", "t")]),
        ("SELECT * FROM (VALUES (1, 2) AS t(a, b) <M> AS m)", [("VALUES (1, 2) AS t(a, b)", "t")]),
        ("SELECT * FROM RANGE(10) <M>", [("RANGE(10)", None)]),
        ("SELECT * FROM RANGE(10) AS r <M>", [("RANGE(10) AS r", "r")]),
        ("SELECT * FROM t TABLESAMPLE (10 PERCENT) <M>", [("t TABLESAMPLE (10 PERCENT)", None)]),
        ("SELECT * FROM t VERSION AS OF 3 <M>", [("t VERSION AS OF 3", None)]),
        ("SELECT * FROM t <M> AS m <M> AS n", [("t", None), ("__et_match_0 AS m", "m")]),
        ("SELECT * FROM t <M> <M>", [("t", None), ("__et_match_0", None)]),
        ("SELECT * FROM (SELECT * FROM t <M> AS i) AS s <M>", [("t", None), ("(SELECT * FROM __et_match_0 AS i) AS s", "s")]),
    ],
)
def test_the_input_of_a_clause_is_what_it_stands_over(text: str, expected: list[tuple[str, str | None]]) -> None:
    assert inputs(text) == expected


@pytest.mark.parametrize(
    "text", ["SELECT 1", "SELECT * FROM t", "VALUES (1)", "WITH c AS (SELECT 1) SELECT * FROM c", "SELECT 1 -- one\n;"]
)
def test_a_query_without_a_clause_is_read(text: str) -> None:
    assert parse_statement(text).clauses == ()


def test_the_name_of_the_clause_may_be_an_alias() -> None:
    assert outer("SELECT * FROM t AS match_recognize (a, b)") == "SELECT * FROM t AS match_recognize(a, b)"


def test_strings_and_comments_do_not_begin_a_clause() -> None:
    text = "SELECT 'MATCH_RECOGNIZE (', `MATCH_RECOGNIZE (` /* MATCH_RECOGNIZE ( /* ( */ */ FROM t -- MATCH_RECOGNIZE (\n<M> AS m"
    assert [name for name, _ in inputs(text)] == ["t /* MATCH_RECOGNIZE ( */"]


def test_the_keyword_may_be_written_in_any_case() -> None:
    assert (
        parse_statement(f"SELECT * FROM t {CLAUSE.lower()} m").clauses[0].query
        == parse_statement(f"SELECT * FROM t {CLAUSE} m").clauses[0].query
    )


def test_a_clause_knows_its_place() -> None:
    text = f"SELECT * FROM t {CLAUSE} AS m"
    statement = parse_statement(text)
    span = statement.clauses[0].span
    assert text[span.start : span.end] == CLAUSE
    (table,) = statement.tree.find_all(exp.Table)
    assert text[table.this.meta["start"] : table.this.meta["end"] + 1] == "MATCH_RECOGNIZE"


def test_columns_of_the_clause_may_be_qualified_by_the_alias_of_its_input() -> None:
    clause = "MATCH_RECOGNIZE (PARTITION BY {0}.k ORDER BY {0}.ts PATTERN (A))"
    for source, name in [("t", "t"), ("a.b.t", "t"), ("t AS z", "z"), ("(SELECT 1) AS s", "s")]:
        query = parse_statement(f"SELECT * FROM {source} {clause.format(name)}").clauses[0].query
        assert query.partition_by[0].text == "k"


def test_many_clauses_are_read() -> None:
    text = " UNION ALL ".join([f"SELECT * FROM t {CLAUSE}"] * 20)
    assert len(parse_statement(text).clauses) == 20
