"""Cases of CEQL and SASE files for the ways of the harness: what comes out is compared with what is written, not with the oracle."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from random import Random
from typing import Any

import pyarrow as pa

import eventide as et
from eventide.language import parse
from eventide.pattern import Query
from eventide_reference import group_rows, output_rows, score
from eventide_reference.sequences.oracle import Columns
from harness.case_files import Written
from harness.comparison import comparable_rows, difference
from harness.kinds.sequences.kind import SequenceCase
from harness.kinds.sequences.oracle import Expected
from harness.kinds.sequences.queries import Trial
from harness.kinds.sequences.streams import as_timestamp
from harness.ways import Way

SCALES = {"s": 1_000_000, "ms": 1_000}


class Rows(list):
    """Rows in the form in which results are compared."""

    def to_pylist(self) -> list[dict[str, Any]]:
        """Return the rows."""
        return self


@dataclass(frozen=True)
class WrittenMatches:
    """What is written below a query."""

    query: Query
    written: Written

    @property
    def errors(self) -> set[str]:
        """None: refused queries are no cases for the ways."""
        return set()

    @property
    def found(self) -> int:
        """How many lines there are."""
        return len(self.written.result)

    def disagreement(self, produced: Any) -> str | None:
        """Say how a result differs from what is written, or return None."""
        if self.query.output is not None:
            columns, rows = self.written.result_table()
            got = [tuple(_shown(row, column) for column in columns) for row in produced.to_pylist()]
            return difference("rows", Counter(comparable_rows(rows)), Counter(comparable_rows(got)))
        return self._matches_differ(self._matches_of(produced.to_pylist()))

    def miscount(self, counted: pa.Table) -> str | None:
        """Say how the number of matches differs, or return None."""
        number = self._number()
        got = sum(map(int, counted["matches"].to_pylist()))
        return None if number in (None, got) else f"the counts differ: {number} should be, {got} is"

    def _lines(self) -> list[str]:
        special = re.compile(r"none|\.\.\.|in order|not .*|\d+ matches|\d+ of these")
        return [line for line in self.written.result if not special.fullmatch(line)]

    def _said(self, expression: str) -> re.Match[str] | None:
        return next((found for line in self.written.result if (found := re.fullmatch(expression, line))), None)

    def _number(self) -> int | None:
        said = self._said(r"(\d+) (?:matches|of these)")
        if said is not None:
            return int(said[1])
        if self.query.output is not None:
            return len(self.written.result) - 1
        return None if self._said(r"\.\.\.") else len(self._lines())

    def _matches_of(self, rows: list[dict[str, Any]]) -> list[Any]:
        bound = [
            {name: tuple(event["event"] for event in value) for name, value in row.items() if isinstance(value, list) and value}
            for row in rows
        ]
        return [_bindings(one) if self._binds else _support(event for events in one.values() for event in events) for one in bound]

    @property
    def _binds(self) -> bool:
        return any("=" in line for line in self._lines())

    def _matches_differ(self, got: list[Any]) -> str | None:
        expected = [_read(line) for line in self._lines()]
        if self._said("in order"):
            return None if got == expected else f"the matches differ: {got} should be, in order, {expected}"
        forbidden = [match for line in self.written.result if line.startswith("not ") for match in got if match == _read(line[4:])]
        if forbidden:
            return f"the matches differ: {forbidden} must not be there"
        number = self._number()
        if number is not None and len(got) != number:
            return f"the matches differ: {number} should be there, not {len(got)}: {got}"
        wanted, there = Counter(expected), Counter(got)
        if self._said(r"\d+ of these"):
            wanted &= there
        if self._said(r"\.\.\."):
            there &= wanted
        return difference("matches", wanted, there)


def _shown(row: dict[str, Any], column: str) -> Any:
    """Return the value of a column: events by name, exact numbers read back from their digits."""
    value = row[column]
    if isinstance(value, list):
        return " ".join(event["event"] for event in value)
    return int(value) if f"{column}_approx" in row and value is not None else value


def _support(events: Any) -> tuple[str, ...]:
    return tuple(sorted(set(events)))


def _bindings(bound: dict[str, tuple[str, ...]]) -> tuple[Any, ...]:
    return tuple(sorted((name, tuple(sorted(events))) for name, events in bound.items()))


def _read(line: str) -> tuple[Any, ...]:
    if "=" not in line:
        return _support(line.split())
    return _bindings({name: tuple(events.split(",")) for name, events in (part.split("=") for part in line.split())})


@dataclass(frozen=True)
class WrittenSequence(SequenceCase):
    """A case of a file."""

    written: Written | None = None

    @cached_property
    def expected(self) -> WrittenMatches:  # type: ignore[override]
        """What is written."""
        return WrittenMatches(self.trial.query, self.written)

    @property
    def names(self) -> list[str]:
        """The streams."""
        return [name.text for name in self.trial.query.streams] or ["events"]

    def tables(self, rows: list[Any]) -> dict[str, pa.Table]:
        """Return events by stream."""
        parts = {name: [row for row in rows if len(self.names) == 1 or row["stream"] == name] for name in self.names}
        return {name: self._table(part) for name, part in parts.items()}

    def _table(self, rows: list[Any]) -> pa.Table:
        assert self.written is not None
        table = pa.Table.from_pylist(rows, schema=self.written.table.schema)
        if not self.trial.timestamps:
            return table
        moments = pa.array([as_timestamp(row["time"]) for row in rows], pa.timestamp("us", "UTC"))
        return table.set_column(table.schema.get_field_index("time"), "time", moments)

    def events(self, rows: list[Any], given: Callable[..., Any] = lambda table: table) -> dict[str, et.Events]:
        """Return events by stream, with their roles."""
        assert self.written is not None
        roles: dict[str, Any] = {"time": "time", "type": "type"}
        if self.trial.tie_break:
            roles["tie_break"] = "tie"
        if self.written.unit in SCALES:
            roles["time_unit"] = self.written.unit
        return {name: et.events(given(table), **roles) for name, table in self.tables(rows).items()}

    def oracle(self) -> Expected:
        """Return what the oracle says."""
        assert self.written is not None
        expected = Expected(self.trial, self.rows)
        columns = expected.columns
        expected.columns = Columns(
            stream=columns.stream, tie_break=columns.tie_break, time_scale=SCALES.get(self.written.unit or "", 1)
        )
        return expected


def case_of(written: Written, cuts: tuple[int, ...] = ()) -> WrittenSequence:
    """Return a case as the harness takes it; its events are as late on a stream as they come."""
    query = parse(written.query, written.language)
    trial = Trial(
        query,
        tie_break="tie" in written.table.column_names,
        timestamps=written.unit == "timestamps",
        seconds=False,
        several_streams=len(query.streams) > 1,
        by_case=False,
    )
    rows = written.table.to_pylist()
    latest = lateness = 0
    for row in rows:
        latest = max(latest, row["time"] or 0)
        lateness = max(lateness, latest - (latest if row["time"] is None else row["time"]))
    return WrittenSequence(trial, rows, cuts, lateness=lateness, written=written)


def _by_oracle(case: WrittenSequence, rng: Random) -> Rows:
    expected, query = case.oracle(), case.trial.query
    groups = [list(group) for group in expected.kept]
    matches = [match for group in groups for match in group]
    if query.group_by is not None:
        return Rows(group_rows(query, expected.rows, matches, time="time", clock=lambda time: time))
    if query.order_by is not None:
        sign = -1 if query.order_by.descending else 1
        matches.sort(key=lambda match: sign * score(query, expected.rows, match))
    matches = matches[: query.limit]
    if query.output is not None:
        return Rows(output_rows(query, expected.rows, matches))
    return Rows(
        {name: [expected.rows[index] for index in indices] for name, indices in match.bindings.items()} for match in matches
    )


ORACLE = Way("oracle", _by_oracle)
