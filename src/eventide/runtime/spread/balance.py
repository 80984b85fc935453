"""How evenly the tasks of a result share its matches."""

from __future__ import annotations

from statistics import fmean, pstdev
from typing import TYPE_CHECKING

import pyarrow as pa

from eventide.errors import errors
from eventide.records import record

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame


@record
class Balance:
    """The matches of each task.

    >>> Balance((25, 25, 30, 20)).variation
    0.1414213562373095
    """

    tasks: tuple[int, ...]

    @property
    def matches(self) -> int:
        """All matches together."""
        return sum(self.tasks)

    @property
    def variation(self) -> float:
        """The coefficient of variation: the standard deviation over the mean, 0 where all tasks have the same."""
        return pstdev(self.tasks) / fmean(self.tasks) if self.matches else 0.0


def balance(matches: DataFrame) -> Balance:
    """Run a result of `Query.match` on Spark and return how many matches each of its tasks finds."""
    from eventide.executors.workers import through_workers  # noqa: PLC0415 - PySpark is optional

    # Only the number of rows is asked for; a literal leaves all columns out.
    counted = through_workers(matches.selectExpr("1 AS one"), _count, "matches BIGINT")
    with errors():
        return Balance(tuple(int(row[0]) for row in counted.collect()))


def _count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield pa.RecordBatch.from_pydict({"matches": [sum(batch.num_rows for batch in batches)]})
