"""Where the walk over each partition begins, and how far its rows are known: to their end, or to where others are to come."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from eventide.match.row_pattern.completable import completable_beyond

if TYPE_CHECKING:
    from eventide.match.row_pattern.tables import RowTables


class Borders(NamedTuple):
    """The walk of each partition; the matcher moves `first` and `number` on to what it could not decide."""

    first: npt.NDArray[np.int64]
    """[partition]: the first row at which nothing is decided; rows before it are only looked at."""
    number: npt.NDArray[np.int64]
    """[partition]: how many matches there are before it."""
    opening: npt.NDArray[np.uint8]
    """[partition]: whether its first row is the first of all."""
    end: npt.NDArray[np.int64]
    """[partition]: the border of the rows that can be judged."""
    beyond: npt.NDArray[np.uint64]
    """[word]: the states that rows behind `end` may complete; none where no rows are to come."""
    last: npt.NDArray[np.uint64]
    """[word]: the states that can be completed at `end`, where no row is left to judge."""
    reach: int
    """How many rows behind a match must be known."""


def whole_borders(tables: RowTables, offset: npt.NDArray[np.int64]) -> Borders:
    """Return the borders of partitions that are there as a whole.

    >>> from eventide.plan.row_patterns.tables import make_tables
    >>> whole_borders(make_tables([(-1,), (0,), (0,)], [0], [-1], [0], [0]), np.array([0, 2, 5])).first.tolist()
    [0, 2]
    """
    count = len(offset) - 1
    return closed_borders(tables, offset, offset[:-1].copy(), np.zeros(count, np.int64), np.ones(count, np.uint8))


def closed_borders(
    tables: RowTables,
    offset: npt.NDArray[np.int64],
    first: npt.NDArray[np.int64],
    number: npt.NDArray[np.int64],
    opening: npt.NDArray[np.uint8],
) -> Borders:
    """Return borders behind which no row comes."""
    return Borders(first, number, opening, offset[1:], np.zeros_like(tables.ends_last), tables.ends_last, 0)


def open_borders(
    tables: RowTables,
    offset: npt.NDArray[np.int64],
    first: npt.NDArray[np.int64],
    number: npt.NDArray[np.int64],
    opening: npt.NDArray[np.uint8],
    ahead: int,
    reach: int,
) -> Borders:
    """Return borders behind which rows are to come; conditions look `ahead` rows, and measures reach as far behind a match."""
    beyond = completable_beyond(tables)
    return Borders(first, number, opening, np.maximum(offset[1:] - ahead, first), beyond, beyond, reach)
