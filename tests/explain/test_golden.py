"""The explanation of a query is a contract: each case file holds blocks of a query, a line `---`, and what is shown for it."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import eventide as et

COLUMNS = {
    "ts": pa.timestamp("us"),
    "kind": pa.string(),
    "seq": pa.int64(),
    "price": pa.float64(),
    "volume": pa.int64(),
    "company": pa.string(),
    "flag": pa.bool_(),
}


def read_cases(file_name: str) -> list[tuple[str, str]]:
    blocks = (Path(__file__).parent / file_name).read_text(encoding="utf-8").split("===\n")
    pairs = [block.split("\n---\n") for block in blocks]
    return [(query, expected.rstrip("\n")) for query, expected in pairs]


def trades() -> et.Events:
    return et.events(pa.schema(COLUMNS).empty_table(), time="ts", type="kind", tie_break="seq")


def without_relational_plan(text: str) -> str:
    """Leave out what DuckDB prints, which changes with its version."""
    return text.partition("\nrelational plan\n")[0]


CASES = {form: read_cases(f"{form}.txt") for form in ("text", "mermaid", "dot")}


@pytest.mark.parametrize(("text", "expected"), CASES["text"], ids=[text[:60] for text, _ in CASES["text"]])
def test_a_plan_reads_as_written_beside_its_query(text, expected):
    assert without_relational_plan(et.query(text).explain(events=trades())) == expected


@pytest.mark.parametrize("form", ["mermaid", "dot"])
def test_an_automaton_is_drawn_as_written_beside_its_query(form):
    for text, expected in CASES[form]:
        assert et.query(text).explain(form, events=trades()) == expected
