"""Match: prepared Arrow batches in, slots of matches out. The same stage runs embedded and inside Spark's Python workers."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from eventide.errors import DataError, LimitError
from eventide.match.dag.enumerator import MatchLimit
from eventide.match.dag.matcher import DagMatcher
from eventide.match.protocol import EventBatch, MatcherSettings
from eventide.match.recompute.window_events import largest_window
from eventide.match.runs.matcher import RunsMatcher
from eventide.match.totals.neighbouring import TooManyPairs
from eventide.match.transitions import TooManyMoves
from eventide.pattern import WindowUnit
from eventide.plan.expressions.operators import Encoding
from eventide.plan.matchers.recompute import SMALL_WINDOW, make_recompute_matcher
from eventide.plan.plan import MatcherChoice, plan_of
from eventide.plan.sequences.labelling import Unjudged
from eventide.runtime.collect.matches import SlotFiller
from eventide.runtime.stage.keys import InterleavedKeys, KeySpans, KeyTracker, SortedKeys
from eventide.runtime.stage.ordering import to_ordered

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eventide.match.dag.enumeration import MatchBatch
    from eventide.match.protocol import Matcher
    from eventide.plan.plan import Plan
    from eventide.plan.sequences.labelling import Labelling
    from eventide.plan.sequences.windows import BoundWindow
    from eventide.runtime.prepare.sequences import Layout

CHUNK_ROWS = 1 << 18
LOWEST = int(np.iinfo(np.int64).min)
HIGHEST = int(np.iinfo(np.int64).max)


@dataclass(frozen=True)
class StageOptions:
    """What a run may set: a cap on matches, which slice of them to enumerate, and whether others judge the conditions."""

    max_matches: int | None = None
    slices: int = 1
    slice_index: int = 0
    unjudged: bool = False


@contextmanager
def limits_explained() -> Iterator[None]:
    """Turn the limits of matchers into errors that a user understands."""
    try:
        yield
    except TooManyMoves as moves:
        raise LimitError(
            "TOO_MANY_ALTERNATIVES",
            f"One event fits the pattern in {moves} ways; skip-till-next with conditions supports fewer.",
            hint="Use fewer alternatives that fit the same event.",
        ) from None
    except TooManyPairs as pairs:
        raise LimitError(
            "TOO_MANY_PAIRS",
            f"The windows of the query hold {pairs} pairs of events, more than conditions between neighbours can be judged for.",
            hint="Narrow WITHIN, or partition the events.",
        ) from None
    except MatchLimit as limit:
        raise LimitError(
            "TOO_MANY_MATCHES",
            f"The query has more than {limit.limit} {'candidates for its matches' if limit.candidates else 'matches'}.",
            hint="Narrow WITHIN, add LIMIT, raise max_matches, or use count() to learn how many there are.",
        ) from None


def make_matcher(plan: Plan, options: StageOptions) -> tuple[Matcher, Labelling]:
    """Return the plan's matcher and the labelling that explains its labels."""
    automaton = plan.automaton()
    labelling = plan.labelling(automaton)
    settings = MatcherSettings(
        automaton,
        Unjudged(labelling) if options.unjudged else labelling,
        bits=max(1, len(plan.predicates)),
        columns=len(plan.values),
        forbidden_bits=plan.forbidden_bits,
        checked=bool(plan.checked_absences) if options.unjudged else plan.checked,
        trailing=bool(plan.trailing),
        keep=plan.keep,
        deduplicate=plan.deduplicate,
        consume=plan.consume,
        quota=plan.query.limit if plan.results is None else None,
        max_matches=options.max_matches,
        slice_index=options.slice_index,
        slices=options.slices,
    )
    # Recomputation shares out events, and tasks hold different keys: only paths have the same numbers in all of them.
    if plan.choice.recomputes and not options.unjudged and options.slices == 1:
        return make_recompute_matcher(plan, settings, automaton), labelling
    kind = RunsMatcher if plan.choice.forward else DagMatcher
    return kind(settings), labelling


class StringCodes:
    """Numbers the strings that conditions compare, the same number for the same string in all columns and batches."""

    def __init__(self, constants: tuple[str, ...]) -> None:
        self._codes = {text: number for number, text in enumerate(constants)}
        self._constants = len(constants)
        self._next = len(constants)

    def encode(self, column: pa.Array) -> npt.NDArray[np.int64]:
        """Return the codes of a column; nulls get 0."""
        encoded = column.dictionary_encode()
        if isinstance(encoded, pa.ChunkedArray):
            encoded = encoded.combine_chunks()
        numbers = np.array([self._code(text) for text in encoded.dictionary.to_pylist()], np.int64)
        indices = encoded.indices.fill_null(0).to_numpy(zero_copy_only=False)
        return numbers[indices] if len(numbers) else np.zeros(len(column), np.int64)

    def _code(self, text: str) -> int:
        code = self._codes.get(text)
        if code is None:
            code = self._codes[text] = self._next
            self._next += 1
        return code

    def prune(self, used: npt.NDArray[np.int64]) -> None:
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


class MatchStage:
    """Runs a plan over prepared events, sorted by key and then by time (or by time alone where keys depend on each other)."""

    def __init__(self, plan: Plan, layout: Layout, options: StageOptions | None = None) -> None:
        self.plan = plan
        self.layout = layout
        self.options = options or StageOptions()
        self.matcher, self.labelling = self._made()
        self._codes = StringCodes(plan.strings)
        self._keys: KeyTracker = InterleavedKeys() if plan.interleaved and layout.keys else SortedKeys()
        self._key_columns: tuple[str, ...] = layout.keys
        self._kept_columns = [*layout.keys, *layout.payload, *layout.order, layout.clock]
        self._payload: pa.Table | None = None
        self._filler: SlotFiller | None = None

    def _made(self) -> tuple[Matcher, Labelling]:
        return make_matcher(self.plan, self.options)

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Turn all events of a partition into matches."""
        with limits_explained():
            for table in _chunks(batches):
                yield from self._advance(table)
            yield from self._finish()

    def _advance(self, table: pa.Table) -> Iterator[pa.RecordBatch]:
        yield from self._match(table, self._keys.spans(table.select(list(self._key_columns))))

    def _match(self, table: pa.Table, spans: KeySpans) -> Iterator[pa.RecordBatch]:
        batch = self._batch(table, spans)
        if self._payload is None:
            self._look_at_windows(batch)
        fresh = table.select(self._kept_columns)
        payload = fresh if self._payload is None else pa.concat_tables([self._payload, fresh])
        payload = payload.combine_chunks()
        for found in self.matcher.advance(batch):
            yield from self.take_found(found, payload)
        self._payload = payload.take(pa.array(self.matcher.keep()))

    def take_found(self, found: MatchBatch, payload: pa.Table) -> Iterator[pa.RecordBatch]:
        """Take some matches; `payload` holds the events that they name."""
        yield self._fill(found, payload)

    def _look_at_windows(self, batch: EventBatch) -> None:
        """Take the other matcher where the first events show that windows are small."""
        if self.plan.choice.fallback is not None and largest_window(batch) < SMALL_WINDOW:
            self.plan = plan_of(self.plan, MatcherChoice(self.plan.choice.fallback, "the windows hold few events"))
            self.matcher, self.labelling = self._made()

    def _finish(self) -> Iterator[pa.RecordBatch]:
        if self._payload is not None:
            for found in self.matcher.finish():
                yield from self.take_found(found, self._payload)

    def _fill(self, found: MatchBatch, payload: pa.Table) -> pa.RecordBatch:
        if self._filler is None:
            self._filler = SlotFiller(self.plan, self.layout, self.labelling)
        return self._filler.fill(found, payload)

    def event_batch(self, table: pa.Table) -> EventBatch:
        """Return the next stretch of prepared events as kernels take them."""
        return self._batch(table, self._keys.spans(table.select(list(self._key_columns))))

    def _batch(self, table: pa.Table, spans: KeySpans) -> EventBatch:
        values, valid = self._condition_values(table)
        clock, low = self._clock(table, spans)
        reports = None
        if self.layout.home is not None:
            reports = table.column(self.layout.home).to_numpy().astype(np.uint8)
        return EventBatch(
            _numpy(table, self.layout.mask),
            clock,
            low,
            key=spans.slot,
            restart=spans.restart,
            reports=reports,
            values=values,
            valid=valid,
        )

    def _condition_values(self, table: pa.Table) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint8]]:
        """Return what conditions between events read, and where it is not null."""
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
        return values, valid

    def _clock(self, table: pa.Table, spans: KeySpans) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        window = self.plan.window
        time = _numpy(table, self.layout.clock)
        if window is None:
            return time, np.full(len(time), LOWEST, np.int64)
        if window.unit is WindowUnit.EVENTS:
            position = self._keys.positions(spans)
            return position, _minus(position, window.size)
        if window.unit is WindowUnit.ATTRIBUTE:
            return self._attribute_clock(table, spans)
        return time, lows_of(window, time)

    def _attribute_clock(self, table: pa.Table, spans: KeySpans) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        assert self.layout.attribute is not None and self.plan.window is not None
        measured = _numpy(table, self.layout.attribute)
        size = self.plan.window.size
        if measured.dtype == np.int64 and isinstance(size, int):
            clock, low = measured, _minus(measured, size)
        else:
            clock, low = to_ordered(measured.astype(np.float64)), to_ordered(measured.astype(np.float64) - size)
        if self._keys.decreases(spans, clock):
            raise DataError(
                "WINDOW_ATTRIBUTE_DECREASES",
                f"WITHIN measures by {self.plan.window.attribute}, which decreases along the stream.",
                hint="Measure by an attribute that never decreases, or use a duration or a number of events.",
            )
        return clock, low


def lows_of(window: BoundWindow, time: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return where the windows of a duration begin that end at these times."""
    if window.slide is not None:
        begin = np.floor_divide(time, window.slide) * window.slide
        return _minus(np.where(begin > time, LOWEST, begin), window.size - window.slide)
    return _minus(time, window.size)


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


def _minus(values: npt.NDArray[np.int64], size: float) -> npt.NDArray[np.int64]:
    """Subtract the size of a window; what would wrap around is below everything."""
    if size >= HIGHEST:
        return np.full(len(values), LOWEST, np.int64)
    low = values - np.int64(size)
    return np.where(low < values, HIGHEST, low) if size < 0 else np.where(low > values, LOWEST, low)
