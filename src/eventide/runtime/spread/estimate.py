"""How many matches there are at most: the paths of the automaton, which the conditions between events can only thin out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from eventide.match.totals.counting import MatchCounter
from eventide.runtime.collect.counts import CountStage
from eventide.runtime.collect.group_values import as_double
from eventide.runtime.stage.whole_keys import WholeKeysStage

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from eventide.plan.plan import Plan
    from eventide.runtime.prepare.sequences import Layout

WORTH_SPREADING = 1_000_000
"""Fewer matches are enumerated in less time than tasks take to begin (Abella 2022, 6.5)."""
OUTGROWS = 4
"""How many times more matches than events make an output that outgrows its input."""
COLUMNS = ("events", "matches", "largest", "bytes")


@dataclass(frozen=True)
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


class EstimateStage(CountStage):
    """Counts the paths of each key, whatever conditions there are."""

    def __init__(self, plan: Plan, layout: Layout) -> None:
        WholeKeysStage.__init__(self, plan, layout, propagated=True)
        self._begin_counting(MatchCounter(plan.automaton(), max(1, len(plan.predicates))))

    def estimate(self, batches: Iterable[pa.RecordBatch]) -> Estimate:
        """Return the estimate of prepared events."""
        events = size = 0

        def measured() -> Iterator[pa.RecordBatch]:
            nonlocal events, size
            for batch in batches:
                events += batch.num_rows
                size += batch.nbytes
                yield batch

        for _ in self.run(measured()):
            pass
        counts = [as_double(count) for count in self._counts.values()]
        return Estimate(float(events), sum(counts, start=0.0), max(counts, default=0.0), float(size))

    def row(self, batches: Iterable[pa.RecordBatch]) -> pa.RecordBatch:
        """Return the estimate as a row."""
        estimate = self.estimate(batches)
        columns = [pa.array([getattr(estimate, name)], pa.float64()) for name in COLUMNS]
        return pa.RecordBatch.from_arrays(columns, list(COLUMNS))
