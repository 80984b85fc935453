"""Event queries that take the events of a stream as they arrive, without a reorder buffer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from eventide.match.disorder.settings import ArrivalBatch
from eventide.plan.matchers.disorder import make_disorder_matcher
from eventide.plan.schema import Kind
from eventide.runtime.prepare.sequences import STREAM, TIE
from eventide.runtime.stage.ordering import to_ordered
from eventide.runtime.stage.stage import LOWEST, StageOptions, limits_explained
from eventide.runtime.streams.bucket_query import ID, Held, StreamEngine
from eventide.runtime.streams.queries.events import StreamStage
from eventide.runtime.streams.state_bytes import pack, unpack

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eventide.match.dag.enumeration import MatchBatch
    from eventide.match.protocol import EventBatch, Matcher
    from eventide.plan.plan import Plan
    from eventide.plan.sequences.labelling import Labelling
    from eventide.runtime.prepare.sequences import Layout
    from eventide.runtime.stage.keys import KeySpans

STREAM_SHIFT = 57
"""Numbers of events have fewer bits than this."""
MOST_STREAMS = 1 << (62 - STREAM_SHIFT)
CODED_TIES = frozenset({Kind.INTEGER, Kind.FLOAT, Kind.TIMESTAMP, Kind.DATE, Kind.BOOLEAN})


def arrival_refusal(plan: Plan) -> str | None:
    """Return why the order of a plan's events cannot be coded in whole numbers, or None when it can."""
    for _, schema in plan.streams:
        if schema.tie_break is not None and schema.columns[schema.tie_break] not in CODED_TIES:
            return "the tie-break is neither a number nor a time"
    return f"there are more than {MOST_STREAMS} streams" if len(plan.streams) > MOST_STREAMS else None


class ArrivalStage(StreamStage):
    """The match stage in front of the disorder-native operator."""

    def _made(self) -> tuple[Matcher, Labelling]:
        matcher, labelling = make_disorder_matcher(self.plan)
        # It takes other batches; all else is the same.
        return cast("Matcher", matcher), labelling

    def _pass(self, watermark: int) -> Iterator[MatchBatch]:
        yield from self.matcher.advance_time(watermark)

    def _batch(self, table: pa.Table, spans: KeySpans) -> EventBatch:
        ordered = super()._batch(table, spans)
        sequence = table.column(ID).to_numpy()
        names = table.column_names
        if STREAM in names:
            sequence = sequence + (table.column(STREAM).to_numpy().astype(np.int64) << STREAM_SHIFT)
        tie = tie_codes(table.column(TIE)) if TIE in names else None
        batch = ArrivalBatch(
            ordered.mask, ordered.clock, sequence, tie, ordered.key, ordered.values, ordered.valid
        )
        return cast("EventBatch", batch)

    def shed(self, share: float) -> int:
        """Forget the events that came first in time; matches that only wait for certainty stay."""
        if self._payload is None or not self._payload.num_rows:
            return 0
        before = int(self._payload.num_rows)
        clock = np.sort(self._payload.column(self.layout.clock).to_numpy())
        cut = int(clock[min(len(clock) - 1, int(share * len(clock)))]) + 1
        cast("Any", self.matcher).forget_before(cut)
        self._keep()
        return before - int(self._payload.num_rows)


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


class ArrivalStreamEngine(StreamEngine):
    """An event query that matches in the order of arrival: matches leave when their last event comes, or a NOT is decided."""

    def __init__(self, plan: Plan, layout: Layout) -> None:
        self._plan = plan
        self._layout = layout
        self._stage = ArrivalStage(plan, layout, StageOptions())

    def advance(self, fresh: pa.Table, watermark: int) -> list[pa.Table]:
        """Take events and return the matches that are now certain."""
        with limits_explained():
            return [*self._stage.take(fresh), *self._stage.advance_time(watermark)]

    def speculate(self) -> list[pa.Table]:
        """Return the matches that only wait for certainty."""
        if not self._stage.held_rows:
            return []
        copy = ArrivalStage(self._plan, self._layout, StageOptions())
        copy.load(self._stage.dump())
        return list(copy.end())

    def shed(self, share: float) -> int:
        """Forget the oldest events; returns how many."""
        return self._stage.shed(share)

    def expired(self) -> int:
        """Return how many keys were given up since the last call."""
        number, self._stage.expired = self._stage.expired, 0
        return number

    def held(self) -> Held:
        """Return how many events are held, and how many of them wait in stacks or in held matches."""
        return Held(self._stage.held_rows, self._stage.matcher.partial_matches())

    def dump(self) -> bytes:
        """Return the whole state."""
        return pack(self._stage.dump())

    def load(self, state: bytes) -> None:
        """Go on from a dumped state."""
        self._stage.load(unpack(state))
