"""Sequences over tables: what a run prepares, matches and finishes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from eventide.errors import warn
from eventide.plan.totals.results import Groups
from eventide.runtime import collect
from eventide.runtime.budget.limits import StageLimits
from eventide.runtime.collect.choice import stage_for
from eventide.runtime.collect.seeding import with_seed
from eventide.runtime.prepare.preparation import Finish
from eventide.runtime.prepare.sequences import finish_of, in_order, layout_of, preparation_of
from eventide.runtime.tables.driver import TableWork

if TYPE_CHECKING:
    from eventide.plan.plan import Plan
    from eventide.runtime.inputs import EventInput
    from eventide.runtime.options import RunOptions
    from eventide.runtime.prepare.preparation import Preparation
    from eventide.runtime.prepare.sequences import Layout
    from eventide.runtime.work import Work


def matching(source: EventInput, plan: Plan, options: RunOptions) -> Work:
    """Return the run that finds the matches of a table, or what the query makes of all of them."""
    plan = with_seed(plan)
    if source.engine.in_process or plan.results is not None:
        return _matching_by_keys(source, plan, options)
    from eventide.runtime.spread.tasks import TaskWork  # noqa: PLC0415 - Spark is optional and slow to import

    return TaskWork(source, plan, options)


def counting(source: EventInput, plan: Plan, options: RunOptions) -> TableWork:
    """Return the run that counts the matches of each key."""
    layout = layout_of(plan)
    names = [name.text for name in plan.query.partition_by]
    shown = [*zip(names, layout.keys, strict=False), *((name, name) for name in (collect.MATCHES, collect.APPROXIMATE))]
    limits = replace(table_limits(source, plan, options), matches_pay=False)
    return TableWork(
        source.engine,
        source.events,
        _preparation(source, plan, layout),
        lambda prepared: stage_for(plan, layout, prepared, limits, collector=collect.CountRows),
        Finish(shown),
    )


def _matching_by_keys(source: EventInput, plan: Plan, options: RunOptions) -> TableWork:
    layout = layout_of(plan)
    return TableWork(
        source.engine,
        source.events,
        _preparation(source, plan, layout),
        lambda prepared: stage_for(plan, layout, prepared, table_limits(source, plan, options), cuts=options.cuts),
        Finish(None) if isinstance(plan.results, Groups) else finish_of(plan, source.engine.dialect),
    )


def table_limits(source: EventInput, plan: Plan, options: RunOptions) -> StageLimits:
    """Return the caps of a run: rows that one process gathers count, and what adds matches up is not paid by them."""
    return StageLimits(
        options.max_matches,
        options.max_steps,
        max_memory=options.max_memory,
        gathers=source.engine.in_process and not (options.batches and plan.most_rows is None),
        matches_pay=plan.results is None,
    )


def _preparation(source: EventInput, plan: Plan, layout: Layout) -> Preparation:
    preparation = preparation_of(plan, layout, source.engine.dialect, whole_groups=True)
    return preparation.unsorted() if in_order(plan, source.engine, list(source.relations.values())) else preparation


def report_left_out(source: EventInput, plan: Plan) -> None:
    """Warn of events that no match can have, where the engine knows how many there are."""
    needed: list[tuple[str, str | None]] = [("a time", None)]
    if plan.window is not None and plan.window.attribute is not None:
        needed.append((plan.window.attribute, plan.window.attribute))
    for name, column in needed:
        missing = source.count_missing(column)
        if missing:
            warn(f"{missing} events without {name} were left out.")
