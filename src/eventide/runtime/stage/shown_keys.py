"""Numbers for the PARTITION BY keys of a table; the plan may split them further by keys that follow from equalities."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from eventide.runtime.relational.arrays import arrow_array
from eventide.runtime.relational.functions import take
from eventide.runtime.stage.keys import SortedKeys

if TYPE_CHECKING:
    from eventide.plan.plan import Plan
    from eventide.runtime.prepare.sequences import Layout
    from eventide.runtime.stage.keys import KeySpans

SHOWN = "__et_shown"
"""The number of an event's PARTITION BY key."""


class ShownKeys:
    """Follows the PARTITION BY keys from batch to batch and remembers them."""

    def __init__(self, plan: Plan, layout: Layout) -> None:
        self.names = list(layout.keys[: len(plan.keys)])
        self._sorted = SortedKeys(self.names)
        self._keys: list[pa.Table] = []
        self._count = 0

    def numbers(self, table: pa.Table, spans: KeySpans) -> pa.Array:
        """Return the number of each event's PARTITION BY key."""
        shown = table.select(self.names)
        if spans.key is not None:
            # Interleaved keys have no derived ones beside them: numbers are those of PARTITION BY keys.
            fresh, places = np.unique(spans.key, return_index=True)
            self._remember(shown, places[fresh >= self._count])
            return arrow_array(spans.key.astype(np.int64))
        begins = self._sorted.spans(table).restart
        assert begins is not None
        numbers = np.cumsum(begins, dtype=np.int64) - 1 + self._count
        self._remember(shown, np.flatnonzero(begins))
        return arrow_array(numbers)

    def _remember(self, shown: pa.Table, places: npt.NDArray[np.int64]) -> None:
        self._count += len(places)
        if shown.num_columns:
            self._keys.append(take(shown, arrow_array(places)))

    @property
    def keys(self) -> pa.Table | None:
        """The keys by their numbers, or None where there are none."""
        return pa.concat_tables(self._keys).combine_chunks() if self._keys else None

    @property
    def row_count(self) -> int:
        """How many rows a result has that shows every key once: without PARTITION BY there is one."""
        return self._count if self.names else 1
