"""The prepared events of a query, as its stage gets them."""

from __future__ import annotations

import warnings
from typing import Any

import pyarrow as pa

import eventide as et
from eventide import pipeline
from eventide.runtime.options import RunOptions
from eventide.runtime.prepare.sequences import layout_of, preparation_of


def planned(text: str, events: et.Events, matcher: str | None = None) -> tuple[Any, Any]:
    """Return the input of a query and its plan, without warnings."""
    query = et.query(text)
    source = query.input_of(events, {})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", et.EventideWarning)
        return source, pipeline.plan(query.model, source, RunOptions(matcher=matcher))


def prepared(source: Any, plan: Any) -> pa.Table:
    """Return the events as Prepare makes them."""
    preparation = preparation_of(plan, layout_of(plan), source.engine.dialect)
    return source.engine.result(preparation.of(source.engine, source.events))
