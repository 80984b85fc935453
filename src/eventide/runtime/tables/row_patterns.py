"""Row patterns over tables: what a clause prepares, matches and finishes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eventide.errors import warn
from eventide.runtime.collect.row_lines import stage_schema
from eventide.runtime.prepare.row_patterns import RowPreparation
from eventide.runtime.prepare.sequences import ARRIVAL
from eventide.runtime.stage.row_stage import RowStage
from eventide.runtime.tables.driver import TableWork

if TYPE_CHECKING:
    from collections.abc import Callable

    from eventide.plan.row_patterns.plan import RowPlan
    from eventide.runtime.inputs import RowInput
    from eventide.runtime.options import RunOptions
    from eventide.runtime.relational.adapter import Batches, Relation


def matching(source: RowInput, plan: RowPlan, options: RunOptions) -> TableWork:
    """Return the run of a clause over a table."""
    if not plan.keys and not source.engine.in_process:
        warn("MATCH_RECOGNIZE has no PARTITION BY, so one task does all the matching.")
    columns = RowPreparation(plan, source.engine.dialect)
    in_order = columns.in_order(source.engine, source.rows)
    preparation = columns.preparation()
    return TableWork(
        source.engine,
        _numbered(source, in_order=in_order),
        preparation.unsorted() if in_order else preparation,
        lambda _: _stage(plan, columns.keys, columns.payload, options),
        lambda prepared: stage_schema(plan, [prepared.field(name).type for name in columns.payload]),
        columns.finish(),
    )


def _numbered(source: RowInput, *, in_order: bool) -> Relation:
    if in_order:
        return source.engine.extend(source.rows, [(ARRIVAL, "0")])
    return source.engine.number(source.rows, ARRIVAL)


def _stage(plan: RowPlan, keys: list[str], payload: list[str], options: RunOptions) -> Callable[[Batches], Batches]:
    def run(batches: Batches) -> Batches:
        yield from RowStage(plan, keys, payload, options).run(batches)

    return run
