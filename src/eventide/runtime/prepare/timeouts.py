"""How the result tells how far a start came that timed out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eventide.plan.timeouts.queries import MISSING, REACHED, REACHED_STEPS, STEPS

if TYPE_CHECKING:
    from eventide.plan.timeouts.queries import TimeoutQueries
    from eventide.runtime.relational.adapter import Columns
    from eventide.runtime.relational.dialect import Dialect


def shown_steps(dialect: Dialect, asked: TimeoutQueries, reached: str) -> Columns:
    """Return the columns that tell how far a start came, given the column with the number of parts."""
    steps, missing = dialect.texts(asked.steps), dialect.texts(asked.missing)
    return [
        (REACHED, f"CAST({reached} AS INT)"),
        (STEPS, f"CAST({len(asked.steps)} AS INT)"),
        (REACHED_STEPS, dialect.head(steps, f"CAST({reached} AS INT)")),
        (MISSING, dialect.item(missing, f"CAST({reached} + 1 AS INT)")),
    ]
