"""Every way to spread the matches of a query, run without Spark: what its tasks do, one after the other."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

import eventide as et
from eventide import pipeline
from eventide.plan.matchers.registry import enumerated_plan
from eventide.runtime.budget.limits import StageLimits
from eventide.runtime.collect.choice import stage_for
from eventide.runtime.options import RunOptions
from eventide.runtime.prepare.sequences import finish_of, layout_of, preparation_of
from eventide.runtime.spread.distribution import distribute
from eventide.runtime.spread.refining import Worker, match_shares, maximal_shares
from eventide_reference import find_matches

REFINED = ("round_robin", "two_choices", "least_loaded", "maximal")
SCHEMA = pa.schema(
    [
        ("time", pa.int64()),
        ("type", pa.string()),
        ("key", pa.int64()),
        ("v", pa.int64()),
        ("w", pa.float64()),
        ("s", pa.string()),
        ("n", pa.int64()),
    ]
)


class Spread:
    """A query over a few events, given as rows with type, time, key and values."""

    def __init__(self, text, events):
        self.events = events
        rows = [{**event, "n": number} for number, event in enumerate(events)]
        given = et.events(pa.Table.from_pylist(rows, SCHEMA), time="time", type="type", tie_break="n")
        self.model = et.query(text).model
        self.source = et.query(text).input_of(given, {})
        self.plan = pipeline.plan(self.model, self.source, RunOptions())
        self.layout = layout_of(self.plan)
        preparation = preparation_of(self.plan, self.layout, self.source.engine.dialect)
        self.table = self.source.engine.result(preparation.of(self.source.engine, self.source.events)).combine_chunks()

    def tasks(self, way, number):
        """Return the matches that each task finds."""
        distribute(self.plan, number, number, way)
        if way != "plain":
            self.plan = enumerated_plan(self.plan)
        if way == "slices":
            return [self._run(StageLimits(slices=number, slice_index=index)) for index in range(number)]
        if way == "plain":
            return [self._run(StageLimits())]
        parts = [[] for _ in range(number)]
        if self.table.num_rows:
            workers = [Worker(self.plan, self.layout, self.table) for _ in range(number)]
            shares = maximal_shares if way == "maximal" else match_shares
            for worker, share in shares(self.plan, self.layout, self.table, way, number):
                parts[worker] += workers[worker].judged(share)
        return [self._bindings(part) for part in parts]

    def expected(self):
        """Return the matches of the oracle."""
        return sorted(match.identity()[2] for match in find_matches(self.model, self.events))

    def stage(self, limits=None):
        """Return the stage of a task."""
        return stage_for(self.plan, self.layout, self.table.schema, limits)

    def _run(self, limits):
        return self._bindings(self.stage(limits).run(iter(self.table.to_batches())))

    def _bindings(self, batches):
        engine = self.source.engine
        found = engine.read(pa.Table.from_batches(batches, self.stage().schema))
        rows = engine.result(finish_of(self.plan, engine.dialect).of(engine, found)).to_pylist()
        lists = [{name: value for name, value in row.items() if isinstance(value, list)} for row in rows]
        return [
            tuple(sorted((name, tuple(event["n"] for event in value)) for name, value in row.items())) for row in lists
        ]


def variation(sizes):
    """Return the coefficient of variation."""
    return float(np.std(sizes) / np.mean(sizes)) if np.mean(sizes) else 0.0
