"""GROUP BY over tables: aggregates over all matches of each group."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from eventide.pattern import GroupUnit
from eventide.plan.totals.results import AggregateKind, Groups
from eventide.runtime.collect.group_schema import group_schema
from eventide.runtime.collect.group_totals import GroupTotals
from eventide.runtime.relational.arrays import arrow_array
from eventide.runtime.stage.parts import Detail, TableCollector
from eventide.runtime.stage.shown_keys import SHOWN, ShownKeys

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from eventide.match.dag.enumeration import MatchBatch
    from eventide.match.dag.judged.judging import EndCounts
    from eventide.plan.labels.labelling import Labelling
    from eventide.plan.plan import Plan
    from eventide.runtime.prepare.sequences import Layout
    from eventide.runtime.stage.keys import KeySpans
    from eventide.runtime.stage.propagation import WholeKeys

_OF_ENDS = frozenset(
    (AggregateKind.KEY, AggregateKind.END, AggregateKind.WINDOW_START, AggregateKind.WINDOW_END, AggregateKind.MATCHES)
)
"""What is known of the matches that end at an event from their number."""
PLACE = "__et_place"
"""The number of the event in the order of the stage's input."""


class GroupRows(TableCollector):
    """One row of aggregates for each group."""

    detail = Detail.TOTALS
    schema = staticmethod(group_schema)

    @staticmethod
    def counts_only(plan: Plan) -> bool:
        """Return whether nothing but the number of matches is asked for."""
        assert isinstance(plan.results, Groups)
        return all(column.kind in _OF_ENDS for column in plan.results.columns)

    def __init__(self, plan: Plan, layout: Layout, labelling: Labelling, prepared: pa.Schema) -> None:
        assert isinstance(plan.results, Groups)
        self._unit = plan.results.unit
        self._shown = ShownKeys(plan, layout)
        self._places = 0
        self._columns = list(dict.fromkeys([*layout.keys, *layout.payload, layout.clock]))
        self._totals = GroupTotals(plan, layout, labelling, (SHOWN,), PLACE)
        self._totals.learn(prepared)

    def kept(self, table: pa.Table, spans: KeySpans) -> pa.Table:
        """Keep what totals are made of, and the numbers of keys and events that name groups."""
        self._totals.learn(table.schema)
        places = np.arange(self._places, self._places + table.num_rows, dtype=np.int64)
        self._places += table.num_rows
        kept = table.select(self._columns).append_column(SHOWN, self._shown.numbers(table, spans))
        return kept.append_column(PLACE, arrow_array(places))

    def take(self, found: MatchBatch | EndCounts | WholeKeys, payload: pa.Table) -> Iterator[pa.RecordBatch]:
        """Add up the matches of groups."""
        self._totals.take(found, payload)
        yield from ()

    def finish(self) -> Iterator[pa.RecordBatch]:
        """Yield a row for each group; also PARTITION BY keys without a match have one."""
        if self._unit is GroupUnit.PARTITION:
            count = self._shown.row_count
            self._totals.begin([(number, 0) for number in range(count)], range(count), self._shown.keys)
        rows = self._totals.rows()
        if rows is not None:
            yield from rows.to_batches()
