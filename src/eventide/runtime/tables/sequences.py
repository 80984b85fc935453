"""Sequences over tables: what a run prepares, matches and finishes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eventide.errors import warn
from eventide.plan.totals.results import Groups
from eventide.runtime.collect.counts import APPROXIMATE, MATCHES, CountStage, count_schema
from eventide.runtime.collect.group_schema import group_schema
from eventide.runtime.collect.groups import GroupStage
from eventide.runtime.collect.matches import stage_schema
from eventide.runtime.collect.ranked import chosen_stage, with_seed
from eventide.runtime.prepare.preparation import Finish
from eventide.runtime.prepare.sequences import finish_of, in_order, layout_of, preparation_of
from eventide.runtime.stage.stage import MatchStage, StageOptions
from eventide.runtime.tables.driver import TableWork

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

    from eventide.plan.plan import Plan
    from eventide.runtime.inputs import EventInput
    from eventide.runtime.options import RunOptions
    from eventide.runtime.prepare.preparation import Preparation
    from eventide.runtime.prepare.sequences import Layout
    from eventide.runtime.relational.adapter import Batches
    from eventide.runtime.work import Work

    Run = Callable[[Batches], Batches]


def matching(source: EventInput, plan: Plan, options: RunOptions) -> Work:
    """Return the run that finds the matches of a table, or what the query makes of all of them."""
    plan = with_seed(plan)
    if source.engine.in_process or plan.results is not None:
        return _matching_by_keys(source, plan, options)
    from eventide.runtime.spread.tasks import TaskWork  # noqa: PLC0415 - Spark is optional and slow to import

    return TaskWork(source, plan, options)


def counting(source: EventInput, plan: Plan) -> TableWork:
    """Return the run that counts the matches of each key."""
    layout = layout_of(plan)
    names = [name.text for name in plan.query.partition_by]
    shown = [*zip(names, layout.keys, strict=False), (MATCHES, MATCHES), (APPROXIMATE, APPROXIMATE)]
    return TableWork(
        source.engine,
        source.events,
        _preparation(source, plan, layout),
        lambda _: _count_stage(plan, layout),
        lambda prepared: count_schema(plan, layout, prepared),
        Finish(shown),
    )


def _matching_by_keys(source: EventInput, plan: Plan, options: RunOptions) -> TableWork:
    layout = layout_of(plan)
    limits = StageOptions(options.max_matches)
    preparation = _preparation(source, plan, layout)
    if isinstance(plan.results, Groups):
        return TableWork(
            source.engine,
            source.events,
            preparation,
            lambda prepared: _group_stage(plan, layout, prepared, limits),
            lambda prepared: group_schema(plan, layout, prepared),
            Finish(None),
        )
    return TableWork(
        source.engine,
        source.events,
        preparation,
        lambda _: _match_stage(plan, layout, limits),
        lambda prepared: stage_schema(plan, layout, prepared),
        finish_of(plan, source.engine.dialect),
    )


def _preparation(source: EventInput, plan: Plan, layout: Layout) -> Preparation:
    preparation = preparation_of(plan, layout, source.engine.dialect, whole_groups=True)
    relations = [relation for _, relation in source.streams.values()]
    return preparation.unsorted() if in_order(plan, source.engine, relations) else preparation


def _match_stage(plan: Plan, layout: Layout, limits: StageOptions) -> Run:
    def run(batches: Batches) -> Batches:
        stage = MatchStage(plan, layout, limits) if plan.results is None else chosen_stage(plan, layout, limits)
        yield from stage.run(batches)

    return run


def _group_stage(plan: Plan, layout: Layout, prepared: pa.Schema, limits: StageOptions) -> Run:
    def run(batches: Batches) -> Batches:
        yield from GroupStage(plan, layout, prepared, limits).run(batches)

    return run


def _count_stage(plan: Plan, layout: Layout) -> Run:
    def run(batches: Batches) -> Batches:
        yield from CountStage(plan, layout).run(batches)

    return run


def report_left_out(source: EventInput, plan: Plan) -> None:
    """Warn of events that no match can have, where the engine knows how many there are."""
    needed: list[tuple[str, str | None]] = [("a time", None)]
    if plan.window is not None and plan.window.attribute is not None:
        needed.append((plan.window.attribute, plan.window.attribute))
    for name, column in needed:
        missing = source.count_missing(column)
        if missing:
            warn(f"{missing} events without {name} were left out.")
