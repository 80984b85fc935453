"""Expressions: short forms, positions, and what is refused."""

from __future__ import annotations

import pytest
from sqlglot import exp

from eventide.errors import ParseError
from eventide.language.reading.expressions import parse_condition, parse_expression
from eventide.pattern.expressions import conjunction, conjuncts


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        ("x[price < 3]", "x.price < 3"),
        ("x[price < 3 OR size > 1] AND y.z", "(x.price < 3 OR x.size > 1) AND y.z"),
        ("NOT x[price < 3]", "NOT (x.price < 3)"),
        ("x[price] = y[price]", "x.price = y.price"),
        ("x[items[0] > 3]", "x.items[0] > 3"),
        ("x[price > y.price]", "x.price > y.price"),
        ("x.items[0] > 3", "x.items[0] > 3"),
        ("x[position].lat", "x.position.lat"),
        ("x.position.lat", "x.position.lat"),
        ("b[].price", "b.price"),
        ("b[i].price > b[i-1].price", "b.price > PREV(b.price)"),
        ("b[i + 1].price", "NEXT(b.price)"),
        ("b[1].price < b[last].price", "FIRST(b.price) < LAST(b.price)"),
        ("next(b.price) - prev(b.price)", "NEXT(b.price) - PREV(b.price)"),
        ("count(b[])", "COUNT(b)"),
        ("COUNT(*)", "COUNT(*)"),
        ("within.x + `limit`.y", "`within`.x + `limit`.y"),
        ("`a`.`b`", "a.b"),
        ("exists(a.items, e -> e > 3)", "EXISTS(a.items, e -> e > 3)"),
        ("a.x -- because", "a.x"),
        ("price < 3", "price < 3"),
    ],
)
def test_a_short_form_is_written_out(written: str, plain: str) -> None:
    assert parse_expression(written).sql == plain


def test_a_pattern_function_is_an_anonymous_function_in_capitals() -> None:
    tree = parse_expression("next(b.x)").tree
    assert isinstance(tree, exp.Anonymous)
    assert tree.this == "NEXT"


def test_a_struct_field_hangs_below_the_attribute() -> None:
    tree = parse_expression("a.position.lat").tree
    assert isinstance(tree, exp.Dot)
    assert (tree.this.table, tree.this.name) == ("a", "position")


def test_a_whole_variable_is_a_column_without_a_table() -> None:
    column = parse_expression("COUNT(b)").tree.find(exp.Column)
    assert column is not None
    assert (column.table, column.name) == ("", "b")


@pytest.mark.parametrize(
    "expression", ["a.price < b[i-1].price", "x[price] = /* note */ y[price]", "b[].price\n  > a.`odd name`"]
)
def test_identifiers_know_their_place_in_the_query(expression: str) -> None:
    source = f"SELECT * WHERE A FILTER {expression} WITHIN 5"
    condition = parse_condition(expression, source.index(expression), source)
    identifiers = list(condition.tree.find_all(exp.Identifier))
    assert identifiers
    for identifier in identifiers:
        written = source[identifier.meta["start"] : identifier.meta["end"] + 1]
        assert written.strip("`") == identifier.name


def test_the_span_covers_the_expression_without_blanks() -> None:
    span = parse_condition("  a.x > 1 ", 10, " " * 30).span
    assert span is not None
    assert (span.start, span.end) == (12, 19)


def test_conjuncts_and_conjunction_are_inverse() -> None:
    condition = parse_condition("a.x > 1 AND (a.y OR a.z) AND a.t BETWEEN 1 AND 2")
    assert conjunction(conjuncts(condition)) == condition


def test_a_long_conjunction_is_not_deep() -> None:
    parts = [parse_condition(f"a.x > {number}") for number in range(1000)]
    assert len(conjuncts(conjunction(parts))) == 1000
    depth, level = 0, [conjunction(parts).tree]
    while level:
        depth, level = depth + 1, [child for node in level for child in node.iter_expressions()]
    assert depth < 20


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("", "BAD_EXPRESSION"),
        ("a.x; b.y", "BAD_EXPRESSION"),
        ("a.x >", "BAD_EXPRESSION"),
        ("(SELECT 1)", "BAD_EXPRESSION"),
        ("a.x = 'open", "UNTERMINATED_STRING"),
        ("a.x = $1", "UNEXPECTED_CHARACTER"),
        ("(" * 100 + "a.x" + ")" * 100, "QUERY_TOO_DEEP"),
        ("NOT " * 3000 + "a.x", "QUERY_TOO_DEEP"),
    ],
)
def test_what_cannot_be_read_is_a_parse_error(text: str, condition: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse_expression(text)
    assert caught.value.condition == condition
    assert caught.value.hint
