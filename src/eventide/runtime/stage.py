"""Match: prepared Arrow batches in, slots of matches out. The same stage runs embedded and inside Spark's Python workers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from eventide.errors import DataError, LimitError
from eventide.match.base import MatchLimit
from eventide.match.protocol import EventBatch, MatcherSettings
from eventide.match.runs.matcher import RunsMatcher
from eventide.match.shared_dag.matcher import SharedDagMatcher
from eventide.pattern import WindowUnit
from eventide.plan.conditions import Encoding
from eventide.runtime.slots import SlotFiller

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eventide.match.protocol import Matcher
    from eventide.plan.plan import Plan
    from eventide.runtime.prepare import Layout

CHUNK_ROWS = 1 << 18
LOWEST = np.iinfo(np.int64).min


@dataclass(frozen=True)
class StageOptions:
    """What a run may set: a cap on matches, and which slice of them to enumerate."""

    max_matches: int | None = None
    slices: int = 1
    slice_index: int = 0


def make_matcher(plan: Plan, options: StageOptions) -> tuple[Matcher, object]:
    """Return the plan's matcher and the labelling that explains its labels."""
    automaton = plan.automaton()
    labelling = plan.labelling(automaton)
    settings = MatcherSettings(
        automaton,
        labelling,
        bits=max(1, len(plan.predicates)),
        columns=len(plan.values),
        forbidden_bits=plan.forbidden_bits,
        checked=plan.checked,
        trailing=bool(plan.trailing),
        keep=plan.keep,
        deduplicate=plan.deduplicate,
        consume=plan.consume,
        quota=plan.query.limit,
        max_matches=options.max_matches,
        slice_index=options.slice_index,
        slices=options.slices,
    )
    kind = RunsMatcher if plan.choice.forward else SharedDagMatcher
    return kind(settings), labelling


class StringCodes:
    """Numbers the strings that conditions compare, the same number for the same string in all columns and batches."""

    def __init__(self, constants: tuple[str, ...]) -> None:
        self._codes = {text: number for number, text in enumerate(constants)}

    def encode(self, column: pa.Array) -> npt.NDArray[np.int64]:
        """Return the codes of a column; nulls get 0."""
        encoded = column.dictionary_encode()
        if isinstance(encoded, pa.ChunkedArray):
            encoded = encoded.combine_chunks()
        numbers = np.array([self._codes.setdefault(text, len(self._codes)) for text in encoded.dictionary.to_pylist()], np.int64)
        indices = encoded.indices.fill_null(0).to_numpy(zero_copy_only=False)
        return numbers[indices] if len(numbers) else np.zeros(len(column), np.int64)


class MatchStage:
    """Runs a plan over prepared events that are sorted by key and then by time."""

    def __init__(self, plan: Plan, layout: Layout, options: StageOptions | None = None) -> None:
        self.plan = plan
        self.layout = layout
        self.options = options or StageOptions()
        self.matcher, self.labelling = make_matcher(plan, self.options)
        self._codes = StringCodes(plan.strings)
        self._payload: pa.Table | None = None
        self._last_key: pa.Table | None = None
        self._position = 0
        self._last_attribute: float | None = None
        self._filler: SlotFiller | None = None

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Turn all events of a partition into matches."""
        try:
            for table in _chunks(batches):
                yield from self._advance(table)
            if self._payload is not None:
                for found in self.matcher.finish():
                    yield self._fill(found, self._payload)
        except MatchLimit as limit:
            raise LimitError(
                "TOO_MANY_MATCHES",
                f"The query has more than {limit.limit} matches.",
                hint="Narrow WITHIN, add LIMIT, raise max_matches, or use count() to learn how many there are.",
            ) from None

    def _advance(self, table: pa.Table) -> Iterator[pa.RecordBatch]:
        restart = self._restarts(table)
        batch = self._batch(table, restart)
        kept_columns = [*self.layout.keys, *self.layout.payload, *self.layout.order, self.layout.clock]
        fresh = table.select(kept_columns)
        payload = fresh if self._payload is None else pa.concat_tables([self._payload, fresh])
        payload = payload.combine_chunks()
        for found in self.matcher.advance(batch):
            yield self._fill(found, payload)
        self._payload = payload.take(pa.array(self.matcher.keep()))

    def _fill(self, found: object, payload: pa.Table) -> pa.RecordBatch:
        if self._filler is None:
            self._filler = SlotFiller(self.plan, self.layout, self.labelling)
        return self._filler.fill(found, payload)

    def _restarts(self, table: pa.Table) -> npt.NDArray[np.uint8]:
        """Mark the rows at which a new key begins, across batches."""
        restart = np.zeros(table.num_rows, np.uint8)
        keys = table.select(list(self.layout.keys))
        if self._last_key is None:
            restart[0] = 1
        elif self.layout.keys:
            joined = pa.concat_tables([self._last_key, keys.slice(0, 1)])
            restart[0] = _changes(joined).any()
        if self.layout.keys:
            restart[1:] = _changes(keys)
        self._last_key = keys.slice(table.num_rows - 1, 1)
        return restart

    def _batch(self, table: pa.Table, restart: npt.NDArray[np.uint8]) -> EventBatch:
        rows = table.num_rows
        columns = len(self.plan.values)
        values = np.empty((columns, rows), np.int64)
        valid = np.empty((columns, rows), np.uint8)
        for number, value in enumerate(self.plan.values):
            column = table.column(self.layout.values[number]).combine_chunks()
            valid[number] = pc.is_valid(column).to_numpy(zero_copy_only=False)
            if value.encoding is Encoding.CODE:
                values[number] = self._codes.encode(column)
            elif value.encoding is Encoding.FLOAT:
                values[number] = column.fill_null(0.0).to_numpy(zero_copy_only=False).astype(np.float64).view(np.int64)
            else:
                values[number] = column.fill_null(0).to_numpy(zero_copy_only=False)
        clock, low = self._clock(table, restart)
        home = None
        if self.layout.home is not None:
            home = table.column(self.layout.home).to_numpy().astype(np.uint8)
        return EventBatch(
            _numpy(table, self.layout.mask), clock, low, restart=restart, home=home, values=values, valid=valid
        )

    def _clock(
        self, table: pa.Table, restart: npt.NDArray[np.uint8]
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        window = self.plan.window
        time = _numpy(table, self.layout.clock)
        if window is None:
            return time, np.full(len(time), LOWEST, np.int64)
        if window.unit is WindowUnit.EVENTS:
            position = self._positions(restart)
            return position, position - int(window.size)
        if window.unit is WindowUnit.ATTRIBUTE:
            return self._attribute_clock(table, restart)
        if window.slide is not None:
            return time, (np.floor_divide(time, window.slide) + 1) * window.slide - int(window.size)
        low = time - int(window.size)
        # Times near the smallest number would wrap around.
        return time, np.where(low > time, LOWEST, low)

    def _positions(self, restart: npt.NDArray[np.uint8]) -> npt.NDArray[np.int64]:
        number = np.arange(len(restart), dtype=np.int64)
        begins = np.maximum.accumulate(np.where(restart, number, -1))
        position = np.where(begins >= 0, number - begins, number + self._position)
        self._position = int(position[-1]) + 1
        return position

    def _attribute_clock(
        self, table: pa.Table, restart: npt.NDArray[np.uint8]
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        assert self.layout.attribute is not None and self.plan.window is not None
        measured = _numpy(table, self.layout.attribute)
        size = self.plan.window.size
        if measured.dtype == np.int64 and isinstance(size, int):
            clock, low = measured, measured - size
        else:
            clock, low = _ordered_bits(measured.astype(np.float64)), _ordered_bits(measured.astype(np.float64) - size)
        previous = np.empty_like(clock)
        previous[1:] = clock[:-1]
        previous[0] = clock[0] if self._last_attribute is None else self._last_attribute
        if ((clock < previous) & (restart == 0)).any():
            raise DataError(
                "WINDOW_ATTRIBUTE_DECREASES",
                f"WITHIN measures by {self.plan.window.attribute}, which decreases along the stream.",
                hint="Measure by an attribute that never decreases, or use a duration or a number of events.",
            )
        self._last_attribute = clock[-1]
        return clock, low


def _chunks(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Gather small batches, so that a kernel call has enough to do."""
    gathered: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        if batch.num_rows:
            gathered.append(batch)
            rows += batch.num_rows
        if rows >= CHUNK_ROWS:
            yield pa.Table.from_batches(gathered)
            gathered, rows = [], 0
    if gathered:
        yield pa.Table.from_batches(gathered)


def _numpy(table: pa.Table, name: str) -> npt.NDArray[np.int64]:
    return np.ascontiguousarray(table.column(name).to_numpy())


def _changes(keys: pa.Table) -> npt.NDArray[np.bool_]:
    """Return for each row but the first whether its key differs from the row before; null equals null, NaN equals NaN."""
    changed = np.zeros(keys.num_rows - 1, np.bool_)
    for column in keys.columns:
        array = column.combine_chunks()
        one, other = array.slice(0, len(array) - 1), array.slice(1)
        differs = pc.not_equal(one, other).fill_null(False).to_numpy(zero_copy_only=False)
        if pa.types.is_floating(array.type):
            differs &= ~(np.isnan(one.to_numpy(zero_copy_only=False)) & np.isnan(other.to_numpy(zero_copy_only=False)))
        nulls = pc.is_null(array).to_numpy(zero_copy_only=False)
        changed |= differs | (nulls[:-1] != nulls[1:])
    return changed


def _ordered_bits(values: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Return integers in the same order as the doubles."""
    bits = (values + 0.0).view(np.int64)
    return np.where(bits < 0, bits ^ np.int64(0x7FFF_FFFF_FFFF_FFFF), bits)



