"""Explanations are contracts: each case file holds blocks of a query, a line `---`, and what is shown for it."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pytest

import eventide as et

TRADES = {
    "ts": pa.timestamp("us"),
    "kind": pa.string(),
    "seq": pa.int64(),
    "price": pa.float64(),
    "volume": pa.int64(),
    "company": pa.string(),
    "flag": pa.bool_(),
}
TICKS = {"ts": pa.timestamp("us"), "symbol": pa.string(), "price": pa.float64(), "volume": pa.int64(), "od d": pa.int64()}


def explain_sequence(text: str, form: str) -> str:
    events = et.events(pa.schema(TRADES).empty_table(), time="ts", type="kind", tie_break="seq")
    return et.query(text).explain(form, events=events)


def explain_row_patterns(text: str, form: str) -> str:
    return et.statement(text).explain(form, ticks=pa.schema(TICKS).empty_table())


KINDS = {"sequences": explain_sequence, "row_patterns": explain_row_patterns}


def without_relational_plan(text: str) -> str:
    """Leave out what DuckDB prints, which changes with its version."""
    return re.sub(r"\nrelational plan(\n {2}.*)*", "", text)


def read_cases(kind: str, form: str) -> list[tuple[str, str, str, str]]:
    blocks = (Path(__file__).parent / f"{kind}_{form}.txt").read_text(encoding="utf-8").split("===\n")
    pairs = [block.split("\n---\n") for block in blocks]
    return [(kind, form, query, expected.rstrip("\n")) for query, expected in pairs]


CASES = [case for kind in KINDS for form in ("text", "mermaid", "dot") for case in read_cases(kind, form)]


@pytest.mark.parametrize(("kind", "form", "text", "expected"), CASES, ids=[f"{case[1]}: {case[2][:60]}" for case in CASES])
def test_a_plan_is_explained_as_written_beside_its_query(kind, form, text, expected):
    assert without_relational_plan(KINDS[kind](text, form)) == expected
