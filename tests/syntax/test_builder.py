"""Patterns written in Python equal those written as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from eventide.errors import ParseError
from eventide.language import parse
from eventide.language.builder import PatternBuilder, absent, both, either, event, query, seq
from eventide.pattern.sequences import Event

if TYPE_CHECKING:
    from collections.abc import Callable

a, b, c = event("A").named("a"), event("B").named("b"), event("C").named("c")


@pytest.mark.parametrize(
    ("built", "written"),
    [
        (a, "A AS a"),
        (event("A", stream="S"), "S>A"),
        (a >> b >> c, "A AS a ; B AS b ; C AS c"),
        (a >> (b >> c), "A AS a ; (B AS b ; C AS c)"),
        (a.then(b, strategy="strict").then(c, strategy="next"), "A AS a : B AS b ~> C AS c"),
        (seq(a, b, c, strategy="next"), "A AS a ~> B AS b ~> C AS c"),
        (a | b | c, "A AS a OR B AS b OR C AS c"),
        (either(a, b), "A AS a OR B AS b"),
        (a & b & c, "A AS a AND B AS b AND C AS c"),
        (both(a, b, strategy="strict"), "A AS a :AND B AS b"),
        (event("A").one_or_more().named("a"), "A+ AS a"),
        (a.one_or_more(strategy="next"), "A AS a~+"),
        (a.zero_or_more(strategy="strict"), "A AS a:*"),
        (a.optional(), "A AS a?"),
        (a.times(3), "A AS a{3}"),
        (a.times(2, 4), "A AS a{2,4}"),
        (a.at_least(2), "A AS a{2,}"),
        (a.where("price > 3"), "A AS a FILTER a.price > 3"),
        (event("A").where("price > 3"), "A FILTER A.price > 3"),
        (event("A").one_or_more().named("a").where("price > 3 AND COUNT(a) < 5"), "A+ AS a FILTER a.price > 3 AND COUNT(a) < 5"),
        (a.where("items[0] > 3"), "A AS a FILTER a.items[0] > 3"),
        ((a >> b).filter("a.x < b.x"), "A AS a ; B AS b FILTER a.x < b.x"),
        (seq(a, absent(b.where("x > a.x")), c), "A AS a ; NOT (B AS b FILTER b.x > a.x) ; C AS c"),
        (a >> absent(b) >> c, "A AS a ; NOT B AS b ; C AS c"),
        (seq(a, absent(b), c).filter("b.x > 1"), "A AS a ; NOT (B AS b FILTER b.x > 1) ; C AS c"),
        (event("within").named("limit").where("x > 1"), "`within` AS `limit` FILTER `limit`.x > 1"),
    ],
)
def test_a_built_pattern_equals_the_written_one(built: PatternBuilder, written: str) -> None:
    assert query(built) == parse(f"SELECT * WHERE {written}")


def test_the_arguments_of_query_are_the_clauses() -> None:
    built = query(
        a >> b,
        select=["a.x AS first", "COUNT(b)"],
        selector="max",
        where="a.x < b.x",
        streams=["S"],
        partition_by=["k"],
        within="30 minutes",
        slide="5 minutes",
        consume_by="partition",
        limit=7,
    )
    assert built == parse(
        "SELECT MAX a.x AS first, COUNT(b) FROM S WHERE A AS a ; B AS b FILTER a.x < b.x"
        " PARTITION BY k WITHIN 30 minutes SLIDE 5 minutes CONSUME BY PARTITION LIMIT 7"
    )


@pytest.mark.parametrize("within", ["30 minutes", "100 events", "5 [price]", 30])
def test_within_takes_what_the_clause_takes(within: str | int) -> None:
    assert query(a, within=within).window == parse(f"SELECT * WHERE A WITHIN {within}").window


@pytest.mark.parametrize(
    ("windows", "clause"),
    [
        ({"between_steps": "30 seconds"}, "30 seconds BETWEEN STEPS"),
        ({"within": "10 minutes", "between_steps": "30 seconds"}, "10 minutes, 30 seconds BETWEEN STEPS"),
        ({"within": "10 minutes, 30 seconds BETWEEN STEPS", "slide": "5 minutes"}, "10 minutes SLIDE 5 minutes, 30 seconds BETWEEN STEPS"),
        ({"within": 10, "between_steps": 3}, "10, 3 BETWEEN STEPS"),
    ],
)
def test_a_window_between_steps_is_built_as_the_clause_says(windows: dict[str, str | int], clause: str) -> None:
    assert query(a >> b, **windows) == parse(f"SELECT * WHERE A AS a ; B AS b WITHIN {clause}")  # type: ignore[arg-type]


def test_a_built_query_has_text_and_places() -> None:
    built = query(a >> b)
    assert built.text == "SELECT *\nWHERE A AS a ; B AS b"
    assert built.pattern.span is not None
    assert built.language == "builder"


def test_an_event_of_any_type_can_be_built() -> None:
    assert query(event().named("x")).pattern == event().named("x").pattern
    assert event().pattern == Event(None)


@pytest.mark.parametrize(
    ("build", "condition"),
    [
        (lambda: a.where("price >"), "BAD_EXPRESSION"),
        (lambda: (a >> b).where("price > 1"), "BAD_EXPRESSION"),
        (lambda: a.times(3, 1), "BAD_QUANTIFIER"),
        (lambda: a.times(0), "BAD_QUANTIFIER"),
        (lambda: a.at_least(-1), "BAD_QUANTIFIER"),
        (lambda: a.then(b, strategy="closest"), "UNKNOWN_STRATEGY"),  # type: ignore[arg-type]
        (lambda: seq(a), "UNEXPECTED_END"),
        (lambda: absent(a >> b), "NOT_POSITION"),
        (lambda: query(a >> absent(b)), "NOT_WITHOUT_WITHIN"),
        (lambda: query((a >> absent(b)) | c, within=5), "NOT_POSITION"),
        (lambda: query(a, within="5 minuts"), "BAD_WINDOW"),
        (lambda: query(a, slide="5 minutes"), "BAD_WINDOW"),
        (lambda: query(a, within="5 events", slide="5 events"), "BAD_WINDOW"),
        (lambda: query(a, between_steps="5 events"), "BAD_WINDOW"),
        (lambda: query(a, within="5 seconds BETWEEN STEPS", between_steps=5), "BAD_WINDOW"),
        (lambda: query(a, within="5 seconds BETWEEN STEPS", slide=5), "BAD_WINDOW"),
        (lambda: query(a, selector="best"), "UNKNOWN_SELECTOR"),
        (lambda: query(a, select=["a.x AS"]), "UNEXPECTED_TOKEN"),
        (lambda: query(a, limit=-1), "BAD_LIMIT"),
    ],
)
def test_a_wrong_call_is_explained(build: Callable[[], object], condition: str) -> None:
    with pytest.raises(ParseError) as caught:
        build()
    assert caught.value.condition == condition
    assert caught.value.hint


def test_an_error_in_a_string_points_into_that_string() -> None:
    with pytest.raises(ParseError) as caught:
        a.where("price > 3 volume < 2")
    assert str(caught.value).splitlines()[1:4] == ["line 1, column 11", "  price > 3 volume < 2", "            ^^^^^^"]
