"""What stops a matcher, in the words of a user."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from eventide.errors import DataError, LimitError
from eventide.match.budget import Resource, Spent
from eventide.match.row_pattern.matcher import BadSkip, SumOverflow
from eventide.plan.row_patterns.plan import RowPlan

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eventide.plan.plan import Plan


@contextmanager
def errors_of_matcher(plan: Plan | RowPlan, max_steps: int | None = None) -> Iterator[None]:
    """Turn what matchers raise into errors that a user understands."""
    try:
        yield
    except Spent as spent:
        raise _limit_error(plan, spent, max_steps) from None
    except SumOverflow:
        raise DataError(
            "SUM_OVERFLOW", "A SUM in DEFINE is too large for 64 bits.", hint="Sum a double: SUM(CAST(A.x AS DOUBLE))."
        ) from None
    except BadSkip as skip:
        assert isinstance(plan, RowPlan)
        raise _bad_skip(plan, skip) from None


def _limit_error(plan: Plan | RowPlan, spent: Spent, max_steps: int | None) -> LimitError:
    """Say what ran out, and what to write instead."""
    rows, amount = isinstance(plan, RowPlan), spent.amount
    match spent.resource:
        case Resource.ALTERNATIVES:
            condition = "TOO_MANY_ALTERNATIVES"
            message = f"One event fits the pattern in {amount} ways; skip-till-next with conditions supports fewer."
            hint = "Use fewer alternatives that fit the same event."
        case Resource.PAIRS:
            condition = "TOO_MANY_PAIRS"
            message = f"The windows of the query hold {amount} pairs of events, "
            message += "more than conditions between neighbours can be judged for."
            hint = "Narrow WITHIN, or partition the events."
        case Resource.STEPS:
            condition, message = "TOO_MANY_STEPS", f"The search for matches took more than {max_steps or amount} steps."
            hint = "Narrow WITHIN, or partition the events."
            if rows:
                hint = "Make conditions compare neighbouring rows (PREV) rather than the match so far, add WITHIN, "
                hint += "or raise max_steps."
        case Resource.MATCHES | Resource.CANDIDATES:
            what = "matches" if spent.resource is Resource.MATCHES else "candidates for its matches"
            condition, message = "TOO_MANY_MATCHES", f"The query has more than {amount} {what}."
            hint = "Narrow WITHIN, add LIMIT, raise max_matches, or use count() to learn how many there are."
            if rows:
                hint = "Narrow the pattern, add WITHIN, or raise max_matches."
    return LimitError(condition, message, hint=hint)


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
