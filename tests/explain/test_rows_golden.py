"""The explanation of a clause is a contract: each case file holds blocks of a statement, a line `---`, and what is shown for it."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import eventide as et

TICKS = pa.schema(
    {"ts": pa.timestamp("us"), "symbol": pa.string(), "price": pa.float64(), "volume": pa.int64(), "od d": pa.int64()}
).empty_table()


def read_cases(file_name: str) -> list[tuple[str, str]]:
    blocks = (Path(__file__).parent / file_name).read_text(encoding="utf-8").split("===\n")
    pairs = [block.split("\n---\n") for block in blocks]
    return [(query, expected.rstrip("\n")) for query, expected in pairs]


def explained(text: str, form: str) -> str:
    """Leave out what DuckDB prints, which changes with its version."""
    clauses = et.statement(text).explain(form, ticks=TICKS).split("\n\n")
    return "\n\n".join(clause.partition("\nrelational plan\n")[0] for clause in clauses if "MATCH_RECOGNIZE" in clause or form != "text")


CASES = [(form, *case) for form in ("text", "mermaid", "dot") for case in read_cases(f"rows_{form}.txt")]


@pytest.mark.parametrize(("form", "text", "expected"), CASES, ids=[f"{form}: {text[:60]}" for form, text, _ in CASES])
def test_a_clause_is_explained_as_written_beside_it(form, text, expected):
    assert explained(text, form) == expected
