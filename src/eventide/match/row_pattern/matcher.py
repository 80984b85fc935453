"""The row pattern matcher: rows of partitions in, the preferred matches out.

Cost: where conditions look at rows only, one backward pass over the rows and one step for each mapped row (rows plus matched
rows, for every pattern). Conditions on the match so far are searched in the order of preferment; steps that led nowhere are
remembered by what later conditions can read of them, so equal states are tried once.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from eventide.match.budget import SPENT, Account
from eventide.match.held_events import NothingHeld
from eventide.match.row_pattern.borders import whole_borders
from eventide.match.row_pattern.completable import completable
from eventide.match.row_pattern.kernel import (
    DONE,
    MAPPED,
    MATCHES,
    OVERFLOW,
    PAUSE,
    ROOM_FOR_DEPTH,
    ROOM_FOR_MATCHES,
    ROOM_FOR_MEMORY,
    ROOM_FOR_ROWS,
    ROW,
    SKIP_TO_FIRST_ROW,
    SKIP_TO_NO_ROW,
    STATES,
    Input,
    RowMatchBatch,
    Scratch,
    enter_partition,
    recognize_rows,
    recognize_search,
    remember_all,
)
from eventide.match.row_pattern.marking import mark_rows
from eventide.records import record

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eventide.match.row_pattern.borders import Borders
    from eventide.match.row_pattern.programs import RowPrograms
    from eventide.match.row_pattern.tables import RowTables

ROOM_ROWS = 1 << 20
ROOM_MATCHES = 1 << 18
ROOM_DEPTH = 1 << 10
SMALLEST_MEMORY = 1 << 12
FREE_STEPS = 1 << 20


class SumOverflow(Exception):  # noqa: N818 - the stage turns it into an error with a hint
    """A running sum is too large for 64 bits."""


class BadSkip(Exception):  # noqa: N818 - see above
    """AFTER MATCH SKIP leads to the first row of the match, or to a variable without rows; holds the first row of the match."""

    def __init__(self, row: int, *, missing: bool) -> None:
        super().__init__(row)
        self.row = row
        self.missing = missing


class RowBatch(NamedTuple):
    """The rows of some partitions, as the kernels read them."""

    offset: npt.NDArray[np.int64]
    """[partition + 1]: the borders of the partitions."""
    mask: npt.NDArray[np.int64]
    horizon: npt.NDArray[np.int64]
    """[row]: the last row that WITHIN lets into a match that begins here; empty without WITHIN."""
    values: npt.NDArray[np.int64]
    """[column, row]: numbers, or the bits of doubles."""
    valid: npt.NDArray[np.uint8]


class RowPartitions(NamedTuple):
    """Rows, the programs with the codes of their strings, and how far the walk over each of their partitions has come.

    The matcher moves the borders to where nothing is decided yet; None are those of whole partitions.
    """

    rows: RowBatch
    programs: RowPrograms
    borders: Borders | None = None


@record
class RowPatternMatcher(NothingHeld):
    """Finds the preferred matches of one query; what is not decided yet is given to it again."""

    name: ClassVar[str] = "row pattern"
    tables: RowTables
    marks: tuple[tuple[int, Sequence[tuple[int, int, int, int]]], ...]
    """Bits of the symbol mask that are judged here, with the programs of their conditions on neighbouring rows."""
    skip: int
    skip_to: npt.NDArray[np.uint8]
    """[variable]: whether SKIP TO FIRST or LAST may stop at its rows."""
    at_once: bool
    """Whether all matches of a batch come together: which rows are in none is known when all matches are."""
    account: Account
    """Its steps are those of the search in one batch, beside some that every batch has for nothing."""

    @property
    def searches(self) -> bool:
        """Whether a condition looks at the match so far."""
        return bool((self.tables.program >= 0).any())

    def advance(self, batch: RowPartitions) -> Iterator[RowMatchBatch]:
        """Yield the matches of partitions, a bounded number at a time."""
        rows, programs, borders = batch
        for bit, code in self.marks:
            marked = mark_rows(code, programs.constants, rows.values, rows.valid, rows.offset)
            rows = rows._replace(mask=rows.mask | marked.astype(np.int64) << bit)
        found = self._found(rows, programs, whole_borders(self.tables, rows.offset) if borders is None else borders)
        for matches in (_joined(list(found)),) if self.at_once else found:
            self.account.take_matches(len(matches.start))
            yield matches

    def _found(self, batch: RowBatch, programs: RowPrograms, borders: Borders) -> Iterator[RowMatchBatch]:
        within = len(batch.horizon) > 0
        sets, at = np.zeros((1, 1), np.uint64), np.zeros(0, np.int32)
        if not within:
            with _hashing():
                sets, at = completable(self.tables, batch.mask, borders.first, borders.end, borders.last)
        rows = Input(
            batch.offset, batch.mask, batch.horizon, sets, at, batch.values, batch.values.view(np.float64), batch.valid,
            borders.first, borders.number, borders.opening, borders.end, borders.beyond, borders.reach,
        )  # fmt: skip
        output = _output(min(ROOM_MATCHES, len(batch.mask) + 1), min(ROOM_ROWS, len(batch.mask) + 1))
        failed, kept = np.zeros((SMALLEST_MEMORY, 3), np.uint64), np.array([0, 1, 0], np.int64)
        scratch = _scratch(programs, ROOM_DEPTH if self.searches else 2, failed, kept)
        state = np.zeros(STATES, np.int64)
        enter_partition(state, borders.first, borders.number)
        account = self._account(len(batch.mask))
        status = PAUSE
        while status != DONE:
            if self.searches:
                with _hashing():
                    status = recognize_search(
                        self.tables, programs, rows, self.skip, self.skip_to, state, output, scratch, account.slice()
                    )
            else:
                status = recognize_rows(self.tables, rows, self.skip, self.skip_to, state, output)
            self._refuse(status, int(state[ROW]))
            if status == SPENT:
                continue
            if status == ROOM_FOR_DEPTH:
                scratch = _scratch(programs, 2 * len(scratch.choice), scratch.failed, scratch.kept)
            if status == ROOM_FOR_MEMORY:
                scratch = _with_more_memory(scratch)
            if state[MATCHES]:
                yield _written(output, int(state[MATCHES]), int(state[MAPPED]))
                state[MATCHES] = state[MAPPED] = 0
            elif status in (ROOM_FOR_ROWS, ROOM_FOR_MATCHES):
                output = _output(len(output.start), 2 * len(output.path))

    def _account(self, rows: int) -> Account:
        budget = self.account.budget
        return Account(budget if budget.steps is None else replace(budget, steps=budget.steps + FREE_STEPS + 64 * rows))

    def _refuse(self, status: int, row: int) -> None:
        if status == OVERFLOW:
            raise SumOverflow
        if status in (SKIP_TO_FIRST_ROW, SKIP_TO_NO_ROW):
            raise BadSkip(row, missing=status == SKIP_TO_NO_ROW)

def _scratch(programs: RowPrograms, depth: int, failed: npt.NDArray[np.uint64], kept: npt.NDArray[np.int64]) -> Scratch:
    return Scratch(
        np.zeros(depth, np.int32),
        np.zeros((depth, max(1, programs.registers)), np.int64),
        np.zeros((depth, len(programs.sum_base)), np.float64),
        failed,
        kept,
    )


def _hashing() -> np.errstate:
    # Hashes wrap around, which plain Python (without the compiler) would warn about.
    return np.errstate(over="ignore")


def _with_more_memory(scratch: Scratch) -> Scratch:
    more = np.zeros((2 * len(scratch.failed), 3), np.uint64)
    remember_all(scratch.failed, scratch.kept, more)
    return scratch._replace(failed=more)


def _output(matches: int, rows: int) -> RowMatchBatch:
    return RowMatchBatch(
        np.empty(matches, np.int64),
        np.empty(matches, np.int64),
        np.empty(matches, np.int64),
        np.empty(matches, np.int64),
        np.empty(rows, np.int16),
    )


def _written(output: RowMatchBatch, matches: int, mapped: int) -> RowMatchBatch:
    return RowMatchBatch(
        output.start[:matches].copy(),
        output.number[:matches].copy(),
        output.partition[:matches].copy(),
        np.append(output.first[:matches], mapped),
        output.path[:mapped].copy(),
    )


def _joined(parts: list[RowMatchBatch]) -> RowMatchBatch:
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
