"""What the parts of a pattern become in the model, where the canonical text alone would not show it."""

from __future__ import annotations

import pytest

from eventide.errors import ParseError, Span
from eventide.language import parse
from eventide.language.ceql.parser import parse_ceql
from eventide.language.reading.expressions import parse_condition
from eventide.language.sase.parser import parse_sase
from eventide.pattern.sequences import (
    Absence,
    Both,
    Consumption,
    Either,
    Event,
    Filtered,
    Gap,
    Name,
    Named,
    Repeat,
    Selector,
    Sequence,
    Strategy,
    Window,
    WindowUnit,
)

A, B, C, D = (Event(name) for name in "ABCD")


def pattern(text: str) -> object:
    return parse_ceql(f"SELECT * WHERE {text}").pattern


def test_a_sequence_keeps_the_sign_of_each_gap() -> None:
    gaps = (Gap(Strategy.ANY), Gap(Strategy.STRICT), Gap(Strategy.NEXT))
    assert pattern("A ; B : C ~> D") == Sequence((A, B, C, D), gaps)


def test_parentheses_keep_a_sequence_inside_a_sequence() -> None:
    assert pattern("A ; (B : C)") == Sequence((A, Sequence((B, C), (Gap(Strategy.STRICT),))), (Gap(),))


def test_or_is_looser_than_and_and_and_is_looser_than_the_sequence() -> None:
    assert pattern("A ; B AND C OR D") == Either((Both((Sequence((A, B), (Gap(),)), C)), D))


def test_as_behind_a_loop_names_the_loop() -> None:
    assert pattern("A+ AS x") == Named(Repeat(A, 1, None), "x")


def test_a_loop_behind_as_repeats_the_named_event() -> None:
    assert pattern("A AS x+") == Repeat(Named(A, "x"), 1, None)


def test_consecutive_absences_share_a_gap() -> None:
    assert pattern("A ; NOT B ; NOT C AS c ; D") == Sequence((A, D), (Gap(Strategy.ANY, (Absence(B), Absence(C, "c"))),))


def test_absences_at_the_edges_are_leading_and_trailing() -> None:
    query = parse_ceql("SELECT * WHERE (NOT A ; B ; NOT C) WITHIN 5 events")
    assert query.pattern == Sequence((B,), (), (Absence(A),), (Absence(C),))


def test_a_filter_inside_a_sequence_belongs_to_its_part() -> None:
    condition = parse_condition("A.x > 1")
    assert pattern("A FILTER A.x > 1 ; B") == Sequence((Filtered(A, condition), B), (Gap(),))


def test_the_last_filter_concerns_the_whole_pattern() -> None:
    condition = parse_condition("A.x > 1")
    assert pattern("A ; B FILTER A.x > 1") == Filtered(Sequence((A, B), (Gap(),)), condition)


def test_a_condition_on_a_negated_event_goes_to_its_absence_from_any_filter() -> None:
    condition = parse_condition("b.x > 1")
    assert pattern("(A ; NOT B AS b ; C FILTER b.x > 1) ; D") == Sequence(
        (Sequence((A, C), (Gap(Strategy.ANY, (Absence(B, "b", condition),)),)), D), (Gap(),)
    )


def test_the_clauses_fill_the_query() -> None:
    query = parse("SELECT LAST a.x AS y FROM S, T WHERE A AS a PARTITION BY k WITHIN 1 ms CONSUME BY ANY LIMIT 0")
    assert query.output is not None
    assert query.output[0].alias == "y"
    assert query.selector is Selector.LAST
    assert query.streams == (Name("S"), Name("T"))
    assert query.partition_by == (Name("k"),)
    assert query.window == Window(WindowUnit.DURATION, 1000)
    assert query.consumption is Consumption.ANY
    assert query.limit == 0


def test_the_query_knows_its_text_and_language() -> None:
    text = "SELECT * WHERE A"
    assert (parse(text).text, parse(text).language) == (text, "ceql")


def test_spans_point_into_the_text() -> None:
    text = "SELECT * WHERE A ; Big+ AS b"
    part = parse(text).pattern
    assert isinstance(part, Sequence)
    assert part.parts[1].span == Span(text.index("Big"), len(text))


def test_sase_sets_every_strategy() -> None:
    query = parse_sase("SEQ(A, B+ b[], AND(C, D)) WHERE skip_till_next_match(A, b[]) { A.x > 1 }")
    loop = Named(Repeat(B, 1, None, Strategy.NEXT), "b")
    gaps = (Gap(Strategy.NEXT), Gap(Strategy.NEXT))
    sequence = Sequence((A, loop, Both((C, D), Strategy.NEXT)), gaps)
    assert query.pattern == Filtered(sequence, parse_condition("A.x > 1"))


def test_an_equality_points_at_its_attribute() -> None:
    text = "SEQ(A a, B b) WHERE [id]"
    condition = parse_sase(text).pattern
    assert isinstance(condition, Filtered)
    places = {(node.meta["start"], node.meta["end"]) for node in condition.condition.tree.walk() if "start" in node.meta}
    assert places == {(text.index("id"), text.index("id") + 1)}


def test_a_language_can_be_forced() -> None:
    assert parse("A a WITHIN 5 events", language="SASE").pattern == Named(A, "a")


def test_an_unknown_language_is_an_error() -> None:
    with pytest.raises(ParseError, match=r"\[UNKNOWN_LANGUAGE\] There is no language cql"):
        parse("SELECT * WHERE A", language="cql")
