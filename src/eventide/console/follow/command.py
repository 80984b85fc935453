"""`eventide run --follow`: from what the user typed to a stream that runs."""

from __future__ import annotations

from dataclasses import replace
from os import environ
from typing import TYPE_CHECKING, Any

import eventide as et
from eventide.console import report
from eventide.console.choices import Engine
from eventide.console.follow.following import follow
from eventide.console.follow.inputs import StreamInput, look_at_input
from eventide.console.follow.options import FollowOptions, end_marker
from eventide.console.inputs import Source, UsageMistakeError, as_arguments, bind_roles, require_columns
from eventide.console.sql import load_tables, named_paths, tables_named
from eventide.records import record

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from eventide.api import Query
    from eventide.console.results import Output
    from eventide.sources.formats import Format


SHAPING = ("output", "matcher", "distribution", "slices")
"""Settings that the state of a stream depends on."""


def follow_query(
    query: Query, sources: list[Source], options: FollowOptions, output: Output, session: Callable[[], SparkSession], **given: Any
) -> None:
    """Run a query on streams and write its matches as they come.

    >>> follow_query(query, [Source("payments", "ts")], FollowOptions(), Output(), start_session)  # doctest: +SKIP
    """
    _require_driver()
    # What is wrong with the files is known long before a JVM has started.
    streams = [(source, _input(query, source, options)) for source in sources]
    ending = options.ending(_rows([stream for _, stream in streams]))
    output.require_usable()
    with report.working("Starting Spark"):
        started = session()
    events = {source.stream: bind_roles(source, stream.open(started)) for source, stream in streams}
    positional, named = as_arguments(events)
    settings = options.stream_settings()
    if options.checkpoint is not None:
        with report.working("Looking into the checkpoint"):
            shaping = {name: value for name, value in {**settings, **given}.items() if name in SHAPING}
            query.check(*positional, **named, checkpoint=options.checkpoint, **shaping)
    matches = query.match(*positional, **named, **settings, **given)
    follow(matches, output, ending, options.checkpoint)


@record
class SqlInputs:
    """The inputs of SQL on streams, given as NAME=PATH: streams, tables that stay as they are, and the time of a replay."""

    streams: list[str]
    tables: list[str]
    time: str | None = None
    format: Format | None = None


def follow_sql(
    text: str, inputs: SqlInputs, options: FollowOptions, output: Output, session: Callable[[], SparkSession], **given: Any
) -> None:
    """Run SQL on streams and write its rows as they come.

    >>> follow_sql(text, SqlInputs(["trades=trades.parquet"], []), FollowOptions(), Output(), start_session)  # doctest: +SKIP
    """
    _require_driver()
    statement = et.statement(text)
    if not inputs.streams:
        raise UsageMistakeError(
            "NO_DATA", "No table of the SQL is a stream.", hint="--stream NAME=FOLDER for each that is; --table for the others"
        )
    paths = named_paths(inputs.streams, "--stream")
    streams = {name: look_at_input(path, inputs.format, inputs.time, options.replay) for name, path in paths.items()}
    ending = options.ending(_rows(list(streams.values())))
    output.require_usable()
    with report.working("Starting Spark"):
        started = session()
    with tables_named():
        tables = load_tables(inputs.tables, Engine.SPARK, inputs.format, lambda: started)
        opened: dict[str, Any] = {name: stream.open(started) for name, stream in streams.items()}
        settings = options.stream_settings()
        if options.checkpoint is not None:
            statement.check(checkpoint=options.checkpoint, output=settings.get("output", "final"), **tables, **opened)
        rows = statement.run(**tables, **opened, **settings, **given)
    follow(rows, output, ending, options.checkpoint)


def _require_driver() -> None:
    if environ.get("SPARK_REMOTE"):
        raise UsageMistakeError(
            "BAD_OPTION",
            "--follow shows matches where the driver runs, and with SPARK_REMOTE that is another machine.",
            hint="Unset SPARK_REMOTE, or write the stream to a table from Python.",
        )


def _rows(streams: list[StreamInput]) -> int | None:
    rows = [stream.rows for stream in streams]
    return None if None in rows else sum(number or 0 for number in rows)


def _input(query: Query, source: Source, options: FollowOptions) -> StreamInput:
    stream = look_at_input(source.path, source.format, source.time, options.replay)
    require_columns(source, stream.schema.names)
    if stream.recording is None or not (source.type or query.model.partition_by):
        # The marker would be an event like any other where neither a type nor a key tells them apart.
        return stream
    kind = stream.schema.field(source.time).type
    return replace(stream, end_marker=end_marker(query.model, options.lateness, kind, source.time_unit))
