"""The hall: every run is this chain, from a text to its result, one statement a step.

`api` checks arguments and calls it. CEQL, SASE and the builder come as a query over events; SQL is a program of relations that
calls it once for each MATCH_RECOGNIZE clause. Tables and streams differ in the driver that a kind's runs choose.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eventide.errors import too_deep
from eventide.kinds import KINDS
from eventide.language import parse
from eventide.plan.rewrite import rewrite
from eventide.runtime.runs.asked import Asked
from eventide.runtime.runs.sequences import matching_together

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eventide.language.sql.statement import MatchClause
    from eventide.runtime.inputs import EventInput, RowInput
    from eventide.runtime.options import RunOptions
    from eventide.runtime.relational.adapter import Relation
    from eventide.runtime.work import Work


def read(text: Any, language: str | None = None) -> Any:
    """Return the model of a query; what is a model already comes back unchanged."""
    return parse(text, language)


def run(model: Any, source: EventInput | RowInput, options: RunOptions, asked: Asked = Asked.MATCHES) -> Relation:
    """Return what is asked of a query over its input."""
    planned = plan(model, source, options, asked)
    work = work_of(planned, source, options, asked)
    return carry_out(work)


def plan(model: Any, source: EventInput | RowInput, options: RunOptions, asked: Asked = Asked.MATCHES) -> Any:
    """Return the plan of a query over its input, or the plans that what is asked of it needs."""
    kind = KINDS[type(model)]
    try:
        bound = kind.bind(model, source.schema, source.kinds_of)
        bound = rewrite(bound, kind.rules)
        chosen = kind.choose(bound, options.matcher)
        further = kind.further_plans.get(asked)
        return chosen if further is None else further(chosen, source.kinds_of, streaming=source.streaming)
    except RecursionError:
        raise too_deep() from None


def work_of(planned: Any, source: EventInput | RowInput, options: RunOptions, asked: Asked = Asked.MATCHES) -> Work:
    """Return the work that finds what is asked of a plan."""
    return KINDS[type(planned.query)].runs[asked](source, planned, options)


def carry_out(work: Work) -> Relation:
    """Return the result of a run."""
    prepared = work.prepare()
    found = work.match(prepared)
    return work.finish(found)


def work_together(plans: Mapping[str, Any], source: EventInput, options: RunOptions) -> Work:
    """Return the work of several plans over the same events; a first column `query` names the plan of a row."""
    return matching_together(plans, source, options)


def run_clause(clause: MatchClause, source: RowInput, options: RunOptions) -> Relation:
    """Return the matches of a clause of SQL."""
    return run(clause.query, source, options)
