"""Counting the matches of each key, by propagation where that is possible and by enumeration where it is not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from eventide.errors import BindError
from eventide.match.totals.counting import MatchCounter
from eventide.match.totals.exact import EventColumns
from eventide.plan.totals.methods import Growth
from eventide.runtime.collect.group_values import as_digits, as_double
from eventide.runtime.collect.propagation import make_aggregator
from eventide.runtime.stage.whole_keys import SHOWN, WholeKeysStage, column_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eventide.match.dag.enumeration import MatchBatch
    from eventide.plan.plan import Plan
    from eventide.runtime.prepare.sequences import Layout
    from eventide.runtime.stage.whole_keys import WholeKeys

MATCHES = "matches"
APPROXIMATE = "matches_approx"


def count_schema(plan: Plan, layout: Layout, prepared: pa.Schema) -> pa.Schema:
    """Return the schema of counts: the PARTITION BY attributes, the exact digits, and a double."""
    keys = [pa.field(name, prepared.field(name).type) for name in layout.keys[: len(plan.keys)]]
    return pa.schema([*keys, pa.field(MATCHES, pa.string()), pa.field(APPROXIMATE, pa.float64())])


class CountStage(WholeKeysStage):
    """Counts the matches of prepared events, one row for each PARTITION BY key."""

    def __init__(self, plan: Plan, layout: Layout) -> None:
        if plan.output.refine:
            raise BindError(
                "COUNT_NOT_POSSIBLE",
                f"Matches cannot be counted, because {plan.refined[0]} is only decided on the finished rows.",
                hint="Count the rows of match() instead.",
            )
        cost = plan.totals_method.growth
        super().__init__(plan, layout, propagated=cost is not Growth.ENUMERATION)
        self._begin_counting(MatchCounter(plan.automaton(), max(1, len(plan.predicates))) if cost is Growth.LINEAR else None)
        if cost is Growth.POLYNOMIAL:
            self._aggregator, self.labelling = make_aggregator(plan)

    def _begin_counting(self, counter: MatchCounter | None) -> None:
        self._counts: dict[int, int] = {}
        self._counter = counter

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield one row a key."""
        yield from super().run(batches)
        keys = self.shown_keys()
        shown = keys.num_rows if keys is not None else 0 if self.plan.keys else 1
        if shown:
            counts = [self._counts.get(number, 0) for number in range(shown)]
            columns = [] if keys is None else [column.combine_chunks() for column in keys.columns]
            exact = pa.array([as_digits(count) for count in counts], pa.string())
            rough = pa.array([as_double(count) for count in counts], pa.float64())
            names = list(self.layout.keys[: len(self.plan.keys)])
            yield pa.RecordBatch.from_arrays([*columns, exact, rough], [*names, MATCHES, APPROXIMATE])

    def take_keys(self, keys: WholeKeys) -> Iterator[pa.RecordBatch]:
        """Count the matches of whole keys without enumerating them."""
        if self._counter is not None:
            counted = self._counter.count(keys.masks, keys.clocks, keys.lows, keys.offsets)
            shown = keys.shown[keys.offsets[:-1]].tolist()
        else:
            names, group = np.unique(keys.shown, return_inverse=True)
            events = EventColumns(
                keys.masks, keys.clocks, keys.lows, keys.offsets, group.reshape(-1), len(names), keys.values, keys.valid
            )
            nothing, nowhere = np.zeros((0, keys.table.num_rows), np.int64), np.zeros((0, 1), np.uint8)
            counted = self._aggregator.totals(events, [], nowhere, nothing, nowhere).matches
            shown = names.tolist()
        for key, count in zip(shown, counted, strict=True):
            self._counts[key] = self._counts.get(key, 0) + count
        yield from ()

    def take_found(self, found: MatchBatch, payload: pa.Table) -> Iterator[pa.RecordBatch]:
        """Count enumerated matches."""
        shown = column_of(payload, SHOWN)[found.end]
        for key, count in zip(*(part.tolist() for part in np.unique(shown, return_counts=True)), strict=True):
            self._counts[key] = self._counts.get(key, 0) + count
        yield from ()
