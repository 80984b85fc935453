"""ORDER BY with LIMIT: the matches with the lowest (or highest) scores."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from eventide.errors import DataError
from eventide.match.totals.paths import Ranked
from eventide.plan.totals.results import Best
from eventide.runtime.collect.matches import binding_table, stage_schema
from eventide.runtime.collect.ranking import RankedRows, kept_events
from eventide.runtime.relational.arrays import filled, numpy_values
from eventide.runtime.relational.functions import cast, is_valid, sorted_places
from eventide.runtime.stage.parts import Detail, TableCollector
from eventide.runtime.stage.propagation import WholeKeys

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eventide.match.dag.enumeration import MatchBatch
    from eventide.plan.labels.labelling import Labelling
    from eventide.plan.plan import Plan
    from eventide.runtime.prepare.sequences import Layout
    from eventide.runtime.stage.keys import KeySpans

    Doubles = npt.NDArray[np.float64]


class BestRows(TableCollector):
    """Rows of matches with their scores; among them all that can be in the result."""

    detail = Detail.TOTALS
    schema = staticmethod(stage_schema)

    def __init__(self, plan: Plan, layout: Layout, labelling: Labelling, prepared: pa.Schema) -> None:  # noqa: ARG002
        assert isinstance(plan.results, Best)
        self._terms = plan.results.terms
        self._sign = -1.0 if plan.results.descending else 1.0
        self._layout = layout
        self._labelling = labelling
        self._rows = RankedRows(plan, layout, labelling)

    def kept(self, table: pa.Table, spans: KeySpans) -> pa.Table:  # noqa: ARG002 - scores know no keys
        """Keep what scores are made of and fields show."""
        return table.select(self._rows.columns)

    def take(self, found: MatchBatch | WholeKeys, payload: pa.Table) -> Iterator[pa.RecordBatch]:
        """Yield the best of some matches."""
        if isinstance(found, WholeKeys):
            yield from self._best_of_keys(found, payload) if self._rows.wanted else ()
            return
        values = self._values(payload)
        binds = self._binds(self._labelling.label_count())
        added = np.zeros(len(found.row))
        for term in range(len(values)):
            added += np.where(binds[term, found.label], values[term, found.row], 0.0)
        match_of = np.repeat(np.arange(len(found.start)), np.diff(found.offset))
        ranks = np.bincount(match_of, weights=added, minlength=len(found.start)).astype(np.float64)
        yield from self._rows.some(found, payload, ranks)

    def _best_of_keys(self, keys: WholeKeys, payload: pa.Table) -> Iterator[pa.RecordBatch]:
        """Find the best matches of whole keys, without listing the others."""
        kept = kept_events(keys)
        labels = int(keys.aggregator.symbols.tables.label.max(initial=0)) + 1
        ranked = Ranked(keys.aggregator, kept, -self._values(payload)[:, kept.row], self._binds(labels))
        matches, ranks = [], []
        for weight, match in ranked.first(self._rows.wanted, _order(payload, self._layout)[kept.row]):
            if -weight > self._rows.limit():
                break
            matches.append(match)
            ranks.append(-weight)
        if matches:
            self._rows.learn(np.array(ranks))
            yield self._rows.chosen(matches, kept, payload, np.array(ranks))

    def _values(self, table: pa.Table) -> Doubles:
        """Return what each event adds to the rank by each term."""
        values = np.empty((len(self._terms), table.num_rows))
        for number, term in enumerate(self._terms):
            if term.payload is None:
                values[number] = self._sign * term.factor
                continue
            column = table.column(self._layout.payload[term.payload]).combine_chunks()
            numbers = filled(cast(column, pa.float64(), safe=False), 0.0)
            if not np.isfinite(numbers).all():
                raise DataError(
                    "SCORE_NOT_FINITE",
                    f"ORDER BY adds up values of {term.variable}, and some are not finite.",
                    hint="Leave them out by a condition, or replace them: NANVL(x, 0).",
                )
            values[number] = self._sign * term.factor * numbers
        return values

    def _binds(self, labels: int) -> npt.NDArray[np.uint8]:
        return binding_table(self._labelling, [term.variable for term in self._terms], labels)


def _order(table: pa.Table, layout: Layout) -> npt.NDArray[np.int64]:
    """Return the place of each event in the order of the whole stream."""
    columns = [table.column(name) for name in (layout.clock, *layout.order)]
    # A null tie-break comes first.
    columns.insert(1, cast(is_valid(columns[1]), pa.int8()))
    names = [str(number) for number in range(len(columns))]
    ordered = pa.table(columns, names=names)
    sorted_rows = numpy_values(sorted_places(ordered, names))
    order = np.empty(table.num_rows, np.int64)
    order[sorted_rows] = np.arange(table.num_rows)
    return order
