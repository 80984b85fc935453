"""What stands between the parentheses of MATCH_RECOGNIZE becomes a RowQuery."""

from __future__ import annotations

import pytest
from sqlglot import exp

from eventide.errors import ParseError, Span
from eventide.language.sql.expressions import PATTERN_FUNCTIONS
from eventide.language.sql.match_recognize import parse_match_recognize as parse
from eventide.pattern.row_patterns import RowQuery, RowsPerMatch, Skip, SkipTo, SortKey, Subset, Variable, primary_variables
from eventide.pattern.sequences import Name

SECOND = 1_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE


def condition(text: str) -> str:
    return parse(f"PATTERN (A B+ `c d`) SUBSET U = (A, B) DEFINE B AS {text}").definitions[0].condition.sql


def measure(text: str) -> str:
    return parse(f"MEASURES {text} AS m PATTERN (A B+) SUBSET U = (A, B)").measures[0].expression.sql


def test_all_clauses_are_read() -> None:
    query = parse(
        "PARTITION BY k, `k 2` ORDER BY ts DESC, id MEASURES LAST(B.x) AS x ALL ROWS PER MATCH AFTER MATCH SKIP TO NEXT ROW "
        "PATTERN (A B+) WITHIN 5 MINUTES SUBSET U = (A, B) DEFINE A AS x > 1, B AS x < 1"
    )
    assert query.partition_by == (Name("k"), Name("k 2"))
    assert query.order_by == (SortKey(Name("ts"), descending=True, nulls_first=False), SortKey(Name("id")))
    assert [(item.name, item.expression.sql) for item in query.measures] == [("x", "LAST(B.x)")]
    assert query.rows_per_match is RowsPerMatch.ALL_SHOW_EMPTY
    assert query.skip == Skip(SkipTo.NEXT_ROW)
    assert primary_variables(query.pattern) == ["A", "B"]
    assert query.within == 5 * MINUTE
    assert query.subsets == (Subset("U", (Name("A"), Name("B"))),)
    assert [(item.variable, item.condition.sql) for item in query.definitions] == [("A", "x > 1"), ("B", "x < 1")]


def test_only_the_pattern_is_needed() -> None:
    assert parse("PATTERN (A)") == RowQuery(pattern=Variable("A"))


def test_the_case_of_keywords_does_not_matter() -> None:
    text = "PARTITION BY k ORDER BY t MEASURES A.x AS x ONE ROW PER MATCH AFTER MATCH SKIP TO LAST A PATTERN (A) DEFINE A AS TRUE"
    assert parse(text.lower()) == parse(text)


def test_comments_and_strings_hide_keywords() -> None:
    query = parse("/* PATTERN (Z) */ PATTERN (A) -- DEFINE A AS FALSE\n DEFINE A AS x = 'WITHIN 5 MINUTES) DEFINE'")
    assert query.definitions[0].condition.sql == "x = 'WITHIN 5 MINUTES) DEFINE'"


def test_initial_is_the_default() -> None:
    assert parse("INITIAL PATTERN (A)") == parse("PATTERN (A)")


def test_columns_may_be_called_like_clauses() -> None:
    query = parse(
        "PARTITION BY pattern, within ORDER BY measures, define DESC MEASURES A.pattern AS pattern, LAST(subset) AS within, "
        "initial + 1 AS define PATTERN (A initial) DEFINE A AS pattern > within AND NOT subset, initial AS measures"
    )
    assert [name.text for name in query.partition_by] == ["pattern", "within"]
    assert [key.column.text for key in query.order_by] == ["measures", "define"]
    assert [item.name for item in query.measures] == ["pattern", "within", "define"]
    assert [item.variable for item in query.definitions] == ["A", "INITIAL"]


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("a", SortKey(Name("a"))),
        ("a ASC", SortKey(Name("a"))),
        ("a desc", SortKey(Name("a"), descending=True, nulls_first=False)),
        ("a NULLS LAST", SortKey(Name("a"), nulls_first=False)),
        ("a DESC NULLS FIRST", SortKey(Name("a"), descending=True, nulls_first=True)),
        ("t.a ASC NULLS FIRST", SortKey(Name("a"))),
        ("`a b`", SortKey(Name("a b"))),
    ],
)
def test_order_by_takes_direction_and_nulls(text: str, key: SortKey) -> None:
    assert parse(f"ORDER BY {text} PATTERN (A)").order_by == (key,)


@pytest.mark.parametrize(
    ("text", "mode"),
    [
        ("ONE ROW PER MATCH", RowsPerMatch.ONE),
        ("ALL ROWS PER MATCH", RowsPerMatch.ALL_SHOW_EMPTY),
        ("ALL ROWS PER MATCH SHOW EMPTY MATCHES", RowsPerMatch.ALL_SHOW_EMPTY),
        ("ALL ROWS PER MATCH OMIT EMPTY MATCHES", RowsPerMatch.ALL_OMIT_EMPTY),
        ("all rows per match with unmatched rows", RowsPerMatch.ALL_WITH_UNMATCHED),
    ],
)
def test_rows_per_match(text: str, mode: RowsPerMatch) -> None:
    assert parse(f"{text} PATTERN (A)").rows_per_match is mode


@pytest.mark.parametrize(
    ("text", "skip"),
    [
        ("PAST LAST ROW", Skip()),
        ("TO NEXT ROW", Skip(SkipTo.NEXT_ROW)),
        ("TO FIRST a", Skip(SkipTo.FIRST, Name("A"))),
        ("TO LAST u", Skip(SkipTo.LAST, Name("U"))),
        ("TO B", Skip(SkipTo.LAST, Name("B"))),
        ("TO LAST", Skip(SkipTo.LAST, Name("LAST"))),
        ("TO FIRST `row`", Skip(SkipTo.FIRST, Name("row"))),
    ],
)
def test_after_match_skip(text: str, skip: Skip) -> None:
    assert parse(f"AFTER MATCH SKIP {text} PATTERN (A B LAST `row`) SUBSET U = (A, B)").skip == skip


@pytest.mark.parametrize(
    ("text", "microseconds"),
    [
        ("30 MINUTES", 30 * MINUTE),
        ("1 hour", HOUR),
        ("2 hours 30 minutes", 150 * MINUTE),
        ("INTERVAL '10' MINUTE", 10 * MINUTE),
        ("INTERVAL 10 MINUTES", 10 * MINUTE),
        ("INTERVAL '1 hour 30 minutes'", 90 * MINUTE),
        ("INTERVAL '01:30' HOUR TO MINUTE", 90 * MINUTE),
        ("INTERVAL '1 02:30:04.5' DAY TO SECOND", 26 * HOUR + 30 * MINUTE + 4_500_000),
        ("interval '2:03' minute to second", 123 * SECOND),
        ("INTERVAL '1.5' SECOND", 1_500_000),
    ],
)
def test_within_takes_intervals_and_durations(text: str, microseconds: int) -> None:
    query = parse(f"PATTERN (A) WITHIN {text} DEFINE A AS TRUE")
    assert query.within == microseconds
    assert query.within_span == Span(12, 12 + len("WITHIN ") + len(text))


def test_the_pattern_needs_no_parentheses() -> None:
    short = parse("PATTERN A T* B T* C WITHIN 30 MINUTES DEFINE A AS x > 1")
    assert short == parse("PATTERN (A T* B T* C) WITHIN 30 MINUTES DEFINE A AS x > 1")


def test_a_column_of_a_variable_names_its_measure() -> None:
    query = parse("MEASURES A.ID, b.`total price`, `c d`.x PATTERN (A B `c d`)")
    assert [item.name for item in query.measures] == ["A_ID", "B_total price", "c d_x"]


def test_quoted_names_keep_their_spelling() -> None:
    query = parse('PATTERN (a `a` "b c") SUBSET `u` = (A, `a`) DEFINE `a` AS `a`.x > A.x, "b c" AS `b c`.x > 1')
    assert primary_variables(query.pattern) == ["A", "a", "b c"]
    assert query.subsets[0] == Subset("u", (Name("A"), Name("a")))
    assert [item.variable for item in query.definitions] == ["a", "b c"]
    assert query.definitions[0].condition.sql == "a.x > A.x"


def test_a_quoted_variable_is_found_without_quotes_when_only_case_differs() -> None:
    query = parse("PATTERN (`Up`+) DEFINE up AS up.x > 1")
    assert query.definitions[0].variable == "Up"
    assert query.definitions[0].condition.sql == "Up.x > 1"


@pytest.mark.parametrize(
    ("text", "sql"),
    [
        ("b.price > a.Price", "B.price > A.Price"),
        ("price > 3", "price > 3"),
        ("z.price > 3", "z.price > 3"),
        ("u.price > 3", "U.price > 3"),
        ("`c d`.price > 3", "`c d`.price > 3"),
        ("prev(b.price, 2) > next(price)", "PREV(B.price, 2) > NEXT(price)"),
        ("First(b.price) > last(a.price, 1)", "FIRST(B.price) > LAST(A.price, 1)"),
        ("PREV(FIRST(a.price, 1), 2) > 1", "PREV(FIRST(A.price, 1), 2) > 1"),
        ("classifier() = 'A'", "CLASSIFIER() = 'A'"),
        ("classifier(u) = 'A'", "CLASSIFIER(U) = 'A'"),
        ("match_number() > 1", "MATCH_NUMBER() > 1"),
        ("count(*) > 1", "COUNT(*) > 1"),
        ("count(b.*) > 1", "COUNT(B.*) > 1"),
        ("avg(b.price + 1) > 1", "AVG(B.price + 1) > 1"),
        ("b.items[0].name = 'x'", "B.items[0].name = 'x'"),
        ("items[0] = 1", "items[0] = 1"),
        ("b.place.x.y > 1", "B.place.x.y > 1"),
        ("exists(b.items, x -> x > 1)", "EXISTS(B.items, x -> x > 1)"),
        ("b.ts < a.ts + INTERVAL '5' MINUTE", "B.ts < A.ts + INTERVAL '5' MINUTE"),
        ("b.price ≤ 3", "B.price <= 3"),
        ("running > 1 AND final IN (1, 2)", "running > 1 AND final IN (1, 2)"),
        ("first > 1", "`first` > 1"),
    ],
)
def test_expressions_have_one_form(text: str, sql: str) -> None:
    assert condition(text) == sql


@pytest.mark.parametrize(
    ("text", "sql"),
    [
        ("FINAL LAST(a.x)", "FINAL(LAST(A.x))"),
        ("running sum(a.x) / final count(*)", "RUNNING(SUM(A.x)) / FINAL(COUNT(*))"),
        ("FINAL u.x", "FINAL(U.x)"),
        ("FINAL x", "FINAL(x)"),
        ("PREV(FINAL LAST(a.x, 2), 3)", "PREV(FINAL(LAST(A.x, 2)), 3)"),
        (
            "CASE WHEN RUNNING COUNT(a.*) > 1 THEN FINAL FIRST(b.x) ELSE 0 END",
            "CASE WHEN RUNNING(COUNT(A.*)) > 1 THEN FINAL(FIRST(B.x)) ELSE 0 END",
        ),
        ("NOT FINAL LAST(a.x)", "NOT FINAL(LAST(A.x))"),
        ("FINAL AVG(a.x + LEAST(b.y, 1))", "FINAL(AVG(A.x + LEAST(B.y, 1)))"),
    ],
)
def test_running_and_final_become_calls(text: str, sql: str) -> None:
    assert measure(text) == sql


@pytest.mark.parametrize(
    "name", ["START", "END", "ALL", "CASE", "NOT", "FIRST", "LAST", "NEXT", "FINAL", "ROWS", "SELECT", "NULL"]
)
def test_a_variable_may_be_called_like_a_keyword_of_sql(name: str) -> None:
    text = f"{name}.x > 1 AND LAST({name}.x) > PREV({name}.x) AND COUNT({name}.*) > 1 AND CLASSIFIER({name}) = 'A'"
    tree = parse(f"PATTERN (A {name}) DEFINE {name} AS {text}").definitions[0].condition.tree
    assert [column.table or column.name for column in tree.find_all(exp.Column)] == [name] * 5
    parse(f"MEASURES FINAL LAST({name}.x) AS x, RUNNING {name}.x AS y PATTERN (A {name})")


def test_pattern_functions_are_anonymous_and_know_their_place() -> None:
    text = (
        "MEASURES prev(first(a.x)) AS m, final last(a.x) AS n, classifier() AS c, match_number() AS d, next(x) AS e PATTERN (A)"
    )
    query = parse(text, 0, text)
    functions = [node for item in query.measures for node in item.expression.tree.find_all(exp.Anonymous)]
    assert {node.this for node in functions} == PATTERN_FUNCTIONS - {"RUNNING"}
    for node in functions:
        assert text[node.meta["start"] : node.meta["end"] + 1].upper() == node.this


def test_identifiers_know_their_place_in_the_whole_text() -> None:
    body = "PATTERN (A B) DEFINE B AS /* why */ b.price > a.price"
    text = f"SELECT 1 FROM t MATCH_RECOGNIZE ({body})"
    tree = parse(body, text.index(body), text).definitions[0].condition.tree
    places = [text[node.meta["start"] : node.meta["end"] + 1] for node in tree.find_all(exp.Identifier)]
    assert sorted(places) == ["a", "b", "price", "price"]


def test_spans_point_at_what_was_written() -> None:
    text = "PARTITION BY t.k MEASURES A.x + 1 AS x AFTER MATCH SKIP TO B PATTERN (A B) SUBSET U = (A) DEFINE B AS x > 1"
    query = parse(text)
    spans = [
        query.partition_by[0].span,
        query.measures[0].span,
        query.measures[0].expression.span,
        query.skip.variable.span,
        query.subsets[0].span,
        query.subsets[0].members[0].span,
        query.definitions[0].span,
        query.definitions[0].condition.span,
    ]
    written = ["t.k", "A.x + 1 AS x", "A.x + 1", "B", "U = (A)", "A", "B AS x > 1", "x > 1"]
    assert [text[span.start : span.end] for span in spans] == written


def test_columns_may_only_be_qualified_by_the_input() -> None:
    assert parse("PARTITION BY T.k PATTERN (A)", input_names=["t"]).partition_by == (Name("k"),)
    with pytest.raises(ParseError):
        parse("PARTITION BY u.k PATTERN (A)", input_names=["t"])


def test_a_deep_expression_is_refused() -> None:
    with pytest.raises(ParseError) as caught:
        parse("PATTERN (A) DEFINE A AS 0 < " + "- " * 5_000 + "x")
    assert caught.value.condition == "QUERY_TOO_DEEP"


def test_many_definitions_are_read() -> None:
    names = [f"V{number}" for number in range(500)]
    query = parse(f"PATTERN ({' '.join(names)}) DEFINE " + ", ".join(f"{name} AS {name}.x > 1" for name in names))
    assert len(query.definitions) == 500
