"""From plans to a streaming run: which columns are prepared, how events are spread, and what cannot be decided on a stream."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING

from eventide.errors import BindError, did_you_mean
from eventide.pattern.sequence_printing import ceql_clauses
from eventide.plan.matchers.registry import ARRIVAL, enumerated_plan, refusal
from eventide.plan.totals.results import Groups
from eventide.records import record
from eventide.runtime.prepare.sequences import CLOCK, STREAM, TIE, layout_of, prepared_columns
from eventide.runtime.stage.shown_keys import SHOWN
from eventide.runtime.streams.job import (
    BUCKETS,
    DROP_OLDEST,
    ERROR,
    OVERFLOWS,
    KeyHashing,
    StreamJob,
    StreamQuery,
    default_buckets,
)
from eventide.runtime.streams.output import CORRECTNESS, EARLY, FINAL, ORDERED
from eventide.runtime.streams.planning.lateness import bind_idle, bind_lateness
from eventide.runtime.streams.planning.refused_totals import refuse_results
from eventide.runtime.streams.planning.slices import IN_ORDER
from eventide.runtime.streams.queries.events import EventBucketQuery, arrival_parts, ordered_parts
from eventide.runtime.streams.queries.groups import SHOWN_CHECK, group_parts, joins_keys
from eventide.runtime.streams.queries.order import arrival_refusal
from eventide.runtime.streams.state_owner import StateOwner

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from eventide.plan.expressions.schema import StreamSchema
    from eventide.plan.plan import Plan
    from eventide.runtime.options import RunOptions
    from eventide.runtime.prepare.sequences import Layout
    from eventide.runtime.relational.dialect import Dialect
    from eventide.runtime.streams.bucket_query import BucketQuery
    from eventide.runtime.streams.clocks import Idle


@record
class StreamOptions:
    """What a caller may set for a stream."""

    lateness: int = 0
    output: str = FINAL
    buckets: int = BUCKETS
    max_state: int | None = None
    overflow: str = ERROR
    slices: int = 1
    idle: Idle | None = None
    finish: bool = False

    def check(self) -> None:
        """Refuse settings that there are not."""
        if self.output not in CORRECTNESS:
            raise BindError(
                "UNKNOWN_OUTPUT", f"There is no output {self.output}.", hint=did_you_mean(str(self.output), CORRECTNESS)
            )
        if self.overflow not in OVERFLOWS:
            raise BindError(
                "UNKNOWN_OVERFLOW", f"There is no overflow {self.overflow}.", hint=did_you_mean(str(self.overflow), OVERFLOWS)
            )
        for name, number in (("buckets", self.buckets), ("max_state", self.max_state)):
            whole = isinstance(number, int) and not isinstance(number, bool)
            if number is not None and not (whole and number > 0):
                raise BindError("BAD_SETTING", f"{name} is {number!r}.", hint=f"Give {name} as a whole number above zero.")
        if self.finish and self.idle is not None:
            raise BindError(
                "SETTINGS_CONTRADICT",
                "idle_after lets the clock go on while nothing comes, finish takes that for the end.",
                hint="Give finish for a run that ends (availableNow), idle_after for one that goes on.",
            )
        if self.lateness < 0:
            raise BindError("BAD_LATENESS", "The lateness is negative.", hint='Give it as a duration: lateness="10 seconds".')


def bound_options(
    given: RunOptions, schemas: Sequence[StreamSchema], slices: int = 1, cores: int | None = None
) -> StreamOptions:
    """Return what a caller set, in the units of the time columns; into how many slices matches are cut was decided before."""
    options = StreamOptions(
        max(bind_lateness(given.lateness, schema) for schema in schemas),
        given.output,
        default_buckets(cores) if given.buckets is None else given.buckets,
        given.max_state,
        given.overflow,
        slices,
        bind_idle(given.idle_after, schemas),
        given.finish,
    )
    options.check()
    return options


class Projection:
    """The columns that a run prepares, each expression once."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    def add(self, sql: str) -> str:
        """Return the name of an expression."""
        return self._names.setdefault(sql, f"c{len(self._names)}")

    def columns(self) -> list[tuple[str, str]]:
        """Return all columns as (name, SQL)."""
        return [(name, sql) for sql, name in self._names.items()]


class Spreading:
    """The ways in which the events of a run are spread, each once."""

    def __init__(self, projection: Projection, dialect: Dialect, buckets: int) -> None:
        self._projection = projection
        self._dialect = dialect
        self._buckets = buckets
        self._numbers: dict[tuple[tuple[str, ...], tuple[str, ...] | None, bool, int], int] = {}
        self.hashings: list[KeyHashing] = []

    def hashing(self, keys: Sequence[str], *, together: bool, by: Sequence[str] | None = None, slices: int = 1) -> int:
        """Return the number of a way: by keys, or by some of them, or all events in one bucket where keys need each other."""
        together = together or not keys
        spread = None if by is None or together else tuple(by)
        way = (tuple(keys), spread, together, slices)
        known = self._numbers.get(way)
        if known is not None:
            return known
        number = self._numbers[way] = len(self.hashings)
        hashes = [self.key_hash(keys, salt) if keys else None for salt in (0, 1)]
        # Chosen by name: queries may come and go between runs, and state must be found where it was left.
        home = _number_of(keys) % self._buckets if together else None
        by_hash = None if spread is None else self.key_hash(spread, 0)
        self.hashings.append(KeyHashing(hashes[0], hashes[1], home, by_hash, slices))
        return number

    def key_hash(self, keys: Sequence[str], salt: int) -> str:
        """Return the name of the column with a hash of keys."""
        return self._projection.add(self._dialect.key_hash(keys, salt))


def event_job(
    plans: Mapping[str, Plan], dialect: Dialect, options: StreamOptions, *, registry: bool = False
) -> tuple[StreamJob, list[tuple[str, str]]]:
    """Return the run of some event queries over the same streams, and the columns to prepare for it."""
    projection = Projection()
    spreading = Spreading(projection, dialect, options.buckets)
    clock = projection.add(CLOCK)
    streams = next(iter(plans.values())).streams
    queries = tuple(
        event_query(name, plan, dialect, options, projection, spreading) for name, plan in plans.items()
    )
    job = StreamJob(
        queries,
        tuple(spreading.hashings),
        clock,
        len(streams),
        projection.add(STREAM) if len(streams) > 1 else None,
        options.lateness,
        options.buckets,
        options.max_state,
        options.overflow,
        registry,
        engine=dialect.name,
        idle=options.idle,
        finish=options.finish,
    )
    return job, projection.columns()


def typed_job(job: StreamJob, kinds: Mapping[str, str]) -> StreamJob:
    """Return the run with the types of its columns in what names its state: events of other types cannot join those held."""
    queries = [
        replace(query, owner=query.owner.typed({own: kinds[name] for own, name in query.columns})) for query in job.queries
    ]
    return replace(job, queries=tuple(queries))


def stream_layout(plan: Plan) -> Layout:
    """Return the names of the prepared columns; the order of a stream needs no columns of LIMIT."""
    return replace(layout_of(plan), order=())


def event_query(
    name: str, plan: Plan, dialect: Dialect, options: StreamOptions, projection: Projection, spreading: Spreading
) -> StreamQuery:
    """Return a query of a run; what it needs is added to the projection and to the ways of spreading."""
    refuse_results(plan, options.output)
    if options.slices > 1:
        plan = enumerated_plan(plan)
    refuse_undecidable(plan, options.output)
    _refuse_lossy(plan, options.overflow)
    layout = stream_layout(plan)
    columns = prepared_columns(plan, layout, dialect)
    if any(schema.tie_break for _, schema in plan.streams):
        columns.append((TIE, TIE))
    if len(plan.streams) > 1:
        columns.append((STREAM, STREAM))
    # Where a group has matches of several keys, these must meet in one bucket and know that they belong together.
    whole_groups = joins_keys(plan)
    if whole_groups and plan.keys:
        columns += [(SHOWN, dialect.key_hash(plan.keys, 0)), (SHOWN_CHECK, dialect.key_hash(plan.keys, 1))]
    shared = tuple((own, projection.add(sql)) for own, sql in columns)
    named = dict(shared)
    keys = [*plan.keys, *plan.derived_keys]
    by = plan.keys if whole_groups else None
    hashing = spreading.hashing(keys, together=bool(one_task_reason(plan)), by=by, slices=options.slices)
    make, kind = bucket_query_of(plan, layout, options)
    bits = {occurrence.bit for occurrence in plan.bound.occurrences} | {absence.bit for absence in plan.bound.absences}
    required = [named[key] for key in layout.keys[len(plan.keys) :]]
    if layout.attribute is not None:
        required.append(named[layout.attribute])
    return StreamQuery(
        name,
        StateOwner(
            {**shaping_clauses(plan, options), **roles_of(plan), "matcher": kind, "slices": str(options.slices)},
            {name: sql for name, sql in columns if name not in layout.payload},
            {name: sql for name, sql in columns if name in layout.payload},
        ),
        shared,
        named[layout.clock],
        hashing,
        make,
        named[layout.mask],
        sum(1 << bit for bit in bits) if plan.drops_irrelevant else 0,
        tuple(required),
        options.output,
        plan.hold,
    )


def one_task_reason(plan: Plan) -> str | None:
    """Return why all events of a stream must be seen together, or None when they need not."""
    if plan.interleaved:
        return "CONSUME BY ANY"
    if plan.query.limit is not None:
        return "LIMIT"
    if not plan.keys and (joins_keys(plan) or not plan.derived_keys):
        return "no PARTITION BY"
    return None


def shaping_clauses(plan: Plan, options: StreamOptions) -> dict[str, str]:
    """Return the clauses that shape the state: of SELECT its selector and the variables it shows, but no names of columns."""
    clauses: dict[str, str] = {}
    for word, text in ceql_clauses(plan.query):
        clauses[word] = f"{clauses[word]} AND {text}" if word in clauses else text
    if plan.results is None:
        # What SELECT shows is made of held events when a match is found.
        clauses["SELECT"] = f"{plan.query.selector.name} of {', '.join(sorted(plan.output.kept)) or 'no variable'}"
        clauses["the variables told apart"] = ", ".join(sorted(plan.distinguished_variables))
        if options.output != FINAL:
            # Results wait in the state as they are.
            clauses["the values that SELECT shows"] = repr((plan.output.fields, plan.output.event_fields))
    return clauses


def roles_of(plan: Plan) -> dict[str, str]:
    """Return which columns are time, type and tie-break, and the window in their units: what the SQL of a query does not say."""
    roles: dict[str, str] = {}
    for number, (_, schema) in enumerate(plan.streams, start=1):
        # The name of an only stream is the caller's own matter.
        whose = f" of stream {number}" if len(plan.streams) > 1 else ""
        given = {"time": schema.time, "type": schema.type, "tie_break": schema.tie_break, "time_unit": schema.time_unit}
        roles |= {f"{role}{whose}": str(value) for role, value in given.items()}
    return roles | {"the window in units of time": repr(plan.window)}


def bucket_query_of(plan: Plan, layout: Layout, options: StreamOptions) -> tuple[Callable[..., BucketQuery], str]:
    """Return what makes the bucket query of a plan, and its name."""
    reason = reorder_reason(plan, options.overflow, options.slices)
    if reason is None:
        return partial(EventBucketQuery, arrival_parts, plan, layout), ARRIVAL.name
    if plan.choice.forced == ARRIVAL.name:
        raise refusal(ARRIVAL, plan, reason)
    if isinstance(plan.results, Groups):
        name = f"groups {plan.totals_method.growth.value} {plan.choice.matcher}"
        return partial(EventBucketQuery, group_parts, plan, layout), name
    return partial(EventBucketQuery, ordered_parts, plan, layout), plan.choice.matcher


def reorder_reason(plan: Plan, overflow: str = ERROR, slices: int = 1) -> str | None:
    """Return why events must be put in order before they are matched, or None when they are taken as they arrive."""
    if plan.results is not None:
        return "GROUP BY adds up what ends at an event once all events before it are there"
    if slices > 1:
        return IN_ORDER
    if plan.choice.forced not in (None, ARRIVAL.name):
        return "asked for"
    if overflow == DROP_OLDEST and plan.bound.absences:
        return "what is dropped may be an event that NOT forbids, which a late one would have to find"
    return ARRIVAL.why_not(plan) or arrival_refusal(plan)


def _number_of(keys: Sequence[str]) -> int:
    """Return a number that stands for some columns, the same in every process."""
    return int(blake2b("\0".join(["", *(f"{key}=" for key in keys)]).encode(), digest_size=12).hexdigest(), 16)


def refuse_undecidable(plan: Plan, output: str) -> None:
    """Refuse what an unbounded stream cannot decide."""
    if plan.trailing and output == ORDERED and not plan.timed:
        raise BindError(
            "ORDER_WITHOUT_TIME",
            "NOT at the end is decided by a number of events, so how long a match must wait for its turn is not known.",
            hint='Use WITHIN with a duration, or output="final".',
        )
    if plan.trailing and plan.query.limit is not None:
        raise BindError(
            "LIMIT_UNDECIDED",
            "LIMIT keeps the matches that end first, but with NOT at the end a later one can be certain before them.",
            hint="Leave LIMIT out on a stream.",
        )
    if plan.query.limit is not None and output == EARLY:
        raise BindError(
            "LIMIT_UNDECIDED",
            "LIMIT cannot be combined with early output: each correction would move all later matches.",
            hint='Leave LIMIT out, or use output="final".',
        )


def _refuse_lossy(plan: Plan, overflow: str) -> None:
    """Refuse to drop partial matches where one that is missing lets another one appear."""
    if overflow != DROP_OLDEST:
        return
    if plan.results is not None:
        raise BindError(
            "DROP_NOT_SOUND",
            "Without the oldest partial matches the totals of GROUP BY would be wrong, and nothing in their rows would say so.",
            hint=f'Use overflow="{ERROR}".',
        )
    compares = plan.compares_matches or plan.query.limit is not None
    if compares or plan.consumes or plan.bound.leading:
        raise BindError(
            "DROP_NOT_SOUND",
            "Without its oldest partial matches the query could report false matches: it has a selector, LIMIT, CONSUME BY or "
            "NOT at the front.",
            hint=f'Use overflow="{ERROR}".',
        )


def stream_warnings(plan: Plan, options: StreamOptions) -> list[str]:
    """Return what a user should know before a stream of this plan starts."""
    warnings = []
    window = plan.window
    if window is None and options.max_state is None:
        whole = "WITHIN" if plan.query.step_window is None else "window of the whole match"
        warnings.append(
            f"The query has no {whole}, so the state of the stream grows without bound. Add WITHIN with a duration, or max_state."
        )
    elif window is not None and not plan.timed:
        warnings.append(
            "WITHIN is not a duration, so keys without further events are kept forever, and a NOT at their end is never decided. "
            "Use a duration where keys come and go."
        )
    if window is None and plan.results is not None:
        warnings.append("Without a window GROUP BY goes over all earlier events of a key again whenever it gets new ones.")
    reason = one_task_reason(plan)
    if options.slices > 1:
        warnings.append(f"The matches are found in {options.slices} slices, each of which holds the whole state of its keys.")
    elif reason is not None and options.buckets > 1:
        warnings.append(f"The query has {reason}, so one task does all the matching of the stream.")
    return warnings
