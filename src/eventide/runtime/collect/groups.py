"""GROUP BY over tables: aggregates over all matches of each group, propagated where possible, else of the matches one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eventide.pattern import GroupUnit
from eventide.plan.totals.methods import Growth
from eventide.plan.totals.results import Groups
from eventide.runtime.collect.group_totals import GroupTotals
from eventide.runtime.collect.propagation import make_aggregator
from eventide.runtime.stage.whole_keys import PLACE, SHOWN, WholeKeysStage

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from eventide.match.dag.enumeration import MatchBatch
    from eventide.plan.plan import Plan
    from eventide.runtime.prepare.sequences import Layout
    from eventide.runtime.stage.stage import StageOptions
    from eventide.runtime.stage.whole_keys import WholeKeys


class GroupStage(WholeKeysStage):
    """Turns prepared events into one row of aggregates for each group."""

    def __init__(
        self, plan: Plan, layout: Layout, prepared: pa.Schema, options: StageOptions | None = None
    ) -> None:
        super().__init__(plan, layout, options, propagated=plan.totals_method.growth is not Growth.ENUMERATION)
        self._totals = GroupTotals(plan, layout, (SHOWN,), PLACE)
        self._totals.learn(prepared)
        if self.propagated:
            self._aggregator, self.labelling = make_aggregator(plan)

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield one row a group."""
        yield from super().run(batches)
        assert isinstance(self.plan.results, Groups)
        if self.plan.results.unit is GroupUnit.PARTITION:
            # Also keys without a match have a row.
            keys = self.shown_keys()
            count = keys.num_rows if keys is not None else 0 if self.plan.keys else 1
            self._totals.begin([(number, 0) for number in range(count)], range(count), keys)
        rows = self._totals.rows()
        if rows is not None:
            yield from rows.to_batches()

    def take_keys(self, keys: WholeKeys) -> Iterator[pa.RecordBatch]:
        """Aggregate the matches of whole keys without enumerating them."""
        self._totals.learn(keys.table.schema)
        self._totals.take_keys(keys, self._aggregator, self.labelling)
        yield from ()

    def take_found(self, found: MatchBatch, payload: pa.Table) -> Iterator[pa.RecordBatch]:
        """Aggregate enumerated matches."""
        self._totals.learn(payload.schema)
        self._totals.take_found(found, payload, self.labelling)
        yield from ()
