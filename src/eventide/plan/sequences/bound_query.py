"""Binding a query: streams, keys, window and pattern get the names and units of the events that they are about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eventide.errors import BindError, did_you_mean
from eventide.plan.expressions.schema import Kind, StreamSchema
from eventide.plan.sequences.binding import bind_pattern
from eventide.plan.sequences.predicates import check_untyped_streams
from eventide.plan.sequences.windows import bind_window, implied_window
from eventide.records import record

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eventide.pattern import Query
    from eventide.plan.expressions.schema import KindsOf
    from eventide.plan.sequences.binding import BoundPattern
    from eventide.plan.sequences.windows import BoundWindow


@record(kw_only=True)
class BoundQuery:
    """A query whose names are resolved: what rewrite rules take and return.

    `schema` holds the columns of all streams together; without streams it is None, and the query can only be explained.
    """

    query: Query
    streams: tuple[tuple[str, StreamSchema], ...]
    schema: StreamSchema | None
    keys: tuple[str, ...]
    window: BoundWindow | None
    pattern: BoundPattern
    kinds_of: KindsOf
    derived_keys: tuple[str, ...] = ()
    """Keys that follow from equalities between events."""


def bind_query(query: Query, streams: Mapping[str, StreamSchema], kinds_of: KindsOf) -> BoundQuery:
    """Bind a query to events of the given schemas; `kinds_of` asks the relational engine what kinds expressions have."""
    chosen = _choose_streams(query, streams)
    schema = merged_schema(chosen)
    pattern = bind_pattern(query)
    check_untyped_streams(pattern, chosen, query.text or None)
    return BoundQuery(
        query=query,
        streams=tuple(chosen.items()),
        schema=schema,
        keys=_partition_keys(query, schema),
        window=bind_window(query, schema) or implied_window(query, pattern.root, schema),
        pattern=pattern,
        kinds_of=kinds_of,
    )


def merged_schema(streams: Mapping[str, StreamSchema]) -> StreamSchema | None:
    """Return the columns of all streams together, or None when there are none."""
    if not streams:
        return None
    columns: dict[str, Kind] = {}
    for name, schema in streams.items():
        for column, kind in schema.columns.items():
            if columns.setdefault(column, kind) is not kind:
                raise BindError(
                    "COLUMN_KINDS_DIFFER",
                    f"The column {column} is a {columns[column].value} in one stream and a {kind.value} in {name}.",
                    hint="Convert or rename the column in one of the streams.",
                )
    first = next(iter(streams.values()))
    for name, schema in streams.items():
        counts = schema.columns[schema.time] is Kind.INTEGER
        units = {schema.time_unit, first.time_unit} - {None}
        if counts != (first.columns[first.time] is Kind.INTEGER) or (counts and len(units) > 1):
            raise BindError(
                "TIMES_DIFFER",
                f"The times of {name} are not counted as those of {next(iter(streams))}.",
                hint="Give all streams timestamps, or whole numbers with the same time_unit.",
            )
    return StreamSchema(columns, first.time, first.type, first.tie_break, None, first.time_unit)


def _choose_streams(query: Query, streams: Mapping[str, StreamSchema]) -> dict[str, StreamSchema]:
    if not streams:
        return {}
    if not query.streams:
        return dict(streams)
    names = [name.text for name in query.streams]
    if len(names) == 1 and len(streams) == 1:
        # One stream needs no name: q.match(events) runs whatever FROM calls it.
        return {names[0]: next(iter(streams.values()))}
    for name in query.streams:
        if name.text not in streams:
            raise BindError(
                "UNKNOWN_STREAM",
                f"No events were given for the stream {name.text}.",
                text=query.text or None,
                span=name.span,
                hint=f"Give them by name: q.match({name.text}=et.events(...)). {did_you_mean(name.text, streams)}",
            )
    return {name: streams[name] for name in names}


def _partition_keys(query: Query, schema: StreamSchema | None) -> tuple[str, ...]:
    keys = []
    for name in query.partition_by:
        resolved = name.text if schema is None else schema.resolve(name.text)
        if resolved is None:
            assert schema is not None
            raise BindError(
                "UNKNOWN_ATTRIBUTE",
                f"The events have no attribute {name.text} to partition by.",
                text=query.text or None,
                span=name.span,
                hint=did_you_mean(name.text, schema.columns),
            )
        keys.append(resolved)
    return tuple(keys)
