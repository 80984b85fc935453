"""Spark's types and Arrow's: the one place where one becomes the other."""

from __future__ import annotations

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import types as st
from pyspark.sql.pandas.types import from_arrow_type, to_arrow_type

UNREADABLE = pa.binary(1)
"""Stands for types that Arrow does not have: no condition and no output can read such a column, all others can be used."""


def arrow_schema(schema: st.StructType) -> pa.Schema:
    """Return the columns of a DataFrame with their Arrow types; times are in UTC."""
    return pa.schema([pa.field(field.name, _arrow_type(field.dataType)) for field in schema])


def spark_schema(schema: pa.Schema, known: st.StructType) -> st.StructType:
    """Return Arrow columns with Spark's types.

    A type that comes from the columns of `known` becomes the one it was there: Arrow has no variants, collations or user types.
    """
    before: dict[pa.DataType, list[st.DataType]] = {}
    for field in known:
        kinds = before.setdefault(_arrow_type(field.dataType), [])
        if field.dataType not in kinds:
            kinds.append(field.dataType)
    unique = {arrow: kinds[0] for arrow, kinds in before.items() if len(kinds) == 1}
    return st.StructType([st.StructField(field.name, _spark_type(field.type, unique)) for field in schema])


def _arrow_type(kind: st.DataType) -> pa.DataType:
    try:
        return to_arrow_type(kind, timezone="UTC")
    except PySparkException:
        return UNREADABLE


def _spark_type(kind: pa.DataType, known: dict[pa.DataType, st.DataType]) -> st.DataType:
    if kind in known:
        return known[kind]
    if pa.types.is_list(kind):
        return st.ArrayType(_spark_type(kind.value_type, known), kind.value_field.nullable)
    if pa.types.is_struct(kind):
        return st.StructType([st.StructField(field.name, _spark_type(field.type, known)) for field in kind])
    return from_arrow_type(kind)
