"""MATCH_RECOGNIZE over Spark DataFrames: Catalyst prepares, sorts and finishes, Python workers match many partitions at once."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from pyspark.errors import PySparkException
from pyspark.sql import functions as sf

from eventide.errors import EventideWarning
from eventide.plan.row_patterns.plan import make_row_plan
from eventide.runtime.prepare.row_patterns import ARRIVAL, RowPreparation
from eventide.runtime.prepare.sequences import SparkDialect
from eventide.runtime.relational.spark_errors import bad_expression
from eventide.runtime.stage.row_stage import RowStage
from eventide.runtime.tables.spark_batch import captured_explain, spark_kind
from eventide.runtime.tables.spark_row_types import found_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import pyarrow as pa
    from pyspark.sql import Column, DataFrame
    from sqlglot import exp

    from eventide.pattern.row_patterns import RowQuery
    from eventide.plan.row_patterns.plan import RowPlan
    from eventide.plan.schema import Kind
    from eventide.runtime.stage.row_stage import RowOptions

DIALECT = SparkDialect()


class SparkRows:
    """A DataFrame that clauses stand over; nothing runs before the result is asked for."""

    def __init__(self, frame: DataFrame) -> None:
        self._frame = frame

    def plan(self, query: RowQuery) -> RowPlan:
        """Bind a clause to this DataFrame."""
        columns = {field.name: spark_kind(field.dataType) for field in self._frame.schema}
        return make_row_plan(query, columns, self._describe)

    def recognize(self, plan: RowPlan, options: RowOptions) -> DataFrame:
        """Return the rows of a clause as a lazy DataFrame."""
        if self._frame.isStreaming:
            from eventide.runtime.streams.spark.row_patterns import recognize_stream  # noqa: PLC0415 - batch runs need none of it

            return recognize_stream(self._frame, plan, options)
        if not plan.partition:
            warnings.warn(
                "MATCH_RECOGNIZE has no PARTITION BY, so one task does all the matching.", EventideWarning, stacklevel=4
            )
        preparation = RowPreparation(plan, DIALECT)
        prepared = self._prepared(preparation)
        schema = found_schema(plan, [prepared.schema[name].dataType for name in preparation.payload])
        found = prepared.mapInArrow(_stage_function(plan, preparation.keys, preparation.payload, options), schema)
        return _select(found, preparation.finish())

    def physical(self, plan: RowPlan) -> str:
        """Return Spark's plan of Prepare."""
        if self._frame.isStreaming:
            return "a stream, in buckets by key; rows wait for the watermark"
        return captured_explain(self._prepared(RowPreparation(plan, DIALECT)))

    def _prepared(self, preparation: RowPreparation) -> DataFrame:
        numbered = self._frame.withColumn(ARRIVAL, sf.monotonically_increasing_id())
        narrow = _select(numbered, preparation.narrow())
        spread = narrow.repartition(*preparation.keys) if preparation.keys else narrow.repartition(1)
        keys = [sf.col(key).asc_nulls_first() for key in preparation.keys]
        ordered = spread.sortWithinPartitions(*keys, *(_sort_column(term) for term in preparation.sort_keys()))
        return _select(ordered, preparation.sorted())

    def _describe(self, trees: Sequence[exp.Expression]) -> list[Kind]:
        columns = [(f"c{number}", DIALECT.sql(tree)) for number, tree in enumerate(trees)]
        return [spark_kind(field.dataType) for field in _select(self._frame, columns).schema]


def _select(frame: DataFrame, columns: Sequence[tuple[str, str]]) -> DataFrame:
    try:
        return frame.selectExpr(*(f"{sql} AS {DIALECT.quote(name)}" for name, sql in columns))
    except PySparkException as error:
        raise bad_expression(error) from None


def _sort_column(term: str) -> Column:
    name, direction, *nulls = term.split()
    column = sf.col(name)
    if direction == "DESC":
        return column.desc_nulls_first() if nulls[-1:] == ["FIRST"] else column.desc_nulls_last()
    return column.asc_nulls_last() if nulls[-1:] == ["LAST"] else column.asc_nulls_first()


def _stage_function(
    plan: RowPlan, keys: list[str], payload: list[str], options: RowOptions
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from RowStage(plan, keys, payload, options).run(batches)

    return run
