"""Running cases on the other engines: one process of their own environment for all cases of a run."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crosscheck.queries import text_of
from crosscheck.tables import COLUMNS, Row, as_json
from eventide.pattern.row_patterns import RowQuery

RUNNER = Path(__file__).parents[2] / "benchmarks" / "peers" / "run_cases.py"
LONGEST_SECONDS = 1800


@dataclass(frozen=True)
class Case:
    """A query and a table for one peer."""

    engine: str
    query: RowQuery
    rows: list[Row]

    @property
    def sql(self) -> str:
        return text_of(self.query)


@dataclass(frozen=True)
class Answer:
    """What an engine made of a case: rows, or an error."""

    columns: list[str] | None = None
    rows: list[tuple[Any, ...]] | None = None
    error: str | None = None


def run_peers(cases: list[Case], folder: Path) -> list[Answer]:
    """Run cases with the interpreter that `make crosscheck` names."""
    source, target = folder / "cases.json", folder / "results.json"
    written = [{"engine": case.engine, "columns": COLUMNS, "rows": as_json(case.rows), "sql": case.sql} for case in cases]
    source.write_text(json.dumps(written))
    subprocess.run([os.environ["EVENTIDE_PEERS"], RUNNER, source, target], check=True, timeout=LONGEST_SECONDS, cwd=folder)
    return [
        Answer(result.get("columns"), [tuple(row) for row in result.get("rows", [])], result.get("error"))
        for result in json.loads(target.read_text())
    ]
