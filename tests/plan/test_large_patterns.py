"""Short texts whose automaton would be huge: merged where that is the same, else refused at once, with the place."""

from __future__ import annotations

import json

import pytest

import eventide as et
from harness.limited import outcomes

AND = " AND ".join
SECONDS = 10
"""Of processor time for one text; they take some tenths, and took hours."""


def parts(number: int) -> str:
    return AND(f"(Pay AS v{index})" for index in range(number))


MERGED = (
    "((Pay{1,50}){1,50}){1,50} AS s",
    "(((Pay{1,16}){1,16}){1,16}) AS s",
    "(((Pay{1,20}){1,20}){1,20}) AS s",
    "(((Pay{1,12}){1,12}){1,12}) AS s",
    "((((Pay{1,6}){1,6}){1,6}){1,6}) AS s",
    "Pay ; (((Pay{1,50}){1,50}){0,2})+ ; Pay",
    "(((((Pay{0,2})?){1,9}){1,50}){1,9}) AS s",
)
REFUSED = (
    parts(13),
    parts(14),
    parts(15),
    parts(16),
    parts(18),
    "((((Pay ; Pay){1,9} ; Pay){1,9} ; Pay){1,9} ; Pay){1,9}",
    "(((Pay:{1,50}){1,50} ; Pay){1,50} ; Pay){1,50}",
)


def test_every_short_text_is_planned_and_run_at_once() -> None:
    texts = [f"SELECT * WHERE {pattern} WITHIN 1 hour LIMIT 1" for pattern in (*MERGED, *REFUSED)]
    script = f"for text in json.loads({json.dumps(json.dumps(texts))}):\n    outcome(lambda: et.query(text).match(payments(5)))\n"
    script += "    outcome(lambda: et.query(text).explain()[:5])"
    said = outcomes(script)
    assert [one for one, _ in said[: 2 * len(MERGED)]] == [1, "query"] * len(MERGED)
    assert all("AUTOMATON_TOO_LARGE" in one for one, _ in said[2 * len(MERGED) : -4 : 2])
    assert max(seconds for _, seconds in said) < SECONDS, said


def test_the_part_that_explodes_is_named() -> None:
    with pytest.raises(et.LimitError) as refused:
        et.query(f"SELECT * WHERE A ; ({parts(13)}) ; B WITHIN 1 hour").explain()
    assert refused.value.condition == "AUTOMATON_TOO_LARGE"
    assert "AND of 13 parts needs 8191 automaton states" in str(refused.value)
    assert refused.value.text[refused.value.span.start :].startswith("Pay AS v0")


def test_repetitions_that_cannot_be_merged_are_refused_by_what_their_states_hold() -> None:
    text = "SELECT * WHERE A ; ((((B ; B){1,9} ; B){1,9} ; B){1,9} ; B){1,9} WITHIN 1 hour"
    with pytest.raises(et.LimitError, match="configurations") as refused:
        et.query(text).explain()
    span = refused.value.span
    assert text[span.start : span.end] == "B ; B){1,9} ; B){1,9} ; B){1,9} ; B"
