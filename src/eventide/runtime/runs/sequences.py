"""The runs of a sequence: what is asked of it, on the driver of tables or on that of streams."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eventide.errors import BindError, warn
from eventide.plan.matchers.protocol import DISORDER
from eventide.plan.totals.methods import Growth
from eventide.runtime.runs.asked import Asked
from eventide.runtime.runs.hosts import host_of
from eventide.runtime.spread.distribution import check_way, refuse_unsound
from eventide.runtime.streams.planning.lateness import bind_lateness
from eventide.runtime.tables import sequences as tables

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from eventide.plan.plan import Plan
    from eventide.plan.timeouts.plans import TimeoutPlans
    from eventide.runtime.inputs import EventInput
    from eventide.runtime.options import RunOptions
    from eventide.runtime.work import Work


def matching(source: EventInput, plan: Plan, options: RunOptions) -> Work:
    """Return the run that finds the matches; refuses settings that cannot act."""
    _refuse_nested_keys(source, plan)
    check_settings(source, plan, options)
    for warning in plan.warnings if source.streaming or options.max_matches is None else ():
        warn(warning)
    if source.streaming:
        return host_of(source.engine).matching_events(source, plan, options)  # type: ignore[no-any-return]
    tables.report_left_out(source, plan)
    return tables.matching(source, plan, options)


def counting(source: EventInput, plan: Plan, options: RunOptions) -> Work:
    """Return the run that counts the matches of each key."""
    _refuse_nested_keys(source, plan)
    if source.streaming:
        raise BindError(
            "COUNT_ON_STREAM",
            "The number of all matches of a stream is never final.",
            hint='Count what comes out: q.match(events).groupBy("key").count() in complete or update mode.',
        )
    method = plan.totals_method
    if method.growth is Growth.ENUMERATION and plan.explosive:
        warn(f"count enumerates every match here, because {method.reason}.")
    return tables.counting(source, plan, options)


def timing_out(source: EventInput, plans: TimeoutPlans, options: RunOptions) -> Work:
    """Return the run that finds the matches which are never completed."""
    _refuse_nested_keys(source, plans.plans[-1])
    options.check(streaming=source.streaming)
    if source.streaming:
        return host_of(source.engine).timing_out(source, plans, options)  # type: ignore[no-any-return]
    from eventide.runtime.tables.timeouts import TimeoutWork  # noqa: PLC0415 - few queries are asked for their timeouts

    return TimeoutWork(source, plans)


def being_late(source: EventInput, plan: Plan, options: RunOptions) -> Work:
    """Return the run that finds the late events of a stream."""
    _refuse_nested_keys(source, plan)
    if source.streaming:
        return host_of(source.engine).being_late(source, options)  # type: ignore[no-any-return]
    raise BindError(
        "NOT_A_STREAM",
        "Only the events of a stream can be late; here all events are known.",
        hint="Read the events with spark.readStream.",
    )


RUNS: Mapping[Asked, Callable[..., Work]] = {
    Asked.MATCHES: matching,
    Asked.COUNT: counting,
    Asked.TIMEOUTS: timing_out,
    Asked.LATE: being_late,
}


def matching_together(plans: Mapping[str, Plan], source: EventInput, options: RunOptions) -> Work:
    """Return the run of several queries over the same events: of a stream in one pass."""
    options.check(streaming=source.streaming)
    if not source.streaming:
        from eventide.runtime.tables.together import QueriesWork  # noqa: PLC0415 - most queries run alone

        return QueriesWork(source.engine, {name: matching(source, plan, options) for name, plan in plans.items()})
    for name, plan in plans.items():
        _refuse_nested_keys(source, plan)
        for warning in plan.warnings:
            warn(f"{name}: {warning}")
    return host_of(source.engine).matching_queries(source, plans, options)  # type: ignore[no-any-return]


def check_settings(source: EventInput, plan: Plan, options: RunOptions) -> None:
    """Refuse settings of a match that cannot act on the events, or would give another result."""
    options.check(streaming=source.streaming)
    if source.streaming and options.max_steps is not None:
        raise BindError(
            "ONLY_ON_TABLES",
            "max_steps of an event query is for tables; on a stream each micro-batch has steps of its own.",
            hint="Narrow WITHIN, or leave max_steps out.",
        )
    for _, schema in plan.streams:
        bind_lateness(options.lateness, schema)
    check_way(options.distribution, options.slices)
    if plan.choice.forced == DISORDER and not source.streaming:
        raise BindError(
            "NOT_A_STREAM",
            "The disorder-native operator is for streams; the events of a table are put in order first.",
            hint="Leave matcher out.",
        )
    refuse_unsound(plan, options.distribution, options.slices)


def _refuse_nested_keys(source: EventInput, plan: Plan) -> None:
    source.refuse_nested([*plan.keys, *plan.derived_keys])
