"""ORDER BY with LIMIT, and SAMPLE: some of all matches, found without listing the others where that is possible.

Each stage gives its matches a rank, and the lowest ranks of all stages are the result. For ORDER BY the rank is the score. For
SAMPLE it is the logarithm of an exponentially distributed number, drawn for every match alone: the n lowest of them belong to a
uniform sample without replacement, whatever tasks the matches come from. Where matches are not listed, the lowest ranks of the N
matches of a key are drawn in ascending order (the next of m left adds Exp(1) / m) and go to matches with random numbers below N.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import replace
from random import Random, SystemRandom
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from eventide.errors import DataError
from eventide.match.dag.enumeration import MatchBatch
from eventide.match.totals.exact import EventColumns
from eventide.match.totals.paths import Numbered, Ranked
from eventide.plan.totals.methods import Growth
from eventide.plan.totals.results import Best, Drawn
from eventide.runtime.collect.matches import SlotFiller
from eventide.runtime.collect.propagation import make_aggregator
from eventide.runtime.stage.whole_keys import SHOWN, WholeKeysStage

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eventide.match.totals.exact import KeptEvents
    from eventide.match.totals.paths import Match
    from eventide.plan.plan import Plan
    from eventide.runtime.prepare.sequences import Layout
    from eventide.runtime.stage.stage import StageOptions
    from eventide.runtime.stage.whole_keys import WholeKeys

    Doubles = npt.NDArray[np.float64]

_LARGEST_SEED = 1 << 62


def chosen_stage(plan: Plan, layout: Layout, options: StageOptions | None = None) -> ChosenStage:
    """Return the stage that chooses matches of a plan."""
    kind = BestStage if isinstance(plan.results, Best) else DrawnStage
    return kind(plan, layout, options)


def with_seed(plan: Plan) -> Plan:
    """Return the plan with a seed for all its tasks, where the query has none."""
    if isinstance(plan.results, Drawn) and plan.results.seed is None:
        return replace(plan, results=replace(plan.results, seed=SystemRandom().randrange(_LARGEST_SEED)))
    return plan


class ChosenStage(WholeKeysStage):
    """Yields matches with their ranks; among them all that can be in the result."""

    def __init__(self, plan: Plan, layout: Layout, options: StageOptions | None = None) -> None:
        super().__init__(plan, layout, options, propagated=plan.totals_method.growth is not Growth.ENUMERATION)
        if self.propagated:
            self._aggregator, self.labelling = make_aggregator(plan)
        self._lowest = np.zeros(0)

    @property
    def wanted(self) -> int:
        """How many matches the result has at most."""
        return self.plan.most_rows or 0

    def _kept(self, keys: WholeKeys) -> KeptEvents:
        rows = np.zeros(len(keys.masks), np.int64)
        events = EventColumns(keys.masks, keys.clocks, keys.lows, keys.offsets, rows, 1, keys.values, keys.valid)
        return self._aggregator.kept(events)

    def _limit(self) -> float:
        """Return the rank that a match must not exceed to be in the result."""
        return float(self._lowest[self.wanted - 1]) if len(self._lowest) >= self.wanted > 0 else math.inf

    def _learn(self, ranks: Doubles) -> None:
        self._lowest = np.sort(np.concatenate([self._lowest, ranks]))[: self.wanted]

    def _rows(self, matches: Sequence[Match], kept: KeptEvents, table: pa.Table, ranks: Doubles) -> pa.RecordBatch:
        lengths = [len(match.bound) for match in matches]
        pairs = np.array([pair for match in matches for pair in match.bound], np.int64).reshape(-1, 2)
        found = MatchBatch(
            kept.row[[match.start for match in matches]].astype(np.int32),
            kept.row[[match.end for match in matches]].astype(np.int32),
            np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)]).astype(np.int64),
            kept.row[pairs[:, 0]].astype(np.int32),
            pairs[:, 1].astype(np.int32),
        )
        return self._ranked(found, table, ranks)

    def _ranked(self, found: MatchBatch, payload: pa.Table, ranks: Doubles) -> pa.RecordBatch:
        if self._filler is None:
            self._filler = SlotFiller(self.plan, self.layout, self.labelling)
        return self._filler.fill(found, payload, ranks)

    def _some(self, found: MatchBatch, payload: pa.Table, ranks: Doubles) -> Iterator[pa.RecordBatch]:
        """Yield those of the found matches that can be in the result."""
        taken = np.flatnonzero(ranks <= self._limit())
        if not len(taken) or not self.wanted:
            return
        self._learn(ranks[taken])
        lengths = np.diff(found.offset)[taken]
        offset = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        places = np.arange(offset[-1]) - np.repeat(offset[:-1], lengths) + np.repeat(found.offset[:-1][taken], lengths)
        some = MatchBatch(found.start[taken], found.end[taken], offset, found.row[places], found.label[places])
        yield self._ranked(some, payload, ranks[taken])


class BestStage(ChosenStage):
    """The matches with the lowest (or highest) scores."""

    def take_keys(self, keys: WholeKeys) -> Iterator[pa.RecordBatch]:
        """Find the best matches of whole keys, without listing the others."""
        if not self.wanted:
            return
        kept = self._kept(keys)
        labels = int(self._aggregator.symbols.tables.label.max(initial=0)) + 1
        values = self._values(keys.table)[:, kept.row]
        ranked = Ranked(self._aggregator, kept, -values, self._binds(labels))
        order = _order(keys.table, self.layout)[kept.row]
        matches, ranks = [], []
        for weight, match in ranked.first(self.wanted, order):
            if -weight > self._limit():
                break
            matches.append(match)
            ranks.append(-weight)
        if matches:
            self._learn(np.array(ranks))
            yield self._rows(matches, kept, keys.table, np.array(ranks))

    def take_found(self, found: MatchBatch, payload: pa.Table) -> Iterator[pa.RecordBatch]:
        """Keep the best of enumerated matches."""
        values = self._values(payload)
        binds = self._binds(self.labelling.label_count())
        added = np.zeros(len(found.row))
        for term in range(len(values)):
            added += np.where(binds[term, found.label], values[term, found.row], 0.0)
        match_of = np.repeat(np.arange(len(found.start)), np.diff(found.offset))
        ranks = np.bincount(match_of, weights=added, minlength=len(found.start)).astype(np.float64)
        yield from self._some(found, payload, ranks)

    def _values(self, table: pa.Table) -> Doubles:
        """Return what each event adds to the rank by each term."""
        assert isinstance(self.plan.results, Best)
        sign = -1.0 if self.plan.results.descending else 1.0
        values = np.empty((len(self.plan.results.terms), table.num_rows))
        for number, term in enumerate(self.plan.results.terms):
            if term.payload is None:
                values[number] = sign * term.factor
                continue
            column = table.column(self.layout.payload[term.payload]).combine_chunks()
            numbers = column.cast(pa.float64(), safe=False).fill_null(0.0).to_numpy(zero_copy_only=False)
            if not np.isfinite(numbers).all():
                raise DataError(
                    "SCORE_NOT_FINITE",
                    f"ORDER BY adds up values of {term.variable}, and some are not finite.",
                    hint="Leave them out by a condition, or replace them: NANVL(x, 0).",
                )
            values[number] = sign * term.factor * numbers
        return values

    def _binds(self, labels: int) -> npt.NDArray[np.uint8]:
        assert isinstance(self.plan.results, Best)
        binds = np.zeros((len(self.plan.results.terms), max(1, labels)), np.uint8)
        for number, term in enumerate(self.plan.results.terms):
            bound = self.labelling.labels_of(term.variable)
            binds[number, : len(bound)] = bound
        return binds


class DrawnStage(ChosenStage):
    """Matches drawn at random."""

    def __init__(self, plan: Plan, layout: Layout, options: StageOptions | None = None) -> None:
        super().__init__(plan, layout, options)
        self._drawing: dict[int, np.random.Generator] = {}

    def take_keys(self, keys: WholeKeys) -> Iterator[pa.RecordBatch]:
        """Draw matches of whole keys by their numbers."""
        if not self.wanted:
            return
        kept = self._kept(keys)
        numbered = Numbered(self._aggregator, kept, self._aggregator.matches_of_ends(kept))
        drawn: list[tuple[float, int, int]] = []
        for key in range(len(keys.offsets) - 1):
            begin, end = int(kept.offsets[key]), int(kept.offsets[key + 1])
            total = numbered.total(begin, end)
            if total:
                source = Random(self._seed_of(keys.table, int(keys.offsets[key])))  # noqa: S311 - a sample is no secret
                fresh = [(rank, begin, number) for rank, number in drawn_numbers(source, total, self.wanted, self._limit())]
                self._learn(np.array([rank for rank, _, _ in fresh]))
                drawn.extend(fresh)
        drawn = sorted(one for one in drawn if one[0] <= self._limit())
        if drawn:
            # By number, so that the matches of an end are looked up together.
            drawn.sort(key=lambda one: one[1:])
            matches = numbered.matches([(begin, number) for _, begin, number in drawn])
            yield self._rows(matches, kept, keys.table, np.array([rank for rank, _, _ in drawn]))

    def take_found(self, found: MatchBatch, payload: pa.Table) -> Iterator[pa.RecordBatch]:
        """Draw among enumerated matches."""
        shown = payload.column(SHOWN).to_numpy()[found.end]
        ranks = np.empty(len(found.start))
        for key in np.unique(shown).tolist():
            mine = np.flatnonzero(shown == key)
            source = self._drawing.get(key)
            if source is None:
                text = self._seed_of(payload, int(found.end[mine[0]]))
                source = self._drawing[key] = np.random.default_rng(int(hashlib.sha256(text.encode()).hexdigest(), 16))
            ranks[mine] = np.log(source.exponential(size=len(mine)))
        yield from self._some(found, payload, ranks)

    def _seed_of(self, table: pa.Table, row: int) -> str:
        """Return the seed of a key: its values and that of the query, so that it does not matter which task has the key."""
        assert isinstance(self.plan.results, Drawn)
        names = self.layout.keys if self.propagated else self.layout.keys[: len(self.plan.keys)]
        return repr((self.plan.results.seed, [_plain(table.column(name)[row]) for name in names]))


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


def _plain(value: pa.Scalar) -> Any:
    """Return a key as every engine shows it."""
    return str(value.as_py())


def _order(table: pa.Table, layout: Layout) -> npt.NDArray[np.int64]:
    """Return the place of each event in the order of the whole stream."""
    columns = [table.column(name) for name in (layout.clock, *layout.order)]
    # A null tie-break comes first.
    columns.insert(1, pc.is_valid(columns[1]).cast(pa.int8()))
    names = [str(number) for number in range(len(columns))]
    ordered = pa.table(columns, names=names)
    sorted_rows = pc.sort_indices(ordered, sort_keys=[(name, "ascending") for name in names]).to_numpy()
    order = np.empty(table.num_rows, np.int64)
    order[sorted_rows] = np.arange(table.num_rows)
    return order
