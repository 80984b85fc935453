"""Counting the matches of each key, by the automaton alone where that is possible and by enumeration where it is not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from eventide.errors import BindError
from eventide.match.counting import MatchCounter
from eventide.plan.ways import Cost
from eventide.runtime.keys import SortedKeys
from eventide.runtime.stage import MatchStage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eventide.plan.plan import Plan
    from eventide.runtime.keys import KeySpans
    from eventide.runtime.prepare import Layout

    Gathered = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]

MATCHES = "matches"
APPROXIMATE = "matches_approx"


def count_schema(plan: Plan, layout: Layout, prepared: pa.Schema) -> pa.Schema:
    """Return the schema of counts: the PARTITION BY attributes, the exact digits, and a double."""
    keys = [pa.field(name, prepared.field(name).type) for name in layout.keys[: len(plan.keys)]]
    return pa.schema([*keys, pa.field(MATCHES, pa.string()), pa.field(APPROXIMATE, pa.float64())])


class CountStage(MatchStage):
    """Counts the matches of prepared events.

    The keys that users see (*groups*) may hold several keys of the plan, which adds keys that follow from equalities.
    """

    def __init__(self, plan: Plan, layout: Layout) -> None:
        if plan.output.refine:
            raise BindError(
                "COUNT_NOT_POSSIBLE",
                f"Matches cannot be counted, because {plan.refined[0]} is only decided on the finished rows.",
                hint="Count the rows of match() instead.",
            )
        super().__init__(plan, layout)
        linear = plan.way().cost is Cost.LINEAR
        self._begin_counting(MatchCounter(plan.automaton(), max(1, len(plan.predicates))) if linear else None)

    def _begin_counting(self, counter: MatchCounter | None) -> None:
        self._groups = SortedKeys()
        self._group_keys: list[pa.Table] = []
        self._counts: list[int] = []
        self._open: list[Gathered] = []
        self._open_group = -1
        self._counter = counter

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield one row a group."""
        for _ in super().run(batches):
            raise AssertionError("counting yields nothing before the end")
        if self._open:
            self._count_open()
        if not self.plan.keys and not self._counts:
            self._counts.append(0)
        if self._counts:
            yield self._result()

    def _advance(self, table: pa.Table) -> Iterator[pa.RecordBatch]:
        spans = self._keys.spans(table.select(list(self.layout.keys)))
        groups = self._group_numbers(table, spans)
        if self._counter is None:
            self._enumerate(table, spans, groups)
        else:
            self._gather(table, spans, groups)
        yield from ()

    def _group_numbers(self, table: pa.Table, spans: KeySpans) -> npt.NDArray[np.int64]:
        """Return the number of each event's group, and remember the keys of new ones."""
        shown = table.select(list(self.layout.keys[: len(self.plan.keys)]))
        if spans.slot is not None:
            # Interleaved keys have no derived ones beside them: a slot is a group.
            fresh, places = np.unique(spans.slot, return_index=True)
            new = places[fresh >= len(self._counts)]
            self._counts.extend([0] * len(new))
            self._group_keys.append(shown.take(pa.array(new)))
            return spans.slot.astype(np.int64)
        begins = self._groups.spans(shown).restart
        assert begins is not None
        numbers = np.cumsum(begins, dtype=np.int64) - 1 + len(self._counts)
        self._counts.extend([0] * int(begins.sum()))
        if shown.num_columns:
            self._group_keys.append(shown.take(pa.array(np.flatnonzero(begins))))
        return numbers

    def _gather(self, table: pa.Table, spans: KeySpans, groups: npt.NDArray[np.int64]) -> None:
        """Count the keys that end in this table; the last one may go on in the next."""
        assert self._counter is not None and spans.restart is not None
        masks = np.ascontiguousarray(table.column(self.layout.mask).to_numpy())
        clock, low = self._clock(table, spans)
        begins = np.flatnonzero(spans.restart)
        first, last = (int(begins[0]), int(begins[-1])) if len(begins) else (table.num_rows, table.num_rows)
        if first > 0:
            self._open.append((masks[:first], clock[:first], low[:first]))
        if not len(begins):
            return
        if self._open:
            self._count_open()
        if last > first:
            span = slice(first, last)
            offsets = np.append(begins[:-1], last) - first
            counted = self._counter.count(masks[span], clock[span], low[span], offsets)
            for group, count in zip(groups[begins[:-1]].tolist(), counted, strict=True):
                self._counts[group] += count
        self._open = [(masks[last:], clock[last:], low[last:])]
        self._open_group = int(groups[last])

    def _count_open(self) -> None:
        assert self._counter is not None
        masks, clock, low = (np.concatenate(parts) for parts in zip(*self._open, strict=True))
        self._counts[self._open_group] += self._counter.count(masks, clock, low, np.array([0, len(masks)]))[0]
        self._open = []

    def _enumerate(self, table: pa.Table, spans: KeySpans, groups: npt.NDArray[np.int64]) -> None:
        batch = self._batch(table, spans)
        if self._payload is None:
            self._look_at_windows(batch)
        numbers = np.concatenate([self._kept_groups(), groups])
        for found in self.matcher.advance(batch):
            self._add(numbers[found.end])
        self._payload = pa.table({"group": numbers[self.matcher.keep()]})

    def _finish(self) -> Iterator[pa.RecordBatch]:
        if self._counter is None and self._payload is not None:
            numbers = self._kept_groups()
            for found in self.matcher.finish():
                self._add(numbers[found.end])
        yield from ()

    def _kept_groups(self) -> npt.NDArray[np.int64]:
        return np.zeros(0, np.int64) if self._payload is None else self._payload.column("group").to_numpy()

    def _add(self, groups: npt.NDArray[np.int64]) -> None:
        for group, count in zip(*np.unique(groups, return_counts=True), strict=True):
            self._counts[int(group)] += int(count)

    def _result(self) -> pa.RecordBatch:
        columns = []
        if self.plan.keys:
            columns = [column.combine_chunks() for column in pa.concat_tables(self._group_keys).columns]
        names = list(self.layout.keys[: len(self.plan.keys)])
        exact = pa.array([str(count) for count in self._counts], pa.string())
        rough = pa.array([as_double(count) for count in self._counts], pa.float64())
        return pa.RecordBatch.from_arrays([*columns, exact, rough], [*names, MATCHES, APPROXIMATE])


def as_double(count: int) -> float:
    """Return a count as a double, infinite when it is too large for one."""
    try:
        return float(count)
    except OverflowError:
        return float("inf")
