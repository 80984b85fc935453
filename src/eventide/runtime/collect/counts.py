"""How many matches each PARTITION BY key has."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from eventide.errors import BindError
from eventide.match.dag.judged.judging import EndCounts
from eventide.runtime.collect.group_values import as_digits, as_double
from eventide.runtime.relational.arrays import arrow_digits, arrow_numbers
from eventide.runtime.stage.encoding import numbers_of
from eventide.runtime.stage.parts import Detail, TableCollector
from eventide.runtime.stage.propagation import KeyCounts, WholeKeys
from eventide.runtime.stage.shown_keys import SHOWN, ShownKeys

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from eventide.match.dag.enumeration import MatchBatch
    from eventide.plan.labels.labelling import Labelling
    from eventide.plan.plan import Plan
    from eventide.runtime.prepare.sequences import Layout
    from eventide.runtime.stage.keys import KeySpans

MATCHES = "matches"
APPROXIMATE = "matches_approx"


class CountRows(TableCollector):
    """One row for each PARTITION BY key: the exact digits, and a double."""

    detail = Detail.COUNTS

    def __init__(self, plan: Plan, layout: Layout, labelling: Labelling | None, prepared: pa.Schema) -> None:  # noqa: ARG002
        self._shown = ShownKeys(plan, layout)
        self.counts: dict[int, int] = {}
        """The matches of each key that has any, by its number."""

    @staticmethod
    def counts_only(plan: Plan) -> bool:  # noqa: ARG004 - whatever the plan
        """Return True: counts are all there is."""
        return True

    @staticmethod
    def schema(plan: Plan, layout: Layout, prepared: pa.Schema) -> pa.Schema:
        """Return the schema of counts; refuses conditions that only Finish decides."""
        if plan.output.refine:
            raise BindError(
                "COUNT_NOT_POSSIBLE",
                f"Matches cannot be counted, because {plan.refined[0]} is only decided on the finished rows.",
                hint="Count the rows of match() instead.",
            )
        keys = [pa.field(name, prepared.field(name).type) for name in layout.keys[: len(plan.keys)]]
        return pa.schema([*keys, pa.field(MATCHES, pa.string()), pa.field(APPROXIMATE, pa.float64())])

    def kept(self, table: pa.Table, spans: KeySpans) -> pa.Table:
        """Keep the number of each event's key."""
        return pa.table({SHOWN: self._shown.numbers(table, spans)})

    def take(self, found: MatchBatch | EndCounts | WholeKeys | KeyCounts, payload: pa.Table) -> Iterator[pa.RecordBatch]:
        """Count matches, or take counts."""
        shown = numbers_of(payload, SHOWN)
        if isinstance(found, KeyCounts):
            self._add(shown[found.begins].tolist(), found.matches)
        elif isinstance(found, WholeKeys):
            names, group = np.unique(shown, return_inverse=True)
            nothing, nowhere = np.zeros((0, len(shown)), np.int64), np.zeros((0, 1), np.uint8)
            events = found.events(group.reshape(-1), len(names))
            self._add(names.tolist(), found.aggregator.totals(events, [], nowhere, nothing, nowhere).matches)
        elif isinstance(found, EndCounts):
            self._add(shown[found.end].tolist(), found.matches)
        else:
            self._add(*(part.tolist() for part in np.unique(shown[found.end], return_counts=True)))
        yield from ()

    def _add(self, keys: Iterable[int], counts: Iterable[int]) -> None:
        for key, count in zip(keys, counts, strict=True):
            self.counts[key] = self.counts.get(key, 0) + count

    def finish(self) -> Iterator[pa.RecordBatch]:
        """Yield a row for each key, also where it has no match."""
        if not self._shown.row_count:
            return
        counts = [self.counts.get(number, 0) for number in range(self._shown.row_count)]
        exact = arrow_digits([as_digits(count) for count in counts])
        rough = arrow_numbers([as_double(count) for count in counts])
        keys = self._shown.keys
        columns = [] if keys is None else [column.combine_chunks() for column in keys.columns]
        yield pa.RecordBatch.from_arrays([*columns, exact, rough], [*self._shown.names, MATCHES, APPROXIMATE])
