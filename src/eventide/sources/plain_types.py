"""Arrow columns in types that Spark has."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from eventide.errors import DataError

_WIDENED = {
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20, 0),
    pa.float16(): pa.float32(),
    pa.date64(): pa.date32(),
    pa.null(): pa.string(),
}


def plain_table(table: pa.Table, path: str) -> pa.Table:
    """Return the table with every column in a type that Spark has; `path` is named where that cannot be.

    >>> plain_table(pa.table({"kind": pa.array(["A"]).dictionary_encode()}), "trades.parquet").schema.types
    [DataType(string)]
    """
    columns = {}
    for field in table.schema:
        try:
            # Spark's times end at microseconds; what lies below is cut off, as Spark does when it reads such a file.
            options = pc.CastOptions(target_type=plain_type(field.type), allow_time_truncate=True)
            columns[field.name] = table[field.name].cast(options=options)
        except pa.ArrowException as error:
            raise DataError(
                "UNSUPPORTED_COLUMN",
                f"The column {field.name} of {path} is {field.type}, which Spark cannot hold.",
                hint="Convert or leave out the column.",
            ) from error
    return pa.table(columns)


def plain_type(kind: pa.DataType) -> pa.DataType:
    """Return the type that Spark has for values of this type.

    >>> plain_type(pa.timestamp("ns", tz="UTC")), plain_type(pa.uint32())
    (TimestampType(timestamp[us, tz=UTC]), DataType(int64))
    """
    if pa.types.is_dictionary(kind):
        return plain_type(kind.value_type)
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", tz=kind.tz)
    if pa.types.is_time(kind):
        return pa.time64("us")
    if pa.types.is_duration(kind):
        return pa.duration("us")
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return pa.list_(plain_type(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(field.name, plain_type(field.type)) for field in kind])
    return _WIDENED.get(kind, kind)
