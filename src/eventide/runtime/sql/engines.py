"""The two engines that run the SQL around MATCH_RECOGNIZE: DuckDB over Arrow tables, and Spark SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from sqlglot import exp
from sqlglot.generators.spark import SparkGenerator

from eventide.errors import BindError
from eventide.runtime.sql.statement import OWN_NAMES, SqlEngine

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from eventide.runtime.tables.local_rows import LocalRows
    from eventide.runtime.tables.spark_rows import SparkRows


FILE_FORMATS = frozenset({"parquet", "csv", "json", "orc", "text", "avro", "delta", "binaryfile"})
"""Schemas that Spark reads as formats of a path."""


class LocalEngine(SqlEngine):
    """DuckDB in this process."""

    def select(self, tree: exp.Expression, relations: Mapping[str, Any]) -> pa.Table:
        """Return the rows of a query."""
        from eventide.runtime.relational.duckdb import DIALECT, connected, fetch  # noqa: PLC0415 - DuckDB is not needed on Spark

        sql = DIALECT.sql(_with_spark_names(tree))
        with connected({name: table for name, table in relations.items() if name in set(OWN_NAMES.findall(sql))}) as connection:
            return fetch(connection, sql)

    def rows(self, relation: pa.Table) -> LocalRows:
        """Return rows that a clause can stand over."""
        from eventide.runtime.tables.local_rows import LocalRows  # noqa: PLC0415 - see above

        return LocalRows(relation)

    def columns(self, relation: pa.Table) -> list[str]:
        """Return the names of a table's columns."""
        return list(relation.column_names)

    def emptied(self, tables: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
        """Return the tables without their rows."""
        return {name: table.slice(0, 0) for name, table in tables.items()}

    def knows(self, table: exp.Table) -> bool:  # noqa: ARG002 - there is no catalog
        """Return False: tables are given, or there are none."""
        return False


class _NestedWith(SparkGenerator):
    """Spark SQL with WITH where the user wrote it; sqlglot moves all of them to the top, as Hive needs it."""

    EXPRESSIONS_WITHOUT_NESTED_CTES: ClassVar[set[type[exp.Expr]]] = set()


class SparkEngine(SqlEngine):
    """Spark SQL of one session."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session

    def select(self, tree: exp.Expression, relations: Mapping[str, Any]) -> DataFrame:
        """Return the rows of a query as a lazy DataFrame."""
        from pyspark.errors import PySparkException  # noqa: PLC0415 - Spark is optional and slow to import

        from eventide.runtime.relational.spark_errors import bad_expression  # noqa: PLC0415 - see above

        text = _NestedWith(dialect="spark").generate(tree)
        used = {name: relations[name] for name in set(OWN_NAMES.findall(text))}
        if used:
            # Spark puts relations into braces, so that braces of the query are doubled.
            text = OWN_NAMES.sub(lambda found: f"{{{found[0]}}}", text.replace("{", "{{").replace("}", "}}"))
        try:
            return self._session.sql(text, **used)
        except PySparkException as error:
            raise bad_expression(error) from None

    def rows(self, relation: DataFrame) -> SparkRows:
        """Return rows that a clause can stand over."""
        from eventide.runtime.tables.spark_rows import SparkRows  # noqa: PLC0415 - see above

        return SparkRows(relation)

    def columns(self, relation: DataFrame) -> list[str]:
        """Return the names of a DataFrame's columns."""
        return list(relation.columns)

    def emptied(self, tables: Mapping[str, DataFrame]) -> dict[str, DataFrame]:
        """Return the tables as they are: nothing is run before the result is asked for."""
        return dict(tables)

    def knows(self, table: exp.Table) -> bool:
        """Return whether the catalog has a table or a view of that name, or it is a file (parquet.`/path`)."""
        if table.db.lower() in FILE_FORMATS:
            return True
        return bool(self._session.catalog.tableExists(table.sql(dialect="spark").split(" AS ")[0]))


def _with_spark_names(tree: exp.Expression) -> exp.Expression:
    """Give the column of range(...) the name that Spark gives it."""
    renamed = tree.copy()
    for table in renamed.find_all(exp.Table):
        if isinstance(table.this, exp.Anonymous) and str(table.this.this).lower() == "range" and not table.alias_column_names:
            alias = exp.to_identifier(table.alias or "range")
            table.set("alias", exp.TableAlias(this=alias, columns=[exp.to_identifier("id")]))
    return renamed


def engine_for(spark: SparkSession | None, tables: Mapping[str, Any]) -> tuple[SqlEngine, dict[str, Any]]:
    """Return the engine that fits the tables, and the tables in its form: Spark when a session or a DataFrame is given."""
    frames = [data for data in tables.values() if type(data).__module__.startswith("pyspark.")]
    session = spark if spark is not None else frames[0].sparkSession if frames else None
    if session is None:
        from eventide.runtime.relational.duckdb import read_arrow  # noqa: PLC0415 - see above

        return LocalEngine(), {name: read_arrow(_arrow(name, data)) for name, data in tables.items()}
    return SparkEngine(session), {name: _frame(name, data, session) for name, data in tables.items()}


def _arrow(name: str, data: Any) -> Any:
    if hasattr(data, "__arrow_c_stream__"):
        return data
    raise BindError(
        "UNKNOWN_DATA",
        f"The table {name} is a {type(data).__name__}, which cannot be read.",
        hint="Give a Spark DataFrame, a pyarrow.Table, or anything with __arrow_c_stream__ (pandas, polars, DuckDB).",
    )


def _frame(name: str, data: Any, session: SparkSession) -> Any:
    if not type(data).__module__.startswith("pyspark."):
        from eventide.runtime.relational.duckdb import read_arrow  # noqa: PLC0415 - see above

        return session.createDataFrame(read_arrow(_arrow(name, data)))
    return data
