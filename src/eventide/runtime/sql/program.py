"""SQL with MATCH_RECOGNIZE: the clauses are run one after the other, the relational engine runs the rest around them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from eventide.errors import BindError, Span, did_you_mean
from eventide.plan.expressions.references import span_of
from eventide.runtime.inputs import RowInput
from eventide.runtime.options import RunOptions
from eventide.runtime.relational.adapter import OWN_NAMES
from eventide.runtime.relational.engines import engine_for

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eventide.language.sql.statement import MatchClause, Statement
    from eventide.runtime.relational.adapter import Adapter, Relation

TABLE_PREFIX = "__et_table_"
MISSING_COLUMN = re.compile(
    r"""Referenced column "([^"]+)" not found|does not have a column named "([^"]+)"|parameter with name `([^\s]+)` cannot be"""
)
"""How the relational engines name a column that they cannot find."""
MISSING_TABLE = re.compile(r'[Tt]able "([^"]+)" not found')


ClauseRun = Callable[["MatchClause", RowInput], "Relation"]
"""Runs a clause over its input: the hall."""


def run_statement(statement: Statement, session: Any, tables: Mapping[str, Any], options: RunOptions, match: ClauseRun) -> Any:
    """Return the result of SQL as a user gets it; `session` is Spark's, or None."""
    program = _program(statement, session, tables)
    return program.engine.result(program.run(match, options))


def statement_schema(statement: Statement, session: Any, tables: Mapping[str, Any], match: ClauseRun) -> Any:
    """Return the columns of the result as a user gets them."""
    program = _program(statement, session, tables)
    return program.engine.result_schema(program.run(match, RunOptions()))


def statement_relation(
    statement: Statement, engine: Adapter, given: Mapping[str, Relation], options: RunOptions, match: ClauseRun
) -> Relation:
    """Return the rows of a statement over relations of one engine."""
    return _StatementProgram(statement, engine, given).run(match, options)


def _program(statement: Statement, session: Any, tables: Mapping[str, Any]) -> _StatementProgram:
    engine, given = engine_for(session, tables)
    # A view of the catalog may be a stream too.
    return _StatementProgram(statement, engine, given, may_stream=session is not None)


class _StatementProgram:
    """A statement over given tables on one engine: its clauses leave relations, from which the engine selects the result."""

    def __init__(
        self, statement: Statement, engine: Adapter, given: Mapping[str, Relation], *, may_stream: bool = False
    ) -> None:
        self._statement = statement
        self.engine = engine
        self._tree = statement.tree.copy()
        self._inputs = {clause.name: clause.input.copy() for clause in statement.clauses}
        self._relations: dict[str, Any] = {}
        self._scopes = {clause.name: self._scope(self._stand_in(clause.name)) for clause in statement.clauses}
        self._may_stream = may_stream or any(map(engine.is_stream, given.values()))
        self._resolve(given)

    def run(self, match: ClauseRun, options: RunOptions) -> Relation:
        """Return the result; `match` runs the clauses one after the other."""
        if not self._may_stream:
            options.check(streaming=False)
        for number, clause in enumerate(self._statement.clauses, start=1):
            self._relations[clause.name] = match(clause, RowInput.of(self.engine, self._input_of(clause), number))
        try:
            return self.engine.query(self._tree, self._relations)
        except BindError as error:
            raise self._unknown_column(error) or error from None

    def _unknown_column(self, error: BindError) -> BindError | None:
        """Return a better error when the query around the clauses names a column that is not there."""
        told = MISSING_COLUMN.search(error.message)
        if told is None:
            return self._variable_outside(error)
        parts = next(filter(None, told.groups())).split("`.`")
        name = parts[-1]
        if len(parts) > 1 and parts[0].upper() in self._variables():
            return self._variable_outside(error, parts[0])
        trees = (self._tree, *self._inputs.values())
        columns = (column for tree in trees for column in tree.find_all(exp.Column))
        node = next((column for column in columns if column.name.lower() == name.lower()), None)
        known = self._columns_near(node)
        return BindError(
            "UNKNOWN_COLUMN",
            f"The query around MATCH_RECOGNIZE reads a column {name} that is not there.",
            text=self._statement.text,
            span=None if node is None else span_of(node),
            hint=did_you_mean(name, known),
        )

    def _columns_near(self, node: exp.Column | None) -> list[str]:
        """Return the columns that the query around a column reference can read."""
        select = None if node is None else node.find_ancestor(exp.Select)
        tables = self._relations if select is None else {table.name for table in select.find_all(exp.Table)}
        return [
            column
            for name, relation in self._relations.items()
            if name in tables
            for column in self.engine.schema(relation).names
        ]

    def _variables(self) -> set[str]:
        return {name for clause in self._statement.clauses for name in clause.query.variables}

    def _variable_outside(self, error: BindError, name: str | None = None) -> BindError | None:
        told = MISSING_TABLE.search(error.message)
        name = name or (told[1] if told else None)
        if name is None or name.upper() not in self._variables():
            return None
        node = next((column for column in self._tree.find_all(exp.Column) if column.table.lower() == name.lower()), None)
        return BindError(
            "VARIABLE_OUTSIDE_CLAUSE",
            f"{name} is a pattern variable, which only its MATCH_RECOGNIZE clause knows.",
            text=self._statement.text,
            span=None if node is None else span_of(node),
            hint=f"Make a measure of it: MEASURES {name}.{'x' if node is None else node.name} AS ...",
        )

    def _input_of(self, clause: MatchClause) -> Relation:
        """Return the rows that a clause stands over."""
        try:
            relation = self.engine.query(self._input(clause), self._relations)
        except BindError as error:
            raise self._unknown_column(error) or self._at_clause(error, clause) from None
        self._refuse_ambiguous(relation, clause)
        return relation

    def _refuse_ambiguous(self, relation: Any, clause: MatchClause) -> None:
        seen: set[str] = set()
        for column in self.engine.schema(relation).names:
            if column.lower() in seen:
                twice = BindError(
                    "AMBIGUOUS_COLUMN",
                    f"The input of MATCH_RECOGNIZE has two columns {column}.",
                    hint=f"Rename one of them in a sub-query: SELECT ... AS {column}_2.",
                )
                raise self._at_clause(twice, clause)
            seen.add(column.lower())

    def _at_clause(self, error: BindError, clause: MatchClause) -> BindError:
        span = error.span or (clause.span and Span(clause.span.start, clause.span.start + len("MATCH_RECOGNIZE")))
        return BindError(error.condition, error.message, text=self._statement.text, span=span, hint=error.hint)

    def _input(self, clause: MatchClause) -> exp.Expression:
        """Return the query for the rows that a clause stands over, with the CTEs that it can see."""
        query: exp.Expression = exp.Select(expressions=[exp.Star()], from_=exp.From(this=self._inputs[clause.name].copy()))
        for level, visible in enumerate(self._scopes[clause.name]):
            if not visible:
                continue
            if level and query.args.get("with_"):
                query = exp.Select(expressions=[exp.Star()], from_=exp.From(this=exp.Subquery(this=query)))
            query.set("with_", exp.With(expressions=[cte.copy() for cte in visible]))
        return query

    def _scope(self, table: exp.Table) -> list[list[exp.CTE]]:
        """Return the CTEs that a table can see, those of the innermost WITH first."""
        levels: list[list[exp.CTE]] = []
        node: exp.Expr | None = table
        while node is not None:
            holder = node.parent or self._stands_over(node)
            if isinstance(holder, exp.With):
                position = next(number for number, cte in enumerate(holder.expressions) if cte is node)
                levels.append(list(holder.expressions[: position + bool(holder.args.get("recursive"))]))
                # The query that the WITH belongs to shows its CTEs no more than what stands before them.
                node = holder.parent
                continue
            with_ = holder.args.get("with_") if isinstance(holder, exp.Query) else None
            if with_ is not None:
                levels.append(list(with_.expressions))
            node = holder
        return levels

    def _stands_over(self, node: exp.Expr) -> exp.Table | None:
        """Return the place of the clause that stands over a node, when it is the input of one."""
        name = next((name for name, tree in self._inputs.items() if tree is node), None)
        return None if name is None else self._stand_in(name)

    def _stand_in(self, name: str) -> exp.Table:
        for tree in (self._tree, *self._inputs.values()):
            for table in tree.find_all(exp.Table):
                if table.name == name:
                    return table
        raise AssertionError(name)

    def _resolve(self, tables: Mapping[str, Any]) -> None:
        """Give the tables that were handed over names of their own, so that nothing in a catalog is touched."""
        numbers = {name: f"{TABLE_PREFIX}{number}" for number, name in enumerate(tables)}
        lowered = {name.lower(): name for name in tables}
        trees = [self._tree, *self._inputs.values()]
        seen: set[int] = set()
        for tree in trees:
            for table in list(tree.find_all(exp.Table)):
                if id(table) in seen or OWN_NAMES.fullmatch(table.name) or not isinstance(table.this, exp.Identifier):
                    continue
                seen.add(id(table))
                visible = {cte.alias.lower() for level in self._scope(table) for cte in level}
                if not table.db and table.name.lower() in visible:
                    continue
                name = table.name if table.name in tables else lowered.get(table.name.lower())
                if table.db or name is None:
                    if not self.engine.knows(table):
                        raise self._unknown(table, tables)
                    continue
                if not table.alias:
                    table.set("alias", exp.TableAlias(this=table.this.copy()))
                table.set("this", exp.to_identifier(numbers[name]))
                self._relations[numbers[name]] = tables[name]

    def _unknown(self, table: exp.Table, tables: Mapping[str, Any]) -> BindError:
        meta = table.this.meta
        return BindError(
            "UNKNOWN_TABLE",
            f"There is no table {table.sql(dialect='spark')}.",
            text=self._statement.text,
            span=Span(meta["start"], meta["end"] + 1) if "start" in meta else None,
            hint=f"Write {table.name} alone: tables that are given have no schema."
            if table.db and table.name.lower() in {name.lower() for name in tables}
            else f"{did_you_mean(table.name, tables)} Give tables by name: et.sql(text, {table.name}=data).",
        )
