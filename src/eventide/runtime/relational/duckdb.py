"""DuckDB, the relational engine of the embedded runtime: one database a process, and Arrow tables as its views."""

from __future__ import annotations

import atexit
from contextlib import contextmanager
from functools import cache, cached_property
from itertools import count
from typing import TYPE_CHECKING, Any, ClassVar

import duckdb
import numpy as np
import pyarrow as pa
from sqlglot import exp

from eventide.errors import BindError, DataError, LimitError
from eventide.records import record
from eventide.runtime.relational.adapter import Adapter
from eventide.runtime.relational.arrays import arrow_array, numpy_values
from eventide.runtime.relational.arrow import read_arrow
from eventide.runtime.relational.dialect import Dialect, DuckDialect
from eventide.runtime.relational.standing import Pushed, StandingQuery

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from eventide.runtime.relational.adapter import Batches, Columns, SortKey

PREPARED_ROWS = 1 << 18
_NUMBERS = count()
Source = Any
"""An Arrow table, what is still to be found, rows that are pushed, or the SQL of a view."""


class Found:
    """What a function makes of the rows of a relation: run once, and only when its rows are asked for."""

    def __init__(self, relation: DuckRelation, run: Callable[[Batches], Batches], schema: pa.Schema) -> None:
        self.schema = schema
        self._relation = relation
        self._run = run

    @cached_property
    def table(self) -> pa.Table:
        """All rows."""
        with errors_of_duckdb():
            return pa.Table.from_batches(self.batches(), self.schema)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows as they are found, which is done anew for each caller."""
        with connected(self._relation.sources) as connection, errors_of_duckdb():
            yield from self._run(iter(connection.sql(self._relation.sql).to_arrow_reader(PREPARED_ROWS)))


@record
class DuckRelation:
    """A query that has not been run; `only` is set where it is a table as it is.

    `sources` are the tables that it names, and queries that it names as views.
    """

    sql: str
    sources: Mapping[str, Source]
    only: Any = None
    by_row: bool = False
    """Whether each row comes of one row of the only source, so that it can be computed by itself."""

    @classmethod
    def of(cls, source: pa.Table | Found | Pushed) -> DuckRelation:
        """Take a table under a name of its own."""
        name = f"__et_arrow_{next(_NUMBERS)}"
        return cls(f"SELECT * FROM {name}", {name: source}, source, by_row=True)

    @property
    def table(self) -> pa.Table | None:
        """The table of a user, where the relation is one."""
        return None if isinstance(self.only, Found | Pushed) else self.only

    @property
    def pushed(self) -> bool:
        """Whether the rows come one batch after the other, and never all of them."""
        return any(isinstance(source, Pushed) for source in self.sources.values())

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns, as DuckDB gives them to Arrow; no row is asked for."""
        if self.only is not None:
            return self.only.schema
        with connected(self.sources, empty=True) as connection, errors_of_duckdb():
            return connection.sql(f"SELECT * FROM ({self.sql}) LIMIT 0").to_arrow_table().schema

    def over(self, sql: str) -> DuckRelation:
        """Return a query over the same sources."""
        return DuckRelation(sql, self.sources)

    def rows(self) -> pa.Table:
        """Run the query."""
        if self.only is not None:
            return self.only.table if isinstance(self.only, Found) else self.only
        with connected(self.sources) as connection, errors_of_duckdb():
            return connection.sql(self.sql).to_arrow_table()

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows as they are computed, where they come one by one of what a function finds; else all at the end."""
        found = next(iter(self.sources.values()))
        if not self.by_row or not isinstance(found, Found):
            yield from self.rows().to_batches()
        elif self.only is found:
            yield from found.batches()
        else:
            (name,) = self.sources
            pushed = {name: Pushed(name, found.schema)}
            standing = StandingQuery(standing_database().cursor(), self.sql, pushed, {}, errors_of_duckdb)
            try:
                for batch in found.batches():
                    yield from standing.run({name: pa.Table.from_batches([batch])}).to_batches()
            finally:
                standing.close()


class DuckAdapter(Adapter):
    """DuckDB in this process."""

    dialect: ClassVar[Dialect] = DuckDialect()
    in_process: ClassVar[bool] = True

    def read(self, data: Any) -> DuckRelation:
        """Take anything with the Arrow C stream interface."""
        return DuckRelation.of(read_arrow(data))

    def stream(self, name: str, schema: pa.Schema) -> DuckRelation:
        """Take rows that are still to be pushed; only `standing` queries read them."""
        return DuckRelation.of(Pushed(name, schema))

    def standing(self, relation: DuckRelation) -> StandingQuery:
        """Return a relation over rows that are pushed as a query that runs over one batch of them after the other."""
        sources = {name: source for name, source in relation.sources.items() if isinstance(source, Pushed)}
        views = {name: source for name, source in relation.sources.items() if isinstance(source, str)}
        return StandingQuery(standing_database().cursor(), relation.sql, sources, views, errors_of_duckdb)

    def hash_sample(self) -> list[int]:
        """Return hashes of some keys: states hold such hashes, and another version of DuckDB may have others."""
        known = pa.table({"i": [42], "s": ["key"], "f": [1.5]})
        columns = [(name, self.dialect.key_hash([name], 0)) for name in known.column_names]
        return [int(column[0].as_py()) for column in self.select(self.read(known), columns).rows().columns]

    def is_stream(self, relation: DuckRelation) -> bool:
        """Return whether the rows of a relation are pushed."""
        return relation.pushed

    def schema(self, relation: DuckRelation) -> pa.Schema:
        """Return the columns with their Arrow types."""
        return relation.schema

    def select(self, relation: DuckRelation, columns: Columns, where: str | None = None) -> DuckRelation:
        """Return columns of the rows that a condition keeps."""
        kept = f" WHERE {where}" if where else ""
        sql = f"SELECT {self._listed(columns)} FROM ({relation.sql}){kept}"
        return DuckRelation(sql, relation.sources, by_row=relation.by_row)

    def extend(self, relation: DuckRelation, columns: Columns) -> DuckRelation:
        """Return all rows with further columns."""
        return relation.over(f"SELECT *, {self._listed(columns)} FROM ({relation.sql})")

    def number(self, relation: DuckRelation, name: str) -> DuckRelation:
        """Return all rows with a column that numbers them as they come."""
        if relation.table is None:
            return self.extend(relation, [(name, "row_number() OVER ()")])
        numbers = arrow_array(np.arange(relation.table.num_rows, dtype=np.int64))
        return DuckRelation.of(relation.table.append_column(name, numbers))

    def union(self, relations: Sequence[DuckRelation]) -> DuckRelation:
        """Return the rows of all relations; columns go by name."""
        return DuckRelation(" UNION ALL BY NAME ".join(relation.sql for relation in relations), _sources(relations))

    def arrange(
        self, relation: DuckRelation, columns: Columns, spread_by: Sequence[str], order: Sequence[SortKey]
    ) -> DuckRelation:
        """Return columns of the rows, sorted; all of them are together here."""
        terms = [f"{self.dialect.quote(name)} ASC NULLS FIRST" for name in spread_by]
        terms += map(self.dialect.term, order)
        behind = f" ORDER BY {', '.join(terms)}" if terms else ""
        return relation.over(f"SELECT {self._listed(columns)} FROM ({relation.sql}){behind}")

    def through(self, relation: DuckRelation, run: Callable[[Batches], Batches], schema: pa.Schema) -> DuckRelation:
        """Return what a function makes of the rows."""
        return DuckRelation.of(Found(relation, run, schema))

    def first(self, relation: DuckRelation, order: Sequence[SortKey], count: int) -> DuckRelation:
        """Return the first rows in an order."""
        terms = ", ".join(map(self.dialect.term, order))
        return relation.over(f"SELECT * FROM ({relation.sql}) ORDER BY {terms} LIMIT {count}")

    def query(self, tree: exp.Expression, relations: Mapping[str, DuckRelation]) -> DuckRelation:
        """Return the rows of a query in Spark's dialect; SELECT * FROM a relation is that relation."""
        plain = _only_table(tree)
        if plain is not None and plain in relations:
            return relations[plain]
        asked = self.run_sql(self.dialect.sql(_with_spark_names(tree)), relations)
        asked.schema  # noqa: B018 - what is wrong with the query is said here, not where its rows are read
        return asked

    def run_sql(self, sql: str, relations: Mapping[str, DuckRelation]) -> DuckRelation:
        """Return the rows of a query in DuckDB's dialect."""
        views = {name: relation.sql for name, relation in relations.items()}
        return DuckRelation(sql, _sources(relations.values()) | views)

    def knows(self, table: exp.Table) -> bool:  # noqa: ARG002 - there is no catalog
        """Return False: tables are given, or there are none."""
        return False

    def result(self, relation: DuckRelation) -> pa.Table:
        """Return the rows as an Arrow table."""
        return relation.rows()

    def batches(self, relation: DuckRelation) -> pa.RecordBatchReader:
        """Return a reader that computes the rows as it is read."""
        return pa.RecordBatchReader.from_batches(self.schema(relation), relation.batches())

    def result_schema(self, relation: DuckRelation) -> pa.Schema:
        """Return the columns with their Arrow types."""
        return self.schema(relation)

    def explained(self, relation: DuckRelation) -> str:
        """Return DuckDB's plan."""
        with connected(relation.sources) as connection, errors_of_duckdb():
            rows = connection.execute(f"EXPLAIN {relation.sql}").fetchall()
        return "\n".join(str(row[-1]) for row in rows)

    def count_nulls(self, relation: DuckRelation, column: str) -> int | None:
        """Return how many rows have no value in a column; Arrow knows it of its tables."""
        if relation.table is None:
            return None
        known = column in relation.table.column_names
        return int(relation.table.column(column).null_count if known else relation.table.num_rows)

    def is_sorted(self, relation: DuckRelation, order: Sequence[SortKey]) -> bool:
        """Return whether a table comes in the order of one column of numbers or times."""
        if not order:
            return True
        return relation.table is not None and len(order) == 1 and _is_sorted(relation.table.column(order[0].name), order[0])

    def _listed(self, columns: Columns) -> str:
        return ", ".join(f"{sql} AS {self.dialect.quote(name)}" for name, sql in columns)


def _is_sorted(column: pa.ChunkedArray, key: SortKey) -> bool:
    # Of doubles NaN would need a place; they are left to the sort.
    kind = column.type
    if column.null_count or not (pa.types.is_integer(kind) or pa.types.is_timestamp(kind) or pa.types.is_date(kind)):
        return False
    last = None
    for chunk in column.chunks:
        # As the integers that times are.
        values = numpy_values(chunk if pa.types.is_integer(kind) else chunk.view(f"int{kind.bit_width}"))
        if not len(values):
            continue
        if key.descending:
            values = values[::-1]
        first, end = (values[-1], values[0]) if key.descending else (values[0], values[-1])
        joined = last is None or (first <= last if key.descending else first >= last)
        if not joined or not bool((values[1:] >= values[:-1]).all()):
            return False
        last = end
    return True


def _sources(relations: Iterable[DuckRelation]) -> dict[str, Source]:
    return {name: source for relation in relations for name, source in relation.sources.items()}


@cache
def database() -> duckdb.DuckDBPyConnection:
    """Return the one database of this process; a cursor of it has its own views and costs a fraction of a new database."""
    opened = duckdb.connect(":memory:")
    # Closed and let go before the interpreter ends, or DuckDB reports leaked objects on the terminal.
    atexit.register(_forget, opened)
    return opened


@cache
def standing_database() -> duckdb.DuckDBPyConnection:
    """Return the database of standing queries: one thread keeps rows in their order and does not wait for others."""
    opened = duckdb.connect(":memory:", config={"threads": 1})
    atexit.register(_forget, opened)
    return opened


def _forget(opened: duckdb.DuckDBPyConnection) -> None:
    opened.close()
    database.cache_clear()
    standing_database.cache_clear()


@contextmanager
def connected(sources: Mapping[str, Source], *, empty: bool = False) -> Iterator[duckdb.DuckDBPyConnection]:
    """Give a connection that knows tables and queries by name; `empty` shows what has not been found yet without rows."""
    connection = database().cursor()
    try:
        connection.execute("SET TimeZone = 'UTC'")
        for name, source in sources.items():
            with errors_of_duckdb():
                if isinstance(source, str):
                    connection.execute(f"CREATE TEMP VIEW {name} AS {source}")
                elif isinstance(source, Pushed):
                    connection.register(name, source.schema.empty_table())
                elif isinstance(source, Found):
                    connection.register(name, source.schema.empty_table() if empty else source.table)
                else:
                    connection.register(name, source)
        yield connection
    finally:
        connection.close()


@contextmanager
def errors_of_duckdb() -> Iterator[None]:
    """Turn DuckDB's errors into ours; its relations are lazy, so they come where results are read."""
    try:
        yield
    except (duckdb.OutOfMemoryException, MemoryError):
        raise no_memory() from None
    except duckdb.Error as error:
        raise _bad_expression(error) from None


def no_memory() -> LimitError:
    """Return the error of a result that does not fit into memory."""
    hint = "Add LIMIT or select fewer columns, or read the matches in batches: q.match(events, batches=True)."
    return LimitError("TOO_MUCH_MEMORY", "The result does not fit into memory.", hint=hint)


def _bad_expression(error: duckdb.Error) -> BindError | DataError:
    message = str(error).splitlines()[0]
    if isinstance(error, duckdb.BinderException | duckdb.CatalogException | duckdb.ParserException):
        return BindError(
            "BAD_EXPRESSION",
            f"The embedded engine cannot evaluate an expression: {message}",
            hint="Use functions that Spark SQL and DuckDB both have, or run the query on Spark.",
        )
    return DataError("BAD_VALUE", f"An expression failed on the data: {message}", hint="Use TRY_CAST or filter such events.")


def _only_table(tree: exp.Expression) -> str | None:
    """Return the table of a query that is SELECT * FROM it and nothing else."""
    if not isinstance(tree, exp.Select) or {key for key, part in tree.args.items() if part} != {"expressions", "from_"}:
        return None
    table = tree.args["from_"].this
    if not isinstance(table, exp.Table) or {key for key, part in table.args.items() if part} - {"this", "alias"}:
        return None
    alias = table.args.get("alias")
    star = [type(column) for column in tree.expressions] == [exp.Star] and not any(tree.expressions[0].args.values())
    return table.name if star and not (alias and alias.columns) else None


def _with_spark_names(tree: exp.Expression) -> exp.Expression:
    """Give the column of range(...) the name that Spark gives it."""
    renamed = tree.copy()
    for table in renamed.find_all(exp.Table):
        if isinstance(table.this, exp.Anonymous) and str(table.this.this).lower() == "range" and not table.alias_column_names:
            alias = exp.to_identifier(table.alias or "range")
            table.set("alias", exp.TableAlias(this=alias, columns=[exp.to_identifier("id")]))
    return renamed
