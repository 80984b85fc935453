"""What stops the matcher of row patterns, in the words of a user."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from eventide.errors import DataError
from eventide.match.budget import Resource, Spent
from eventide.match.row_pattern.matcher import BadSkip, SumOverflow
from eventide.runtime.stage.failures import limit_error

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eventide.pattern.row_patterns import RowQuery


@contextmanager
def errors_of_row_patterns(query: RowQuery, max_steps: int) -> Iterator[None]:
    """Turn what the matcher of row patterns raises into errors that a user understands."""
    try:
        yield
    except Spent as spent:
        if spent.resource is Resource.STEPS:
            hint = "Make conditions compare neighbouring rows (PREV) rather than the match so far, add WITHIN, "
            hint += "or raise max_steps."
            raise limit_error(spent.resource, max_steps, hint) from None
        raise limit_error(spent.resource, spent.amount, "Narrow the pattern, add WITHIN, or raise max_matches.") from None
    except SumOverflow:
        raise DataError(
            "SUM_OVERFLOW", "A SUM in DEFINE is too large for 64 bits.", hint="Sum a double: SUM(CAST(A.x AS DOUBLE))."
        ) from None
    except BadSkip as skip:
        raise _bad_skip(query, skip) from None


def _bad_skip(query: RowQuery, skip: BadSkip) -> DataError:
    target = query.skip.variable
    name = "" if target is None else target.text
    text, span = query.text or None, None if target is None else target.span
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
