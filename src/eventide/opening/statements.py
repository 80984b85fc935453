"""From a statement of SQL to an open stream."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlglot import exp

from eventide import pipeline
from eventide.errors import BindError
from eventide.opening.queries import ONLY, flow_of, pushed_relation
from eventide.runtime.sql.program import statement_relation
from eventide.runtime.sql.row_by_row import refuse_several_rows
from eventide.runtime.streams.live.batches import schema_of
from eventide.runtime.streams.live.running import RunningFlow
from eventide.runtime.streams.live.saved import STATEMENT, Recipe
from eventide.runtime.streams.live.stream import MATCHES, Live

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

    from eventide.language.sql.statement import MatchClause, Statement
    from eventide.runtime.inputs import RowInput
    from eventide.runtime.options import RunOptions
    from eventide.runtime.relational.adapter import Relation
    from eventide.runtime.streams.live.flow import Flow

SETTINGS = ("max_steps", "lateness", "output", "buckets", "max_state", "overflow")


def open_statement(statement: Statement, schema: Any, tables: Mapping[str, Any], options: RunOptions) -> Live:
    """Open a stream for the clause of a statement."""
    refuse_several_rows(statement)
    given = _given(statement, schema, tables)
    opened: list[tuple[Flow, pa.DataType]] = []

    def match(clause: MatchClause, source: RowInput) -> Relation:
        planned = pipeline.plan(clause.query, source, options)
        flow = flow_of(pipeline.work_of(planned, source, options))
        opened.append((flow, source.engine.schema(source.rows).field(planned.order[0]).type))
        return pipeline.carry_out(flow)

    [(name, columns)] = given.items()
    engine, rows = pushed_relation(name, columns)
    shown = statement_relation(statement, engine, {name: rows}, options, match)
    [(flow, time)] = opened
    settings = options.written(*SETTINGS)
    recipe = Recipe(STATEMENT, {ONLY: [statement.text, "sql"]}, {ONLY: statement.text}, {name: {}}, settings, given)
    running = RunningFlow(flow, None if _is_clause(statement) else shown)
    return Live(recipe, time, {MATCHES: running}, flow.work.job.lateness)


def _is_clause(statement: Statement) -> bool:
    """Return whether a statement asks for the rows of its clause as they are: then no query need go over them again."""
    [clause] = statement.clauses
    return statement.tree.sql() == f"SELECT * FROM {clause.name}"


def _given(statement: Statement, schema: Any, tables: Mapping[str, Any]) -> dict[str, pa.Schema]:
    """Return the columns of the one table by its name."""
    given = dict(tables)
    if schema is not None:
        trees = (statement.tree, *(clause.input for clause in statement.clauses))
        names = [table.name for tree in trees for table in tree.find_all(exp.Table) if not table.name.startswith("__et_")]
        given = {names[0]: schema, **given}
    if len(given) != 1:
        raise BindError(
            "NO_EVENTS" if not given else "STATEMENT_ON_STREAM",
            f"An open stream reads one table; {len(given)} were given.",
            hint='Give its columns: et.statement(text).open({"ts": datetime, "price": float}).',
        )
    return {name: schema_of(columns) for name, columns in given.items()}
