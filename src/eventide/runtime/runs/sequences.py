"""Which driver runs a sequence: that of tables, or that of streams."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eventide.errors import BindError, warn
from eventide.plan.matchers.protocol import DISORDER
from eventide.plan.totals.methods import Growth
from eventide.runtime.runs.asked import Asked
from eventide.runtime.spread.distribution import check_way, refuse_unsound
from eventide.runtime.streams.planning.lateness import bind_lateness
from eventide.runtime.tables import sequences as tables
from eventide.runtime.tables.timeouts import TimeoutWork
from eventide.runtime.tables.together import QueriesWork

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eventide.plan.plan import Plan
    from eventide.runtime.inputs import EventInput
    from eventide.runtime.options import RunOptions
    from eventide.runtime.work import Work


def sequence_work(source: EventInput, plan: Plan, options: RunOptions, asked: Asked) -> Work:
    """Return the run of a sequence; refuses settings that cannot act."""
    source.refuse_nested([*plan.keys, *plan.derived_keys])
    if source.streaming:
        return _stream_of(source, plan, options, asked)
    match asked:
        case Asked.MATCHES:
            check_settings(source, plan, options)
            for warning in plan.warnings if options.max_matches is None else ():
                warn(warning)
            tables.report_left_out(source, plan)
            return tables.matching(source, plan, options)
        case Asked.COUNT:
            method = plan.totals_method
            if method.growth is Growth.ENUMERATION and plan.explosive:
                warn(f"count enumerates every match here, because {method.reason}.")
            return tables.counting(source, plan)
        case Asked.TIMEOUTS:
            return TimeoutWork(source, plan)
        case Asked.LATE:
            raise BindError(
                "NOT_A_STREAM",
                "Only the events of a stream can be late; here all events are known.",
                hint="Read the events with spark.readStream.",
            )


def _stream_of(source: EventInput, plan: Plan, options: RunOptions, asked: Asked) -> Work:
    from eventide.runtime.streams.spark import host  # noqa: PLC0415 - Spark is optional and slow to import

    match asked:
        case Asked.MATCHES:
            check_settings(source, plan, options)
            for warning in plan.warnings:
                warn(warning)
            return host.matching_events(source, plan, options)
        case Asked.COUNT:
            raise BindError(
                "COUNT_ON_STREAM",
                "The number of all matches of a stream is never final.",
                hint='Count what comes out: q.match(events).groupBy("key").count() in complete or update mode.',
            )
        case Asked.TIMEOUTS:
            return host.timing_out(source, plan, options)
        case Asked.LATE:
            return host.being_late(source, options)


def check_settings(source: EventInput, plan: Plan, options: RunOptions) -> None:
    """Refuse settings of a match that cannot act on the events, or would give another result."""
    options.check(streaming=source.streaming)
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


def together(plans: Mapping[str, Plan], source: EventInput, options: RunOptions) -> Work:
    """Return the run of several queries over the same events: of a stream in one pass."""
    options.check(streaming=source.streaming)
    if not source.streaming:
        return QueriesWork(
            source.engine, {name: sequence_work(source, plan, options, Asked.MATCHES) for name, plan in plans.items()}
        )
    for name, plan in plans.items():
        source.refuse_nested([*plan.keys, *plan.derived_keys])
        for warning in plan.warnings:
            warn(f"{name}: {warning}")
    from eventide.runtime.streams.spark import host  # noqa: PLC0415 - Spark is optional and slow to import

    return host.matching_queries(source, plans, options)
