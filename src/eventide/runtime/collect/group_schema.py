"""The columns of GROUP BY: their names and types, and which values they cannot be computed of."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from eventide.plan.totals.results import APPROXIMATE, AggregateKind, Groups
from eventide.records import record
from eventide.runtime.collect.group_values import refuse_order, refuse_sum

if TYPE_CHECKING:
    from eventide.plan.plan import Plan
    from eventide.runtime.prepare.sequences import Layout

_TEXT, _DOUBLE, _AS_PAYLOAD, _AS_KEY, _AS_TIME = "text", "double", "payload", "key", "time"


@record
class ResultColumn:
    """A column of the result: text, a double, or the type of a payload column, a key or the event time."""

    name: str
    kind: str
    number: int | None = None


def result_columns(plan: Plan, floating: set[int]) -> list[ResultColumn]:
    """Return the columns of the result; `floating` are the payload columns that hold doubles."""
    assert isinstance(plan.results, Groups)
    columns = []
    for aggregate in plan.results.columns:
        match aggregate.kind:
            case AggregateKind.KEY:
                columns.append(ResultColumn(aggregate.name, _AS_KEY, aggregate.payload))
            case AggregateKind.END:
                columns.append(ResultColumn(aggregate.name, _AS_PAYLOAD, aggregate.payload))
            case AggregateKind.WINDOW_START | AggregateKind.WINDOW_END:
                columns.append(ResultColumn(aggregate.name, _AS_TIME, aggregate.payload))
            case AggregateKind.MIN | AggregateKind.MAX:
                columns.append(ResultColumn(aggregate.name, _AS_PAYLOAD, aggregate.payload))
            case AggregateKind.AVG:
                columns.append(ResultColumn(aggregate.name, _DOUBLE))
            case AggregateKind.SUM if aggregate.payload in floating:
                columns.append(ResultColumn(aggregate.name, _DOUBLE))
            case _:
                columns.append(ResultColumn(aggregate.name, _TEXT))
                columns.append(ResultColumn(f"{aggregate.name}{APPROXIMATE}", _DOUBLE))
    return columns


def group_schema(plan: Plan, layout: Layout, prepared: pa.Schema) -> pa.Schema:
    """Return the schema of the result for a schema of prepared events."""
    payload = [prepared.field(name).type for name in layout.payload]
    refuse_values(plan, payload)
    floating = {number for number, kind in enumerate(payload) if pa.types.is_floating(kind)}
    fields = []
    for column in result_columns(plan, floating):
        kind = pa.string() if column.kind == _TEXT else pa.float64()
        if column.number is not None:
            key = column.kind == _AS_KEY
            kind = prepared.field(layout.keys[column.number]).type if key else payload[column.number]
            kind = window_type(kind) if column.kind == _AS_TIME else kind
        fields.append(pa.field(column.name, kind))
    return pa.schema(fields)


def refuse_values(plan: Plan, payload: list[pa.DataType]) -> None:
    """Refuse aggregates of values that do not add up or have no order."""
    assert isinstance(plan.results, Groups)
    for aggregate in plan.results.columns:
        if aggregate.payload is None:
            continue
        if aggregate.kind in (AggregateKind.SUM, AggregateKind.AVG):
            refuse_sum(aggregate.variable, payload[aggregate.payload])
        elif aggregate.kind in (AggregateKind.MIN, AggregateKind.MAX):
            refuse_order(aggregate.variable, payload[aggregate.payload])


def window_type(time: pa.DataType) -> pa.DataType:
    """Return the type of the edges of windows for a type of event times."""
    if pa.types.is_timestamp(time):
        return pa.timestamp("us", time.tz)
    return pa.timestamp("us") if pa.types.is_date(time) else pa.int64()
