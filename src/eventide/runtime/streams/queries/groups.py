"""GROUP BY on a stream: totals of groups that later matches can still fall into are state, the others leave as rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa

from eventide.match.totals.reached import ReachableEvents
from eventide.pattern import GroupUnit
from eventide.plan.totals.methods import Growth
from eventide.plan.totals.results import Groups
from eventide.runtime.collect.group_totals import GroupTotals
from eventide.runtime.collect.propagation import make_aggregator
from eventide.runtime.stage.whole_keys import SHOWN, WholeKeys
from eventide.runtime.streams.bucket_query import CHECK, ID, KEY, NEVER, RESULT_COLUMNS
from eventide.runtime.streams.queries.events import EventStreamEngine, StreamStage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eventide.match.dag.enumeration import MatchBatch
    from eventide.match.protocol import Matcher
    from eventide.match.totals.reached import ReachableBatch
    from eventide.plan.plan import Plan
    from eventide.plan.sequences.labelling import Labelling
    from eventide.runtime.prepare.sequences import Layout
    from eventide.runtime.stage.stage import StageOptions

SHOWN_CHECK = "__et_shown_check"
"""Beside SHOWN, the second hash of the PARTITION BY key."""


def joins_keys(plan: Plan) -> bool:
    """Return whether a group can have matches of several keys, because the plan splits PARTITION BY keys further."""
    windows = isinstance(plan.results, Groups) and plan.results.unit is GroupUnit.WINDOW
    return windows and bool(plan.derived_keys)


def group_keys(plan: Plan) -> tuple[str, ...]:
    """Return the columns that tell the groups of different PARTITION BY keys apart."""
    if not joins_keys(plan):
        return KEY, CHECK
    return (SHOWN, SHOWN_CHECK) if plan.keys else ()


class GroupStreamStage(StreamStage):
    """Adds enumerated matches up by group."""

    def __init__(self, plan: Plan, layout: Layout, options: StageOptions) -> None:
        super().__init__(plan, layout, options)
        self._totals = GroupTotals(plan, layout, group_keys(plan), ID)
        self._kept_columns = [*self._kept_columns, *group_keys(plan)]

    def take(self, table: pa.Table) -> Iterator[pa.Table]:
        """Take events in their order and add the matches that end with them."""
        self._totals.learn(table.schema)
        yield from super().take(table)

    def take_found(self, found: MatchBatch, payload: pa.Table) -> Iterator[pa.RecordBatch]:
        """Add some matches."""
        self._totals.take_found(found, payload, self.labelling)
        yield from ()

    def advance_time(self, watermark: int) -> Iterator[pa.Table]:
        """Learn that no event below the watermark comes any more, and yield the rows of groups that are complete."""
        yield from super().advance_time(watermark)
        if watermark == NEVER:
            return
        closed = self._totals.closed(watermark - self.plan.hold)
        if closed is not None:
            rows, names, ends = closed
            # A row is as old as the last match that it could have had; that orders rows, and its name tells it from others.
            high = np.array([name[0] for name in names], np.int64)
            low = np.array([name[-1] for name in names], np.int64)
            for name, column in zip(RESULT_COLUMNS, (ends, ends, high, low), strict=True):
                rows = rows.append_column(name, pa.array(column))
            yield rows

    def dump(self) -> dict[str, Any]:
        """Return the whole state by name."""
        return super().dump() | self._totals.dump()

    def load(self, parts: dict[str, Any]) -> None:
        """Go on from a dump."""
        super().load(parts)
        self._totals.load(parts)


class PropagatedStreamStage(GroupStreamStage):
    """Adds the matches that end at new events up without listing them, from the events that these can reach."""

    def _made(self) -> tuple[Matcher, Labelling]:
        self._aggregator, labelling = make_aggregator(self.plan)
        # It yields events in place of matches; all else is the same.
        return cast("Matcher", ReachableEvents(len(self.plan.values))), labelling

    def take_found(self, found: MatchBatch, payload: pa.Table) -> Iterator[pa.RecordBatch]:
        """Add the matches that end at new events."""
        reached = cast("ReachableBatch", found)
        events, table = reached.events, payload.take(pa.array(reached.rows))
        keys = WholeKeys(table, events.mask, events.clock, events.low, reached.offsets, events.values, events.valid)
        self._totals.take_keys(keys, self._aggregator, self.labelling, reached.fresh)
        yield from ()


class GroupStreamEngine(EventStreamEngine):
    """A query with GROUP BY END or WINDOW."""

    def __init__(self, plan: Plan, layout: Layout) -> None:
        listed = plan.totals_method.growth is Growth.ENUMERATION
        self.stage_class = GroupStreamStage if listed else PropagatedStreamStage
        super().__init__(plan, layout)
