"""GROUP BY on a stream: totals of groups that later matches can still fall into are state, the others leave as rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from eventide.match.totals.reached import ReachableBatch, ReachableEvents
from eventide.pattern import GroupUnit
from eventide.plan.matchers.registry import make_matcher
from eventide.plan.totals.methods import Growth
from eventide.plan.totals.results import Groups
from eventide.runtime.collect.group_totals import GroupTotals
from eventide.runtime.stage.keys import HashedKeys
from eventide.runtime.stage.propagation import WholeKeys, make_aggregator
from eventide.runtime.stage.shown_keys import SHOWN
from eventide.runtime.streams.bucket_query import CHECK, ID, KEY, NEVER, RESULT_COLUMNS
from eventide.runtime.streams.queries.order import InOrder
from eventide.runtime.streams.queries.parts import BucketCollector, BucketParts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eventide.match.dag.enumeration import MatchBatch
    from eventide.match.totals.exact import Aggregator
    from eventide.plan.labels.labelling import Labelling
    from eventide.plan.plan import Plan
    from eventide.runtime.budget.limits import StageLimits
    from eventide.runtime.prepare.sequences import Layout
    from eventide.runtime.stage.keys import KeySpans

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


def group_parts(plan: Plan, layout: Layout, limits: StageLimits) -> BucketParts:
    """Return the parts of a query with GROUP BY END or WINDOW: events are held in place of matches where totals propagate."""
    keys = HashedKeys((KEY, CHECK))
    if plan.totals_method.growth is Growth.ENUMERATION:
        matcher, labelling = make_matcher(plan, limits)
        return BucketParts(keys, InOrder(plan, layout, keys, matcher), matcher, ClosingGroups(plan, layout, labelling))
    aggregator, labelling = make_aggregator(plan)
    events = ReachableEvents(len(plan.values))
    groups = ClosingGroups(plan, layout, labelling, aggregator)
    return BucketParts(keys, InOrder(plan, layout, keys, events), events, groups)


class ClosingGroups(BucketCollector):
    """One row of aggregates for each group, once no later match can fall into it."""

    def __init__(self, plan: Plan, layout: Layout, labelling: Labelling, aggregator: Aggregator | None = None) -> None:
        self._totals = GroupTotals(plan, layout, labelling, group_keys(plan), ID)
        self._columns = list(dict.fromkeys([*layout.keys, *layout.payload, layout.clock, ID, *group_keys(plan)]))
        self._aggregator = aggregator
        self._hold = plan.hold

    def learn(self, events: pa.Schema) -> None:
        """Learn the types of the values that are added up."""
        self._totals.learn(events)

    def kept(self, table: pa.Table, spans: KeySpans) -> pa.Table:  # noqa: ARG002 - hashes name the keys
        """Keep what totals are made of and what names groups."""
        return table.select(self._columns)

    def take(self, found: MatchBatch | ReachableBatch, payload: pa.Table) -> Iterator[pa.RecordBatch]:
        """Add matches that were listed, or those that end at new events and go over what these reach."""
        self._totals.take(self._keys(found) if isinstance(found, ReachableBatch) else found, payload)
        yield from ()

    def _keys(self, reached: ReachableBatch) -> WholeKeys:
        assert self._aggregator is not None
        held = reached.events
        columns = (held.mask, held.clock, held.low, reached.offsets, held.values, held.valid)
        return WholeKeys(*columns, self._aggregator, reached.rows, reached.fresh)

    def advance_time(self, watermark: int) -> Iterator[pa.Table]:
        """Yield the rows of groups that are complete."""
        closed = None if watermark == NEVER else self._totals.closed(watermark - self._hold)
        if closed is not None:
            rows, names, ends = closed
            # A row is as old as the last match that it could have had; that orders rows, and its name tells it from others.
            high = np.array([name[0] for name in names], np.int64)
            low = np.array([name[-1] for name in names], np.int64)
            for name, column in zip(RESULT_COLUMNS, (ends, ends, high, low), strict=True):
                rows = rows.append_column(name, pa.array(column))
            yield rows

    def dump(self) -> dict[str, Any]:
        """Return the totals."""
        return self._totals.dump()

    def load(self, parts: dict[str, Any]) -> None:
        """Go on from a dump."""
        self._totals.load(parts)
