"""The public surface: read a query, say what the events are, match."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from eventide import explain as explaining
from eventide import pipeline
from eventide.errors import BindError, EventideWarning, did_you_mean
from eventide.kinds import KINDS
from eventide.plan.expressions.schema import UNITS_PER_SECOND, Kind, StreamSchema
from eventide.plan.matchers.registry import make_plan
from eventide.records import record
from eventide.runtime.budget.memory import memory_size
from eventide.runtime.inputs import EventInput, read_events
from eventide.runtime.options import ERROR, FINAL, RunOptions
from eventide.runtime.relational.arrow import kinds_of_columns
from eventide.runtime.runs.asked import Asked
from eventide.runtime.tables.driver import TableWork
from eventide.runtime.work import check_checkpoint

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import timedelta

    from eventide.pattern import Query as QueryModel
    from eventide.runtime.relational.adapter import Adapter, Relation
    from eventide.runtime.streams.live.stream import Live

    Duration = str | int | timedelta


RESERVED_PREFIX = "__et_"


@record
class Events:
    """A stream of events: the data and the roles of its columns. Made by `events`."""

    engine: Adapter
    relation: Relation
    schema: StreamSchema


def events(
    data: Any,
    *,
    time: str,
    type: str | None = None,  # noqa: A002 - the word the domain uses
    tie_break: str | None = None,
    types: Sequence[str] | None = None,
    time_unit: str | None = None,
) -> Events:
    """Say which columns of the data are the time, the type and the tie-break of the events.

    `data` is a Spark DataFrame or anything with the Arrow C stream interface. `types` declares the event types, so that a
    misspelt one is an error; `time_unit` (s, ms, us or ns) says what an integer time column counts.

    >>> import pyarrow as pa
    >>> events(pa.table({"ts": [1], "kind": ["A"]}), time="ts", type="kind").schema.time
    'ts'
    """
    engine, relation, columns = read_events(data)
    return Events(engine, relation, _roles(columns, time, type, tie_break, types, time_unit))


def _roles(
    columns: dict[str, Kind],
    time: str,
    type: str | None,  # noqa: A002
    tie_break: str | None,
    types: Sequence[str] | None,
    time_unit: str | None,
) -> StreamSchema:
    for role, name in (("time", time), ("type", type), ("tie_break", tie_break)):
        if name is not None and name not in columns:
            raise BindError(
                "MISSING_COLUMN",
                f"The events have no column {name} for their {role.replace('_', '-')}.",
                hint=did_you_mean(str(name), columns),
            )
    _refuse_columns(columns)
    if columns[time] not in (Kind.TIMESTAMP, Kind.DATE, Kind.INTEGER):
        raise BindError(
            "BAD_TIME_COLUMN",
            f"The time column {time} is {columns[time].named}.",
            hint="Use a timestamp, a date or whole numbers; convert text with to_timestamp first.",
        )
    if time_unit is not None and time_unit not in UNITS_PER_SECOND:
        units = ", ".join(UNITS_PER_SECOND)
        raise BindError("BAD_TIME_UNIT", f"There is no time unit {time_unit}.", hint=f"There are: {units}.")
    if time_unit is not None and columns[time] is not Kind.INTEGER:
        raise BindError(
            "BAD_TIME_UNIT",
            f"The time column {time} is {columns[time].named}, which has no unit.",
            hint="Leave out time_unit; it says what a column of whole numbers counts.",
        )
    declared = (types,) if isinstance(types, str) else None if types is None else tuple(types)
    return StreamSchema(columns, time, type, tie_break, declared, time_unit)


def pushed_events(
    name: str,
    given: Any,
    *,
    time: str | None = None,
    type: str | None = None,  # noqa: A002
    tie_break: str | None = None,
    types: Sequence[str] | None = None,
    time_unit: str | None = None,
) -> Events:
    """Return events that are still to be pushed: of events that are given only the columns and their roles count."""
    from eventide.opening.queries import pushed_relation, refuse_spark  # noqa: PLC0415 - tables need none of it

    if isinstance(given, Events):
        if (time, type, tie_break, types, time_unit) != (None,) * 5:
            raise BindError(
                "BAD_SETTING", "The events say already which columns are what.", hint="Leave time, type and so on out."
            )
        refuse_spark(given.engine)
        if given.engine.is_stream(given.relation):
            return given
        return Events(*pushed_relation(name, given.engine.schema(given.relation)), given.schema)
    if time is None:
        raise BindError("MISSING_COLUMN", "No column is named as the time of the events.", hint='Give time="...".')
    engine, relation = pushed_relation(name, given)
    columns = kinds_of_columns(engine.schema(relation))
    return Events(engine, relation, _roles(columns, time, type, tie_break, types, time_unit))


def _refuse_columns(columns: Mapping[str, Kind]) -> None:
    """Refuse names that relational engines cannot tell apart, and those that Prepare uses itself."""
    seen: dict[str, str] = {}
    for name in columns:
        other = seen.setdefault(name.lower(), name)
        if other != name:
            raise BindError(
                "AMBIGUOUS_COLUMN",
                f"The columns {other} and {name} differ in upper and lower case only.",
                hint="Rename or leave out one of them.",
            )
        if name.lower().startswith(RESERVED_PREFIX):
            raise BindError(
                "RESERVED_COLUMN",
                f"The name of the column {name} begins with {RESERVED_PREFIX}, which is kept for Eventide's own columns.",
                hint="Rename the column.",
            )


def pushed_streams(
    only: str, schema: Any, roles: Mapping[str, Any], named: Mapping[str, Any]
) -> tuple[Events | None, dict[str, Any]]:
    """Return the stream without a name, if there is one, and those with names."""
    given = None if schema is None else pushed_events(only, schema, **roles)
    return given, {name: pushed_events(name, one) if isinstance(one, Events) else one for name, one in named.items()}


@record
class Query:
    """A query that has been read; run it with `match` or `count`."""

    model: QueryModel

    def match(
        self,
        events: Events | None = None,
        /,
        *,
        max_matches: int | None = None,
        max_memory: int | str | None = None,
        max_steps: int | None = None,
        batches: bool = False,
        distribution: str | None = None,
        slices: int | None = None,
        matcher: str | None = None,
        lateness: Duration | None = None,
        output: str = FINAL,
        buckets: int | None = None,
        max_state: int | None = None,
        overflow: str = ERROR,
        idle_after: Duration | None = None,
        finish: bool = False,
        **streams: Events,
    ) -> Any:
        """Return the matches: a Spark DataFrame for Spark events, a pyarrow.Table otherwise.

        Several streams are given by the names they have in FROM. `matcher` forces "automaton", "runs" or "recompute", on streams
        also "disorder". Three caps end a run with a LimitError: `max_matches`, `max_memory` (bytes, or "2 GB"; a quarter of what
        there is by default) for the rows that stay and what is held, `max_steps` of the search. By default a search may take some
        seconds without finding anything, and longer the more events there are. With `batches` the matches of Arrow data come as a
        pyarrow.RecordBatchReader that finds them as it is read, so that a result may be larger than memory.

        `distribution` says how Spark's tasks share a result that is larger than the events, and `slices` how many of them:
        "auto" counts first and spreads what is worth it, "plain" never spreads. "slices" and "shuffled_slices" give every task
        all events (of its keys) and a slice of the matches. "round_robin", "two_choices" and "least_loaded" find matches in one
        task and judge conditions between events in others, "maximal" ships only matches that are part of no other. A stream is
        never counted: its "auto" takes slices where the query has no key and repeats freely. Each slice holds all of the state.

        A streaming DataFrame gives a streaming DataFrame, to be written in append mode. `lateness` is how much later than others
        an event may come ("10 seconds"); later ones are left out and counted. `output` says when a match comes out: "final" as
        soon as it is certain, "ordered" also in the order of ends, "early" at once, with columns `change` (+ or -) and `match_id`
        for corrections. State lives in `buckets`; `max_state` caps the bytes of each, and `overflow` says what happens then
        ("error" or "drop_oldest"). After a silence of `idle_after` the clock of a stream follows the wall, so that absence and
        time-outs are told although nothing comes. `finish` takes the end of the input, as availableNow reads it, for the end of
        the stream: what that makes certain comes out too, and the checkpoint takes no further events.

        >>> import pyarrow as pa
        >>> table = pa.table({"ts": [1, 2, 3], "kind": ["A", "B", "B"]})
        >>> query("SELECT COUNT(b) AS n WHERE A ; B AS b").match(events(table, time="ts", type="kind"))["n"].to_pylist()
        [1, 1]
        """
        options = RunOptions(
            max_matches=max_matches,
            max_memory=None if max_memory is None else memory_size(max_memory),
            max_steps=max_steps,
            batches=batches,
            matcher=matcher,
            distribution=distribution,
            slices=slices,
            lateness=lateness,
            output=output,
            buckets=buckets,
            max_state=max_state,
            overflow=overflow,
            idle_after=idle_after,
            finish=finish,
        )
        return self._run(events, streams, options)

    def count(
        self,
        events: Events | None = None,
        /,
        *,
        matcher: str | None = None,
        max_steps: int | None = None,
        **streams: Events,
    ) -> Any:
        """Return the number of matches of each key, without enumerating them where the query allows it.

        The columns are the PARTITION BY attributes, `matches` (exact, as a string of digits, for it can be larger than any
        integer type) and `matches_approx` (a double). LIMIT does not apply. `max_steps` is that of `match`, for
        queries whose matches have to be enumerated.

        >>> import pyarrow as pa
        >>> table = pa.table({"ts": range(102), "kind": ["A"] + ["B"] * 100 + ["C"]})
        >>> query("SELECT * WHERE A ; B+ ; C").count(events(table, time="ts", type="kind"))["matches"][0].as_py()
        '1267650600228229401496703205375'
        """
        return self._run(events, streams, RunOptions(matcher=matcher, max_steps=max_steps), Asked.COUNT)

    def late(
        self,
        events: Events | None = None,
        /,
        *,
        lateness: Duration | None = None,
        buckets: int | None = None,
        idle_after: Duration | None = None,
        **streams: Events,
    ) -> Any:
        """Return the events of a stream that come later than `lateness` allows, with their own columns.

        They take no part in `match` with the same lateness. The result is a streaming DataFrame that keeps a clock of its own.
        """
        return self._run(events, streams, RunOptions(lateness=lateness, buckets=buckets, idle_after=idle_after), Asked.LATE)

    def timeouts(
        self,
        events: Events | None = None,
        /,
        *,
        lateness: Duration | None = None,
        buckets: int | None = None,
        max_state: int | None = None,
        idle_after: Duration | None = None,
        finish: bool = False,
        **streams: Events,
    ) -> Any:
        """Return the events that begin a match which is never completed within the window, one row each.

        The columns are the PARTITION BY attributes, `match_start`, `expired_at` (the end of the window), `reached` (parts of the
        sequence, of `steps`), their texts `reached_steps`, the text `missing` of the next one, and `last_step_at`. On a stream a
        row comes out when the watermark has passed `expired_at`; the settings are those of `match`.

        >>> import pyarrow as pa
        >>> table = pa.table({"ts": [1, 2, 9], "kind": ["A", "B", "A"]})
        >>> late = query("SELECT * WHERE A ; B WITHIN 5").timeouts(events(table, time="ts", type="kind"))
        >>> late.select(["match_start", "expired_at", "reached", "missing"]).to_pylist()
        [{'match_start': 9, 'expired_at': 14, 'reached': 1, 'missing': 'B'}]
        """
        options = RunOptions(
            lateness=lateness, buckets=buckets, max_state=max_state, idle_after=idle_after, finish=finish
        )
        return self._run(events, streams, options, Asked.TIMEOUTS)

    def open(
        self,
        schema: Any = None,
        /,
        *,
        time: str | None = None,
        type: str | None = None,  # noqa: A002
        tie_break: str | None = None,
        types: Sequence[str] | None = None,
        time_unit: str | None = None,
        matcher: str | None = None,
        lateness: Duration | None = None,
        output: str = FINAL,
        buckets: int | None = None,
        max_state: int | None = None,
        overflow: str = ERROR,
        timeouts: bool = False,
        **streams: Events,
    ) -> Live:
        """Open a stream in this process, without Spark: events are pushed to it, and what is certain comes out.

        `schema` says which columns the events have: a pyarrow schema, a table, or names and types. `time` to `time_unit` are
        those of `et.events`; the other settings are those of `match` on a stream. `timeouts` also keeps track of the matches that
        are never completed. Several streams are given by the names they have in FROM, as events whose rows do not count.

        >>> pairs = query("SELECT a.ts AS a, b.ts AS b WHERE A AS a ; B AS b WITHIN 10")
        >>> live = pairs.open({"ts": int, "kind": str}, time="ts", type="kind")
        >>> live.push([{"ts": 1, "kind": "A"}, {"ts": 2, "kind": "B"}]).to_pylist()
        [{'a': 1, 'b': 2}]
        """
        from eventide.opening.queries import open_query  # noqa: PLC0415 - tables need none of it

        roles = {"time": time, "type": type, "tie_break": tie_break, "types": types, "time_unit": time_unit}
        only = self.model.streams[0].text if self.model.streams else "stream"
        source = self.input_of(*pushed_streams(only, schema, roles, streams))
        options = RunOptions(
            matcher=matcher, lateness=lateness, output=output, buckets=buckets, max_state=max_state, overflow=overflow
        )
        return open_query(self.model, source, options, timeouts=timeouts)

    def check(
        self,
        events: Events | None = None,
        /,
        *,
        checkpoint: str | None = None,
        matcher: str | None = None,
        distribution: str | None = None,
        slices: int | None = None,
        output: str = FINAL,
        buckets: int | None = None,
        **streams: Events,
    ) -> None:
        """Raise a BindError when the query does not fit the events.

        With the `checkpoint` of a stream on Spark also raise a DataError when its state belongs to another query, or to other
        settings, and say what has changed; give the settings that `match` will get. A new folder is fine.

        >>> import pyarrow as pa
        >>> query("SELECT * WHERE A ; B").check(events(pa.table({"ts": [1], "kind": ["A"]}), time="ts", type="kind"))
        """
        self.output_schema(events, **streams)
        options = RunOptions(matcher=matcher, distribution=distribution, slices=slices, output=output, buckets=buckets)
        if checkpoint is None:
            _refuse_settings(options)
            return
        source = self.input_of(events, streams)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EventideWarning)
            work = pipeline.work_of(pipeline.plan(self.model, source, options), source, options)
        check_checkpoint(work, checkpoint)

    def output_schema(self, events: Events | None = None, /, **streams: Events) -> Any:
        """Return the schema of the matches, without running the query."""
        source = self.input_of(events, streams)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EventideWarning)
            return source.engine.result_schema(pipeline.run(self.model, source, RunOptions()))

    def explain(
        self,
        format: str = "text",  # noqa: A002
        events: Events | None = None,
        *,
        distribution: str | None = None,
        slices: int | None = None,
        **streams: Events,
    ) -> str:
        """Return the plan as text, as a mermaid or as a dot diagram. `distribution` and `slices` are those of `match`.

        Events in this process are looked at: where those of the largest window have very many matches, a warning says so.

        >>> print(query("SELECT * WHERE A ; B").explain().splitlines()[0])
        query
        """
        if events is None and not streams:
            plan = make_plan(self.model, {}, lambda trees: [Kind.FLOAT] * len(trees))
            return explaining.explain([KINDS[type(plan.query)].describe(plan, None)], format)
        source = self.input_of(events, streams)
        options = RunOptions(distribution=distribution, slices=slices)
        plan = pipeline.plan(self.model, source, options)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EventideWarning)
            work = pipeline.work_of(plan, source, options)
            physical = work.explained() if format == "text" else None
            expected = work.expectation() if isinstance(work, TableWork) else None
        description = KINDS[type(plan.query)].describe(plan, physical)
        if expected is not None:
            description = replace(description, warnings=(*description.warnings, expected))
        return explaining.explain([description], format)

    def input_of(self, given: Events | None, named: Mapping[str, Events]) -> EventInput:
        """Return the events that the query reads, of those that a caller gave."""
        streams = dict(named)
        if given is not None:
            name = self.model.streams[0].text if self.model.streams else "stream"
            streams = {name: given, **streams}
        for name, stream in streams.items():
            if not isinstance(stream, Events):
                raise BindError(
                    "NOT_EVENTS",
                    f"{name} is a {stream.__class__.__name__}, not events.",
                    hint=f'Say which column is the time: et.events({name}, time="...").',
                )
        if not streams:
            raise BindError("NO_EVENTS", "The query was given no events.", hint='Call q.match(et.events(data, time="...")).')
        return EventInput.of({name: (one.engine, one.relation, one.schema) for name, one in streams.items()}, self.model)

    def _run(self, given: Events | None, named: Mapping[str, Events], options: RunOptions, asked: Asked = Asked.MATCHES) -> Any:
        source = self.input_of(given, named)
        found = pipeline.run(self.model, source, options, asked)
        return source.engine.batches(found) if options.batches else source.engine.result(found)


def _refuse_settings(options: RunOptions) -> None:
    if options != RunOptions():
        raise BindError(
            "NO_CHECKPOINT",
            "Settings of a stream are checked against a checkpoint, and none is given.",
            hint='Give checkpoint="...", or leave the settings out.',
        )


def query(text: str | QueryModel, language: str | None = None) -> Query:
    """Read a query. Detects the language (CEQL or SASE) unless you name it; accepts a query from the builder unchanged.

    >>> query("SELECT * WHERE A ; B").model.language
    'ceql'
    """
    return Query(pipeline.read(text, language))
