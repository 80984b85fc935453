"""Match: prepared rows in, rows of the result out. The same stage runs embedded and inside Spark's Python workers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from eventide.errors import DataError, LimitError
from eventide.match.row_pattern.horizon import horizon_of
from eventide.match.row_pattern.kernel import Matches
from eventide.match.row_pattern.marking import mark_rows
from eventide.match.row_pattern.matcher import BadSkip, BudgetSpent, RowBatch, RowPatternMatcher, SumOverflow
from eventide.pattern.rows import RowsPerMatch
from eventide.plan.operators import Encoding
from eventide.runtime.keys import changes
from eventide.runtime.rows.filling import RowFiller

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eventide.match.row_pattern.programs import RowPrograms
    from eventide.plan.rows.plan import RowPlan

BLOCK_ROWS = 1 << 18
DEFAULT_MAX_STEPS = 100_000_000
"""Beyond the steps that a usual query needs; some tens of seconds on one core."""


@dataclass(frozen=True)
class RowOptions:
    """What a run may set: a cap on matches for each task, and on the steps of the search."""

    max_matches: int | None = None
    max_steps: int = DEFAULT_MAX_STEPS


class RowStage:
    """Runs a plan over prepared rows, which come sorted by partition and then by the order of the clause."""

    def __init__(self, plan: RowPlan, keys: Sequence[str], payload: Sequence[str], options: RowOptions) -> None:
        self._plan = plan
        self._keys = list(keys)
        self._payload = list(payload)
        self._options = options
        self._matches = 0

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Turn all rows of a task into rows of the result."""
        for block in whole_partitions(batches, self._keys):
            try:
                yield from self._block(block)
            except BudgetSpent:
                raise LimitError(
                    "TOO_MANY_STEPS",
                    f"The search for matches took more than {self._options.max_steps} steps.",
                    hint="Make conditions compare neighbouring rows (PREV) rather than the match so far, add WITHIN, "
                    "or raise max_steps.",
                ) from None
            except SumOverflow:
                raise DataError(
                    "SUM_OVERFLOW", "A SUM in DEFINE is too large for 64 bits.", hint="Sum a double: SUM(CAST(A.x AS DOUBLE))."
                ) from None
            except BadSkip as skip:
                raise self._bad_skip(skip) from None

    def _block(self, block: Block) -> Iterator[pa.RecordBatch]:
        batch, programs = self._batch(block)
        matcher = RowPatternMatcher(self._plan.tables, programs, self._plan.skip, self._plan.skip_to, self._options.max_steps)
        filler = RowFiller(self._plan, block.offset, [block.column(name) for name in self._payload])
        block.clear()
        found = matcher.find(batch)
        if self._plan.query.rows is RowsPerMatch.ALL_WITH_UNMATCHED:
            found = iter([_joined(list(found))])
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

    def _batch(self, block: Block) -> tuple[RowBatch, RowPrograms]:
        rows, offset = block.rows, block.offset
        plan = self._plan
        values = np.zeros((len(plan.values), rows), np.int64)
        valid = np.zeros((len(plan.values), rows), np.uint8)
        texts: dict[int, pa.Array] = {}
        for number, value in enumerate(plan.values):
            target = values[number].view(np.float64) if value.encoding is Encoding.FLOAT else values[number]
            for begin, chunk in block.chunks(f"v{number}"):
                end = begin + len(chunk)
                valid[number, begin:end] = chunk.is_valid().to_numpy(zero_copy_only=False)
                if value.encoding is not Encoding.CODE:
                    target[begin:end] = chunk.fill_null(0).to_numpy(zero_copy_only=False)
            if value.encoding is Encoding.CODE:
                texts[number] = block.column(f"v{number}")
        programs = plan.programs
        if texts or plan.text_constants:
            programs = self._with_codes(texts, values)
        horizon = np.zeros(0, np.int64)
        if plan.within is not None:
            time = block.column("t")
            known = time.is_valid().to_numpy(zero_copy_only=False).astype(np.uint8)
            micros = np.ascontiguousarray(time.fill_null(0).to_numpy(zero_copy_only=False))
            horizon = horizon_of(micros, known, offset, plan.within)
        mask = np.empty(rows, np.int64)
        for begin, chunk in block.chunks("m"):
            mask[begin : begin + len(chunk)] = chunk.to_numpy(zero_copy_only=False)
        for bit, condition in enumerate(plan.bits):
            if condition.program is not None:
                marked = mark_rows(condition.program.code, programs.constants, values, valid, offset)
                mask |= marked.astype(np.int64) << bit
        return RowBatch(offset, mask, horizon, values, valid), programs

    def _with_codes(self, texts: dict[int, pa.Array], values: npt.NDArray[np.int64]) -> RowPrograms:
        """Number the strings of this block in their order, in the columns and in the programs."""
        plan = self._plan
        names = {*plan.text_constants, *plan.variables}
        encoded = {number: column.dictionary_encode() for number, column in texts.items()}
        for column in encoded.values():
            names.update(text for text in column.dictionary.to_pylist() if text is not None)
        codes = {text: code for code, text in enumerate(sorted(names))}
        for number, column in encoded.items():
            numbers = np.array([codes[text] for text in column.dictionary.to_pylist()] or [0], np.int64)
            values[number] = numbers[column.indices.fill_null(0).to_numpy(zero_copy_only=False)]
        constants = plan.programs.constants.copy()
        for text, place in plan.text_constants.items():
            constants[place] = codes[text]
        labels = np.array([codes[name] for name in plan.variables] or [0], np.int64)
        return plan.programs._replace(constants=constants, label_code=labels)

    def _bad_skip(self, skip: BadSkip) -> DataError:
        target = self._plan.query.skip.variable
        name = "" if target is None else target.text
        text, span = self._plan.query.text or None, None if target is None else target.span
        if skip.missing:
            return DataError(
                "MATCH_RECOGNIZE_SKIP_TO_MISSING_ROW",
                f"AFTER MATCH SKIP goes to {name}, but a match has no row of {name}.",
                text=text,
                span=span,
                hint="Skip to a variable that every match has, or use SKIP TO NEXT ROW.",
            )
        return DataError(
            "MATCH_RECOGNIZE_SKIP_TO_FIRST_ROW",
            f"AFTER MATCH SKIP goes to {name}, which is the first row of a match: the same match would be found for ever.",
            text=text,
            span=span,
            hint="Skip to a variable that comes later in the pattern, or use SKIP TO NEXT ROW.",
        )


class Block:
    """The rows of whole partitions; cleared once its columns are taken, so that they are not held twice."""

    def __init__(self, parts: list[pa.RecordBatch], keys: Sequence[str]) -> None:
        self._table: pa.Table | None = pa.Table.from_batches(parts)
        # The caller's list would keep the rows alive.
        parts.clear()
        self.rows = self._table.num_rows
        borders = np.flatnonzero(changes(self._table.select(list(keys)))) + 1 if keys else np.zeros(0, np.int64)
        self.offset: npt.NDArray[np.int64] = np.concatenate([[0], borders, [self.rows]]).astype(np.int64)

    def chunks(self, name: str) -> Iterator[tuple[int, pa.Array]]:
        """Yield the pieces of a column with their first rows."""
        assert self._table is not None
        begin = 0
        for chunk in self._table.column(name).chunks:
            yield begin, chunk
            begin += len(chunk)

    def column(self, name: str) -> pa.Array:
        """Return a column in one piece."""
        assert self._table is not None
        column = self._table.column(name).combine_chunks()
        return pc.cast(column, column.type.value_type) if pa.types.is_dictionary(column.type) else column

    def clear(self) -> None:
        """Let the rows go."""
        self._table = None


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
            yield Block(done, keys)
    if held:
        yield Block(held, keys)


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


def _joined(parts: list[Matches]) -> Matches:
    if not parts:
        none = np.zeros(0, np.int64)
        return Matches(none, none, none, np.zeros(1, np.int64), np.zeros(0, np.int16))
    before = np.cumsum([0, *(len(part.path) for part in parts)])
    firsts = [part.first[:-1] + begin for part, begin in zip(parts, before[:-1], strict=True)]
    return Matches(
        np.concatenate([part.start for part in parts]),
        np.concatenate([part.number for part in parts]),
        np.concatenate([part.partition for part in parts]),
        np.append(np.concatenate(firsts), before[-1]),
        np.concatenate([part.path for part in parts]),
    )
