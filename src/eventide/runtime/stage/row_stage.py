"""Match: prepared rows in, rows of the result out. The same stage runs embedded and inside Spark's Python workers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from eventide.errors import LimitError
from eventide.match.row_pattern.borders import whole_borders
from eventide.match.row_pattern.horizon import NO_ROW_TO_COME, horizon_of
from eventide.match.row_pattern.kernel import RowMatchBatch
from eventide.match.row_pattern.matcher import RowPatternMatcher
from eventide.pattern.row_patterns import RowsPerMatch
from eventide.runtime.collect.row_lines import RowFiller
from eventide.runtime.stage.keys import changes
from eventide.runtime.stage.row_blocks import Block, encoded
from eventide.runtime.stage.row_failures import failures_named

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eventide.plan.row_patterns.plan import RowPlan
    from eventide.runtime.options import RunOptions

BLOCK_ROWS = 1 << 18


class RowStage:
    """Runs a plan over prepared rows, which come sorted by partition and then by the order of the clause."""

    def __init__(self, plan: RowPlan, keys: Sequence[str], payload: Sequence[str], options: RunOptions) -> None:
        self._plan = plan
        self._keys = list(keys)
        self._payload = list(payload)
        self._options = options
        self._matches = 0

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Turn all rows of a task into rows of the result."""
        with failures_named(self._plan, self._options.max_steps):
            for block in whole_partitions(batches, self._keys):
                yield from self._block(block)

    def _block(self, block: Block) -> Iterator[pa.RecordBatch]:
        batch, programs = encoded(self._plan, block)
        if self._plan.window is not None:
            batch = batch._replace(horizon=_horizon(block, self._plan.window))
        matcher = RowPatternMatcher(self._plan.tables, programs, self._plan.skip, self._plan.skip_to, self._options.max_steps)
        filler = RowFiller(self._plan, block.offset, [block.column(name) for name in self._payload])
        block.clear()
        found = matcher.find(batch, whole_borders(self._plan.tables, block.offset))
        if self._plan.query.rows is RowsPerMatch.ALL_WITH_UNMATCHED:
            found = iter([joined(list(found))])
        for matches in found:
            self._count(len(matches.start))
            yield filler.fill(matches)

    def _count(self, matches: int) -> None:
        self._matches += matches
        if self._options.max_matches is not None and self._matches > self._options.max_matches:
            raise LimitError(
                "TOO_MANY_MATCHES",
                f"The query has more than {self._options.max_matches} matches.",
                hint="Narrow the pattern, add WITHIN, or raise max_matches.",
            )


def _horizon(block: Block, within: int) -> npt.NDArray[np.int64]:
    time = block.column("t")
    known = time.is_valid().to_numpy(zero_copy_only=False).astype(np.uint8)
    micros = np.ascontiguousarray(time.fill_null(0).to_numpy(zero_copy_only=False))
    return horizon_of(micros, known, block.offset, block.offset[1:], within, NO_ROW_TO_COME)


def _block_of(parts: list[pa.RecordBatch], keys: Sequence[str]) -> Block:
    table = pa.Table.from_batches(parts)
    # The caller's list would keep the rows alive.
    parts.clear()
    borders = np.flatnonzero(changes(table.select(list(keys)))) + 1 if keys else np.zeros(0, np.int64)
    return Block(table, np.concatenate([[0], borders, [table.num_rows]]).astype(np.int64))


def whole_partitions(batches: Iterator[pa.RecordBatch], keys: Sequence[str]) -> Iterator[Block]:
    """Gather batches to blocks of whole partitions."""
    held: list[pa.RecordBatch] = []
    rows = 0
    border: tuple[int, int] | None = None
    for batch in batches:
        if not batch.num_rows:
            continue
        held.append(batch)
        rows += batch.num_rows
        border = _last_border(held, keys) or border
        if rows >= BLOCK_ROWS and border is not None:
            number, row = border
            done = [*held[:number], held[number].slice(0, row)]
            held = [held[number].slice(row), *held[number + 1 :]]
            rows = sum(part.num_rows for part in held)
            border = None
            yield _block_of(done, keys)
    if held:
        yield _block_of(held, keys)


def _last_border(held: list[pa.RecordBatch], keys: Sequence[str]) -> tuple[int, int] | None:
    """Return (batch, row) where the last partition begins if that is in the newest batch, else None."""
    if not keys:
        return None
    newest = pa.Table.from_batches([held[-1]]).select(list(keys))
    borders = np.flatnonzero(changes(newest)) + 1
    if len(borders):
        return len(held) - 1, int(borders[-1])
    if len(held) > 1:
        last = held[-2].slice(held[-2].num_rows - 1, 1)
        if changes(pa.concat_tables([pa.Table.from_batches([last]).select(list(keys)), newest.slice(0, 1)])).any():
            return len(held) - 1, 0
    return None


def joined(parts: list[RowMatchBatch]) -> RowMatchBatch:
    """Return all parts as one."""
    if not parts:
        none = np.zeros(0, np.int64)
        return RowMatchBatch(none, none, none, np.zeros(1, np.int64), np.zeros(0, np.int16))
    before = np.cumsum([0, *(len(part.path) for part in parts)])
    firsts = [part.first[:-1] + begin for part, begin in zip(parts, before[:-1], strict=True)]
    return RowMatchBatch(
        np.concatenate([part.start for part in parts]),
        np.concatenate([part.number for part in parts]),
        np.concatenate([part.partition for part in parts]),
        np.append(np.concatenate(firsts), before[-1]),
        np.concatenate([part.path for part in parts]),
    )
