"""Which collector makes the rows of a sequence, and the stage in front of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eventide.plan.totals.results import Best, Groups, MatchSample
from eventide.runtime import collect
from eventide.runtime.budget.limits import StageLimits
from eventide.runtime.stage.assembly import TableStage, assemble_events
from eventide.runtime.stage.gathering import Cuts

if TYPE_CHECKING:
    import pyarrow as pa

    from eventide.plan.plan import Plan
    from eventide.runtime.prepare.sequences import Layout
    from eventide.runtime.stage.parts import TableCollector

_OF_RESULTS = {Groups: "GroupRows", Best: "BestRows", MatchSample: "SampleRows", type(None): "MatchRows"}
"""The name of the collector for each kind of results."""


def collector_of(plan: Plan) -> type[TableCollector]:
    """Return the collector of what a query asks for."""
    collector: type[TableCollector] = getattr(collect, _OF_RESULTS[type(plan.results)])
    return collector


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
