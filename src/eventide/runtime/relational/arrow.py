"""Arrow data of users, as every engine takes it, and what conditions can do with its types."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from eventide.errors import BindError
from eventide.plan.expressions.schema import Kind
from eventide.runtime.relational.functions import cast


def read_arrow(data: Any) -> pa.Table:
    """Return anything with the Arrow C stream interface as a table."""
    if isinstance(data, pa.Table):
        table = data
    elif isinstance(data, pa.RecordBatch):
        table = pa.Table.from_batches([data])
    else:
        table = pa.RecordBatchReader.from_stream(data).read_all()
    if len(set(table.column_names)) != table.num_columns:
        twice = next(name for name in table.column_names if table.column_names.count(name) > 1)
        raise BindError(
            "AMBIGUOUS_COLUMN", f"The events have several columns {twice}.", hint="Rename or leave out all but one of them."
        )
    return _in_microseconds(table)


def _in_microseconds(table: pa.Table) -> pa.Table:
    # DuckDB has no functions for nanoseconds with a zone; times are microseconds on Spark as well.
    for number, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type) and field.type.unit == "ns" and field.type.tz is not None:
            kind = pa.timestamp("us", field.type.tz)
            table = table.set_column(number, field.with_type(kind), cast(table.column(number), kind, safe=False))
    return table


def arrow_kind(kind: pa.DataType) -> Kind:
    """Return what conditions can do with an Arrow type.

    >>> arrow_kind(pa.int32()), arrow_kind(pa.timestamp("us"))
    (<Kind.INTEGER: 'integer'>, <Kind.TIMESTAMP: 'timestamp'>)
    """
    types = pa.types
    if types.is_dictionary(kind):
        return arrow_kind(kind.value_type)
    if types.is_integer(kind):
        # 64-bit unsigned numbers do not fit the kernels' integers.
        return Kind.OTHER if kind == pa.uint64() else Kind.INTEGER
    if types.is_floating(kind):
        return Kind.FLOAT
    if types.is_decimal(kind):
        return Kind.DECIMAL if kind.precision <= 15 else Kind.OTHER
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return Kind.STRING
    if types.is_boolean(kind):
        return Kind.BOOLEAN
    if types.is_timestamp(kind):
        return Kind.TIMESTAMP
    return Kind.DATE if types.is_date(kind) else Kind.OTHER


def kinds_of_columns(schema: pa.Schema) -> dict[str, Kind]:
    """Return the columns of a schema with their kinds."""
    return {field.name: arrow_kind(field.type) for field in schema}
