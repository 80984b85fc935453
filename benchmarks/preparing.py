"""The prepared events of a query, for what measures matching without the relational engine around it."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import eventide as et
from eventide import pipeline
from eventide.runtime.options import RunOptions
from eventide.runtime.prepare.sequences import layout_of, preparation_of

if TYPE_CHECKING:
    import pyarrow as pa

    from eventide.plan.plan import Plan
    from eventide.runtime.prepare.sequences import Layout


def prepared_events(text: str, events: et.Events, matcher: str | None = None) -> tuple[Plan, Layout, pa.Table]:
    """Return the plan of a query, the names of the columns, and the prepared events in one piece."""
    query = et.query(text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", et.EventideWarning)
        source = query.input_of(events, {})
        plan = pipeline.plan(query.model, source, RunOptions(matcher=matcher))
    layout = layout_of(plan)
    prepared = preparation_of(plan, layout, source.engine.dialect).of(source.engine, source.events)
    return plan, layout, source.engine.result(prepared).combine_chunks()
