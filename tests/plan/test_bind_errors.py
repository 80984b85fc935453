"""Queries that do not fit their events give exactly the message beside them.

`bind_errors.txt` holds blocks of a query, a line `---`, the message, and a line `===` before the next block. A query that begins
with a comment `-- events: NAME` is checked against those events, any other against `trades`.
"""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pytest

import eventide as et
from eventide.errors import EventideError

TRADES = pa.schema(
    {
        "ts": pa.timestamp("us"),
        "kind": pa.string(),
        "price": pa.float64(),
        "volume": pa.int64(),
        "company": pa.string(),
        "flag": pa.bool_(),
        "payload": pa.list_(pa.int64()),
    }
)
NUMBERED = TRADES.set(0, pa.field("ts", pa.int64()))

EVENTS = {
    "trades": et.events(TRADES.empty_table(), time="ts", type="kind", types=["A", "B", "C"]),
    "untyped": et.events(TRADES.empty_table(), time="ts"),
    "undeclared": et.events(TRADES.empty_table(), time="ts", type="kind"),
    "numbered": et.events(NUMBERED.empty_table(), time="ts", type="kind"),
}


def read_cases() -> list[tuple[str, str]]:
    blocks = (Path(__file__).parent / "bind_errors.txt").read_text(encoding="utf-8").split("===\n")
    pairs = [block.split("\n---\n") for block in blocks]
    return [(query, expected.rstrip("\n")) for query, expected in pairs]


def events_for(text: str) -> et.Events:
    named = re.match(r"-- events: (\w+)\n", text)
    return EVENTS[named[1] if named else "trades"]


WRONG = read_cases()


@pytest.mark.parametrize(("text", "message"), WRONG, ids=[text.splitlines()[-1][:70] for text, _ in WRONG])
def test_a_query_that_does_not_fit_is_explained(text, message):
    with pytest.raises(EventideError) as caught:
        et.query(text).check(events_for(text))
    assert str(caught.value) == message


def test_every_message_has_a_hint():
    assert [text for text, message in WRONG if "\nHint: " not in message] == []


def test_nearly_every_message_points_at_its_place():
    placeless = [text for text, message in WRONG if "^" not in message]
    assert len(placeless) <= 5, placeless


def test_the_corpus_covers_every_condition():
    conditions = {message[1 : message.index("]")] for _, message in WRONG}
    assert conditions >= {
        "AGGREGATE_OF_NEGATED", "ATTRIBUTE_WITHOUT_VARIABLE", "BAD_ARGUMENT", "BAD_EXPRESSION", "CONDITION_NOT_BOOLEAN",
        "CONDITION_WITHOUT_VARIABLE", "CONSUME_WITH_TRAILING_NOT", "DUPLICATE_COLUMN", "FILTER_IN_LOOP", "NESTED_AGGREGATE",
        "NEXT_AND_PREV", "NEXT_IN_SELECT", "NOT_WITHOUT_WITHIN", "NO_TYPE_COLUMN", "OPAQUE_CONDITION", "SEVERAL_EVENTS",
        "TIME_WITHOUT_UNIT", "TOO_MANY_VARIABLES", "TYPE_MISMATCH", "UNKNOWN_ATTRIBUTE", "UNKNOWN_STREAM", "UNKNOWN_TYPE",
        "UNKNOWN_VARIABLE", "UNSUPPORTED_AGGREGATE", "UNSUPPORTED_EXPRESSION", "UNSUPPORTED_VALUE", "WINDOW_WITHOUT_UNIT",
    }  # fmt: skip


def test_a_match_gives_the_same_message_as_a_check():
    text, message = WRONG[0]
    with pytest.raises(EventideError) as caught:
        et.query(text).match(events_for(text))
    assert str(caught.value) == message
