"""The types of what the match stage of a clause yields, as Spark names them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import types as st

from eventide.plan.row_patterns.output import MATCHED
from eventide.plan.row_patterns.readings import Cell, Label, MatchNumber, Total
from eventide.runtime.collect.row_lines import LARGEST_EXACT_DECIMAL, refuse_aggregate

if TYPE_CHECKING:
    from eventide.plan.row_patterns.plan import RowPlan
    from eventide.plan.row_patterns.readings import Reading


def found_schema(plan: RowPlan, payload: list[st.DataType]) -> st.StructType:
    """Return the schema of the stage in Spark's types; it mirrors `filling.stage_schema`."""
    fields = [
        st.StructField(f"s{number}", _slot_type(reading, payload[source] if source >= 0 else None))
        for number, (reading, source) in enumerate(zip(plan.output.slots, plan.output.slot_payload, strict=True))
    ]
    fields.extend(st.StructField(f"c{number}", payload[source]) for number, source in enumerate(plan.output.row_payload))
    return st.StructType([*fields, st.StructField(MATCHED, st.BooleanType())])


def _slot_type(reading: Reading, payload: st.DataType | None) -> st.DataType:
    match reading:
        case Label():
            return st.StringType()
        case MatchNumber() | Total("count"):
            return st.LongType()
        case Cell():
            assert payload is not None
            return payload
    assert payload is not None
    nested = isinstance(payload, st.ArrayType | st.MapType | st.StructType)
    refuse_aggregate(reading, number=_is_summable(payload), nested=nested)
    if reading.function == "avg":
        return st.DoubleType()
    if reading.function != "sum":
        return payload
    if isinstance(payload, st.DecimalType):
        return st.DecimalType(min(38, payload.precision + 10), payload.scale)
    return st.DoubleType() if isinstance(payload, st.FractionalType) else st.LongType()


def _is_summable(kind: st.DataType) -> bool:
    if isinstance(kind, st.DecimalType):
        return kind.precision <= LARGEST_EXACT_DECIMAL
    return isinstance(kind, st.NumericType)
