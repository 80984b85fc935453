"""ORDER BY with LIMIT, and SAMPLE: some of all matches, found without listing the others where that is possible.

Each stage gives its matches a rank, and the lowest ranks of all stages are the result. For ORDER BY the rank is the score. For
SAMPLE it is the logarithm of an exponentially distributed number, drawn for every match alone: the n lowest of them belong to a
uniform sample without replacement, whatever tasks the matches come from.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from eventide.match.dag.enumeration import MatchBatch
from eventide.runtime.collect.matches import MatchRows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

    from eventide.match.totals.exact import KeptEvents
    from eventide.match.totals.paths import Match
    from eventide.plan.labels.labelling import Labelling
    from eventide.plan.plan import Plan
    from eventide.runtime.prepare.sequences import Layout
    from eventide.runtime.stage.propagation import WholeKeys

    Doubles = npt.NDArray[np.float64]


class RankedRows:
    """Rows of matches with their ranks; remembers how low a rank must be to be in the result."""

    def __init__(self, plan: Plan, layout: Layout, labelling: Labelling) -> None:
        self._rows = MatchRows(plan, layout, labelling)
        self.columns = self._rows.columns
        self.wanted = plan.most_rows or 0
        """How many matches the result has at most."""
        self._lowest = np.zeros(0)

    def limit(self) -> float:
        """Return the rank that a match must not exceed to be in the result."""
        return float(self._lowest[self.wanted - 1]) if len(self._lowest) >= self.wanted > 0 else math.inf

    def learn(self, ranks: Doubles) -> None:
        """Take note of the ranks of matches."""
        self._lowest = np.sort(np.concatenate([self._lowest, ranks]))[: self.wanted]

    def some(self, found: MatchBatch, payload: pa.Table, ranks: Doubles) -> Iterator[pa.RecordBatch]:
        """Yield those of the found matches that can be in the result."""
        taken = np.flatnonzero(ranks <= self.limit())
        if not len(taken) or not self.wanted:
            return
        self.learn(ranks[taken])
        lengths = np.diff(found.offset)[taken]
        offset = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        places = np.arange(offset[-1]) - np.repeat(offset[:-1], lengths) + np.repeat(found.offset[:-1][taken], lengths)
        some = MatchBatch(found.start[taken], found.end[taken], offset, found.row[places], found.label[places])
        yield self._rows.fill(some, payload, ranks[taken])

    def chosen(self, matches: Sequence[Match], kept: KeptEvents, payload: pa.Table, ranks: Doubles) -> pa.RecordBatch:
        """Return the rows of matches that were chosen among those of whole keys."""
        lengths = [len(match.bound) for match in matches]
        pairs = np.array([pair for match in matches for pair in match.bound], np.int64).reshape(-1, 2)
        found = MatchBatch(
            kept.row[[match.start for match in matches]].astype(np.int32),
            kept.row[[match.end for match in matches]].astype(np.int32),
            np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)]).astype(np.int64),
            kept.row[pairs[:, 0]].astype(np.int32),
            pairs[:, 1].astype(np.int32),
        )
        return self._rows.fill(found, payload, ranks)


def kept_events(keys: WholeKeys) -> KeptEvents:
    """Return the events of whole keys that matches can name."""
    return keys.aggregator.kept(keys.events(np.zeros(len(keys.masks), np.int64), 1))
