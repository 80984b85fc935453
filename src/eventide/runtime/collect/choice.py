"""Which collector makes the rows of a plan, and the stage in front of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eventide.plan.totals.results import Best, Groups, MatchSample
from eventide.runtime.collect.best import BestRows
from eventide.runtime.collect.groups import GroupRows
from eventide.runtime.collect.matches import MatchRows
from eventide.runtime.collect.row_lines import RowLines
from eventide.runtime.collect.sample import SampleRows
from eventide.runtime.stage.assembly import TableStage, assemble_events
from eventide.runtime.stage.gathering import Cuts
from eventide.runtime.stage.limits import StageLimits
from eventide.runtime.stage.row_patterns import assemble_rows

if TYPE_CHECKING:
    import pyarrow as pa

    from eventide.plan.plan import Plan
    from eventide.plan.row_patterns.plan import RowPlan
    from eventide.runtime.prepare.row_patterns import RowLayout
    from eventide.runtime.prepare.sequences import Layout
    from eventide.runtime.stage.parts import TableCollector

_OF_RESULTS: dict[type, type[TableCollector]] = {
    Groups: GroupRows,
    Best: BestRows,
    MatchSample: SampleRows,
    type(None): MatchRows,
}


def collector_of(plan: Plan) -> type[TableCollector]:
    """Return the collector of what a query asks for."""
    return _OF_RESULTS[type(plan.results)]


def stage_for(
    plan: Plan,
    layout: Layout,
    prepared: pa.Schema,
    limits: StageLimits | None = None,
    *,
    collector: type[TableCollector] | None = None,
    cuts: Cuts | None = None,
) -> TableStage:
    """Return the stage of a sequence over tables, for rows of a prepared schema; it can be shipped to workers.

    The collector is that of the query unless another is given, to count for example. `cuts` say how many rows a kernel gets.
    """
    chosen = collector or collector_of(plan)
    return TableStage(assemble_events, plan, layout, prepared, chosen, limits or StageLimits(), cuts or Cuts())


def row_stage_for(plan: RowPlan, layout: RowLayout, prepared: pa.Schema, limits: StageLimits, cuts: Cuts) -> TableStage:
    """Return the stage of a row pattern over tables."""
    return TableStage(assemble_rows, plan, layout, prepared, RowLines, limits, cuts)
