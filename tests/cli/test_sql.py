"""SQL with MATCH_RECOGNIZE on the command line: real files in, rows out."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from eventide.cli import app
from eventide.console.sql import is_sql
from eventide.sources.files import read_table

runner = CliRunner()
TICKS = pa.table(
    {
        "ts": pa.array([0, 1, 2, 60, 61], pa.int64()).cast(pa.timestamp("s", tz="UTC")).cast(pa.timestamp("us", tz="UTC")),
        "symbol": ["X", "X", "X", "Y", "Y"],
        "price": [5.0, 3.0, 4.0, 1.0, 2.0],
    }
)
QUERY = """
SELECT * FROM ticks MATCH_RECOGNIZE (
    PARTITION BY symbol ORDER BY ts
    MEASURES A.price AS low, LAST(UP.price) AS high
    PATTERN (A UP+)
    DEFINE UP AS UP.price > PREV(UP.price)
) AS m ORDER BY symbol
"""
FOUND = [{"symbol": "X", "low": 3.0, "high": 4.0}, {"symbol": "Y", "low": 1.0, "high": 2.0}]


@pytest.fixture
def files(tmp_path):
    """Give a query in a file and its table in another, as arguments."""
    (tmp_path / "query.sql").write_text(QUERY)
    pq.write_table(TICKS, tmp_path / "ticks.parquet")
    return (str(tmp_path / "query.sql"), "--table", f"ticks={tmp_path / 'ticks.parquet'}")


def invoke(*arguments: str, **options):
    result = runner.invoke(app, list(arguments), **options)
    assert "Traceback" not in result.output
    return result


def rows_in(text: str) -> list[dict]:
    return [json.loads(line) for line in text.splitlines()]


def test_run_writes_the_rows_as_json_lines(files):
    result = invoke("run", *files, "-o", "-", "--output-format", "json")
    assert result.exit_code == 0
    assert rows_in(result.stdout) == FOUND


def test_run_shows_a_table_and_counts_rows(files):
    result = invoke("run", *files, "--limit-rows", "1")
    assert result.stdout.startswith("Rows\n")
    assert "... 1 more" in result.stdout
    assert result.stderr.startswith("2 rows in ")


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_run_writes_a_file_in_the_format_of_its_suffix(files, tmp_path, suffix):
    target = tmp_path / f"found.{suffix}"
    result = invoke("run", *files, "-o", str(target))
    assert read_table(str(target)).to_pylist() == FOUND
    assert f"written to {target}" in result.stderr


def test_run_reads_the_query_from_standard_input(files):
    assert "2 rows" in invoke("run", "-", *files[1:], input=QUERY).stderr


def test_run_reads_csv(tmp_path):
    (tmp_path / "ticks.csv").write_text("ts,symbol,price\n2024-01-02T00:00:00Z,X,1\n2024-01-02T00:00:10Z,X,2\n")
    query = QUERY.replace("DEFINE", "WITHIN 10 SECONDS DEFINE")
    assert "1 row in" in invoke("run", query, "--table", f"ticks={tmp_path / 'ticks.csv'}").stderr


def test_several_tables_are_given_by_name(files, tmp_path):
    pq.write_table(pa.table({"symbol": ["X"], "name": ["Xavier"]}), tmp_path / "names.parquet")
    query = QUERY.replace("SELECT *", "SELECT n.name, m.high").replace(
        "AS m ORDER BY symbol", "AS m JOIN names AS n ON m.symbol = n.symbol"
    )
    result = invoke(
        "run", query, *files[1:], "--table", f"names={tmp_path / 'names.parquet'}", "-o", "-", "--output-format", "json"
    )
    assert rows_in(result.stdout) == [{"name": "Xavier", "high": 4.0}]


def test_sql_without_a_clause_needs_a_table_or_the_language(files):
    assert "1 row in" in invoke("run", "SELECT COUNT(*) AS n FROM ticks", *files[1:]).stderr
    assert "1 row in" in invoke("run", "SELECT 1 AS one", "--language", "SQL").stderr


def test_inline_values_need_no_table():
    query = "SELECT * FROM VALUES (1), (2) AS t(x) MATCH_RECOGNIZE (ORDER BY x MEASURES COUNT(*) AS n PATTERN (A+))"
    assert rows_in(invoke("run", query, "-o", "-", "--output-format", "json").stdout) == [{"n": 2}]


def test_check_says_that_sql_is_well_formed():
    result = invoke("check", QUERY)
    assert result.exit_code == 0
    assert "--table NAME=FILE" in result.stderr


def test_check_shows_the_columns_of_the_result(files):
    result = invoke("check", *files)
    assert result.exit_code == 0
    assert "high" in result.stdout
    assert "The query fits the tables." in result.stderr


@pytest.mark.parametrize("form", ["text", "mermaid", "dot"])
def test_explain_draws_the_plan(files, form):
    result = invoke("explain", *files, "--format", form)
    assert result.exit_code == 0
    assert {"text": "PATTERN (A UP+)", "mermaid": "-->", "dot": "digraph"}[form] in result.stdout


def test_a_warning_is_shown_beside_the_rows(files):
    result = invoke("run", QUERY.replace("ORDER BY ts\n", "\n"), *files[1:])
    assert result.exit_code == 0
    assert result.stderr.startswith("Warning: MATCH_RECOGNIZE has no ORDER BY")


def test_run_stops_with_exit_code_4_above_the_caps(files):
    many = invoke("run", *files, "--max-matches", "1")
    assert (many.exit_code, many.stdout) == (4, "")
    assert "[TOO_MANY_MATCHES]" in many.stderr


def test_a_wrong_column_has_its_place_and_a_hint(files):
    result = invoke("run", QUERY.replace("A.price", "A.prise"), *files[1:])
    assert result.exit_code == 2
    assert "^^^^^^^" in result.stderr
    assert "Did you mean price?" in result.stderr


def test_a_missing_table_is_asked_for_as_an_option(files):
    result = invoke("run", QUERY.replace("FROM ticks", "FROM tiks"), *files[1:])
    assert result.exit_code == 2
    assert "Hint: Did you mean ticks? Give it a file: --table tiks=FILE." in result.stderr


@pytest.mark.parametrize(
    ("options", "hint"),
    [
        (("--data", "x.parquet"), "--table NAME=x.parquet"),
        (("--stream", "S=x.parquet"), "--table S=x.parquet"),
        (("--time", "ts"), "ORDER BY"),
        (("--type", "kind"), "DEFINE"),
        (("--tie-break", "seq"), "ORDER BY"),
        (("--time-unit", "ms"), "ORDER BY"),
        (("--count",), "COUNT(*)"),
        (("--slices", "2"), "PARTITION BY"),
        (("--matcher", "runs"), "explain"),
        (("--table", "x.parquet"), "--table trades=trades.parquet"),
        (("--table", "ticks=x.parquet"), "--table ticks_2=x.parquet"),
        (("--table", "spark=x.parquet"), "--table spark_2=x.parquet"),
    ],
)
def test_an_option_that_does_not_fit_sql_says_what_to_write(files, options, hint):
    result = invoke("run", *files, *options)
    assert result.exit_code == 2
    assert "[BAD_OPTION]" in result.stderr
    assert hint in result.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "condition"),
    [
        (("run", QUERY, "--table", "ticks=missing.parquet"), 3, "FILE_NOT_FOUND"),
        (("run", QUERY, "--table", "ticks=missing.parquet", "--engine", "spark"), 3, "FILE_NOT_FOUND"),
        (("run", QUERY), 2, "UNKNOWN_TABLE"),
        (("explain", QUERY), 2, "UNKNOWN_TABLE"),
        (("check", "SELECT * FROM t MATCH_RECOGNIZE (PATTERN (A)"), 2, "UNBALANCED_PARENTHESIS"),
        (("check", "SELECT * FROM S WHERE A ; B", "--language", "ceql", "--table", "S=x.csv"), 2, "BAD_OPTION"),
    ],
)
def test_a_mistake_has_its_exit_code_and_condition(arguments, code, condition):
    result = invoke(*arguments)
    assert (result.exit_code, result.stdout) == (code, "")
    assert f"[{condition}]" in result.stderr


@pytest.mark.parametrize(
    ("text", "sql"),
    [
        ("SELECT * FROM t match_recognize (PATTERN (A $))", True),
        ("SELECT * FROM t WHERE A ; B", False),
        ("SELECT * FROM t WHERE `MATCH_RECOGNIZE` ; B", False),
        ("SELECT * FROM t WHERE A FILTER A[x = 'MATCH_RECOGNIZE (']", False),
        ("SELECT * FROM t WHERE A -- MATCH_RECOGNIZE (", False),
        ("SELECT 'open MATCH_RECOGNIZE (", False),
    ],
)
def test_sql_is_recognised_by_its_words(text, sql):
    assert is_sql(text, None, None) is sql


def test_spark_finds_the_same_rows(spark, files):
    result = invoke("run", *files, "--engine", "spark", "-o", "-", "--output-format", "json")
    assert rows_in(result.stdout) == FOUND


def test_spark_reads_tables_of_its_catalog(spark, files):
    spark.createDataFrame(TICKS).createOrReplaceTempView("ticks")
    try:
        result = invoke("run", files[0], "--engine", "spark")
    finally:
        spark.catalog.dropTempView("ticks")
    assert "2 rows in" in result.stderr
