"""In which order a bucket hands its events to a matcher: in that of time, behind a reorder buffer, or as they arrive."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from eventide.match.disorder.settings import ArrivalBatch
from eventide.plan.expressions.schema import Kind
from eventide.runtime.prepare.sequences import STREAM, TIE
from eventide.runtime.stage.encoding import HIGHEST, LOWEST, EventEncoder, lows_of
from eventide.runtime.stage.ordering import to_ordered
from eventide.runtime.streams.bucket_query import ID
from eventide.runtime.streams.reorder import OrderKey, ReorderBuffer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eventide.match.dag.enumeration import MatchBatch
    from eventide.match.protocol import EventBatch, Running
    from eventide.plan.plan import Plan
    from eventide.runtime.prepare.sequences import Layout
    from eventide.runtime.stage.keys import KeySpans, KeyTracker

STREAM_SHIFT = 57
"""Numbers of events have fewer bits than this."""
MOST_STREAMS = 1 << (62 - STREAM_SHIFT)
CODED_TIES = frozenset({Kind.INTEGER, Kind.FLOAT, Kind.TIMESTAMP, Kind.DATE, Kind.BOOLEAN})


class InOrder:
    """Events wait until no earlier one can come."""

    def __init__(self, plan: Plan, layout: Layout, keys: KeyTracker, advance: Running[EventBatch, Any]) -> None:
        self._window = plan.window
        self._trailing = bool(plan.trailing)
        self._advance = advance
        self._encoder = EventEncoder(plan, layout, keys)
        self._buffer = ReorderBuffer(layout.clock, event_order(plan, layout))
        self._floor = LOWEST
        self.codes = self._encoder.codes

    @property
    def waiting(self) -> int:
        """How many events wait."""
        return 0 if self._buffer.waiting is None else int(self._buffer.waiting.num_rows)

    @property
    def _timed(self) -> bool:
        return self._window is None or self._window.unit.timed

    def release(self, fresh: pa.Table, watermark: int) -> pa.Table:
        """Take events and return those that can be matched."""
        return self._buffer.release(fresh, watermark)

    def rest(self) -> pa.Table | None:
        """Return the events that wait, as if no other came."""
        return None if self._buffer.waiting is None else self._buffer.ordered(self._buffer.waiting)

    def encode(self, table: pa.Table, spans: KeySpans) -> EventBatch:
        """Return events as the matcher takes them; no window begins before what was given up."""
        batch = self._encoder.encode(table, spans)
        return batch if self._floor == LOWEST else replace(batch, window_start=np.maximum(batch.window_start, self._floor))

    def passed(self, watermark: int) -> Iterator[Any]:
        """Tell the matcher where the window of an event at the watermark begins."""
        low = self._floor
        if self._window is not None and self._timed and watermark != LOWEST:
            begin = HIGHEST if watermark == HIGHEST else int(lows_of(self._window, np.array([watermark], np.int64))[0])
            low = max(low, begin)
        return self._advance.advance_time(low)

    def sheds(self) -> bool:
        """Return whether partial matches can be given up by the time at which they began."""
        # What waits for a trailing NOT must not be taken for certain, and positions say nothing about age.
        return self._timed and not self._trailing

    def forget_before(self, clock: int) -> None:
        """Give up the partial matches that began before a time."""
        self._floor = max(self._floor, clock)
        self._advance.shed(self._floor)

    def dump(self) -> dict[str, Any]:
        """Return the state by name."""
        waiting = {} if self._buffer.waiting is None else {"waiting": self._buffer.waiting}
        return {"floor": self._floor, **waiting}

    def load(self, parts: dict[str, Any]) -> None:
        """Go on from a dump."""
        self._floor = parts["floor"]
        self._buffer.waiting = parts.get("waiting")


class AsArrived:
    """Events are matched as they arrive: matches leave when their last event comes, or a NOT is decided."""

    waiting = 0

    def __init__(self, plan: Plan, layout: Layout, keys: KeyTracker, matcher: Running[ArrivalBatch, MatchBatch]) -> None:
        self._matcher = matcher
        self._encoder = EventEncoder(plan, layout, keys)
        self.codes = self._encoder.codes

    def release(self, fresh: pa.Table, watermark: int) -> pa.Table:  # noqa: ARG002 - nothing waits
        """Return all events."""
        return fresh

    def rest(self) -> None:
        """Return nothing."""

    def encode(self, table: pa.Table, spans: KeySpans) -> ArrivalBatch:
        """Return events as the disorder-native operator takes them."""
        batch = self._encoder.encode(table, spans)
        sequence = table.column(ID).to_numpy()
        if STREAM in table.column_names:
            sequence = sequence + (table.column(STREAM).to_numpy().astype(np.int64) << STREAM_SHIFT)
        tie = tie_codes(table.column(TIE)) if TIE in table.column_names else None
        return ArrivalBatch(batch.mask, batch.clock, sequence, tie, batch.key, batch.values, batch.valid)

    def passed(self, watermark: int) -> Iterator[MatchBatch]:
        """Tell the matcher that no event below the watermark comes any more."""
        return self._matcher.advance_time(watermark)

    def sheds(self) -> bool:
        """Return that the oldest events can be given up; matches that only wait for certainty stay."""
        return True

    def forget_before(self, clock: int) -> None:
        """Give up the events before a time."""
        self._matcher.shed(clock)

    def dump(self) -> dict[str, Any]:
        """Return nothing: no event waits."""
        return {}

    def load(self, parts: dict[str, Any]) -> None:
        """Take nothing of a dump."""


def event_order(plan: Plan, layout: Layout) -> list[OrderKey]:
    """Return the columns that order the events of a stream; those that never differ are left out."""
    schemas = [schema for _, schema in plan.streams]
    order = [OrderKey(layout.clock)]
    if any(schema.tie_break for schema in schemas):
        order.append(OrderKey(TIE))
    if len(schemas) > 1:
        order.append(OrderKey(STREAM))
    return [*order, OrderKey(ID)]


def arrival_refusal(plan: Plan) -> str | None:
    """Return why the order of a plan's events cannot be coded in whole numbers, or None when it can."""
    for _, schema in plan.streams:
        if schema.tie_break is not None and schema.columns[schema.tie_break] not in CODED_TIES:
            return "the tie-break is neither a number nor a time"
    return f"there are more than {MOST_STREAMS} streams" if len(plan.streams) > MOST_STREAMS else None


def tie_codes(column: pa.ChunkedArray) -> npt.NDArray[np.int64]:
    """Return whole numbers in the order of a tie-break, nulls first.

    >>> tie_codes(pa.chunked_array([[2, None, 1]])).argsort().tolist()
    [1, 2, 0]
    """
    array = column.combine_chunks()
    missing = pc.is_null(array).to_numpy(zero_copy_only=False)
    if pa.types.is_floating(array.type):
        codes = to_ordered(array.cast(pa.float64()).fill_null(0.0).to_numpy(zero_copy_only=False))
    else:
        if pa.types.is_date32(array.type):
            array = array.cast(pa.int32())
        codes = array.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    return np.where(missing, LOWEST, np.maximum(codes, LOWEST + 1))
