"""Event queries over one bucket of a stream, composed of the parts that batch runs use."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from eventide.pattern import WindowUnit
from eventide.plan.expressions.operators import Encoding
from eventide.plan.matchers.registry import ARRIVAL, make_matcher
from eventide.runtime.budget.limits import StageLimits
from eventide.runtime.stage.failures import errors_of_sequences
from eventide.runtime.stage.keys import HashedKeys
from eventide.runtime.stage.stage import Stage
from eventide.runtime.streams.bucket_query import CHECK, KEY, BucketQuery, Held
from eventide.runtime.streams.queries.identified import IdentifiedRows
from eventide.runtime.streams.queries.order import AsArrived, InOrder
from eventide.runtime.streams.queries.parts import BucketParts
from eventide.runtime.streams.state_bytes import pack, unpack
from eventide.runtime.streams.state_owner import AS_HELD

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from eventide.plan.plan import Plan
    from eventide.runtime.prepare.sequences import Layout
    from eventide.runtime.streams.state_owner import HeldColumns

    MakeParts = Callable[[Plan, Layout, StageLimits], BucketParts]


MOST_CALLS = 256
"""Then what time alone has made useless goes too."""


def ordered_parts(plan: Plan, layout: Layout, limits: StageLimits, *, starts: bool = False) -> BucketParts:
    """Return the parts of a query whose matcher takes events in the order of time."""
    keys = HashedKeys((KEY, CHECK))
    matcher, labelling = make_matcher(plan, limits)
    rows = IdentifiedRows(plan, layout, labelling, starts=starts)
    return BucketParts(keys, InOrder(plan, layout, keys, matcher), matcher, rows)


def arrival_parts(plan: Plan, layout: Layout, limits: StageLimits) -> BucketParts:
    """Return the parts of a query whose matcher takes events as they arrive."""
    keys = HashedKeys((KEY, CHECK))
    matcher, labelling = ARRIVAL.make(plan, limits)
    return BucketParts(keys, AsArrived(plan, layout, keys, matcher), matcher, IdentifiedRows(plan, layout, labelling))


start_parts = partial(ordered_parts, starts=True)
"""The parts of a prefix: its rows tell their first event."""


class EventBucketQuery(BucketQuery):
    """An event query: keys come and go, events wait where the matcher asks for their order, and results carry their identity."""

    def __init__(self, make_parts: MakeParts, plan: Plan, layout: Layout, slices: int = 1, slice_index: int = 0) -> None:
        self._plan = plan
        self._layout = layout
        self._limits = StageLimits(slices=slices, slice_index=slice_index, gathers=True)
        self._make_parts = make_parts
        self._codes = [number for number, value in enumerate(plan.values) if value.encoding is Encoding.CODE]
        # That the attribute never decreases can only be seen while its last value is known.
        self._forgets_keys = plan.window is None or plan.window.unit is not WindowUnit.ATTRIBUTE
        self._left = plan.query.limit
        self._expired = 0
        self._begin()

    def _begin(self) -> None:
        self._fresh = 0
        self._calls = 0
        self._kept: int | None = None
        self._limits = self._limits.begun()
        self._parts = self._make_parts(self._plan, self._layout, self._limits)
        parts = self._parts
        self._stage: Stage[Any] = Stage(parts.keys, parts.order, parts.advance, parts.collect, holder=parts.advance)

    def advance(self, fresh: pa.Table, watermark: int) -> list[pa.Table]:
        """Take events and return the results that are now certain."""
        self._limits.begin_batch()
        with errors_of_sequences(self._plan, streaming=True):
            self._parts.collect.learn(fresh.schema)
            found = [*self._taken(self._parts.order.release(fresh, watermark)), *self._passed(watermark)]
        limited = self._limited(found)
        if self._left == 0:
            # Nothing comes out any more, so nothing need be held.
            self._begin()
        return limited

    def _taken(self, table: pa.Table | None) -> Iterator[pa.Table]:
        if table is not None and table.num_rows:
            self._fresh += table.num_rows
            yield from map(_as_table, self._limits.counted(self._stage.take(table)))

    def _passed(self, watermark: int) -> Iterator[pa.Table]:
        """Learn that no event below the watermark comes any more; forget what no event to come can reach."""
        yield from map(_as_table, self._limits.counted(self._stage.collected(self._parts.order.passed(watermark))))
        self._calls += 1
        if self._kept is None or self._fresh > self._kept or self._calls >= MOST_CALLS:
            self._forget()
        yield from self._parts.collect.advance_time(watermark)

    def _forget(self) -> None:
        """Forget what no event to come can reach: that goes over all that is held, so it must be worth it.

        Where a state is loaded for each micro-batch it is done in each, else once there is as much new as was kept before.
        """
        self._stage.forget()
        self._forget_keys()
        if self._codes:
            kept = [self._parts.advance.kept_values(column) for column in self._codes]
            self._parts.order.codes.prune(np.concatenate(kept))
        self._fresh, self._calls, self._kept = 0, 0, self._held_rows

    def _forget_keys(self) -> None:
        keys, advance = self._parts.keys, self._parts.advance
        live = advance.live_keys()[: keys.known()]
        if not live.all() and self._forgets_keys:
            kept = np.flatnonzero(live)
            self._expired += len(live) - len(kept)
            advance.compact_keys(kept)
            keys.compact(kept)

    def speculate(self) -> list[pa.Table]:
        """Return the results that would follow if no event came any more."""
        if not self.held().events:
            return []
        copy = EventBucketQuery(self._make_parts, self._plan, self._layout, self._limits.slices, self._limits.slice_index)
        copy.load(self.dump())
        with errors_of_sequences(self._plan, streaming=True):
            return copy._limited([*copy._taken(copy._parts.order.rest()), *map(_as_table, copy._stage.end())])

    def _limited(self, found: list[pa.Table]) -> list[pa.Table]:
        """Keep the first matches: all keys are in one bucket then, and matches come in the order of their ends."""
        if self._left is None or not found:
            return found
        kept = pa.concat_tables(found).slice(0, self._left)
        self._left -= kept.num_rows
        return [kept]

    def shed(self, share: float) -> int:
        """Forget the oldest partial matches; returns how many held events went with them."""
        self._forget()
        held = self._held_rows
        if self._stage.held is None or not held or not self._parts.order.sheds():
            return 0
        clock = np.sort(self._stage.held.column(self._layout.clock).to_numpy())
        self._parts.order.forget_before(int(clock[min(len(clock) - 1, int(share * len(clock)))]) + 1)
        self._stage.forget()
        return held - self._held_rows

    def expired(self) -> int:
        """Return how many keys were given up since the last call."""
        number, self._expired = self._expired, 0
        return number

    @property
    def _held_rows(self) -> int:
        return 0 if self._stage.held is None else int(self._stage.held.num_rows)

    def held(self) -> Held:
        """Return how many events wait or are held, and how many states share partial matches."""
        return Held(self._parts.order.waiting + self._held_rows, self._parts.advance.partial_matches())

    def dump(self) -> bytes:
        """Return the whole state."""
        keys, order, advance, collect = self._parts.keys, self._parts.order, self._parts.advance, self._parts.collect
        if self._calls:
            self._forget()
        parts: dict[str, Any] = {"matcher": advance.dump(), "codes": order.codes.dump(), "left": self._left}
        parts |= {f"key_{name}": array for name, array in keys.dump().items()}
        parts |= order.dump() | collect.dump()
        if self._stage.held is not None:
            parts["payload"] = self._stage.held
        return pack(parts)

    def load(self, state: bytes, held: HeldColumns = AS_HELD) -> None:
        """Go on from a dumped state."""
        parts = unpack(state)
        for name in ("payload", "waiting"):
            if name in parts:
                parts[name] = held.renamed(parts[name])
        self._left = parts["left"]
        self._parts.advance.load(parts["matcher"])
        self._parts.order.codes.load(parts["codes"])
        self._parts.keys.load({name.removeprefix("key_"): part for name, part in parts.items() if name.startswith("key_")})
        self._parts.order.load(parts)
        self._parts.collect.load(parts)
        self._stage.held = parts.get("payload")


def _as_table(batch: pa.RecordBatch) -> pa.Table:
    return pa.Table.from_batches([batch])
