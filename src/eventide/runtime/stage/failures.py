"""What stops a matcher, in the words of a user: each kind of pattern has its own hints."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from eventide.errors import DataError, LimitError
from eventide.match.budget import Resource, Spent
from eventide.match.row_pattern.matcher import BadSkip, SumOverflow

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eventide.pattern.row_patterns import RowQuery


@contextmanager
def errors_of_sequences() -> Iterator[None]:
    """Turn what matchers of events raise into errors that a user understands."""
    try:
        yield
    except Spent as spent:
        if spent.resource in (Resource.MATCHES, Resource.CANDIDATES):
            hint = "Narrow WITHIN, add LIMIT, raise max_matches, or use count() to learn how many there are."
        elif spent.resource is Resource.ALTERNATIVES:
            hint = "Use fewer alternatives that fit the same event."
        else:
            hint = "Narrow WITHIN, or partition the events."
        raise _limit_error(spent.resource, spent.amount, hint) from None


@contextmanager
def errors_of_row_patterns(query: RowQuery, max_steps: int) -> Iterator[None]:
    """Turn what the matcher of row patterns raises into errors that a user understands."""
    try:
        yield
    except Spent as spent:
        if spent.resource is Resource.STEPS:
            hint = "Make conditions compare neighbouring rows (PREV) rather than the match so far, add WITHIN, "
            hint += "or raise max_steps."
            raise _limit_error(spent.resource, max_steps, hint) from None
        raise _limit_error(spent.resource, spent.amount, "Narrow the pattern, add WITHIN, or raise max_matches.") from None
    except SumOverflow:
        raise DataError(
            "SUM_OVERFLOW", "A SUM in DEFINE is too large for 64 bits.", hint="Sum a double: SUM(CAST(A.x AS DOUBLE))."
        ) from None
    except BadSkip as skip:
        raise _bad_skip(query, skip) from None


def _limit_error(resource: Resource, amount: int, hint: str) -> LimitError:
    """Say what ran out."""
    match resource:
        case Resource.ALTERNATIVES:
            condition = "TOO_MANY_ALTERNATIVES"
            message = f"One event fits the pattern in {amount} ways; skip-till-next with conditions supports fewer."
        case Resource.PAIRS:
            condition = "TOO_MANY_PAIRS"
            message = f"The windows of the query hold {amount} pairs of events, "
            message += "more than conditions between neighbours can be judged for."
        case Resource.STEPS:
            condition, message = "TOO_MANY_STEPS", f"The search for matches took more than {amount} steps."
        case Resource.MATCHES | Resource.CANDIDATES:
            what = "matches" if resource is Resource.MATCHES else "candidates for its matches"
            condition, message = "TOO_MANY_MATCHES", f"The query has more than {amount} {what}."
    return LimitError(condition, message, hint=hint)


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
