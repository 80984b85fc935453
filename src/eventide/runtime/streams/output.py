"""When results leave a bucket: once they are certain, in order of their ends, or at once and corrected later (Li 2010, 4.4)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from eventide.errors import DataError
from eventide.runtime.streams.bucket_query import END, MATCH_HIGH, MATCH_LOW, NEVER, START
from eventide.runtime.streams.reorder import OrderKey, sorted_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eventide.runtime.streams.bucket_query import BucketQuery

FINAL, ORDERED, EARLY = "final", "ordered", "early"
CORRECTNESS = (FINAL, ORDERED, EARLY)
CHANGE = "__et_change"
RESULT_ORDER = (OrderKey(END), OrderKey(START))
"""Sorting keeps what is equal in its place: the rows of a match stay together, in their order."""


class OutputStage(ABC):
    """What stands between an query and the result."""

    held: pa.Table | None = None
    """Results that may still have to be shown or taken back; all of the state there is."""

    @abstractmethod
    def take(self, certain: Sequence[pa.Table], query: BucketQuery, watermark: int) -> list[pa.Table]:
        """Return what leaves the bucket, given the results that have become certain."""


class FinalOutput(OutputStage):
    """Results leave when they are certain."""

    def take(self, certain: Sequence[pa.Table], query: BucketQuery, watermark: int) -> list[pa.Table]:  # noqa: ARG002
        """Return the certain results."""
        return list(certain)


class OrderedOutput(OutputStage):
    """Results wait until no result with an earlier end can come: `hold` says how long one can take to become certain."""

    def __init__(self, hold: int) -> None:
        self._hold = hold

    def take(self, certain: Sequence[pa.Table], query: BucketQuery, watermark: int) -> list[pa.Table]:  # noqa: ARG002
        """Return the results whose turn has come, by their ends."""
        known = [*([] if self.held is None else [self.held]), *certain]
        if not known or watermark == NEVER:
            self.held = pa.concat_tables(known) if known else None
            return []
        table = pa.concat_tables(known).combine_chunks()
        ready = table.column(END).to_numpy() < watermark - self._hold
        self.held = table.filter(pa.array(~ready))
        leaving = table.filter(pa.array(ready))
        return [leaving.take(pa.array(sorted_rows(leaving, RESULT_ORDER)))] if leaving.num_rows else []


class EarlyOutput(OutputStage):
    """Results leave as if no event came any more; what later events change is taken back by a row with `-`."""

    def take(self, certain: Sequence[pa.Table], query: BucketQuery, watermark: int) -> list[pa.Table]:  # noqa: ARG002
        """Return the new results with `+`, and those that no longer hold with `-`."""
        likely = self._likely(query)
        current = _joined([*certain, *likely])
        shown = self.held
        self.held = _joined(likely)
        changes = []
        if shown is not None:
            gone = shown if current is None else shown.filter(pa.array(~_among(shown, current)))
            changes.append(_marked(gone, "-"))
        if current is not None:
            fresh = current if shown is None else current.filter(pa.array(~_among(current, shown)))
            changes.append(_marked(fresh, "+"))
        return [table for table in changes if table.num_rows]

    @staticmethod
    def _likely(query: BucketQuery) -> list[pa.Table]:
        """Return what the query would find; an error of it is as uncertain as a match is, and may never come to be."""
        try:
            return query.speculate()
        except DataError:
            return []


def make_output(kind: str, hold: int) -> OutputStage:
    """Return the stage of a kind of correctness."""
    return {FINAL: FinalOutput, EARLY: EarlyOutput}[kind]() if kind != ORDERED else OrderedOutput(hold)


def _joined(tables: Sequence[pa.Table]) -> pa.Table | None:
    return pa.concat_tables(tables).combine_chunks() if tables else None


def _marked(table: pa.Table, change: str) -> pa.Table:
    return table.append_column(CHANGE, pa.array([change] * table.num_rows, pa.string()))


def _among(one: pa.Table, other: pa.Table) -> npt.NDArray[np.bool_]:
    """Return which results of one table are in the other."""
    return np.isin(_ids(one), _ids(other))


def _ids(table: pa.Table) -> npt.NDArray[np.void]:
    ids = np.empty(table.num_rows, [("high", np.int64), ("low", np.int64)])
    ids["high"], ids["low"] = table.column(MATCH_HIGH).to_numpy(), table.column(MATCH_LOW).to_numpy()
    return ids
