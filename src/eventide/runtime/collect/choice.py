"""Which collector makes the rows of a plan, and the stage in front of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eventide.plan.row_patterns.plan import RowPlan
from eventide.plan.totals.results import Best, Groups, MatchSample
from eventide.runtime.collect.best import BestRows
from eventide.runtime.collect.groups import GroupRows
from eventide.runtime.collect.matches import MatchRows
from eventide.runtime.collect.row_lines import RowLines
from eventide.runtime.collect.sample import SampleRows
from eventide.runtime.stage.assembly import TableStage
from eventide.runtime.stage.gathering import Cuts
from eventide.runtime.stage.limits import StageLimits

if TYPE_CHECKING:
    import pyarrow as pa

    from eventide.plan.plan import Plan
    from eventide.runtime.stage.parts import TableCollector

_OF_RESULTS: dict[type, type[TableCollector]] = {
    Groups: GroupRows,
    Best: BestRows,
    MatchSample: SampleRows,
    type(None): MatchRows,
}


def collector_of(plan: Plan | RowPlan) -> type[TableCollector]:
    """Return the collector of what a query asks for."""
    return RowLines if isinstance(plan, RowPlan) else _OF_RESULTS[type(plan.results)]


def stage_for(
    plan: Plan | RowPlan,
    layout: Any,
    prepared: pa.Schema,
    limits: StageLimits | None = None,
    *,
    collector: type[TableCollector] | None = None,
    cuts: Cuts | None = None,
) -> TableStage:
    """Return the stage of a plan over tables, for rows of a prepared schema; it can be shipped to workers.

    The collector is that of the query unless another is given, to count for example. `cuts` say how many rows a kernel gets.
    """
    return TableStage(plan, layout, prepared, collector or collector_of(plan), limits or StageLimits(), cuts or Cuts())
