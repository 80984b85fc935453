"""MATCH_RECOGNIZE over one bucket of a stream: matches come out as soon as no row to come can change them.

Rows wait for the watermark, then join their partition in its order. A partition is walked from the first row at which nothing is
decided yet to the row at which a row to come could be preferred; only what lies behind is held, and what PREV can see before it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from eventide.errors import DataError
from eventide.match.row_pattern.borders import closed_borders, open_borders
from eventide.match.row_pattern.horizon import NO_ROW_TO_COME, horizon_of
from eventide.plan.expressions.schema import CLOCK_COLUMN
from eventide.plan.matchers.registry import ROWS
from eventide.records import record
from eventide.runtime.budget.limits import StageLimits
from eventide.runtime.collect.row_lines import RowFiller
from eventide.runtime.stage.row_patterns import encoded_rows, errors_of_row_patterns, plain_column
from eventide.runtime.streams.bucket_query import CHECK, ID, KEY, NEVER, RESULT_COLUMNS, BucketQuery, Held
from eventide.runtime.streams.queries.row_identity import RowSource, line_columns
from eventide.runtime.streams.queries.row_needs import check_streamable, stream_warnings
from eventide.runtime.streams.queries.row_partitions import NOT_DUE, Partitions
from eventide.runtime.streams.queries.row_places import PlacedRows, RowHolder
from eventide.runtime.streams.reorder import OrderKey, ReorderBuffer
from eventide.runtime.streams.state_bytes import pack, unpack
from eventide.runtime.streams.state_owner import AS_HELD

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eventide.match.row_pattern.borders import Borders
    from eventide.match.row_pattern.kernel import RowMatchBatch
    from eventide.plan.row_patterns.plan import RowPlan
    from eventide.runtime.streams.state_owner import HeldColumns

__all__ = ["RowBucketQuery", "check_streamable", "stream_warnings"]
VERSION = 1


@record
class _Step:
    """Rows of some partitions that are walked together."""

    partitions: Partitions
    """All partitions of the bucket, those of new rows included."""
    chosen: npt.NDArray[np.int64]
    """The partitions that are walked."""
    rows: PlacedRows
    """All rows that are held, and the new ones behind them."""
    partition: npt.NDArray[np.int64]
    """[row]: its partition."""
    walked: npt.NDArray[np.int64]
    """The rows of the chosen partitions, in order."""
    offset: npt.NDArray[np.int64]
    """[chosen partition + 1]: their borders."""


class RowBucketQuery(BucketQuery):
    """One clause over the partitions of a bucket; `order` and `payload` are the columns that `RowPreparation` names."""

    def __init__(
        self, plan: RowPlan, order: Sequence[str], payload: Sequence[str], *, max_steps: int | None = None
    ) -> None:
        self._plan = plan
        self._payload = list(payload)
        limits = StageLimits(max_steps=max_steps)
        self._max_steps = limits.steps
        self._matcher = ROWS.make(plan, limits)
        self._needs = plan.needs
        behind = [
            OrderKey(name, key.descending, key.nulls_first)
            for name, key, column in zip(order[1:], plan.query.order_by[1:], plan.order[1:], strict=True)
            if column not in plan.keys
        ]
        self._buffer = ReorderBuffer(
            CLOCK_COLUMN, [OrderKey(KEY), OrderKey(CHECK), OrderKey(CLOCK_COLUMN), *behind, OrderKey(ID)]
        )
        values = [f"v{number}" for number in range(len(plan.values))]
        self._kept_columns = list(dict.fromkeys([CLOCK_COLUMN, ID, "m", *values, *payload]))
        self._columns = list(dict.fromkeys([KEY, CHECK, *self._kept_columns, *(key.name for key in behind)]))
        self._watermark = int(NEVER)
        self._partitions = Partitions.none()
        self._held = RowHolder()
        self._expired = 0

    def advance(self, fresh: pa.Table, watermark: int) -> list[pa.Table]:
        """Take rows and return the results that no row to come can change."""
        self._watermark = max(self._watermark, watermark)
        released = self._buffer.release(fresh.select(self._columns).replace_schema_metadata(None), self._watermark)
        step = self._step(released, self._partitions.due < self._watermark)
        if not len(step.chosen):
            self._held.keep(step.rows)
            return []
        first, number, opening = self._begin(step)
        borders = open_borders(
            self._plan.tables, step.offset, first, number, opening, self._needs.ahead, self._needs.measured_behind
        )
        covered = self._covered_rows(step, first)
        results = self._results(step, borders, covered, self._oldest())
        self._keep(step, borders, covered)
        return results

    def speculate(self) -> list[pa.Table]:
        """Return the results that would follow if no row came any more."""
        waiting = self._buffer.waiting
        if waiting is None:
            return []
        step = self._step(self._buffer.ordered(waiting), self._partitions.rows > self._partitions.decided)
        first, number, opening = self._begin(step)
        borders = closed_borders(self._plan.tables, step.offset, first, number, opening)
        return self._results(step, borders, self._covered_rows(step, first), NO_ROW_TO_COME)

    def _oldest(self) -> int:
        """Return from which time on rows can still be followed by rows to come."""
        return max(self._watermark - (self._plan.window or 0), int(NEVER))

    # Rows in and out -------------------------------------------------------------------------------------------------

    def _step(self, released: pa.Table, awake: npt.NDArray[np.bool_]) -> _Step:
        """Put rows behind those of their partitions; partitions that get none are walked if they are awake."""
        known = self._partitions
        partitions, own, moved = known.found(_numbers(released, KEY), _numbers(released, CHECK))
        chosen = np.zeros(len(partitions), np.bool_)
        chosen[own] = True
        chosen[moved[awake]] = True
        rows = self._held.with_behind(released.select(self._kept_columns))
        partition = np.concatenate([np.repeat(moved, known.rows), own])
        walked = np.flatnonzero(chosen[partition])
        walked = walked[np.argsort(partition[walked], kind="stable")]
        sizes = np.bincount(partition[walked], minlength=len(partitions))[chosen]
        return _Step(partitions, np.flatnonzero(chosen), rows, partition, walked, _borders(sizes))

    def _begin(
        self, step: _Step
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.uint8]]:
        """Return where the walks begin, the matches so far, and whether the first rows are the first of all."""
        walked = step.partitions.taken(step.chosen)
        return step.offset[:-1] + walked.decided, walked.number, walked.opening.astype(np.uint8)

    def _covered_rows(self, step: _Step, first: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the border of the rows that matches found so far have covered."""
        return first + step.partitions.covered[step.chosen]

    def _keep(self, step: _Step, borders: Borders, covered: npt.NDArray[np.int64]) -> None:
        """Hold what is not decided, and the rows before it that PREV can see."""
        sizes = np.diff(step.offset)
        done = borders.first - step.offset[:-1]
        dropped = np.maximum(done - self._needs.before, 0)
        due = np.full(len(sizes), NOT_DUE)
        if self._plan.window is not None and len(step.walked):
            clock = step.rows.numbers(CLOCK_COLUMN, step.walked)
            begun = clock[np.minimum(borders.first, len(clock) - 1)]
            # Where the time is over and a row is not decided, it waits for the rows behind it that NEXT sees.
            open_still = (done < sizes) & (begun >= self._oldest())
            due = np.where(open_still, np.minimum(begun, NOT_DUE - self._plan.window) + self._plan.window, NOT_DUE)
        partitions = step.partitions.updated(
            step.chosen,
            rows=sizes - dropped,
            decided=done - dropped,
            covered=np.maximum(covered - borders.first, 0),
            number=borders.number,
            opening=np.where(dropped > 0, 0, step.partitions.opening[step.chosen]),
            due=due,
        )
        place = np.arange(len(step.walked)) - np.repeat(step.offset[:-1] + dropped, sizes)
        asleep = np.ones(len(step.partition), np.bool_)
        asleep[step.walked] = False
        kept = np.concatenate([np.flatnonzero(asleep), step.walked[place >= 0]])
        kept = kept[np.argsort(step.partition[kept], kind="stable")]
        self._held.keep(step.rows, kept)
        live = partitions.rows > 0
        if self._needs.counts or self._needs.anchored:
            live[:] = True
        self._expired += int(np.count_nonzero(~live))
        self._partitions = partitions if live.all() else partitions.taken(live)

    # Matches ---------------------------------------------------------------------------------------------------------------

    def _results(self, step: _Step, borders: Borders, covered: npt.NDArray[np.int64], oldest: int) -> list[pa.Table]:
        """Walk the partitions and return what comes out; moves the borders, and the rows that are covered by matches."""
        if not len(step.walked):
            return []
        plan = self._plan
        table = step.rows.taken(step.walked)
        clock = _numbers(table, CLOCK_COLUMN)
        horizon = None
        if plan.window is not None:
            known = np.ones(len(clock), np.uint8)
            horizon = horizon_of(clock, known, step.offset, borders.end, plan.window, oldest)
        rows = encoded_rows(plan, table, step.offset, horizon)._replace(borders=borders)
        source = RowSource(
            step.offset, step.partitions.key[step.chosen], step.partitions.check[step.chosen], _numbers(table, ID), clock
        )
        filler = RowFiller(plan, step.offset, [plain_column(table, name) for name in self._payload])
        begin = covered.copy()
        results = []
        with errors_of_row_patterns(plan.query, self._max_steps):
            for matches in self._matcher.advance(rows):
                np.maximum.at(covered, matches.partition, matches.start + np.diff(matches.first))
                results.append(self._filled(filler, matches, source, begin, borders.first))
        return [result for result in results if result.num_rows]

    def _filled(
        self,
        filler: RowFiller,
        matches: RowMatchBatch,
        source: RowSource,
        begin: npt.NDArray[np.int64],
        end: npt.NDArray[np.int64],
    ) -> pa.Table:
        lines = filler.lines(matches, begin, end)
        result = pa.Table.from_batches([filler.filled(matches, lines)])
        for name, column in zip(RESULT_COLUMNS, line_columns(matches, lines, source, self._needs), strict=True):
            result = result.append_column(name, pa.array(column))
        return result

    # State -----------------------------------------------------------------------------------------------------------

    def shed(self, share: float) -> int:
        """Give up the rows that have waited longest for a match to begin with them; returns how many held rows went with them."""
        held = self._held.table
        if held is None or not self.held().partial:
            return 0
        sizes, decided = self._partitions.rows, self._partitions.decided
        partition = np.repeat(np.arange(len(sizes)), sizes)
        place = np.arange(len(partition)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        clock = _numbers(held, CLOCK_COLUMN)
        waiting = np.sort(clock[place >= decided[partition]])
        oldest = waiting[min(len(waiting) - 1, int(share * len(waiting)))]
        done = np.bincount(partition, (place < decided[partition]) | (clock <= oldest), len(sizes)).astype(np.int64)
        before = np.arange(len(self._held))
        rows = PlacedRows(held, before)
        self._held.table = held
        step = _Step(self._partitions, np.arange(len(sizes)), rows, partition, before, _borders(sizes))
        covered = self._covered_rows(step, step.offset[:-1] + decided)
        borders = closed_borders(
            self._plan.tables, step.offset, step.offset[:-1] + done, self._partitions.number, np.zeros(0, np.uint8)
        )
        self._keep(step, borders, covered)
        return len(before) - len(self._held)

    def expired(self) -> int:
        """Return how many keys were forgotten since the last call, because nothing of them can be in a match any more."""
        number, self._expired = self._expired, 0
        return number

    def held(self) -> Held:
        """Return how many rows wait or are held, and how many of them may still begin a match."""
        waiting = 0 if self._buffer.waiting is None else self._buffer.waiting.num_rows
        undecided = int((self._partitions.rows - self._partitions.decided).sum())
        return Held(waiting + int(self._partitions.rows.sum()), undecided)

    def dump(self) -> bytes:
        """Return the whole state."""
        parts: dict[str, Any] = {"version": VERSION, "watermark": self._watermark}
        parts |= {f"partition_{name}": column for name, column in self._partitions.dump().items()}
        if self._buffer.waiting is not None:
            parts["waiting"] = self._buffer.waiting
        rows = self._held.table
        if rows is not None:
            parts["rows"] = rows
        return pack(parts)

    def load(self, state: bytes, held: HeldColumns = AS_HELD) -> None:
        """Go on from a dumped state."""
        parts = unpack(state)
        if parts.get("version") != VERSION:
            raise DataError(
                "STATE_VERSION",
                f"The state of a MATCH_RECOGNIZE clause was written by another version of Eventide (this one reads {VERSION}).",
                hint="Run it with that version, or begin with a new checkpoint.",
            )
        self._watermark = parts["watermark"]
        columns = {name.removeprefix("partition_"): part for name, part in parts.items() if name.startswith("partition_")}
        self._partitions = Partitions.load(columns)
        if "waiting" in parts:
            self._buffer.waiting = held.renamed(parts["waiting"]).select(self._columns)
        if "rows" in parts:
            self._held.table = held.renamed(parts["rows"]).select(self._kept_columns)


def _borders(sizes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])


def _numbers(table: pa.Table, name: str) -> npt.NDArray[np.int64]:
    """Return a column of whole numbers as an array that may be written to, as kernels are compiled for."""
    return np.array(table.column(name).to_numpy(), np.int64)
