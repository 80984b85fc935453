"""What advances over the rows of MATCH_RECOGNIZE: its matcher, over partitions that are there as a whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from eventide.match.budget import Account, Budget
from eventide.match.row_pattern.borders import whole_borders
from eventide.match.row_pattern.kernel import RowMatchBatch
from eventide.pattern.row_patterns import RowsPerMatch
from eventide.plan.matchers.registry import ROWS
from eventide.runtime.stage.parts import OnWholeKeys

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eventide.match.row_pattern.borders import Borders
    from eventide.plan.row_patterns.plan import RowPlan
    from eventide.runtime.stage.limits import StageLimits
    from eventide.runtime.stage.row_encoding import EncodedRows


class WholePartitions(OnWholeKeys):
    """Finds the matches of whole partitions."""

    def __init__(self, plan: RowPlan, limits: StageLimits) -> None:
        self._plan = plan
        self._max_steps = limits.max_steps
        self._account = Account(Budget(matches=limits.max_matches))

    def advance(self, batch: EncodedRows) -> Iterator[RowMatchBatch]:
        """Take the rows of whole partitions and yield their matches."""
        borders = whole_borders(self._plan.tables, batch.batch.offset)
        for matches in found_in(self._plan, batch, borders, self._max_steps):
            self._account.take_matches(len(matches.start))
            yield matches


def found_in(plan: RowPlan, rows: EncodedRows, borders: Borders, max_steps: int) -> Iterator[RowMatchBatch]:
    """Yield the matches between borders, which are moved to where nothing is decided yet."""
    matcher = ROWS.make(plan, rows.programs, max_steps)
    found = matcher.find(rows.batch, borders)
    if plan.query.rows is RowsPerMatch.ALL_WITH_UNMATCHED:
        # Which rows are in no match is known when all matches are.
        return iter([_joined(list(found))])
    return found


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
