"""What the oracle says of a MATCH_RECOGNIZE clause over one or several tables."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from eventide.errors import DataError, LimitError
from eventide_reference import recognize
from harness.comparison import comparable_rows
from harness.kinds.row_patterns.tables import COLUMNS

if TYPE_CHECKING:
    import pyarrow as pa

    from harness.kind import Row
    from harness.kinds.row_patterns.queries import Trial

ORACLE_STEPS = 6_000
"""Of one table; what needs more is skipped and counted."""
SHOWN = 15

Values = tuple[Any, ...]
Parts = dict[Values, list[Values]]
"""The rows of a result by partition."""


@dataclass
class Expected:
    """The rows of each partition, or the errors of which the engine must raise one."""

    trial: Trial
    columns: list[str] = field(default_factory=list)
    parts: Parts = field(default_factory=dict)
    errors: set[str] = field(default_factory=set)

    @property
    def found(self) -> int:
        """How many rows there are."""
        return sum(map(len, self.parts.values()))

    def add(self, rows: list[Row]) -> None:
        """Ask the oracle for one table; raises LimitError where that takes too long."""
        try:
            self.columns, found = recognize(self.trial.query, rows, COLUMNS, ORACLE_STEPS)
        except DataError:
            self.errors |= self._errors(rows)
        else:
            self.parts |= by_partition(self.trial, found)

    def _errors(self, rows: list[Row]) -> set[str]:
        # Engines need not walk the partitions in the same order, so any of them may be the one that stops the query.
        conditions = set()
        keys = {tuple(row[key] for key in self.trial.partition_by) for row in rows}
        for key in keys:
            part = [row for row in rows if tuple(row[column] for column in self.trial.partition_by) == key]
            try:
                recognize(self.trial.query, part, COLUMNS, ORACLE_STEPS)
            except DataError as error:
                conditions.add(error.condition)
            except LimitError:
                continue
        return conditions

    def disagreement(self, produced: pa.Table) -> str | None:
        """Say how a result differs, partition by partition, or return None."""
        if self.columns and produced.column_names != self.columns:
            return f"the columns differ: {produced.column_names} should be {self.columns}"
        return self.rows_differ(zip(*(column.to_pylist() for column in produced.columns), strict=True))

    def rows_differ(self, rows: Any, *, ordered: bool = True) -> str | None:
        """Say how rows differ; streams leave their order open."""
        got = by_partition(self.trial, rows)
        lines = []
        for key in {**self.parts, **got}:
            right, wrong = self.parts.get(key, []), got.get(key, [])
            same = Counter(right) == Counter(wrong)
            if same and (right == wrong or not ordered):
                continue
            lines.append(f"the rows differ{' in their order' if same else ''}, partition {key}")
            lines += [f"  {'oracle':>7}: {row}" for row in right[:SHOWN]]
            lines += [f"  {'engine':>7}: {row}" for row in wrong[:SHOWN]]
        return "\n".join(lines) or None


def by_partition(trial: Trial, rows: Any) -> Parts:
    """Return the rows of a result by the values of PARTITION BY, which stand first in every row."""
    width = len(trial.partition_by)
    parts: Parts = {}
    for row in comparable_rows(rows):
        parts.setdefault(row[:width], []).append(row[width:])
    return parts
