"""From a query and the columns of its events to an open stream: the hall up to the run, which then takes batch after batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eventide import pipeline
from eventide.errors import BindError, ParseError
from eventide.language import parse
from eventide.pattern.sequence_printing import to_ceql
from eventide.plan.sequences.output import TIME_COLUMN
from eventide.runtime.relational.duckdb import DuckAdapter
from eventide.runtime.runs.asked import Asked
from eventide.runtime.streams.live.batches import schema_of
from eventide.runtime.streams.live.flow import Flow
from eventide.runtime.streams.live.queries import LiveQueries
from eventide.runtime.streams.live.running import RunningFlow
from eventide.runtime.streams.live.saved import QUERIES, QUERY, Recipe
from eventide.runtime.streams.live.stream import MATCHES, TIMEOUTS, Live

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import pyarrow as pa

    from eventide.pattern import Query as QueryModel
    from eventide.runtime.inputs import EventInput
    from eventide.runtime.options import RunOptions
    from eventide.runtime.relational.standing import Pushed
    from eventide.runtime.work import Work

SETTINGS = ("matcher", "lateness", "output", "buckets", "max_state", "overflow")
"""The settings of a stream, as `open` takes them."""
ONLY = "match"


def open_query(model: QueryModel, source: EventInput, options: RunOptions, *, timeouts: bool) -> Live:
    """Open a stream for one query."""
    planned = pipeline.plan(model, source, options)
    flow = flow_of(pipeline.work_of(planned, source, options))
    flows = {MATCHES: RunningFlow(flow)}
    if timeouts:
        expiring = pipeline.plan(model, source, options, Asked.TIMEOUTS)
        flows[TIMEOUTS] = RunningFlow(flow_of(pipeline.work_of(expiring, source, options, Asked.TIMEOUTS)))
    recipe = recipe_of(QUERY, {ONLY: model}, source, options, timeouts=timeouts)
    return Live(recipe, time_of(source), flows, flow.work.job.lateness)


def open_queries(
    asked: Mapping[str, Any],
    run: Callable[[Mapping[str, Any]], tuple[Mapping[str, QueryModel], EventInput, Work]],
    source: EventInput,
    options: RunOptions,
) -> LiveQueries:
    """Open a stream for several queries; `run` returns the models, the input and the run of any of them."""

    def plan(chosen: Mapping[str, Any]) -> tuple[Flow, Recipe]:
        models, read, work = run(chosen)
        return flow_of(work), recipe_of(QUERIES, models, read, options)

    return LiveQueries(asked, plan, time_of(source))


def flow_of(work: Work) -> Flow:
    """Return the run of a stream in this process."""
    assert isinstance(work, Flow)
    return work


def time_of(source: EventInput) -> pa.DataType:
    """Return the type of the times of events."""
    return source.engine.schema(source.events).field(TIME_COLUMN).type


def recipe_of(
    kind: str, models: Mapping[str, QueryModel], source: EventInput, options: RunOptions, *, timeouts: bool = False
) -> Recipe:
    """Return what opens the stream again."""
    pushed = {name: _pushed_of(relation) for name, relation in source.relations.items()}
    roles = {
        pushed[name].name: {
            "time": schema.time,
            "type": schema.type,
            "tie_break": schema.tie_break,
            "types": None if schema.types is None else list(schema.types),
            "time_unit": schema.time_unit,
        }
        for name, schema in source.schema.items()
    }
    settings = options.written(*SETTINGS) | {"timeouts": timeouts}
    return Recipe(
        kind,
        {name: written(model) for name, model in models.items()},
        {name: to_ceql(model) for name, model in models.items()},
        roles,
        settings,
        {one.name: one.schema for one in pushed.values()},
    )


def written(model: QueryModel) -> list[str]:
    """Return the text and the language of a query; no text where it was built and CEQL cannot write it."""
    if model.text:
        return [model.text, model.language]
    text = to_ceql(model)
    try:
        same = parse(text, "ceql") == model
    except ParseError:
        same = False
    return [text if same else "", "ceql"]


def _pushed_of(relation: Any) -> Pushed:
    source: Pushed = relation.only
    return source


def pushed_relation(name: str, columns: Any) -> tuple[DuckAdapter, Any]:
    """Return the rows of a stream that nothing was pushed to yet; `columns` is a schema or what describes one."""
    engine = DuckAdapter()
    return engine, engine.stream(name, schema_of(columns))


def refuse_spark(engine: Any) -> None:
    """Refuse to open a stream over a Spark DataFrame."""
    if not engine.in_process:
        raise BindError(
            "OPEN_NEEDS_ARROW",
            "open runs a stream in this process, over Arrow batches; here are events of Spark.",
            hint="Give the columns as a pyarrow schema, or match a streaming DataFrame: q.match(events).",
        )
