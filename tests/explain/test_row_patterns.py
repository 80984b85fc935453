from __future__ import annotations

import re

import pyarrow as pa
import pytest

import eventide as et
from eventide.errors import BindError
from tools.support import FEATURES, SAMPLE

TICKS = pa.table({"ts": pa.array([1, 2], pa.timestamp("us")), "price": [1.0, 2.0], "volume": [1, 2]})


def explain(body: str, form: str = "text") -> str:
    return et.statement(f"SELECT * FROM ticks MATCH_RECOGNIZE ({body}) AS m").explain(form, ticks=TICKS)


def section(text: str, title: str) -> list[str]:
    lines = text.splitlines()
    start = lines.index(title) + 1
    end = next((number for number in range(start, len(lines)) if not lines[number].startswith("  ")), len(lines))
    return [line.strip() for line in lines[start:end]]


def define(condition: str, pattern: str = "A B+", measures: str = "COUNT(*) AS n") -> str:
    return explain(f"ORDER BY ts MEASURES {measures} PATTERN ({pattern}) DEFINE B AS {condition}")


def test_an_unknown_format_is_explained():
    with pytest.raises(BindError) as caught:
        explain("ORDER BY ts MEASURES COUNT(*) AS n PATTERN (A)", "dots")
    assert str(caught.value) == "[UNKNOWN_FORMAT] A plan has no format dots.\nHint: Did you mean dot?"


def test_a_statement_without_a_clause_says_so():
    read = et.statement("SELECT * FROM ticks")
    assert read.explain(ticks=TICKS) == "The statement has no MATCH_RECOGNIZE clause; the relational engine runs all of it."
    assert read.explain("mermaid", ticks=TICKS) == "flowchart LR"


def test_the_relational_plan_is_shown():
    assert section(define("B.price > 1"), "relational plan")


def test_a_clause_over_another_names_it():
    inner = "MATCH_RECOGNIZE (ORDER BY ts MEASURES FIRST(ts) AS ts PATTERN (A B))"
    text = et.statement(f"SELECT * FROM ticks {inner}\n{inner} AS m").explain(ticks=TICKS)
    titles = [line for line in text.splitlines() if line.startswith("MATCH_RECOGNIZE")]
    assert titles == ["MATCH_RECOGNIZE 1 of 2, over ticks, line 1", "MATCH_RECOGNIZE 2 of 2, over the result of clause 1, line 2"]


@pytest.mark.parametrize("pattern", ["A B+", "((A+)+ B?)+ C", "(A | A B)+"])
def test_conditions_on_rows_are_walked(pattern):
    text = explain(f"ORDER BY ts MEASURES COUNT(*) AS n PATTERN ({pattern}) DEFINE B AS price > PREV(price, 2) AND NEXT(price) > 3")
    assert section(text, "matcher")[0] == "walk: every condition looks at rows only"
    assert "B  rows: bit 0  price > PREV(price, 2) AND NEXT(price) > 3  neighbours: PREV(price, 2), NEXT(price)" in section(
        text, "conditions"
    )


def test_a_condition_is_cut_at_its_ands():
    assert section(define("volume > 2 AND (price > A.price AND price < 9)"), "conditions") == [
        "A  every row",
        "B  rows: bit 0             volume > 2 AND price < 9",
        "B  match so far: searched  price > A.price           reads LAST(A.price)",
    ]


@pytest.mark.parametrize(
    ("condition", "observed"),
    [
        ("price > A.price", "LAST(A.price)"),
        ("price > FIRST(B.price)", "FIRST(B.price), COUNT(B.*) up to 1"),
        ("price > PREV(FIRST(A.price))", "PREV(FIRST(A.price)), COUNT(A.*) up to 1"),
        ("price > LAST(B.price, 1)", "LAST(B.price)"),
        ("COUNT(B.*) < 5", "COUNT(B.*)"),
        ("COUNT(*) < 5", "COUNT(*)"),
        ("SUM(B.price * 2) < 5", "SUM(B.price * 2)"),
        ("AVG(price) < 5", "AVG(price)"),
        ("LAST(CLASSIFIER(), 1) = 'A'", "LAST(CLASSIFIER())"),
    ],
)
def test_a_search_names_what_equal_states_are_merged_on(condition, observed):
    matcher = section(define(condition), "matcher")
    assert matcher[0].startswith("search: ")
    assert f"equal states are merged on: row, place, {observed}" in matcher


def test_a_match_number_in_a_condition_is_part_of_the_state():
    assert "equal states are merged on: row, place, match number" in section(define("MATCH_NUMBER() < 3"), "matcher")


def test_a_search_that_cannot_merge_says_why():
    assert any(line.startswith("states are not merged") for line in section(define("NEXT(CLASSIFIER(A)) = 'B'"), "matcher"))


def test_many_values_to_merge_on_are_counted():
    condition = " AND ".join(f"price > LAST(A.price, {offset})" for offset in range(20))
    assert any(line.endswith("LAST(A.price, 11) and 8 more") for line in section(define(condition, "A+ B+"), "matcher"))


def test_a_large_automaton_is_cut_off_and_counted():
    assert section(explain("ORDER BY ts MEASURES COUNT(*) AS n PATTERN (A{2,80})"), "automaton")[-1] == "... and 20 further states"


def test_many_moves_are_cut_off_and_counted():
    pattern = " | ".join(f"V{number}" for number in range(30))
    text = explain(f"ORDER BY ts MEASURES COUNT(*) AS n PATTERN ({pattern})")
    assert "... and 10 further moves" in section(text, "automaton")


@pytest.mark.parametrize("form", ["mermaid", "dot"])
def test_a_diagram_of_a_large_automaton_shows_that_it_goes_on(form):
    assert re.search(r"s60 -+>(\|.*\|)? more", explain("ORDER BY ts MEASURES COUNT(*) AS n PATTERN (A{2,80})", form))


def test_places_that_no_match_reaches_are_named():
    lines = section(explain("ORDER BY ts MEASURES COUNT(*) AS n PATTERN (A ^ B | C)"), "automaton")
    assert lines[-1] == "no match leads to some places of: B"
    assert "no move: no match can go on or end here" in lines


def test_a_missing_order_is_a_warning():
    assert section(explain("MEASURES COUNT(*) AS n PATTERN (A)"), "warnings")[0].startswith("MATCH_RECOGNIZE has no ORDER BY")


def test_names_with_quotes_survive_in_diagrams():
    body = 'ORDER BY ts MEASURES COUNT(*) AS n PATTERN (`a "b"`)'
    assert "1: a #quot;b#quot;" in explain(body, "mermaid")
    assert '1: a \\"b\\"' in explain(body, "dot")


def test_running_and_final_are_told_apart_where_they_differ():
    measures = "B.price AS p, FINAL B.price AS q, FINAL COUNT(*) + 1 AS n"
    text = explain(f"ORDER BY ts MEASURES {measures} ALL ROWS PER MATCH PATTERN (A B)")
    assert [line for line in section(text, "output") if "reads" in line] == [
        "p       B.price              reads RUNNING LAST(B.price)",
        "q       FINAL B.price        reads FINAL LAST(B.price)",
        "n       FINAL COUNT(*) + 1   reads FINAL COUNT(*)",
    ]


def test_spark_shows_its_own_plan(spark):
    frame = spark.createDataFrame(TICKS)
    read = et.statement("SELECT * FROM ticks MATCH_RECOGNIZE (PARTITION BY volume ORDER BY ts PATTERN (A B))")
    assert "Sort [" in read.explain(ticks=frame).partition("relational plan")[2]


def test_neighbours_that_the_relational_engine_reads_are_shown_as_its_functions():
    assert section(define("SQRT(PREV(price) + price) > 1"), "conditions")[1].endswith("neighbours: LAG(price, 1)")


@pytest.mark.parametrize("form", ["text", "mermaid", "dot"])
def test_everything_that_is_supported_can_be_explained(form):
    rows = {name: values[:1] for name, values in SAMPLE.items()}
    ticks = pa.table(rows | {"ts": pa.array([1], pa.timestamp("us"))})
    for feature in FEATURES:
        if feature.example:
            assert et.statement(feature.example).explain(form, ticks=ticks)
