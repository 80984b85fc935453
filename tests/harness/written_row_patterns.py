"""Cases of MATCH_RECOGNIZE files for the ways of the harness."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from random import Random
from typing import Any

import pyarrow as pa

from eventide.language.sql.match_recognize import parse_match_recognize
from eventide_reference import recognize
from harness.case_files import Written
from harness.comparison import bag, comparable_rows, difference
from harness.kinds.row_patterns.kind import RowPatternCase
from harness.ways import Unable, Way


@dataclass(frozen=True)
class WrittenRows:
    """What is written below a clause."""

    written: Written

    @property
    def errors(self) -> set[str]:
        """The error that must come, if any."""
        return {self.written.error} if self.written.error else set()

    @property
    def found(self) -> int:
        """How many rows there are."""
        return len(self.written.result) - 1

    def disagreement(self, produced: pa.Table) -> str | None:
        """Say how a result differs from what is written, or return None."""
        columns, _ = self.written.result_table()
        if tuple(produced.column_names) != columns:
            return f"the columns differ: {produced.column_names} should be {columns}"
        return self.rows_differ(tuple(row.values()) for row in produced.to_pylist())

    def rows_differ(self, rows: Any, *, ordered: bool = False) -> str | None:
        """Say how rows differ; the oracle alone has them in the order of the walk."""
        _, expected = self.written.result_table()
        got = comparable_rows(rows)
        if ordered and got != comparable_rows(expected):
            return f"the rows differ: {got} should be, in order, {expected}"
        return difference("rows", bag(expected), bag(got))


@dataclass(frozen=True)
class WrittenRowPattern(RowPatternCase):
    """A case of a file."""

    written: Written | None = None

    @cached_property
    def expected(self) -> WrittenRows:  # type: ignore[override]
        """What is written."""
        return WrittenRows(self.written)

    @property
    def sql(self) -> str:
        """The clause inside a query."""
        return f"SELECT * FROM input MATCH_RECOGNIZE (\n{self.written.query}\n)"

    def table(self, rows: list[Any]) -> pa.Table:
        """Return rows as an Arrow table."""
        return pa.Table.from_pylist(rows, schema=self.written.table.schema)


def case_of(written: Written, cuts: tuple[int, ...] = ()) -> WrittenRowPattern:
    """Return a case as the harness takes it."""
    return WrittenRowPattern(None, written.table.to_pylist(), cuts, written=written)  # type: ignore[arg-type]


def _by_oracle(case: WrittenRowPattern, rng: Random) -> tuple[list[str], Any]:
    query = parse_match_recognize(case.written.query, 0, case.written.query)
    try:
        return recognize(query, case.rows, case.written.table.column_names)
    except NotImplementedError as missing:
        raise Unable from missing


def _differ(case: WrittenRowPattern, answer: tuple[list[str], Any]) -> str | None:
    columns, rows = answer
    wanted, _ = case.written.result_table()
    if tuple(columns) != wanted:
        return f"the columns differ: {columns} should be {wanted}"
    return case.expected.rows_differ(rows, ordered=True)


ORACLE = Way("oracle", _by_oracle, judge=_differ)
