"""Row patterns for the harness: random MATCH_RECOGNIZE clauses over random tables."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from random import Random
from typing import Any

import pyarrow as pa

import eventide as et
from eventide import pipeline
from eventide.errors import EventideWarning, LimitError
from eventide.language.sql.statement import parse_statement
from eventide.runtime.inputs import RowInput
from eventide.runtime.options import RunOptions
from eventide.runtime.relational.duckdb import DuckAdapter
from harness.kind import Row
from harness.kinds.row_patterns.oracle import Expected
from harness.kinds.row_patterns.queries import Trial, make_trial, simpler_trials
from harness.kinds.row_patterns.tables import COLUMNS, as_table, interleaved, late_rows, make_rows

ALONE = 4
"""How many tables a clause without `case_id` in PARTITION BY is run over, one by one."""
MOST_ERRORS = 2
"""How many of the tables that end in an error are run."""
CUTS = ((1,), (0, 1), (3, 1, 0), (10, 4), (40, 7, 0, 20), (200,))


@dataclass(frozen=True)
class RowPatternCase:
    """A clause over the rows of one or several tables."""

    trial: Trial
    rows: list[Row]
    cuts: tuple[int, ...] = ()
    seed: int = 0
    size: int = 1
    lateness: int = 0
    """How late a row of a stream may come, in microseconds."""
    skipped: int = 0

    @cached_property
    def expected(self) -> Expected:
        """What the oracle says of all tables."""
        expected = Expected(self.trial)
        for rows in self.tables():
            expected.add(rows)
        return expected

    @property
    def text(self) -> str:
        """The query."""
        return f"{self.sql}\n-- lateness {self.lateness}"

    @property
    def label(self) -> str:
        """Nothing to tell clauses apart by."""
        return ""

    @property
    def columns(self) -> list[str]:
        """The columns with values."""
        return [name for name in COLUMNS if any(row[name] is not None for row in self.rows)]

    @property
    def sql(self) -> str:
        """The query over the table `input`."""
        return self.trial.text

    def table(self, rows: list[Row]) -> pa.Table:
        """Return rows as an Arrow table."""
        return as_table(rows)

    def tables(self) -> list[list[Row]]:
        """Return the rows of each table."""
        if not self.trial.by_case:
            return [self.rows]
        cases = dict.fromkeys(row["case_id"] for row in self.rows)
        return [[row for row in self.rows if row["case_id"] == case] for case in cases]

    def ask(self, given: Callable[..., Any] = lambda table: table, **options: Any) -> Any:
        """Run the query."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EventideWarning)
            return et.sql(self.sql, input=given(self.table(self.rows)), **options)

    def carried_out(self, options: RunOptions) -> pa.Table:
        """Run the clause below the public interface, with settings that are for tests."""
        engine = DuckAdapter()
        query = parse_statement(self.sql).clauses[0].query
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EventideWarning)
            return engine.result(pipeline.run(query, RowInput.of(engine, engine.read(self.table(self.rows))), options))


@dataclass(frozen=True)
class RowPatterns:
    """Random clauses, each over several tables; a table that ends in an error is a case of its own."""

    make: Callable[[Random], Trial] = make_trial
    tables: int = 25
    late: bool = False
    """Whether rows have times and come out of order, but none later than a bound."""
    accepts: Callable[[Trial], bool] = lambda trial: True

    def draw(self, rng: Random) -> Iterator[RowPatternCase]:
        """Yield a random clause over random tables."""
        trial = self.make(rng)
        while not self.accepts(trial):
            trial = self.make(rng)
        if self.late:
            rows, lateness = late_rows(
                rng, self.tables if trial.by_case else 1, trial.longest_table(), days=trial.order_by[0] == "day"
            )
            yield from self._judged(rng, RowPatternCase(trial, rows, lateness=lateness))
            return
        tables = [make_rows(rng, case, trial.longest_table()) for case in range(self.tables)]
        for rows in [interleaved(rng, tables)] if trial.by_case else tables[:ALONE]:
            yield from self._judged(rng, RowPatternCase(trial, rows))

    def _judged(self, rng: Random, drawn: RowPatternCase) -> Iterator[RowPatternCase]:
        """Yield the tables that have an answer together, and those with errors one by one."""
        expected, kept, failing, skipped = Expected(drawn.trial), [], [], 0
        tables = drawn.tables()
        longest = max(map(len, tables), default=0)
        for table in tables:
            rows = table[:longest]
            alone = Expected(drawn.trial)
            try:
                alone.add(rows)
            except LimitError:
                skipped += 1
                # Too much for the oracle: what follows is cut shorter, so that it costs little and some of it is compared.
                longest = max(2, len(rows) // 2)
                continue
            if alone.errors:
                failing.append((rows, alone))
                continue
            kept.append(rows)
            expected.parts |= alone.parts
            expected.columns = alone.columns
        chosen = {id(row) for rows in kept for row in rows}
        whole = [row for row in drawn.rows if id(row) in chosen]
        cases = [(whole, expected, len(kept))] if kept else []
        for number, (rows, known, size) in enumerate([*cases, *((rows, alone, 1) for rows, alone in failing[:MOST_ERRORS])]):
            case = replace(drawn, rows=rows, cuts=rng.choice(CUTS), seed=rng.randrange(1 << 30), size=size, skipped=skipped * (not number))
            # The oracle has been asked; a case that is made from this one asks again.
            case.__dict__["expected"] = known
            yield case

    def simpler(self, case: RowPatternCase) -> Iterator[RowPatternCase]:
        """Yield cases whose clauses ask for less."""
        for trial in simpler_trials(case.trial):
            yield replace(case, trial=trial)
