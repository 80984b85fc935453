"""MATCH_RECOGNIZE clauses that do not fit their table give exactly the message beside them.

`row_bind_errors.txt` holds blocks of a query over the table `ticks`, a line `---`, the message, and a line `===` before the next block.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import eventide as et
from eventide.errors import EventideError

TICKS = pa.schema(
    {
        "ts": pa.timestamp("us"),
        "i": pa.int64(),
        "price": pa.float64(),
        "volume": pa.int64(),
        "name": pa.string(),
        "flag": pa.bool_(),
        "day": pa.date32(),
        "amount": pa.decimal128(10, 2),
        "big": pa.decimal128(30, 2),
        "payload": pa.list_(pa.int64()),
        "place": pa.struct({"x": pa.int64(), "y": pa.float64()}),
    }
).empty_table()


def read_cases() -> list[tuple[str, str]]:
    blocks = (Path(__file__).parent / "row_bind_errors.txt").read_text(encoding="utf-8").split("===\n")
    pairs = [block.split("\n---\n") for block in blocks]
    return [(text, message.rstrip("\n")) for text, message in pairs]


WRONG = read_cases()


@pytest.mark.filterwarnings("ignore::eventide.errors.EventideWarning")
@pytest.mark.parametrize(
    ("text", "message"), WRONG, ids=[(text.splitlines()[1:2] or [text])[0].strip()[:80] for text, _ in WRONG]
)
def test_a_clause_that_does_not_fit_is_explained(text, message):
    with pytest.raises(EventideError) as caught:
        et.sql(text, ticks=TICKS)
    assert str(caught.value) == message


def test_every_message_has_a_hint():
    assert [text for text, message in WRONG if "\nHint: " not in message] == []


def test_nearly_every_message_points_at_its_place():
    placeless = [text for text, message in WRONG if "^" not in message]
    assert len(placeless) <= 3, placeless


def test_no_message_speaks_of_what_is_inside():
    inside = ("__et_", "DuckDB Error", "Traceback", "JVM", "sqlglot", "decimal128", "int64", "date32")
    assert [text for text, message in WRONG if any(word in message.partition("\nline ")[0] for word in inside)] == []


def test_the_corpus_is_large_and_covers_the_conditions():
    assert len(WRONG) >= 60
    conditions = {message[1 : message.index("]")] for _, message in WRONG}
    assert conditions >= {
        "BAD_ARGUMENT", "BAD_EXPRESSION", "BAD_OFFSET", "CONDITION_NOT_BOOLEAN", "DUPLICATE_COLUMN", "EXCLUSION_WITH_UNMATCHED_ROWS",
        "FINAL_IN_DEFINE", "NESTED_NAVIGATION", "OPAQUE_CONDITION", "PATTERN_TOO_LARGE", "SEVERAL_VARIABLES", "TYPE_MISMATCH",
        "UNKNOWN_COLUMN", "UNKNOWN_TABLE", "UNKNOWN_VARIABLE", "UNSUPPORTED_AGGREGATE", "UNSUPPORTED_EXPRESSION",
        "UNSUPPORTED_VALUE", "VARIABLE_WITHOUT_COLUMN", "WITHIN_NEEDS_TIME",
    }  # fmt: skip
