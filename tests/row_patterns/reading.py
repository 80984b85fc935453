"""Reads the case files: tables, clauses, and the rows that must come out, all as plain text.

A file is a list of blocks that begin with a line `== ...`. `== table NAME` is followed by a line of columns with their types, then
rows; cells are divided by `|`. Any other block is a case: `== NAME`, comments behind `#`, a line `over TABLE`, the body of a
MATCH_RECOGNIZE clause, a line `---`, and the columns and rows of the result in the order of the walk, or `error CONDITION`.
Cells are SQL-like: null, true, 12, 1.5, NaN, 2026-01-31, 2026-01-31 10:00:00; everything else is text, with or without quotes.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

CASES = Path(__file__).parent / "cases"

TYPES = {
    "int": pa.int64(),
    "double": pa.float64(),
    "text": pa.string(),
    "boolean": pa.bool_(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
    "decimal": pa.decimal128(10, 2),
}


@dataclass(frozen=True)
class Case:
    """One case. `error` is the condition of the error that must come, when `columns` and `rows` are empty."""

    name: str
    body: str
    table: pa.Table
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[Any, ...], ...] = ()
    error: str | None = None

    @property
    def sql(self) -> str:
        """The clause inside a query over the table `t`."""
        return f"SELECT * FROM t MATCH_RECOGNIZE (\n{self.body}\n)"

    @property
    def inputs(self) -> list[dict[str, Any]]:
        """The rows of the table."""
        return self.table.to_pylist()


def cell(text: str) -> Any:
    """The value that a cell stands for.

    >>> cell("null"), cell("-3"), cell("2.50"), cell("'null'"), cell("b c")
    (None, -3, 2.5, 'null', 'b c')
    """
    if text in ("null", "true", "false"):
        return {"null": None, "true": True, "false": False}[text]
    if text == "NaN":
        return float("nan")
    if re.fullmatch(r"-?\d+", text):
        return int(text)
    if re.fullmatch(r"-?\d+\.\d+", text):
        return float(text)
    if re.fullmatch(r"\d{4}-\d\d-\d\d", text):
        return date.fromisoformat(text)
    if re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?", text):
        return datetime.fromisoformat(text)
    return text[1:-1] if re.fullmatch(r"'.*'", text) else text


def cells(line: str) -> list[str]:
    """The cells of a line."""
    return [part.strip() for part in line.split("|")]


def read_table(lines: list[str]) -> pa.Table:
    """The table that lines describe."""
    fields = [column.rsplit(None, 1) for column in cells(lines[0])]
    rows = [[cell(part) for part in cells(line)] for line in lines[1:]]
    arrays = []
    for number, (_, kind) in enumerate(fields):
        values = [row[number] for row in rows]
        if kind == "decimal":
            values = [None if value is None else Decimal(str(value)) for value in values]
        arrays.append(pa.array(values, TYPES[kind]))
    return pa.table(arrays, names=[name for name, _ in fields])


def read_case(name: str, lines: list[str], tables: dict[str, pa.Table]) -> Case:
    """The case that lines describe."""
    said = [line for line in lines if not line.startswith("#")]
    over, end = said[0].split()[1], said.index("---")
    body, result = "\n".join(said[1:end]), said[end + 1 :]
    if result[0].startswith("error "):
        return Case(name, body, tables[over], error=result[0].split()[1])
    rows = tuple(tuple(map(cell, cells(line))) for line in result[1:])
    columns = tuple(cells(result[0]))
    assert all(len(row) == len(columns) for row in rows), f"{name}: a row has too many or too few cells"
    return Case(name, body, tables[over], columns, rows)


def read_file(path: Path) -> list[Case]:
    """The cases of a file."""
    tables: dict[str, pa.Table] = {}
    found = []
    for block in re.split(r"^== ", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        name, *lines = [line.rstrip() for line in block.splitlines() if line.strip()]
        if name.startswith("table "):
            tables[name.split()[1]] = read_table(lines)
        else:
            found.append(read_case(name, lines, tables))
    return found


def all_cases() -> list[Case]:
    """The cases of all files."""
    return [case for path in sorted(CASES.glob("*.txt")) for case in read_file(path)]


def comparable(value: Any) -> Any:
    """A value that equals what it means: NaN equals NaN, and 1.50 is 1.5."""
    if isinstance(value, float) and value != value:  # noqa: PLR0124 - what NaN is
        return "NaN"
    return float(value) if isinstance(value, Decimal) else value


def rows_of(rows: Any) -> list[tuple[Any, ...]]:
    """Rows that can be compared."""
    return [tuple(map(comparable, row)) for row in rows]


def bag(rows: Any) -> Counter[tuple[Any, ...]]:
    """Rows in no order."""
    return Counter(rows_of(rows))
