"""Spark SQL as a relational engine: relations are lazy DataFrames, and nothing runs before a result is asked for."""

from __future__ import annotations

from contextlib import contextmanager, redirect_stdout
from functools import reduce
from io import StringIO
from typing import TYPE_CHECKING, Any, ClassVar

from pyspark.errors import PySparkException
from pyspark.logger import PySparkLogger
from pyspark.sql import functions as sf
from sqlglot.generators.spark import SparkGenerator

from eventide.errors import BindError
from eventide.executors.workers import through_workers
from eventide.runtime.relational.adapter import OWN_NAMES, Adapter
from eventide.runtime.relational.arrow import read_arrow
from eventide.runtime.relational.dialect import Dialect, SparkDialect
from eventide.runtime.relational.spark_types import arrow_schema, spark_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql import types as st
    from sqlglot import exp

    from eventide.runtime.relational.adapter import Batches, Columns, SortKey

FILE_FORMATS = frozenset({"parquet", "csv", "json", "orc", "text", "avro", "delta", "binaryfile"})
"""Schemas that Spark reads as formats of a path."""
CONTEXT_LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
"""Where PySpark writes every error about an expression, as JSON on standard error."""


class SparkAdapter(Adapter):
    """Spark SQL of one session."""

    dialect: ClassVar[Dialect] = SparkDialect()
    in_process: ClassVar[bool] = False

    def __init__(self, session: SparkSession) -> None:
        self.session = session

    def taken(self, data: Any) -> DataFrame:
        """Return Arrow data as a DataFrame of the session."""
        return self.session.createDataFrame(read_arrow(data))

    def schema(self, relation: DataFrame) -> pa.Schema:
        """Return the columns with their Arrow types."""
        return arrow_schema(relation.schema)

    def select(self, relation: DataFrame, columns: Columns, where: str | None = None) -> DataFrame:
        """Return columns of the rows that a condition keeps."""
        with errors_of_spark():
            kept = relation.where(where) if where else relation
            return kept.selectExpr(*self.listed(columns))

    def extend(self, relation: DataFrame, columns: Columns) -> DataFrame:
        """Return all rows with further columns."""
        with errors_of_spark():
            return relation.selectExpr("*", *self.listed(columns))

    def number(self, relation: DataFrame, name: str) -> DataFrame:
        """Return all rows with a column that numbers them as they come."""
        return relation.withColumn(name, sf.monotonically_increasing_id())

    def union(self, relations: Sequence[DataFrame]) -> DataFrame:
        """Return the rows of all relations; columns go by name."""
        return reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), relations)

    def arrange(
        self, relation: DataFrame, columns: Columns, spread_by: Sequence[str], order: Sequence[SortKey]
    ) -> DataFrame:
        """Return columns of the rows: those with the same values in `spread_by` in one task, sorted there."""
        spread = relation.repartition(*spread_by) if spread_by else relation.repartition(1)
        keys = [sf.col(name).asc_nulls_first() for name in spread_by]
        return self.select(spread.sortWithinPartitions(*keys, *map(_sort_column, order)), columns)

    def through(self, relation: DataFrame, run: Callable[[Batches], Batches], schema: pa.Schema) -> DataFrame:
        """Return what a function makes of the rows of each task."""
        return through_workers(relation, run, spark_schema(schema, relation.schema))

    def first(self, relation: DataFrame, order: Sequence[SortKey], count: int) -> DataFrame:
        """Return the first rows in an order."""
        return relation.orderBy(*map(_sort_column, order)).limit(count)

    def query(self, tree: exp.Expression, relations: Mapping[str, DataFrame]) -> DataFrame:
        """Return the rows of a query."""
        return self.run_sql(_NestedWith(dialect="spark").generate(tree), relations)

    def run_sql(self, sql: str, relations: Mapping[str, DataFrame]) -> DataFrame:
        """Return the rows of a query."""
        used = {name: relations[name] for name in set(OWN_NAMES.findall(sql))}
        if used:
            # Spark puts relations into braces, so that braces of the query are doubled.
            sql = OWN_NAMES.sub(lambda found: f"{{{found[0]}}}", sql.replace("{", "{{").replace("}", "}}"))
        with errors_of_spark():
            return self.session.sql(sql, None, **used)

    def knows(self, table: exp.Table) -> bool:
        """Return whether the catalog has a table or a view of that name, or it is a file (parquet.`/path`)."""
        if table.db.lower() in FILE_FORMATS:
            return True
        return bool(self.session.catalog.tableExists(table.sql(dialect="spark").split(" AS ")[0]))

    def result(self, relation: DataFrame) -> DataFrame:
        """Return the DataFrame."""
        return relation

    def batches(self, relation: DataFrame) -> DataFrame:  # noqa: ARG002 - a DataFrame is never all in memory
        """Refuse: Spark's tasks write what they find."""
        raise BindError(
            "ONLY_EMBEDDED",
            "batches is for events in this process; Spark's tasks never hold all matches.",
            hint="Leave it out, and write the DataFrame or read it with toLocalIterator().",
        )

    def result_schema(self, relation: DataFrame) -> st.StructType:
        """Return the columns with Spark's types."""
        return relation.schema

    def explained(self, relation: DataFrame) -> str:
        """Return Spark's own plan."""
        text = StringIO()
        with redirect_stdout(text):
            relation.explain()
        return text.getvalue()

    def is_stream(self, relation: DataFrame) -> bool:
        """Return whether a DataFrame is a streaming one."""
        return bool(relation.isStreaming)

    def default_tasks(self) -> int:
        """Return over how many tasks a result is spread where the user does not say."""
        return max(1, min(8, int(self.session.conf.get("spark.sql.shuffle.partitions", "8") or 8)))

    def cores(self) -> int | None:
        """Return how many tasks run at a time; a session of Spark Connect does not say it."""
        context = getattr(self.session, "_sc", None)
        return None if context is None else int(context.defaultParallelism)

    def listed(self, columns: Columns) -> list[str]:
        """Return columns as selectExpr takes them."""
        return [f"{sql} AS {self.dialect.quote(name)}" for name, sql in columns]


@contextmanager
def errors_of_spark() -> Iterator[None]:
    """Turn what Spark's analyser says into our error."""
    try:
        with _unlogged():
            yield
    except PySparkException as error:
        message = (error.getMessage() or str(error)).splitlines()[0]
        raise BindError(
            "BAD_EXPRESSION",
            f"Spark cannot evaluate an expression: {message}",
            hint="Check the functions and the types of their arguments.",
        ) from None


@contextmanager
def _unlogged() -> Iterator[None]:
    """Keep PySpark from writing the stack trace of what we are about to say ourselves."""
    loggers = [PySparkLogger.getLogger(name) for name in CONTEXT_LOGGERS]
    before = [logger.disabled for logger in loggers]
    for logger in loggers:
        logger.disabled = True
    try:
        yield
    finally:
        for logger, disabled in zip(loggers, before, strict=True):
            logger.disabled = disabled


class _NestedWith(SparkGenerator):
    """Spark SQL with WITH where the user wrote it; sqlglot moves all of them to the top, as Hive needs it."""

    EXPRESSIONS_WITHOUT_NESTED_CTES: ClassVar[set[type[exp.Expr]]] = set()


def _sort_column(key: SortKey) -> Column:
    column = sf.col(key.name)
    if key.descending:
        return column.desc_nulls_first() if key.nulls_first else column.desc_nulls_last()
    return column.asc_nulls_first() if key.nulls_first else column.asc_nulls_last()
