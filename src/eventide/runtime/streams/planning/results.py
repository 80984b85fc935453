"""The columns of results between a bucket and a user: every result carries its times, its identity and, early, its change."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from eventide.errors import BindError
from eventide.runtime.streams.bucket_query import MATCH_HIGH, MATCH_LOW, RESULT_COLUMNS
from eventide.runtime.streams.output import CHANGE, EARLY

if TYPE_CHECKING:
    from eventide.runtime.relational.adapter import Columns


def with_identity(leaving: pa.Schema, output: str) -> pa.Schema:
    """Return the columns of a stage with those that every result has besides."""
    fields = [*leaving, *(pa.field(name, pa.int64()) for name in RESULT_COLUMNS)]
    return pa.schema([*fields, pa.field(CHANGE, pa.string())] if output == EARLY else fields)


def without_identity(found: pa.Schema) -> pa.Schema:
    """Return the columns of a stage, without those that every result has besides."""
    return pa.schema([field for field in found if field.name not in {*RESULT_COLUMNS, CHANGE}])


def shown_columns(columns: Columns, output: str) -> Columns:
    """Return the columns of a result; early results say what they change, and of which match."""
    if output != EARLY:
        return columns
    for name, _ in columns:
        if name.lower() in ("change", "match_id"):
            raise BindError(
                "DUPLICATE_COLUMN",
                f"Early results have a column {name.lower()} of their own.",
                hint=f"Give yours another name: SELECT ... AS {name}_2.",
            )
    identity = " || ".join(f"lpad(lower(hex({column})), 16, '0')" for column in (MATCH_HIGH, MATCH_LOW))
    return [("change", CHANGE), ("match_id", identity), *columns]
