"""From a plan to its stage: the keys, the encoder and what advances in front of a collector."""

from __future__ import annotations

from dataclasses import field
from itertools import chain
from typing import TYPE_CHECKING, Any

from eventide.errors import warn
from eventide.match.dag.matching.enumerator import Enumerator
from eventide.plan.matchers.registry import counted_plan, make_matcher, plan_with_sample
from eventide.plan.matchers.sample import MOST_EVENTS, Sample
from eventide.plan.totals.methods import Growth
from eventide.records import record
from eventide.runtime.budget.limits import StageLimits
from eventide.runtime.stage.encoding import EventEncoder
from eventide.runtime.stage.expecting import expectation, may_explode
from eventide.runtime.stage.failures import errors_of_sequences
from eventide.runtime.stage.gathering import Cuts
from eventide.runtime.stage.keys import InterleavedKeys, SortedKeys
from eventide.runtime.stage.parts import Detail
from eventide.runtime.stage.stage import Stage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyarrow as pa

    from eventide.match.protocol import EventBatch
    from eventide.plan.labels.labelling import Labelling
    from eventide.plan.plan import Plan
    from eventide.runtime.prepare.sequences import Layout
    from eventide.runtime.stage.keys import KeyTracker
    from eventide.runtime.stage.parts import Advance, TableCollector


@record
class TableStage:
    """The stage of a plan over tables, as it is shipped to workers: every run makes its parts anew."""

    assemble: Callable[[TableStage, Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
    """Puts the parts of a kind of pattern together and runs them."""
    plan: Any
    layout: Any
    prepared: pa.Schema
    collector: type[TableCollector]
    limits: StageLimits = field(default_factory=StageLimits)
    cuts: Cuts = field(default_factory=Cuts)
    sampled: bool = False
    """Whether the first events help to choose the matcher; the driver says so where one task sees all events."""

    @property
    def schema(self) -> pa.Schema:
        """The schema of the rows that it yields; refuses types that the result cannot have."""
        return self.collector.schema(self.plan, self.layout, self.prepared)

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Turn the prepared rows of a task, sorted by key and time, into rows of results."""
        yield from self.assemble(self, batches)


def assemble_events(stage: TableStage, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Run the stage of a sequence: a matcher takes the events, or what adds matches up without listing them."""
    plan: Plan = stage.plan
    layout, detail = stage.layout, stage.collector.detail
    whole_keys = _takes_whole_keys(plan, detail)
    tables = stage.cuts.whole_keys(batches, layout.keys) if whole_keys else stage.cuts.chunks(batches)
    if stage.sampled and not whole_keys and plan.choice.wants_sample:
        plan, tables = _with_sample(plan, layout, tables)
    unwarned = detail is Detail.MATCHES and stage.limits.max_matches is None and not plan.warnings
    if stage.sampled and unwarned and may_explode(plan):
        tables = _warned(plan, layout, tables)
    keys = table_keys(plan, layout)
    encoder = EventEncoder(plan, layout, keys)
    limits = stage.limits.begun()
    if whole_keys:
        propagation, labelling = _propagation_of(plan, detail)
        parts = Stage(keys, encoder, propagation, stage.collector(plan, layout, labelling, stage.prepared))
    else:
        counts_only = stage.collector.counts_only(plan)
        matcher, labelling = make_matcher(counted_plan(plan) if counts_only else plan, limits)
        if counts_only and isinstance(matcher, Enumerator):
            matcher.counts_only = True
        parts = Stage(keys, encoder, matcher, stage.collector(plan, layout, labelling, stage.prepared), holder=matcher)
    with errors_of_sequences(plan):
        yield from limits.counted(parts.run(tables))


def table_keys(plan: Plan, layout: Layout) -> KeyTracker:
    """Return what follows the keys of a table: sorted, or in the order of time where they depend on each other."""
    return InterleavedKeys(layout.keys) if plan.interleaved and layout.keys else SortedKeys(layout.keys)


def encoded_table(plan: Plan, layout: Layout, table: pa.Table) -> EventBatch:
    """Return a whole table as kernels take it."""
    keys = table_keys(plan, layout)
    return EventEncoder(plan, layout, keys).encode(table, keys.spans(table))


def _with_sample(plan: Plan, layout: Layout, tables: Iterator[pa.Table]) -> tuple[Plan, Iterator[pa.Table]]:
    """Return the plan with the matcher that fits what the first events show, and all tables."""
    first = next(tables, None)
    if first is None:
        return plan, tables
    shown = Sample.of(plan, encoded_table(plan, layout, first.slice(0, MOST_EVENTS)))
    return plan_with_sample(plan, shown), chain([first], tables)


def _warned(plan: Plan, layout: Layout, tables: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """Yield all tables, and warn before the first if its events let expect very many matches."""
    for number, table in enumerate(tables):
        if number == 0:
            expected = expectation(plan, layout, table)
            if expected is not None:
                warn(expected)
        yield table


def _takes_whole_keys(plan: Plan, detail: Detail) -> bool:
    return detail is Detail.BOUNDS or (detail is not Detail.MATCHES and plan.totals_method.growth is not Growth.ENUMERATION)


def _propagation_of(plan: Plan, detail: Detail) -> tuple[Advance[EventBatch], Labelling | None]:
    """Return what goes over whole keys, and the labelling that explains its labels."""
    from eventide.runtime.stage import propagation  # noqa: PLC0415 - its kernels are for totals alone

    if detail is Detail.BOUNDS or (detail is Detail.COUNTS and plan.totals_method.growth is Growth.LINEAR):
        return propagation.PathCounter(plan), None
    aggregator, labelling = propagation.make_aggregator(plan)
    return propagation.Propagation(aggregator), labelling
