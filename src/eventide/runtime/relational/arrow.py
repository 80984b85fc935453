"""Arrow data of users, as every engine takes it."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from eventide.errors import BindError
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
