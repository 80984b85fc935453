"""Running a clause over many tables at once, comparing with the oracle table by table, and making a failing one small."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from unittest import mock

import eventide as et
from eventide import pipeline
from eventide.errors import DataError, EventideError, EventideWarning, LimitError
from eventide.runtime.inputs import RowInput
from eventide.runtime.options import RunOptions
from eventide.runtime.relational.duckdb import DuckAdapter
from eventide.runtime.stage.gathering import Cuts
from eventide_reference import recognize
from row_differential.queries import Trial, simpler_trials
from row_differential.tables import COLUMNS, Row, as_table, interleaved, make_rows

if TYPE_CHECKING:
    from random import Random

    import pyarrow as pa

ORACLE_STEPS = 6_000
"""Of one table; what needs more is skipped and counted."""

Values = tuple[Any, ...]
Parts = dict[Values, list[Values]]
"""The rows of a result by partition."""


@dataclass(frozen=True)
class Way:
    """How the engine runs: through `et.sql`, or below it with rooms of a few rows so that everything must grow."""

    public: bool = False
    room: int | None = None
    """For matches, mapped rows and depth, and the first size of the memory of failed steps; None leaves them large."""
    block: int | None = None
    """Rows of a block, which holds at least one partition."""


def run(trial: Trial, rows: list[Row], way: Way) -> pa.Table:
    """Run a clause on the local engine."""
    table = as_table(rows)
    with warnings.catch_warnings(), ExitStack() as rooms:
        warnings.simplefilter("ignore", EventideWarning)
        if way.room is not None:
            for name in ("ROOM_ROWS", "ROOM_MATCHES", "ROOM_DEPTH"):
                rooms.enter_context(mock.patch(f"eventide.match.row_pattern.matcher.{name}", way.room))
            # A table of hashes needs a free place.
            rooms.enter_context(mock.patch("eventide.match.row_pattern.matcher.SMALLEST_MEMORY", max(2, way.room)))
        if way.block is not None:
            rooms.enter_context(mock.patch("eventide.runtime.relational.duckdb.PREPARED_ROWS", way.block))
        if way.public:
            return et.sql(trial.text, input=table)
        engine = DuckAdapter()
        options = RunOptions(cuts=Cuts() if way.block is None else Cuts(way.block))
        return engine.result(pipeline.run(trial.query, RowInput(engine, engine.read(table)), options))


@dataclass
class Expected:
    """What the oracle says of each table: rows by partition, or the errors of which the engine must raise one."""

    trial: Trial
    columns: list[str] = field(default_factory=list)
    parts: dict[int, Parts] = field(default_factory=dict)
    errors: dict[int, set[str]] = field(default_factory=dict)
    skipped: list[int] = field(default_factory=list)

    def add(self, case: int, rows: list[Row]) -> None:
        """Ask the oracle for one table."""
        try:
            self.columns, found = recognize(self.trial.query, rows, COLUMNS, ORACLE_STEPS)
        except LimitError:
            self.skipped.append(case)
        except DataError:
            self.errors[case] = self._errors(rows)
        else:
            self.parts[case] = by_partition(self.trial, found)

    def _errors(self, rows: list[Row]) -> set[str]:
        # Engines need not walk the partitions in the same order, so any of them may be the one that stops the query.
        conditions = set()
        keys = {tuple(row[key] for key in self.trial.partition_by) for row in rows}
        for key in keys:
            part = [row for row in rows if tuple(row[column] for column in self.trial.partition_by) == key]
            try:
                recognize(self.trial.query, part, COLUMNS, ORACLE_STEPS)
            except DataError as error:
                conditions.add(error.condition)
            except LimitError:
                continue
        return conditions


def by_partition(trial: Trial, rows: list[Values]) -> Parts:
    """Return the rows of a result by the values of PARTITION BY, which stand first in every row."""
    width = len(trial.partition_by)
    parts: Parts = {}
    for row in rows:
        shown = tuple(map(comparable, row))
        parts.setdefault(shown[:width], []).append(shown[width:])
    return parts


def comparable(value: Any) -> Any:
    """Return a value so that equal ones are equal whatever engine they come from, and truth values are no numbers."""
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    if isinstance(value, int | float | Decimal):
        return round(float(value), 9) + 0.0
    if isinstance(value, datetime):
        return value.timestamp()
    return value


def disagreement(trial: Trial, expected: Expected, produced: pa.Table) -> tuple[int, str] | None:
    """Return the first table whose result differs and how, or None."""
    if expected.columns and produced.column_names != expected.columns:
        return next(iter(expected.parts)), f"the columns differ: {produced.column_names} should be {expected.columns}"
    found = by_partition(trial, list(zip(*(column.to_pylist() for column in produced.columns), strict=True)))
    for case, parts in expected.parts.items():
        mine = {key: rows for key, rows in found.items() if not trial.by_case or key[0] == case}
        if mine != parts:
            return case, _difference(parts, mine)
    strangers = [key for key in found if trial.by_case and key[0] not in expected.parts]
    return (-1, f"the rows of no table: {strangers}") if strangers else None


def _difference(expected: Parts, got: Parts) -> str:
    lines = []
    for key in {**expected, **got}:
        right, wrong = expected.get(key, []), got.get(key, [])
        if right != wrong:
            same = Counter(right) == Counter(wrong)
            lines.append(f"the rows differ{' in their order' if same else ''}, partition {key}")
            lines += [f"  {'oracle':>7}: {row}" for row in right[:15]]
            lines += [f"  {'engine':>7}: {row}" for row in wrong[:15]]
    return "\n".join(lines)


@dataclass
class Tally:
    """How much was compared."""

    cases: int = 0
    skipped: int = 0
    rows: int = 0
    failures: int = 0
    """Tables on which both sides raised an error."""


def check(rng: Random, trial: Trial, tables: int, ways: list[Way], tally: Tally) -> None:
    """Compare engine and oracle; raises AssertionError with a small example."""
    cases = [make_rows(rng, case, trial.longest_table()) for case in range(tables)]
    if not trial.by_case:
        for rows in cases[:4]:
            _check_together(rng, trial, [rows], ways[:1], tally)
        return
    _check_together(rng, trial, cases, ways, tally)


def _check_together(rng: Random, trial: Trial, cases: list[list[Row]], ways: list[Way], tally: Tally) -> None:
    expected = Expected(trial)
    longest = max(map(len, cases))
    for case, rows in enumerate(cases):
        cases[case] = rows[:longest]
        expected.add(case, cases[case])
        if case in expected.skipped:
            # Too much for the oracle: what follows is cut shorter, so that it costs little and some of it is compared.
            longest = max(2, len(cases[case]) // 2)
    kept = interleaved(rng, [cases[case] for case in expected.parts])
    for way in ways:
        wrong = outcome(trial, kept, way, expected) if expected.parts else None
        if wrong is not None:
            case, message = wrong
            rows = cases[case] if message.startswith("the") and case >= 0 and fails(trial, cases[case], way) else kept
            raise AssertionError(shrunk(trial, rows, way, message))
    for case in list(expected.errors)[:2]:
        tally.failures += 1
        message = fails(trial, cases[case], ways[0])
        if message is not None:
            raise AssertionError(shrunk(trial, cases[case], ways[0], message))
    tally.cases += len(expected.parts) + min(2, len(expected.errors))
    tally.skipped += len(expected.skipped)
    tally.rows += sum(len(rows) for parts in expected.parts.values() for rows in parts.values())


def outcome(trial: Trial, rows: list[Row], way: Way, expected: Expected) -> tuple[int, str] | None:
    """Return what is wrong with one run and in which table, or None."""
    try:
        produced = run(trial, rows, way)
    except EventideError as error:
        return -1, f"{type(error).__name__}: {error}"
    except Exception as error:  # noqa: BLE001 - any crash is a finding that wants its query and rows
        return -1, f"crash, {type(error).__name__}: {error}"
    return disagreement(trial, expected, produced)


def fails(trial: Trial, rows: list[Row], way: Way) -> str | None:
    """Return what is wrong with a clause over one or several tables, or None."""
    expected = Expected(trial)
    for case in sorted({row["case_id"] for row in rows}) if trial.by_case else [0]:
        expected.add(case, [row for row in rows if row["case_id"] == case or not trial.by_case])
    if expected.skipped:
        return None
    allowed = set().union(*expected.errors.values())
    if not allowed:
        wrong = outcome(trial, rows, way, expected)
        return None if wrong is None else wrong[1]
    try:
        run(trial, rows, way)
    except EventideError as error:
        return None if error.condition in allowed else f"{type(error).__name__}: {error}, not {allowed}"
    except Exception as error:  # noqa: BLE001 - see above
        return f"crash, {type(error).__name__}: {error}"
    return f"no error: the oracle raises {allowed}"


# Small examples ------------------------------------------------------------------------------------------------------


def shrunk(trial: Trial, rows: list[Row], way: Way, wrong: str) -> str:
    """Make the clause and its rows small as long as it fails, and describe what is left."""
    tries = 0

    def still(candidate: Trial, left: list[Row]) -> str | None:
        nonlocal tries
        tries += 1
        if tries > 500:
            return None
        try:
            found = fails(candidate, left, way)
        except (EventideError, NotImplementedError, LookupError):
            return None
        return found if found is not None and _kind(found) == _kind(wrong) else None

    progress = True
    while progress:
        progress = False
        size = max(1, len(rows) // 2)
        while size:
            begin = 0
            while begin < len(rows):
                less = rows[:begin] + rows[begin + size :]
                found = still(trial, less)
                if found:
                    rows, wrong, progress = less, found, True
                else:
                    begin += size
            size //= 2
        for candidate in simpler_trials(trial):
            found = still(candidate, rows)
            if found:
                trial, wrong, progress = candidate, found, True
                break
    return described(trial, rows, way, wrong)


def _kind(wrong: str) -> str:
    """Return what must stay the same while an example is made small: the condition of an error, or that rows differ."""
    return wrong[:110] if "Error: [" in wrong else wrong[:9]


def described(trial: Trial, rows: list[Row], way: Way, wrong: str) -> str:
    """Return a failing clause as text: the query, the rows and what is wrong."""
    shown = [name for name in COLUMNS if any(row[name] is not None for row in rows)]
    lines = ["", trial.text, f"-- {way}", "  ".join(f"{name:>7}" for name in shown)]
    lines += ["  ".join(f"{_short(row[name]):>7}" for name in shown) for row in rows]
    lines.append(f"wrong: {wrong}")
    return "\n".join(lines)


def _short(value: Any) -> str:
    return f"{value:%H:%M:%S}" if isinstance(value, datetime) else repr(value) if isinstance(value, str) else str(value)
