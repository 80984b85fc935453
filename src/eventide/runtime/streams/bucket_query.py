"""What runs one query over the keys of one bucket of a stream."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from eventide.records import record
from eventide.runtime.streams.state_owner import AS_HELD

if TYPE_CHECKING:
    import pyarrow as pa

    from eventide.runtime.streams.state_owner import HeldColumns

KEY = "__et_key"
CHECK = "__et_check"
ID = "__et_id"
"""Columns of every event: two hashes of its key, and a number that no other event of the bucket has, rising with arrival."""
START = "__et_start"
END = "__et_end"
MATCH_HIGH = "__et_match_high"
MATCH_LOW = "__et_match_low"
RESULT_COLUMNS = (START, END, MATCH_HIGH, MATCH_LOW)
"""Columns behind those of every result: times of the first and the last event, and the 128 bits of the match's identity."""
NEVER = np.iinfo(np.int64).min
"""The watermark of a stream of which nothing is known yet."""


@record
class Held:
    """What a query holds, for counters: events, and partial matches (or rows that may still begin one)."""

    events: int = 0
    partial: int = 0


class BucketQuery(ABC):
    """One query over the keys of one bucket. Results are tables of the match stage's columns and RESULT_COLUMNS.

    Between two calls everything it knows is in what `dump` returns.
    """

    @abstractmethod
    def advance(self, fresh: pa.Table, watermark: int) -> list[pa.Table]:
        """Take events in the order of their arrival and return the results that are now certain.

        None of them is below the watermark of the call before, and no event to come is below this one.
        """

    @abstractmethod
    def speculate(self) -> list[pa.Table]:
        """Return the results that would follow if no event came any more; nothing changes."""

    @abstractmethod
    def dump(self) -> bytes:
        """Return the whole state."""

    @abstractmethod
    def load(self, state: bytes, held: HeldColumns = AS_HELD) -> None:
        """Go on from a dumped state, which may hold what the result shows under other names."""

    @abstractmethod
    def shed(self, share: float) -> int:
        """Forget that share of the oldest partial matches; returns how many held events went with them."""

    @abstractmethod
    def expired(self) -> int:
        """Return how many keys were given up since the last call."""

    @abstractmethod
    def held(self) -> Held:
        """Return what is held."""
