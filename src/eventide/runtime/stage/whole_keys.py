"""Stages that look at all matches of a key at once: whole keys where results are propagated, else the matches one by one."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from eventide.runtime.stage.keys import SortedKeys
from eventide.runtime.stage.stage import MatchStage, StageOptions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eventide.match.dag.enumeration import MatchBatch
    from eventide.plan.plan import Plan
    from eventide.runtime.prepare.sequences import Layout
    from eventide.runtime.stage.keys import KeySpans

    Integers = npt.NDArray[np.int64]

SHOWN = "__et_shown"
"""The number of the PARTITION BY key; the plan may split it further by keys that follow from equalities."""
PLACE = "__et_place"
"""The number of the event in the order of the stage's input."""
_CLOCK, _LOW, _RESTART = "__et_clock", "__et_low", "__et_restart"


@dataclass(frozen=True)
class WholeKeys:
    """All events of some keys; those of key k are offsets[k] to offsets[k + 1]."""

    table: pa.Table
    masks: Integers
    clocks: Integers
    lows: Integers
    offsets: Integers
    values: Integers
    valid: npt.NDArray[np.uint8]

    @property
    def shown(self) -> Integers:
        """The number of each event's PARTITION BY key."""
        return column_of(self.table, SHOWN)


class WholeKeysStage(MatchStage):
    """Hands whole keys to `take_keys`, or where nothing is propagated the matches that enumeration finds to `take_found`."""

    def __init__(self, plan: Plan, layout: Layout, options: StageOptions | None = None, *, propagated: bool) -> None:
        super().__init__(plan, layout, options)
        self.propagated = propagated
        self._shown = SortedKeys()
        self._shown_keys: list[pa.Table] = []
        self._shown_count = 0
        self._places = 0
        self._waiting: list[pa.Table] = []
        self._kept_columns = [*self._kept_columns, SHOWN, PLACE]

    @abstractmethod
    def take_keys(self, keys: WholeKeys) -> Iterator[pa.RecordBatch]:
        """Take all events of some keys."""

    @abstractmethod
    def take_found(self, found: MatchBatch, payload: pa.Table) -> Iterator[pa.RecordBatch]:
        """Take some matches; `payload` holds the events that they name."""

    def shown_keys(self) -> pa.Table | None:
        """Return the PARTITION BY keys by their numbers, or None where there are none."""
        return pa.concat_tables(self._shown_keys) if self._shown_keys else None

    def _advance(self, table: pa.Table) -> Iterator[pa.RecordBatch]:
        spans = self._keys.spans(table.select(list(self.layout.keys)))
        table = table.append_column(SHOWN, pa.array(self._shown_numbers(table, spans)))
        places = np.arange(self._places, self._places + table.num_rows, dtype=np.int64)
        table = table.append_column(PLACE, pa.array(places))
        self._places += table.num_rows
        if not self.propagated:
            yield from self._match(table, spans)
            return
        assert spans.restart is not None
        clock, low = self._clock(table, spans)
        for name, column in ((_CLOCK, clock), (_LOW, low), (_RESTART, spans.restart)):
            table = table.append_column(name, pa.array(column))
        begins = np.flatnonzero(spans.restart)
        last = int(begins[-1]) if len(begins) else 0
        if last > 0 or (len(begins) and self._waiting):
            whole = pa.concat_tables([*self._waiting, table.slice(0, last)])
            self._waiting = [table.slice(last)]
            yield from self.take_keys(self._whole(whole))
        else:
            self._waiting.append(table)

    def _finish(self) -> Iterator[pa.RecordBatch]:
        if self._waiting:
            yield from self.take_keys(self._whole(pa.concat_tables(self._waiting)))
            self._waiting = []
        if not self.propagated:
            yield from super()._finish()

    def _whole(self, table: pa.Table) -> WholeKeys:
        table = table.combine_chunks()
        values, valid = self._condition_values(table)
        begins = np.flatnonzero(column_of(table, _RESTART))
        # The first row goes on with nothing: a key is only handed out whole.
        offsets = np.append(begins, table.num_rows).astype(np.int64)
        masks, clocks, lows = (column_of(table, name) for name in (self.layout.mask, _CLOCK, _LOW))
        return WholeKeys(table, masks, clocks, lows, offsets, values, valid)

    def _shown_numbers(self, table: pa.Table, spans: KeySpans) -> Integers:
        """Return the number of each event's PARTITION BY key, and remember new ones."""
        shown = table.select(list(self.layout.keys[: len(self.plan.keys)]))
        if spans.slot is not None:
            # Interleaved keys have no derived ones beside them: a slot is a key.
            fresh, places = np.unique(spans.slot, return_index=True)
            new = places[fresh >= self._shown_count]
            self._shown_count += len(new)
            self._shown_keys.append(shown.take(pa.array(new)))
            return spans.slot.astype(np.int64)
        begins = self._shown.spans(shown).restart
        assert begins is not None
        numbers = np.cumsum(begins, dtype=np.int64) - 1 + self._shown_count
        self._shown_count += int(begins.sum())
        if shown.num_columns:
            self._shown_keys.append(shown.take(pa.array(np.flatnonzero(begins))))
        return numbers


def column_of(table: pa.Table, name: str) -> Integers:
    """Return a column without nulls as numbers."""
    return np.ascontiguousarray(table.column(name).to_numpy())
