"""What stops a match stage, in the words of a user."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from eventide.errors import DataError, LimitError
from eventide.match.row_pattern.matcher import BadSkip, BudgetSpent, SumOverflow

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eventide.plan.row_patterns.plan import RowPlan


@contextmanager
def failures_named(plan: RowPlan, max_steps: int) -> Iterator[None]:
    """Turn what the matcher raises into errors that a user sees."""
    try:
        yield
    except BudgetSpent:
        raise LimitError(
            "TOO_MANY_STEPS",
            f"The search for matches took more than {max_steps} steps.",
            hint="Make conditions compare neighbouring rows (PREV) rather than the match so far, add WITHIN, "
            "or raise max_steps.",
        ) from None
    except SumOverflow:
        raise DataError(
            "SUM_OVERFLOW", "A SUM in DEFINE is too large for 64 bits.", hint="Sum a double: SUM(CAST(A.x AS DOUBLE))."
        ) from None
    except BadSkip as skip:
        raise _bad_skip(plan, skip) from None


def _bad_skip(plan: RowPlan, skip: BadSkip) -> DataError:
    target = plan.query.skip.variable
    name = "" if target is None else target.text
    text, span = plan.query.text or None, None if target is None else target.span
    if skip.missing:
        return DataError(
            "MATCH_RECOGNIZE_SKIP_TO_MISSING_ROW",
            f"AFTER MATCH SKIP goes to {name}, but a match has no row of {name}.",
            text=text,
            span=span,
            hint="Skip to a variable that every match has, or use SKIP TO NEXT ROW.",
        )
    return DataError(
        "MATCH_RECOGNIZE_SKIP_TO_FIRST_ROW",
        f"AFTER MATCH SKIP goes to {name}, which is the first row of a match: the same match would be found for ever.",
        text=text,
        span=span,
        hint="Skip to a variable that comes later in the pattern, or use SKIP TO NEXT ROW.",
    )
