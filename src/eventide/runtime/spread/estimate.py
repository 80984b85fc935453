"""How many matches there are at most: the paths of the automaton, which the conditions between events can only thin out."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa

from eventide.records import record
from eventide.runtime.collect.counts import CountRows
from eventide.runtime.collect.group_values import as_double
from eventide.runtime.stage.parts import Detail, TableCollector

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from eventide.plan.labels.labelling import Labelling
    from eventide.plan.plan import Plan
    from eventide.runtime.prepare.sequences import Layout
    from eventide.runtime.stage.assembly import TableStage
    from eventide.runtime.stage.keys import KeySpans
    from eventide.runtime.stage.propagation import KeyCounts

WORTH_SPREADING = 1_000_000
"""Fewer matches are enumerated in less time than tasks take to begin (Abella 2022, 6.5)."""
OUTGROWS = 4
"""How many times more matches than events make an output that outgrows its input."""
COLUMNS = ("events", "matches", "largest", "bytes")


@record
class Estimate:
    """The events and an upper bound of the matches, of all keys together and of the largest."""

    events: float
    matches: float
    largest: float
    bytes: float

    @classmethod
    def total(cls, parts: Iterable[Estimate]) -> Estimate:
        """Return the estimate of all parts together."""
        known = list(parts)
        return cls(
            sum(part.events for part in known),
            sum(part.matches for part in known),
            max((part.largest for part in known), default=0.0),
            sum(part.bytes for part in known),
        )

    @property
    def worth_spreading(self) -> bool:
        """Whether the output is large, and larger than the input."""
        return self.matches >= max(WORTH_SPREADING, OUTGROWS * self.events)

    def uneven(self, tasks: int) -> bool:
        """Whether one key has more than the share of a task."""
        return tasks > 1 and self.largest * tasks > self.matches

    def described(self) -> str:
        """Return the estimate in words."""
        return f"at most {self.matches:.3g} matches of {int(self.events):,} events, {self.largest:.3g} of them of one key"


class EstimateRow(TableCollector):
    """The estimate of a task as one row: the paths of each key are counted, whatever conditions there are."""

    detail = Detail.BOUNDS

    def __init__(self, plan: Plan, layout: Layout, labelling: Labelling | None, prepared: pa.Schema) -> None:
        self._counted = CountRows(plan, layout, labelling, prepared)
        self._events = 0
        self._bytes = 0

    @staticmethod
    def schema(plan: Plan, layout: Layout, prepared: pa.Schema) -> pa.Schema:  # noqa: ARG004 - all estimates look alike
        """Return the schema of an estimate."""
        return pa.schema([pa.field(name, pa.float64()) for name in COLUMNS])

    def kept(self, table: pa.Table, spans: KeySpans) -> pa.Table:
        """Keep the number of each event's key."""
        self._events += table.num_rows
        self._bytes += table.nbytes
        return self._counted.kept(table, spans)

    def take(self, found: KeyCounts, payload: pa.Table) -> Iterator[pa.RecordBatch]:
        """Add counts up."""
        yield from self._counted.take(found, payload)

    def finish(self) -> Iterator[pa.RecordBatch]:
        """Yield the only row."""
        counts = [as_double(count) for count in self._counted.counts.values()]
        row = (float(self._events), sum(counts, start=0.0), max(counts, default=0.0), float(self._bytes))
        yield pa.RecordBatch.from_arrays([pa.array([value], pa.float64()) for value in row], list(COLUMNS))


def estimate_of(stage: TableStage, table: pa.Table) -> Estimate:
    """Return the estimate of the events that a stage is to match."""
    estimated = replace(stage, collector=EstimateRow).run(iter(table.to_batches()))
    return Estimate.total(Estimate(**row) for batch in estimated for row in batch.to_pylist())
