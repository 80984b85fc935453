"""Event queries over one bucket of a stream: a reorder buffer in front of the matchers that batch runs use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from eventide.pattern import WindowUnit
from eventide.plan.expressions.operators import Encoding
from eventide.runtime.prepare.sequences import STREAM, TIE
from eventide.runtime.stage.keys import HashedKeys
from eventide.runtime.stage.stage import HIGHEST, LOWEST, MatchStage, StageOptions, limits_explained, lows_of
from eventide.runtime.streams.bucket_query import CHECK, ID, KEY, RESULT_COLUMNS, Held, StreamEngine
from eventide.runtime.streams.identity import identities, text_code
from eventide.runtime.streams.reorder import OrderKey, ReorderBuffer
from eventide.runtime.streams.state_bytes import pack, unpack

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from eventide.match.dag.enumeration import MatchBatch
    from eventide.match.protocol import EventBatch
    from eventide.plan.plan import Plan
    from eventide.runtime.prepare.sequences import Layout
    from eventide.runtime.stage.keys import KeySpans


class StreamStage(MatchStage):
    """The match stage of a bucket: keys come and go, and results carry their identity."""

    def __init__(self, plan: Plan, layout: Layout, options: StageOptions) -> None:
        super().__init__(plan, layout, options)
        self.keys = HashedKeys()
        self._keys = self.keys
        self._key_columns = (KEY, CHECK)
        self._kept_columns = [*self._kept_columns, ID]
        self.expired = 0
        self.floor = int(LOWEST)

    def _look_at_windows(self, batch: EventBatch) -> None:
        """Keep to the planned matcher: the first events of a stream say little about those to come, and state has its name."""

    def take(self, table: pa.Table) -> Iterator[pa.Table]:
        """Take events in their order and yield the matches that end with them."""
        if table.num_rows:
            yield from map(_as_table, self._advance(table))

    def advance_time(self, watermark: int) -> Iterator[pa.Table]:
        """Learn that no event below the watermark comes any more; forget what no event to come can reach."""
        if self._payload is None:
            return
        for found in self._pass(watermark):
            yield from map(_as_table, self.take_found(found, self._payload))
        self._keep()
        live = self.matcher.live_keys()[: self.keys.known()]
        if not live.all() and not self._measures_by_attribute():
            kept = np.flatnonzero(live)
            self.expired += len(live) - len(kept)
            self.matcher.compact_keys(kept)
            self.keys.compact(kept)

    def _measures_by_attribute(self) -> bool:
        # That the attribute never decreases can only be seen while its last value is known.
        return self.plan.window is not None and self.plan.window.unit is WindowUnit.ATTRIBUTE

    def _pass(self, watermark: int) -> Iterator[MatchBatch]:
        """Tell the matcher what the watermark means to it."""
        yield from self.matcher.advance_time(self._low(watermark))

    def _keep(self) -> None:
        assert self._payload is not None
        self._payload = self._payload.take(pa.array(self.matcher.keep()))

    def end(self) -> Iterator[pa.Table]:
        """Yield the matches that the end of the stream would make certain."""
        yield from map(_as_table, self._finish())

    def shed(self, share: float) -> int:
        """Forget the partial matches that began first; returns how many of the held events are gone with them."""
        if self._payload is None or not self._payload.num_rows or self.plan.trailing or not self._timed():
            # What waits for a trailing NOT must not be taken for certain, and positions say nothing about age.
            return 0
        before = int(self._payload.num_rows)
        clock = np.sort(self._payload.column(self.layout.clock).to_numpy())
        self.floor = max(self.floor, int(clock[min(len(clock) - 1, int(share * len(clock)))]) + 1)
        if any(True for _ in self.matcher.advance_time(self.floor)):
            raise AssertionError
        self._keep()
        return before - int(self._payload.num_rows)

    def _timed(self) -> bool:
        window = self.plan.window
        return window is None or window.unit.timed

    def _clock(self, table: pa.Table, spans: KeySpans) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        clock, low = super()._clock(table, spans)
        return clock, np.maximum(low, self.floor) if self.floor > LOWEST else low

    def _low(self, watermark: int) -> int:
        """Return where the window of an event at the watermark begins."""
        window = self.plan.window
        if window is None or not self._timed() or watermark == LOWEST:
            return self.floor
        if watermark == HIGHEST:
            return HIGHEST
        return max(self.floor, int(lows_of(window, np.array([watermark], np.int64))[0]))

    def _fill(self, found: MatchBatch, payload: pa.Table) -> pa.RecordBatch:
        batch = super()._fill(found, payload)
        ids = payload.column(ID).to_numpy()
        clock = payload.column(self.layout.clock).to_numpy()
        high, low = identities([ids[found.start], ids[found.end]], found.offset, ids[found.row], self._label_codes()[found.label])
        arrays = [clock[found.start], clock[found.end], high, low]
        for name, array in zip(RESULT_COLUMNS, arrays, strict=True):
            batch = batch.append_column(name, pa.array(array))
        return batch

    def _label_codes(self) -> npt.NDArray[np.uint64]:
        """Return what labels show as numbers that do not depend on the order in which the automaton met them."""
        shown = [sorted(self.plan.output.kept & frozenset(label.variables)) for label in self.labelling.automaton.labels]
        return np.array([text_code(names) if names else 0 for names in shown] or [0], np.uint64)

    @property
    def held_rows(self) -> int:
        """How many events are held for matches to come."""
        return 0 if self._payload is None else int(self._payload.num_rows)

    def dump(self) -> dict[str, Any]:
        """Return the whole state by name."""
        codes = [number for number, value in enumerate(self.plan.values) if value.encoding is Encoding.CODE]
        if codes:
            self._codes.prune(np.concatenate([self.matcher.kept_values(column) for column in codes]))
        parts: dict[str, Any] = {"matcher": self.matcher.dump(), "codes": self._codes.dump(), "floor": self.floor}
        parts |= {f"key_{name}": array for name, array in self.keys.dump().items()}
        if self._payload is not None:
            parts["payload"] = self._payload
        return parts

    def load(self, parts: dict[str, Any]) -> None:
        """Go on from a dump."""
        self.matcher.load(parts["matcher"])
        self._codes.load(parts["codes"])
        self.floor = parts["floor"]
        self.keys.load({name.removeprefix("key_"): part for name, part in parts.items() if name.startswith("key_")})
        self._payload = parts.get("payload")


class EventStreamEngine(StreamEngine):
    """An event query: events wait for the watermark, then the plan's matcher takes them in order."""

    stage_class: type[StreamStage] = StreamStage

    def __init__(self, plan: Plan, layout: Layout, slices: int = 1, slice_index: int = 0) -> None:
        self._plan = plan
        self._layout = layout
        self._options = StageOptions(slices=slices, slice_index=slice_index)
        self._stage = self.stage_class(plan, layout, self._options)
        self._buffer = ReorderBuffer(layout.clock, event_order(plan, layout))
        self._left = plan.query.limit

    def advance(self, fresh: pa.Table, watermark: int) -> list[pa.Table]:
        """Take events and return the matches that are now certain."""
        with limits_explained():
            found = list(self._stage.take(self._buffer.release(fresh, watermark)))
            found += self._stage.advance_time(watermark)
        limited = self._limited(found)
        if self._left == 0:
            # Nothing comes out any more, so nothing need be held.
            self._stage = self.stage_class(self._plan, self._layout, self._options)
            self._buffer.waiting = None
        return limited

    def speculate(self) -> list[pa.Table]:
        """Return the matches that would follow if no event came any more."""
        waiting = self._buffer.waiting
        if waiting is None:
            return []
        copy = EventStreamEngine(self._plan, self._layout, self._options.slices, self._options.slice_index)
        copy.load(self.dump())
        with limits_explained():
            stage = copy._stage
            return copy._limited([*stage.take(self._buffer.ordered(waiting)), *stage.end()])

    def _limited(self, found: list[pa.Table]) -> list[pa.Table]:
        """Keep the first matches: all keys are in one bucket then, and matches come in the order of their ends."""
        if self._left is None or not found:
            return found
        kept = pa.concat_tables(found).slice(0, self._left)
        self._left -= kept.num_rows
        return [kept]

    def shed(self, share: float) -> int:
        """Forget the oldest partial matches; returns how many held events went with them."""
        return self._stage.shed(share)

    def expired(self) -> int:
        """Return how many keys were given up since the last call."""
        number, self._stage.expired = self._stage.expired, 0
        return number

    def held(self) -> Held:
        """Return how many events wait or are held, and how many states share partial matches."""
        waiting = 0 if self._buffer.waiting is None else self._buffer.waiting.num_rows
        return Held(waiting + self._stage.held_rows, self._stage.matcher.partial_matches())

    def dump(self) -> bytes:
        """Return the whole state."""
        parts = self._stage.dump() | {"left": self._left}
        if self._buffer.waiting is not None:
            parts["waiting"] = self._buffer.waiting
        return pack(parts)

    def load(self, state: bytes) -> None:
        """Go on from a dumped state."""
        parts = unpack(state)
        self._left = parts["left"]
        self._buffer.waiting = parts.get("waiting")
        self._stage.load(parts)


def event_order(plan: Plan, layout: Layout) -> list[OrderKey]:
    """Return the columns that order the events of a stream; those that never differ are left out."""
    schemas = [schema for _, schema in plan.streams]
    order = [OrderKey(layout.clock)]
    if any(schema.tie_break for schema in schemas):
        order.append(OrderKey(TIE))
    if len(schemas) > 1:
        order.append(OrderKey(STREAM))
    return [*order, OrderKey(ID)]


def _as_table(batch: pa.RecordBatch) -> pa.Table:
    return pa.Table.from_batches([batch])
