"""Row patterns over tables: what a clause prepares, matches and finishes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eventide.errors import warn
from eventide.runtime.budget.limits import StageLimits
from eventide.runtime.collect.row_lines import RowLines
from eventide.runtime.prepare.row_patterns import RowPreparation
from eventide.runtime.prepare.sequences import ARRIVAL
from eventide.runtime.stage.assembly import TableStage
from eventide.runtime.stage.row_patterns import assemble_rows
from eventide.runtime.tables.driver import TableWork

if TYPE_CHECKING:
    from eventide.plan.row_patterns.plan import RowPlan
    from eventide.runtime.inputs import RowInput
    from eventide.runtime.options import RunOptions
    from eventide.runtime.relational.adapter import Relation


def matching(source: RowInput, plan: RowPlan, options: RunOptions) -> TableWork:
    """Return the run of a clause over a table."""
    if not plan.keys and not source.engine.in_process:
        warn("MATCH_RECOGNIZE has no PARTITION BY, so one task does all the matching.")
    columns = RowPreparation(plan, source.engine.dialect)
    in_order = columns.in_order(source.engine, source.rows)
    preparation = columns.preparation()
    limits = StageLimits(
        options.max_matches, options.max_steps, max_memory=options.max_memory, gathers=source.engine.in_process
    )
    return TableWork(
        source.engine,
        _numbered(source, in_order=in_order),
        preparation.unsorted() if in_order else preparation,
        lambda prepared: TableStage(assemble_rows, plan, columns.layout, prepared, RowLines, limits, options.cuts),
        columns.finish(),
    )


def _numbered(source: RowInput, *, in_order: bool) -> Relation:
    if in_order:
        return source.engine.extend(source.rows, [(ARRIVAL, "0")])
    return source.engine.number(source.rows, ARRIVAL)
