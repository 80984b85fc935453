"""Timed-out partial matches on a stream: the prefixes of a query side by side, and what each start has reached."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from eventide.runtime.streams.bucket_query import END, MATCH_HIGH, MATCH_LOW, NEVER, RESULT_COLUMNS, START, BucketQuery, Held
from eventide.runtime.streams.queries.identified import START_ID
from eventide.runtime.streams.state_bytes import pack, unpack
from eventide.runtime.streams.state_owner import AS_HELD

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eventide.runtime.streams.job import StreamQuery
    from eventide.runtime.streams.state_owner import HeldColumns

REACHED = "__et_reached"
LAST_STEP = "__et_last_step"
MATCHED = -1


@dataclass
class _Starts:
    """Events that can begin a match and whose windows are not over: how far each has come, and when."""

    rows: pa.Table
    """The columns of the result, in the order of `ids`."""
    ids: npt.NDArray[np.int64]
    clock: npt.NDArray[np.int64]
    reached: npt.NDArray[np.int64]
    last_step: npt.NDArray[np.int64]

    def chosen(self, which: npt.NDArray[np.bool_]) -> _Starts:
        """Return some of them."""
        return _Starts(
            self.rows.filter(pa.array(which)), self.ids[which], self.clock[which], self.reached[which], self.last_step[which]
        )

    def learn(self, ids: npt.NDArray[np.int64], reached: int, ends: npt.NDArray[np.int64]) -> None:
        """Note that starts have come so far, at the earliest of these times; MATCHED stays."""
        order = np.lexsort((ends, ids))
        ids, first = np.unique(ids[order], return_index=True)
        ends = ends[order][first]
        place = np.searchsorted(self.ids, ids)
        # A prefix can begin at an event that no whole match could begin at.
        known = (place < len(self.ids)) & (self.ids[np.minimum(place, max(0, len(self.ids) - 1))] == ids)
        place, ends = place[known], ends[known]
        if reached == MATCHED:
            self.reached[place] = MATCHED
            return
        further = (self.reached[place] != MATCHED) & (self.reached[place] < reached)
        earlier = (self.reached[place] == reached) & (ends < self.last_step[place])
        self.last_step[place] = np.where(further | earlier, ends, self.last_step[place])
        self.reached[place] = np.where(further, reached, self.reached[place])


class TimeoutBucketQuery(BucketQuery):
    """Finds the starts whose window is over without a match. `queries` are the prefixes from the shortest, then the whole."""

    def __init__(self, queries: Sequence[StreamQuery], window: int, *, trailing: bool = False) -> None:
        self._queries = tuple(queries)
        self._window = window
        # Matches with NOT at the end leave their prefix in the order of ends, the last ones of a start a window later.
        self._patience = 2 * window if trailing else window
        self._prefixes = [query.make_bucket_query() for query in queries]
        self._starts: _Starts | None = None

    def advance(self, fresh: pa.Table, watermark: int) -> list[pa.Table]:
        """Take events and return the starts that have timed out."""
        found = [
            prefix.advance(query.events_of(fresh), watermark)
            for query, prefix in zip(self._queries, self._prefixes, strict=True)
        ]
        if found[0]:
            self._begin(pa.concat_tables(found[0]))
        if self._starts is None or watermark == NEVER:
            return []
        last = len(found) - 1
        for number, tables in enumerate(found[1:], start=1):
            for table in tables:
                self._starts.learn(
                    table.column(START_ID).to_numpy(), MATCHED if number == last else number, table.column(END).to_numpy()
                )
        over = self._starts.clock < watermark - self._patience
        ended, self._starts = self._starts.chosen(over), self._starts.chosen(~over)
        late = ended.chosen(ended.reached != MATCHED)
        return [self._result(late)] if len(late.ids) else []

    def _begin(self, table: pa.Table) -> None:
        """Take up new starts."""
        shown = table.drop_columns([START_ID, *RESULT_COLUMNS])
        clock, ids = table.column(START).to_numpy(), table.column(START_ID).to_numpy()
        fresh = _Starts(shown, ids, clock, np.zeros(len(ids), np.int64), clock.copy())
        if self._starts is not None:
            old = self._starts
            both = [
                np.concatenate([getattr(old, name), getattr(fresh, name)]) for name in ("ids", "clock", "reached", "last_step")
            ]
            fresh = _Starts(pa.concat_tables([old.rows, shown]), *both)
        order = np.argsort(fresh.ids, kind="stable")
        self._starts = _Starts(
            fresh.rows.take(pa.array(order)), fresh.ids[order], fresh.clock[order], fresh.reached[order], fresh.last_step[order]
        )

    def _result(self, late: _Starts) -> pa.Table:
        columns = {
            REACHED: late.reached,
            LAST_STEP: late.last_step,
            START: late.clock,
            END: late.clock + self._window,
            MATCH_HIGH: late.ids,
            MATCH_LOW: np.zeros(len(late.ids), np.int64),
        }
        table = late.rows
        for name, column in columns.items():
            table = table.append_column(name, pa.array(column))
        return table

    def speculate(self) -> list[pa.Table]:
        """Return nothing: what will time out is not known before it does."""
        return []

    def shed(self, share: float) -> int:
        """Forget the oldest partial matches of all prefixes."""
        return sum(prefix.shed(share) for prefix in self._prefixes)

    def expired(self) -> int:
        """Return how many keys were given up since the last call."""
        return self._prefixes[-1].expired()

    def held(self) -> Held:
        """Return what the prefixes hold together, and how many starts are open."""
        held = sum(prefix.held().events for prefix in self._prefixes)
        return Held(held, 0 if self._starts is None else len(self._starts.ids))

    def dump(self) -> bytes:
        """Return the whole state."""
        parts: dict[str, Any] = {f"engine{number}": prefix.dump() for number, prefix in enumerate(self._prefixes)}
        if self._starts is not None:
            starts = self._starts
            parts |= {"rows": starts.rows, "ids": starts.ids, "clock": starts.clock}
            parts |= {"reached": starts.reached, "last_step": starts.last_step}
        return pack(parts)

    def load(self, state: bytes, held: HeldColumns = AS_HELD) -> None:
        """Go on from a dumped state."""
        parts = unpack(state)
        for number, prefix in enumerate(self._prefixes):
            prefix.load(parts[f"engine{number}"], held)
        if "ids" in parts:
            self._starts = _Starts(*(parts[name] for name in ("rows", "ids", "clock", "reached", "last_step")))
