"""The public surface of SQL: read a statement, give it tables, run it."""

from __future__ import annotations

import warnings
from functools import partial
from typing import TYPE_CHECKING, Any

from eventide import explain as explaining
from eventide import pipeline
from eventide.errors import EventideWarning
from eventide.language.sql.statement import parse_statement
from eventide.records import record
from eventide.runtime.budget.limits import DEFAULT_MAX_STEPS
from eventide.runtime.budget.memory import memory_size
from eventide.runtime.options import ERROR, FINAL, RunOptions
from eventide.runtime.sql.program import run_statement, statement_schema
from eventide.runtime.work import check_checkpoint

if TYPE_CHECKING:
    from datetime import timedelta

    from eventide.language.sql.statement import MatchClause
    from eventide.language.sql.statement import Statement as StatementModel
    from eventide.runtime.inputs import RowInput
    from eventide.runtime.relational.adapter import Relation
    from eventide.runtime.streams.live.stream import Live


def sql(
    text: str,
    /,
    *,
    spark: Any = None,
    max_matches: int | None = None,
    max_steps: int = DEFAULT_MAX_STEPS,
    max_memory: int | str | None = None,
    lateness: str | int | timedelta | None = None,
    output: str = FINAL,
    buckets: int | None = None,
    max_state: int | None = None,
    overflow: str = ERROR,
    idle_after: str | int | timedelta | None = None,
    finish: bool = False,
    **tables: Any,
) -> Any:
    """Run SQL in which MATCH_RECOGNIZE may follow any table; the relational engine does everything else.

    The dialect is Spark SQL. Tables are given by name; other names are looked up in the catalog of `spark`. With a Spark
    session or a Spark DataFrame the result is a lazy DataFrame, otherwise DuckDB runs the query and it is a pyarrow.Table.
    `max_matches`, `max_steps` (of the search that conditions on the match so far need) and `max_memory` (bytes, or "2 GB"; a
    quarter of what there is by default) stop a task that exceeds them.
    Over streaming DataFrames the result is one; `lateness` to `finish` are those of `Query.match`.

    >>> import pyarrow as pa
    >>> ticks = pa.table({"t": [1, 2, 3, 4], "price": [5, 3, 4, 6]})
    >>> sql('''
    ...     SELECT * FROM ticks MATCH_RECOGNIZE (
    ...         ORDER BY t
    ...         MEASURES A.price AS low, LAST(UP.price) AS high
    ...         PATTERN (A UP+)
    ...         DEFINE UP AS UP.price > PREV(UP.price)
    ...     )
    ... ''', ticks=ticks).to_pylist()
    [{'low': 3, 'high': 6}]
    """
    return statement(text).run(
        spark=spark,
        max_matches=max_matches,
        max_steps=max_steps,
        max_memory=max_memory,
        lateness=lateness,
        output=output,
        buckets=buckets,
        max_state=max_state,
        overflow=overflow,
        idle_after=idle_after,
        finish=finish,
        **tables,
    )


@record
class Statement:
    """SQL that has been read; made by `statement`. `et.sql` reads and runs in one step."""

    model: StatementModel

    def run(
        self,
        *,
        spark: Any = None,
        max_matches: int | None = None,
        max_steps: int = DEFAULT_MAX_STEPS,
        max_memory: int | str | None = None,
        lateness: str | int | timedelta | None = None,
        output: str = FINAL,
        buckets: int | None = None,
        max_state: int | None = None,
        overflow: str = ERROR,
        idle_after: str | int | timedelta | None = None,
        finish: bool = False,
        **tables: Any,
    ) -> Any:
        """Return the result, as `sql` does."""
        options = RunOptions(
            max_matches=max_matches,
            max_steps=max_steps,
            max_memory=None if max_memory is None else memory_size(max_memory),
            lateness=lateness,
            output=output,
            buckets=buckets,
            max_state=max_state,
            overflow=overflow,
            idle_after=idle_after,
            finish=finish,
        )
        return run_statement(self.model, spark, tables, options, partial(pipeline.run_clause, options=options))

    def open(
        self,
        schema: Any = None,
        /,
        *,
        max_steps: int = DEFAULT_MAX_STEPS,
        lateness: str | int | timedelta | None = None,
        output: str = FINAL,
        buckets: int | None = None,
        max_state: int | None = None,
        overflow: str = ERROR,
        **tables: Any,
    ) -> Live:
        """Open a stream in this process for a statement with one MATCH_RECOGNIZE clause; its ORDER BY begins with the time.

        `schema` says which columns the rows have, as in `Query.open`; it may also be given by the name of the table. The settings
        are those of `run` on a stream.

        >>> pairs = statement("SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts MEASURES A.x AS a, B.x AS b PATTERN (A B))")
        >>> live = pairs.open({"ts": "timestamp", "x": int})
        >>> live.push([{"ts": f"2026-01-01 00:00:0{n}", "x": n} for n in (1, 2, 3)]).to_pylist()
        [{'a': 1, 'b': 2}]
        """
        from eventide.opening.statements import open_statement  # noqa: PLC0415 - tables need none of it

        options = RunOptions(
            max_steps=max_steps,
            lateness=lateness,
            output=output,
            buckets=buckets,
            max_state=max_state,
            overflow=overflow,
        )
        return open_statement(self.model, schema, tables, options)

    def output_schema(self, *, spark: Any = None, **tables: Any) -> Any:
        """Return the schema of the result without reading the tables; raises a BindError when the query does not fit them."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EventideWarning)
            return statement_schema(self.model, spark, tables, partial(pipeline.run_clause, options=RunOptions()))

    def check(
        self, *, checkpoint: str, spark: Any = None, output: str = FINAL, buckets: int | None = None, **tables: Any
    ) -> None:
        """Raise a DataError when the state in a checkpoint belongs to another clause or other settings; a new folder is fine."""
        options = RunOptions(output=output, buckets=buckets)

        def match(clause: MatchClause, source: RowInput) -> Relation:
            work = pipeline.work_of(pipeline.plan(clause.query, source, options), source, options)
            if clause is self.model.clauses[0]:
                check_checkpoint(work, checkpoint)
            return pipeline.carry_out(work)

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EventideWarning)
            statement_schema(self.model, spark, tables, match)

    def explain(self, format: str = "text", *, spark: Any = None, **tables: Any) -> str:  # noqa: A002
        """Return how each MATCH_RECOGNIZE clause is run, as text, as a mermaid or as a dot diagram."""
        planned = []

        def match(clause: MatchClause, source: RowInput) -> Relation:
            plan = pipeline.plan(clause.query, source, RunOptions())
            work = pipeline.work_of(plan, source, RunOptions())
            planned.append((plan, work.explained(), clause))
            return pipeline.carry_out(work)

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EventideWarning)
            statement_schema(self.model, spark, tables, match)
        return explaining.explain(explaining.describe_statement(planned), format)


def statement(text: str) -> Statement:
    """Read SQL in which MATCH_RECOGNIZE may follow any table, to run, check or explain it.

    >>> import pyarrow as pa
    >>> read = statement("SELECT * FROM t MATCH_RECOGNIZE (ORDER BY x MEASURES MATCH_NUMBER() AS n PATTERN (A B))")
    >>> read.output_schema(t=pa.table({"x": [1, 2]})).names
    ['n']
    """
    return Statement(parse_statement(text))
