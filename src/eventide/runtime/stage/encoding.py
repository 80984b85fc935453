"""Prepared events as the arrays that kernels read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from eventide.errors import DataError
from eventide.match.protocol import EventBatch
from eventide.pattern import WindowUnit
from eventide.plan.expressions.operators import Encoding
from eventide.runtime.relational.arrays import filled, numpy_values
from eventide.runtime.relational.functions import dictionary, is_valid
from eventide.runtime.stage.ordering import to_ordered

if TYPE_CHECKING:
    from eventide.plan.plan import Plan
    from eventide.plan.sequences.windows import BoundWindow
    from eventide.runtime.prepare.sequences import Layout
    from eventide.runtime.stage.keys import KeySpans, KeyTracker

    Integers = npt.NDArray[np.int64]

LOWEST = int(np.iinfo(np.int64).min)
HIGHEST = int(np.iinfo(np.int64).max)


class StringCodes:
    """Numbers the strings that conditions compare, the same number for the same string in all columns and batches."""

    def __init__(self, constants: tuple[str, ...]) -> None:
        self._codes = {text: number for number, text in enumerate(constants)}
        self._constants = len(constants)
        self._next = len(constants)

    def encode(self, column: pa.Array) -> Integers:
        """Return the codes of a column; nulls get 0."""
        encoded = dictionary(column)
        if isinstance(encoded, pa.ChunkedArray):
            encoded = encoded.combine_chunks()
        numbers = np.array([self._code(text) for text in encoded.dictionary.to_pylist()], np.int64)
        indices = filled(encoded.indices)
        return numbers[indices] if len(numbers) else np.zeros(len(column), np.int64)

    def _code(self, text: str) -> int:
        code = self._codes.get(text)
        if code is None:
            code = self._codes[text] = self._next
            self._next += 1
        return code

    def prune(self, used: Integers) -> None:
        """Forget the strings that none of these codes stands for; a code is never given again."""
        wanted = set(used.tolist())
        self._codes = {text: code for text, code in self._codes.items() if code < self._constants or code in wanted}

    def dump(self) -> list[object]:
        """Return what is known, as JSON holds it."""
        return [self._next, list(self._codes), list(self._codes.values())]

    def load(self, known: list[Any]) -> None:
        """Go on from a dump."""
        self._next, texts, codes = known
        self._codes = dict(zip(texts, codes, strict=True))


class EventEncoder:
    """Turns prepared events into batches for kernels; `keys` are the same that find the spans of the keys."""

    def __init__(self, plan: Plan, layout: Layout, keys: KeyTracker) -> None:
        self._plan = plan
        self._layout = layout
        self._keys = keys
        self.codes = StringCodes(plan.strings)

    def encode(self, table: pa.Table, spans: KeySpans) -> EventBatch:
        """Return the next stretch of prepared events as kernels take them."""
        values, valid = self._condition_values(table)
        clock, low = self._clock(table, spans)
        reports = None
        if self._layout.home is not None:
            reports = numpy_values(table.column(self._layout.home)).astype(np.uint8)
        return EventBatch(
            numbers_of(table, self._layout.mask),
            clock,
            low,
            key=spans.key,
            restart=spans.restart,
            reports=reports,
            values=values,
            valid=valid,
        )

    def _condition_values(self, table: pa.Table) -> tuple[Integers, npt.NDArray[np.uint8]]:
        """Return what conditions between events read, and where it is not null."""
        columns = len(self._plan.values)
        values = np.empty((columns, table.num_rows), np.int64)
        valid = np.empty((columns, table.num_rows), np.uint8)
        for number, value in enumerate(self._plan.values):
            column = table.column(self._layout.values[number]).combine_chunks()
            valid[number] = numpy_values(is_valid(column))
            if value.encoding is Encoding.CODE:
                values[number] = self.codes.encode(column)
            elif value.encoding is Encoding.FLOAT:
                values[number] = filled(column, 0.0).astype(np.float64).view(np.int64)
            else:
                values[number] = filled(column)
        return values, valid

    def _clock(self, table: pa.Table, spans: KeySpans) -> tuple[Integers, Integers]:
        window = self._plan.window
        time = numbers_of(table, self._layout.clock)
        if window is None:
            return time, np.full(len(time), LOWEST, np.int64)
        if window.unit is WindowUnit.EVENTS:
            position = self._keys.positions(spans)
            return position, _minus(position, window.size)
        if window.unit is WindowUnit.ATTRIBUTE:
            return self._attribute_clock(table, spans, window)
        return time, lows_of(window, time)

    def _attribute_clock(self, table: pa.Table, spans: KeySpans, window: BoundWindow) -> tuple[Integers, Integers]:
        assert self._layout.attribute is not None
        measured = numbers_of(table, self._layout.attribute)
        if measured.dtype == np.int64 and isinstance(window.size, int):
            clock, low = measured, _minus(measured, window.size)
        else:
            clock, low = to_ordered(measured.astype(np.float64)), to_ordered(measured.astype(np.float64) - window.size)
        if self._keys.decreases(spans, clock):
            raise DataError(
                "WINDOW_ATTRIBUTE_DECREASES",
                f"WITHIN measures by {window.attribute}, which decreases along the stream.",
                hint="Measure by an attribute that never decreases, or use a duration or a number of events.",
            )
        return clock, low


def lows_of(window: BoundWindow, time: Integers) -> Integers:
    """Return where the windows of a duration begin that end at these times."""
    if window.slide is not None:
        begin = np.floor_divide(time, window.slide) * window.slide
        return _minus(np.where(begin > time, LOWEST, begin), window.size - window.slide)
    return _minus(time, window.size)


def numbers_of(table: pa.Table, name: str) -> Integers:
    """Return a column without nulls as numbers."""
    return np.ascontiguousarray(numpy_values(table.column(name)))


def _minus(values: Integers, size: float) -> Integers:
    """Subtract the size of a window; what would wrap around is below everything."""
    if size >= HIGHEST:
        return np.full(len(values), LOWEST, np.int64)
    low = values - np.int64(size)
    return np.where(low < values, HIGHEST, low) if size < 0 else np.where(low > values, LOWEST, low)
