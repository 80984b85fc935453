"""What users push: batches of many forms, as tables with the columns that the stream was opened with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any

import pyarrow as pa

from eventide.errors import BindError, DataError, did_you_mean
from eventide.runtime.relational.arrow import read_arrow

PYTHON_TYPES: dict[Any, pa.DataType] = {
    bool: pa.bool_(),
    int: pa.int64(),
    float: pa.float64(),
    str: pa.string(),
    bytes: pa.binary(),
    date: pa.date32(),
    datetime: pa.timestamp("us", "UTC"),
}
NAMED_TYPES = {"timestamp": pa.timestamp("us", "UTC"), "text": pa.string()}
READABLE = "Give Arrow data, a pandas or polars frame, or a list of dictionaries."


def schema_of(given: Any) -> pa.Schema:
    """Return the columns that a caller describes: a schema, anything that has one, or a mapping of names to types.

    >>> schema_of({"ts": int, "kind": "string"}).types
    [DataType(int64), DataType(string)]
    """
    if isinstance(given, Mapping):
        given = pa.schema([(name, _type_of(name, kind)) for name, kind in given.items()])
    elif not isinstance(given, pa.Schema):
        given = _schema_inside(given)
    given = pa.schema([field.with_type(_without_views(field.type)) for field in given])
    # As tables of the same columns are read.
    return read_arrow(given.empty_table()).schema.remove_metadata()


def _without_views(kind: pa.DataType) -> pa.DataType:
    """Return the type of texts for views of them, which polars has and few functions of Arrow take."""
    inner = kind.value_type if pa.types.is_dictionary(kind) else kind
    return pa.string() if pa.types.is_string_view(inner) else kind


def _schema_inside(given: Any) -> pa.Schema:
    inside = getattr(given, "schema", None)
    if isinstance(inside, pa.Schema):
        return inside
    if hasattr(given, "__arrow_c_schema__"):
        return pa.schema(given)
    if hasattr(given, "__arrow_c_stream__"):
        return pa.RecordBatchReader.from_stream(given).schema
    raise BindError(
        "UNKNOWN_SCHEMA",
        f"A {type(given).__name__} does not say which columns the events have.",
        hint='Give a pyarrow schema, a table, or names and types: {"ts": datetime, "kind": str}.',
    )


def _type_of(name: str, kind: Any) -> pa.DataType:
    if isinstance(kind, pa.DataType):
        return kind
    if isinstance(kind, str):
        if kind in NAMED_TYPES:
            return NAMED_TYPES[kind]
        try:
            return pa.type_for_alias(kind)
        except ValueError:
            known = [*NAMED_TYPES, "int64", "double", "string", "bool", "date32", "timestamp[us]"]
            raise BindError(
                "UNKNOWN_SCHEMA", f"There is no type {kind} for the column {name}.", hint=did_you_mean(kind, known)
            ) from None
    if kind in PYTHON_TYPES:
        return PYTHON_TYPES[kind]
    raise BindError(
        "UNKNOWN_SCHEMA",
        f"The type of the column {name} is {kind!r}.",
        hint="Give a pyarrow type, its name, or one of int, float, str, bool, bytes, date and datetime.",
    )


def batch_table(data: Any, schema: pa.Schema) -> pa.Table:
    """Return a pushed batch with the columns and types of its stream; further columns are left out."""
    if isinstance(data, Mapping):
        data = [data]
    if isinstance(data, Sequence) and not isinstance(data, str | bytes):
        return _table_of_rows(data, schema)
    if type(data).__module__.startswith("pandas.") and not hasattr(data, "__arrow_c_stream__"):
        data = pa.Table.from_pandas(data, preserve_index=False)
    if not isinstance(data, pa.RecordBatch) and not hasattr(data, "__arrow_c_stream__"):
        raise DataError("UNKNOWN_DATA", f"A {type(data).__name__} cannot be read as events.", hint=READABLE)
    table = read_arrow(data)
    if table.schema.equals(schema):
        return table
    columns = [_cast(_column(table, field.name), field) for field in schema]
    return pa.table(columns, schema=schema)


def _column(table: pa.Table, name: str) -> pa.ChunkedArray:
    if name not in table.column_names:
        raise DataError(
            "MISSING_COLUMN",
            f"The batch has no column {name}, which the stream was opened with.",
            hint=did_you_mean(name, table.column_names),
        )
    return table.column(name)


def _table_of_rows(rows: Sequence[Any], schema: pa.Schema) -> pa.Table:
    for row in rows:
        if not isinstance(row, Mapping):
            raise DataError("UNKNOWN_DATA", f"A {type(row).__name__} cannot be read as an event.", hint=READABLE)
    return pa.table([_values([row.get(field.name) for row in rows], field) for field in schema], schema=schema)


def _values(values: list[Any], field: pa.Field) -> pa.Array:
    try:
        return pa.array(values, field.type)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        # JSON has no times: texts are read as such.
        try:
            return _cast(pa.array(values), field)
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise _unfit(field, str(error)) from None


def _cast(column: Any, field: pa.Field) -> Any:
    if column.type == field.type:
        return column
    try:
        return read_as(_plain_categories(column), field.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise _unfit(field, str(error)) from None


def _plain_categories(column: Any) -> Any:
    """Return a column without views of texts as categories, as polars has them: Arrow cannot look anything up in those."""
    kind = column.type
    if not pa.types.is_dictionary(kind) or not pa.types.is_string_view(kind.value_type):
        return column
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    plain = [pa.DictionaryArray.from_arrays(chunk.indices, chunk.dictionary.cast(pa.string())) for chunk in chunks]
    return pa.chunked_array(plain, pa.dictionary(kind.index_type, pa.string()))


def read_as(values: Any, kind: pa.DataType) -> Any:
    """Return Arrow values as another type; a text that names no zone is a time of UTC.

    >>> read_as(pa.scalar("2026-01-01 12:00:00"), pa.timestamp("us", "UTC")).as_py().hour
    12
    """
    try:
        return values.cast(kind)
    except pa.ArrowInvalid:
        if not (pa.types.is_timestamp(kind) and kind.tz is not None and pa.types.is_string(values.type)):
            raise
        return values.cast(pa.timestamp(kind.unit)).cast(kind)


def _unfit(field: pa.Field, why: str) -> DataError:
    return DataError(
        "BAD_BATCH",
        f"The column {field.name} does not fit {field.type}: {why.splitlines()[0]}",
        hint="Convert it before the push, or open the stream with another type.",
    )
