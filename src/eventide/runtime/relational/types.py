"""What conditions can do with Arrow types; every engine tells its types in Arrow."""

from __future__ import annotations

import pyarrow as pa

from eventide.plan.expressions.schema import Kind


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
