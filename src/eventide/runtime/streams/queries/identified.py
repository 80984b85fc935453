"""Rows of matches in a bucket: they carry their identity, and that of their first event where it is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from eventide.match.identity import identities
from eventide.runtime.collect.matches import MatchRows, shown_codes
from eventide.runtime.streams.bucket_query import ID, RESULT_COLUMNS
from eventide.runtime.streams.queries.parts import BucketCollector

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eventide.match.dag.enumeration import MatchBatch
    from eventide.plan.labels.labelling import Labelling
    from eventide.plan.plan import Plan
    from eventide.runtime.prepare.sequences import Layout
    from eventide.runtime.stage.keys import KeySpans

START_ID = "__et_start_id"
"""The number of the first event of a match."""


class IdentifiedRows(BucketCollector):
    """One row of slots for each match, and RESULT_COLUMNS behind them; with `starts` also START_ID."""

    def __init__(self, plan: Plan, layout: Layout, labelling: Labelling, *, starts: bool = False) -> None:
        self._rows = MatchRows(plan, layout, labelling)
        self._clock = layout.clock
        self._plan = plan
        self._labelling = labelling
        self._starts = starts

    def kept(self, table: pa.Table, spans: KeySpans) -> pa.Table:  # noqa: ARG002 - slots name no keys
        """Keep what slots show, and the numbers of events."""
        return table.select([*self._rows.columns, ID])

    def take(self, found: MatchBatch, payload: pa.Table) -> Iterator[pa.RecordBatch]:
        """Yield a row for each match."""
        ids = payload.column(ID).to_numpy()
        clock = payload.column(self._clock).to_numpy()
        codes = shown_codes(self._plan, self._labelling)
        high, low = identities([ids[found.start], ids[found.end]], found.offset, ids[found.row], codes[found.label])
        columns = dict(zip(RESULT_COLUMNS, (clock[found.start], clock[found.end], high, low), strict=True))
        if self._starts:
            columns[START_ID] = ids[found.start]
        batch = self._rows.fill(found, payload)
        for name, column in columns.items():
            batch = batch.append_column(name, pa.array(column))
        yield batch
