"""Reads the case files of `tests/cases`: tables or events, a query, and the matches that must come out, all as plain text.

A file is a list of blocks that begin with a line `== ...`. `== table NAME` is followed by a line of columns with their types, then
rows; cells are divided by `|`. Any other block is a case: `== NAME`, comments behind `#`, a line `over ...`, the query, a line `---`,
and what must come out.

`over TABLE` names a table above. Cases of events may list them instead: `A1` is an event of type A at time 1, `A1'` another one at
that time, `A?` one without a time, `A1@S2` one of stream S2, `A1[v=3 s=x]` one with attributes. `with k=1` gives attributes to all
events that have none of that name, `time in s`, `ms` or `timestamps` says what the times are; whole numbers without it.

What must come out is `error CONDITION`, a table of columns and rows, or for `SELECT *` a line for each match: its events
(`A1 B2`) or what each variable holds (`a=A1 b=B2,B3`); `none` for no match at all. `2 of these` before the matches leaves open which ones,
`in order` asks for their order, `not A1 B2` excludes one, `15 matches` says how many there are, and `...` that not all are listed.

Cells are SQL-like: null, true, 12, 1.5, NaN, 2026-01-31, 2026-01-31 10:00:00; everything else is text, with or without quotes.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

CASES = Path(__file__).parents[1] / "cases"
LANGUAGES = sorted(folder.name for folder in CASES.iterdir() if folder.is_dir())

TYPES = {
    "int": pa.int64(),
    "double": pa.float64(),
    "text": pa.string(),
    "boolean": pa.bool_(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
    "decimal": pa.decimal128(10, 2),
}
EVENT = re.compile(r"([A-Z][a-z]*)(-?\d+|\?)('*)(?:@(\w+))?(?:\[([^\]]*)\])?")


@dataclass
class Written:
    """A case as it is written."""

    name: str
    language: str
    query: str
    table: pa.Table
    unit: str | None = None
    """What the times of events are: s, ms, timestamps, or whole numbers."""
    result: list[str] = field(default_factory=list)

    @property
    def error(self) -> str | None:
        """The condition of the error that must come."""
        return self.result[0].split()[1] if self.result[0].startswith("error ") else None

    def result_table(self) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
        """Return the columns and the rows that must come out."""
        rows = [tuple(map(cell, cells(line))) for line in self.result[1:]]
        columns = tuple(cells(self.result[0]))
        assert all(len(row) == len(columns) for row in rows), f"{self.name}: a row has too many or too few cells"
        return columns, rows


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


def read_events(text: str, common: str = "") -> pa.Table:
    """The events that a line lists.

    >>> read_events("A1 B2@S[v=3]", "v=0").to_pylist()[1]
    {'event': 'B2', 'type': 'B', 'time': 2, 'v': 3, 'stream': 'S'}
    """
    rows = []
    for kind, time, primes, stream, attributes in EVENT.findall(text):
        row = {"event": f"{kind}{time}{primes}", "type": kind, "time": None if time == "?" else int(time)}
        rows.append({**row, **({"stream": stream} if stream else {}), **_attributes(common), **_attributes(attributes)})
    assert " ".join(found[0] for found in EVENT.finditer(text)) == text, f"not all events can be read: {text}"
    names = dict.fromkeys(name for row in rows for name in row)
    columns = {name: [row.get(name) for row in rows] for name in names}
    # A column of nulls alone has no type by itself.
    return pa.table({name: pa.array(values, None if any(value is not None for value in values) else pa.int64()) for name, values in columns.items()})


def _attributes(text: str) -> dict[str, Any]:
    return {name: cell(value) for name, value in (pair.split("=", 1) for pair in text.split())}


def _named(table: pa.Table) -> pa.Table:
    """Return a table of events with their names."""
    if "event" in table.column_names or "type" not in table.column_names:
        return table
    seen: Counter[str] = Counter()
    names = []
    for row in table.select(["type", "time"]).to_pylist():
        name = f"{row['type']}{row['time']}"
        names.append(name + "'" * seen[name])
        seen[name] += 1
    return table.append_column("event", pa.array(names))


def read_case(name: str, lines: list[str], tables: dict[str, pa.Table], language: str) -> Written:
    """The case that lines describe."""
    said = [line for line in lines if not line.startswith("#")]
    end = said.index("---")
    query, given = [], {"over": "", "with": "", "time in": ""}
    for line in said[:end]:
        setting = next((key for key in given if line.startswith(f"{key} ") and (key == "over" or language != "match_recognize")), None)
        if setting is None:
            query.append(line)
        else:
            given[setting] = line.removeprefix(setting).strip()
    known = tables.get(given["over"])
    table = _named(known) if known is not None else read_events(given["over"], given["with"])
    return Written(name, language, "\n".join(query), table, given["time in"] or None, said[end + 1 :])


def read_file(path: Path) -> list[Written]:
    """The cases of a file."""
    tables: dict[str, pa.Table] = {}
    found = []
    for block in re.split(r"^== ", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        name, *lines = [line.rstrip() for line in block.splitlines() if line.strip()]
        if name.startswith("table "):
            tables[name.split()[1]] = read_table(lines)
        else:
            found.append(read_case(name, lines, tables, path.parent.name))
    return found


def files(language: str) -> list[Path]:
    """The files of a language."""
    return sorted((CASES / language).glob("*.txt"))


def all_cases() -> list[Written]:
    """The cases of all files."""
    return [case for language in LANGUAGES for path in files(language) for case in read_file(path)]
