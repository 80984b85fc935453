"""Runs a clause over a stream in memory: DuckDB prepares and finishes, the engine of one bucket matches."""

from __future__ import annotations

import warnings
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from eventide import pipeline
from eventide.errors import EventideWarning
from eventide.language.sql.statement import parse_statement
from eventide.plan.expressions.schema import CLOCK_COLUMN
from eventide.plan.row_patterns.plan import RowPlan
from eventide.runtime.inputs import RowInput
from eventide.runtime.options import RunOptions
from eventide.runtime.prepare.row_patterns import RowPreparation
from eventide.runtime.prepare.sequences import ARRIVAL
from eventide.runtime.relational.adapter import SortKey
from eventide.runtime.relational.duckdb import DuckAdapter
from eventide.runtime.streams.bucket_query import CHECK, ID, KEY, MATCH_HIGH, MATCH_LOW, RESULT_COLUMNS
from eventide.runtime.streams.queries.row_patterns import RowBucketQuery

ENGINE = DuckAdapter()
DIALECT = ENGINE.dialect
FAR = 1 << 60
"""A watermark above all times."""


def plan_of(text: str, table: pa.Table) -> RowPlan:
    """Bind the first clause of a query."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EventideWarning)
        return pipeline.plan(parse_statement(text).clauses[0].query, RowInput.of(ENGINE, ENGINE.read(table)), RunOptions())


@dataclass
class Stream:
    """Rows in the order of arrival as an engine takes them, and everything it has returned."""

    plan: RowPlan
    prepared: pa.Table
    engine: RowBucketQuery
    certain: list[pa.Table] = field(default_factory=list)
    taken: int = 0

    @property
    def clock(self) -> np.ndarray:
        """The times of all rows."""
        return self.prepared.column(CLOCK_COLUMN).to_numpy()

    def advance(self, rows: int, watermark: int) -> pa.Table | None:
        """Hand the next rows and a watermark over; returns what came out."""
        fresh = self.prepared.slice(self.taken, rows)
        self.taken += fresh.num_rows
        found = self.engine.advance(fresh, watermark)
        self.certain += found
        return pa.concat_tables(found) if found else None

    def restart(self) -> None:
        """Go on with another engine from the state of this one."""
        state = self.engine.dump()
        self.engine = engine_of(self.plan)
        self.engine.load(state)
        assert self.engine.dump() == state

    def speculate(self) -> list[pa.Table]:
        """Return what would follow, and see that nothing changes by that."""
        state = self.engine.dump()
        found = self.engine.speculate()
        assert self.engine.dump() == state
        return found

    def finished(self, tables: list[pa.Table]) -> list[tuple[Any, ...]]:
        """Return results as the rows that a user sees."""
        return finished(self.plan, tables)


def engine_of(plan: RowPlan) -> RowBucketQuery:
    """Return an engine without state."""
    preparation = RowPreparation(plan, DIALECT)
    return RowBucketQuery(plan, preparation.order, preparation.payload)


def stream_of(plan: RowPlan, table: pa.Table) -> Stream:
    """Prepare a table whose rows are in the order of arrival."""
    preparation = RowPreparation(plan, DIALECT)
    time = plan.order[0]
    columns = [*preparation.narrow(), (CLOCK_COLUMN, DIALECT.micros(DIALECT.quote(time), plan.columns[time]))]
    numbered = table.append_column(ARRIVAL, pa.array(np.arange(table.num_rows)))
    prepared = ENGINE.result(ENGINE.arrange(ENGINE.read(numbered), columns, (), [SortKey(ARRIVAL)]))
    prepared = prepared.rename_columns([ID if name == ARRIVAL else name for name in prepared.column_names])
    keys: dict[tuple[str, ...], int] = {}
    values = zip(*(map(repr, prepared.column(name).to_pylist()) for name in preparation.keys), strict=True)
    numbers = [keys.setdefault(key, len(keys)) for key in values] or [0] * prepared.num_rows
    # Keys meet in the first hash, so the second one has to tell them apart.
    prepared = prepared.append_column(KEY, pa.array([number * 7 % 5 - 2 for number in numbers], pa.int64()))
    prepared = prepared.append_column(CHECK, pa.array([1000 - number for number in numbers], pa.int64()))
    return Stream(plan, prepared.combine_chunks(), engine_of(plan))


def finished(plan: RowPlan, tables: list[pa.Table]) -> list[tuple[Any, ...]]:
    """Return results as the rows that a user sees."""
    if not tables:
        return []
    found = pa.concat_tables(tables).drop_columns(list(RESULT_COLUMNS))
    table = ENGINE.result(RowPreparation(plan, DIALECT).finish().of(ENGINE, ENGINE.read(found)))
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def identities(tables: list[pa.Table]) -> list[tuple[int, int]]:
    """Return the identities of results."""
    return [
        pair
        for table in tables
        for pair in zip(table.column(MATCH_HIGH).to_pylist(), table.column(MATCH_LOW).to_pylist(), strict=True)
    ]


def once(tables: list[pa.Table]) -> bool:
    """Return whether no result is there twice."""
    return max(Counter(identities(tables)).values(), default=1) == 1


def rows_of_table(plan: RowPlan, table: pa.Table) -> pa.Table:
    """Return the rows that a clause has over a table."""
    return ENGINE.result(pipeline.run(plan.query, RowInput.of(ENGINE, ENGINE.read(table)), RunOptions()))
