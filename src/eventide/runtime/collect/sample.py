"""SAMPLE: matches drawn at random.

Where matches are not listed, the lowest ranks of the N matches of a key are drawn in ascending order (the next of m left adds
Exp(1) / m) and go to matches with random numbers below N.
"""

from __future__ import annotations

import hashlib
import math
from random import Random
from typing import TYPE_CHECKING

import numpy as np

from eventide.match.totals.paths import Numbered
from eventide.plan.totals.results import MatchSample
from eventide.runtime.collect.matches import stage_schema
from eventide.runtime.collect.ranking import RankedRows, kept_events
from eventide.runtime.relational.arrays import numpy_values
from eventide.runtime.stage.parts import Detail, TableCollector
from eventide.runtime.stage.propagation import WholeKeys
from eventide.runtime.stage.shown_keys import SHOWN, ShownKeys

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

    from eventide.match.dag.enumeration import MatchBatch
    from eventide.plan.labels.labelling import Labelling
    from eventide.plan.plan import Plan
    from eventide.runtime.prepare.sequences import Layout
    from eventide.runtime.stage.keys import KeySpans


class SampleRows(TableCollector):
    """Rows of matches with random ranks; among them all that can be in the result."""

    detail = Detail.TOTALS
    schema = staticmethod(stage_schema)

    def __init__(self, plan: Plan, layout: Layout, labelling: Labelling, prepared: pa.Schema) -> None:  # noqa: ARG002
        assert isinstance(plan.results, MatchSample)
        self._seed = plan.results.seed
        self._keys = layout.keys
        self._shown = ShownKeys(plan, layout)
        self._rows = RankedRows(plan, layout, labelling)
        self._drawing: dict[int, np.random.Generator] = {}

    def kept(self, table: pa.Table, spans: KeySpans) -> pa.Table:
        """Keep what fields show, and the number of each event's key."""
        return table.select(self._rows.columns).append_column(SHOWN, self._shown.numbers(table, spans))

    def take(self, found: MatchBatch | WholeKeys, payload: pa.Table) -> Iterator[pa.RecordBatch]:
        """Yield those of some matches that are drawn."""
        if isinstance(found, WholeKeys):
            yield from self._drawn_of_keys(found, payload) if self._rows.wanted else ()
            return
        shown = numpy_values(payload.column(SHOWN))[found.end]
        ranks = np.empty(len(found.start))
        for key in np.unique(shown).tolist():
            mine = np.flatnonzero(shown == key)
            source = self._drawing.get(key)
            if source is None:
                text = self._seed_of(payload, int(found.end[mine[0]]), self._shown.names)
                source = self._drawing[key] = np.random.default_rng(int(hashlib.sha256(text.encode()).hexdigest(), 16))
            ranks[mine] = np.log(source.exponential(size=len(mine)))
        yield from self._rows.some(found, payload, ranks)

    def _drawn_of_keys(self, keys: WholeKeys, payload: pa.Table) -> Iterator[pa.RecordBatch]:
        """Draw matches of whole keys by their numbers."""
        kept = kept_events(keys)
        numbered = Numbered(keys.aggregator, kept, keys.aggregator.matches_of_ends(kept))
        drawn: list[tuple[float, int, int]] = []
        for key in range(len(keys.offsets) - 1):
            begin, end = int(kept.offsets[key]), int(kept.offsets[key + 1])
            total = numbered.total(begin, end)
            if total:
                source = Random(self._seed_of(payload, int(keys.offsets[key]), self._keys))  # noqa: S311 - a sample is no secret
                numbers = drawn_numbers(source, total, self._rows.wanted, self._rows.limit())
                fresh = [(rank, begin, number) for rank, number in numbers]
                self._rows.learn(np.array([rank for rank, _, _ in fresh]))
                drawn.extend(fresh)
        drawn = sorted(one for one in drawn if one[0] <= self._rows.limit())
        if drawn:
            # By number, so that the matches of an end are looked up together.
            drawn.sort(key=lambda one: one[1:])
            matches = numbered.matches([(begin, number) for _, begin, number in drawn])
            yield self._rows.chosen(matches, kept, payload, np.array([rank for rank, _, _ in drawn]))

    def _seed_of(self, table: pa.Table, row: int, names: Sequence[str]) -> str:
        """Return the seed of a key: its values and that of the query, so that it does not matter which task has the key."""
        return repr((self._seed, [str(table.column(name)[row].as_py()) for name in names]))


def drawn_numbers(source: Random, total: int, wanted: int, limit: float) -> Iterator[tuple[float, int]]:
    """Yield up to `wanted` different numbers below `total` at random, with the ranks that are the lowest of all in this order.

    >>> [number for _, number in drawn_numbers(Random(1), 3, 5, math.inf)]
    [0, 2, 1]
    """
    count = min(wanted, total)
    shuffled = source.sample(range(total), count) if total <= 4 * count else None
    taken: set[int] = set()
    rank = -math.inf
    for place in range(count):
        gained = math.log(source.expovariate(1.0)) - math.log(total - place)
        rank = gained if rank == -math.inf else max(rank, gained) + math.log1p(math.exp(-abs(rank - gained)))
        if rank > limit:
            return
        number = shuffled[place] if shuffled is not None else source.randrange(total)
        while shuffled is None and number in taken:
            number = source.randrange(total)
        taken.add(number)
        yield rank, number
