"""The hall: every run is this chain, from a text to its result, one statement a step.

`api` checks arguments and calls it. CEQL, SASE and the builder come as a query over events; SQL is a program of relations that
calls it once for each MATCH_RECOGNIZE clause. Tables and streams differ in the driver that `work` chooses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eventide.errors import too_deep
from eventide.kinds import kind_of
from eventide.language import parse
from eventide.plan.rewrite import rewrite
from eventide.runtime.options import RunOptions
from eventide.runtime.runs.asked import Asked
from eventide.runtime.runs.sequences import together

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eventide.language.sql.statement import MatchClause
    from eventide.runtime.inputs import EventInput, RowInput
    from eventide.runtime.relational.adapter import Relation
    from eventide.runtime.sql.program import StatementProgram
    from eventide.runtime.work import Work


def plan(query: Any, source: EventInput | RowInput, options: RunOptions) -> Any:
    """Return the plan of a query, read or as text, over its input."""
    model = parse(query)
    kind = kind_of(model)
    try:
        bound = kind.bind(model, source.schema, source.kinds_of)
        bound = rewrite(bound, kind.rules)
        return kind.choose(bound, options.matcher)
    except RecursionError:
        raise too_deep() from None


def run(query: Any, source: EventInput | RowInput, options: RunOptions, asked: Asked = Asked.MATCHES) -> Relation:
    """Return what is asked of a query over its input."""
    return carry_out(work_of(plan(query, source, options), source, options, asked))


def work_of(planned: Any, source: EventInput | RowInput, options: RunOptions, asked: Asked = Asked.MATCHES) -> Work:
    """Return the work of the driver that runs a plan; refuses settings that cannot act."""
    return kind_of(planned.query).work(source, planned, options, asked)


def carry_out(work: Work) -> Relation:
    """Return the result of a run."""
    prepared = work.prepare()
    found = work.match(prepared)
    return work.finish(found)


def run_together(plans: Mapping[str, Any], source: EventInput, options: RunOptions) -> Relation:
    """Return the results of several plans over the same events; a first column `query` names the plan."""
    return carry_out(together(plans, source, options))


def run_statement(program: StatementProgram, options: RunOptions) -> Any:
    """Return the result of SQL; its clauses are run one after the other."""
    return program.run(lambda clause, source: run(clause.query, source, options), options)


def plan_statement(program: StatementProgram) -> list[tuple[Any, str, MatchClause]]:
    """Return each clause of SQL with its plan and how the engine runs it."""
    planned = []

    def match(clause: MatchClause, source: RowInput) -> Relation:
        clause_plan = plan(clause.query, source, RunOptions())
        work = work_of(clause_plan, source, RunOptions())
        planned.append((clause_plan, work.explained(), clause))
        return carry_out(work)

    program.schema(match)
    return planned
