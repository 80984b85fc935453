"""MATCH_RECOGNIZE over Arrow tables: DuckDB prepares and finishes in this process."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from eventide.plan.row_patterns.plan import make_row_plan
from eventide.runtime.collect.row_lines import stage_schema
from eventide.runtime.prepare.row_patterns import ARRIVAL, RowPreparation
from eventide.runtime.prepare.sequences import select_list
from eventide.runtime.relational.duckdb import DIALECT, PREPARED_ROWS, arrow_columns, arrow_kind, connected, explained, fetch
from eventide.runtime.stage.row_stage import RowStage

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager

    import duckdb
    from sqlglot import exp

    from eventide.pattern.row_patterns import RowQuery
    from eventide.plan.row_patterns.plan import RowPlan
    from eventide.plan.schema import Kind
    from eventide.runtime.stage.row_stage import RowOptions


class LocalRows:
    """A table in memory that clauses stand over."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def plan(self, query: RowQuery) -> RowPlan:
        """Bind a clause to this table."""
        with self._connect() as connection:
            return make_row_plan(query, arrow_columns(self._table), _describer(connection))

    def recognize(self, plan: RowPlan, options: RowOptions) -> pa.Table:
        """Run a clause."""
        preparation = RowPreparation(plan, DIALECT)
        in_order = not preparation.windowed and not plan.partition and self._is_in_order(plan)
        with self._connect(numbered=not in_order) as connection:
            stage = RowStage(plan, preparation.keys, preparation.payload, options)
            with explained():
                reader = connection.sql(_prepared(preparation, in_order=in_order)).to_arrow_reader(PREPARED_ROWS)
                schema = stage_schema(plan, [reader.schema.field(name).type for name in preparation.payload])
                found = pa.Table.from_batches(stage.run(iter(reader)), schema)
            connection.register("found", found)
            return fetch(connection, f"SELECT {select_list(preparation.finish(), DIALECT)} FROM found")

    def physical(self, plan: RowPlan) -> str:
        """Return DuckDB's plan of Prepare."""
        with self._connect(numbered=True) as connection:
            explained_rows = connection.execute(f"EXPLAIN {_prepared(RowPreparation(plan, DIALECT))}").fetchall()
        return "\n".join(str(row[-1]) for row in explained_rows)

    def _is_in_order(self, plan: RowPlan) -> bool:
        """Return whether the rows come in the order of the clause: sorting them would only cost time and memory."""
        if not plan.order:
            return True
        column = self._table.column(plan.order[0])
        if len(plan.order) > 1 or column.null_count or not _is_number_or_time(column.type):
            return False
        last = None
        for chunk in column.chunks:
            values = chunk.to_numpy(zero_copy_only=False)
            if plan.query.order_by[0].descending:
                values = values[::-1]
            if not len(values):
                continue
            edges = values[[0, -1]]
            joined = last is None or (edges[1] <= last if plan.query.order_by[0].descending else edges[0] >= last)
            if not joined or not bool((values[1:] >= values[:-1]).all()):
                return False
            last = edges[0] if plan.query.order_by[0].descending else edges[1]
        return True

    def _connect(self, *, numbered: bool = False) -> AbstractContextManager[duckdb.DuckDBPyConnection]:
        if not numbered:
            return connected({"input": self._table})
        arrival = pa.array(np.arange(self._table.num_rows, dtype=np.int64))
        return connected({"input": self._table.append_column(ARRIVAL, arrival)})


def _is_number_or_time(kind: pa.DataType) -> bool:
    # Of doubles NaN would need a place; they are left to the sort.
    return bool(pa.types.is_integer(kind) or pa.types.is_timestamp(kind) or pa.types.is_date(kind))


def _prepared(preparation: RowPreparation, *, in_order: bool = False) -> str:
    narrow = select_list(preparation.narrow(), DIALECT)
    behind = select_list(preparation.sorted(), DIALECT)
    if in_order:
        return f"SELECT {behind} FROM (SELECT {narrow} FROM (SELECT *, 0 AS {ARRIVAL} FROM input))"
    order = ", ".join([*(f"{key} ASC NULLS FIRST" for key in preparation.keys), *preparation.sort_keys()])
    return f"SELECT {behind} FROM (SELECT {narrow} FROM input) ORDER BY {order}"


def _describer(connection: duckdb.DuckDBPyConnection) -> Callable[[Sequence[exp.Expression]], list[Kind]]:
    def describe(trees: Sequence[exp.Expression]) -> list[Kind]:
        columns = ", ".join(f"{DIALECT.sql(tree)} AS c{number}" for number, tree in enumerate(trees))
        return [arrow_kind(field.type) for field in fetch(connection, f"SELECT {columns} FROM input LIMIT 0").schema]

    return describe
