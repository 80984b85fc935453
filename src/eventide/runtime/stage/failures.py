"""What stops a matcher of events, in the words of a user."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from eventide.errors import LimitError
from eventide.match.budget import Resource, Spent

if TYPE_CHECKING:
    from collections.abc import Iterator


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
        raise limit_error(spent.resource, spent.amount, hint) from None


def limit_error(resource: Resource, amount: int, hint: str) -> LimitError:
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
