"""What stops a matcher of events, in the words of a user."""

from __future__ import annotations

from contextlib import contextmanager
from decimal import Decimal
from typing import TYPE_CHECKING

from eventide.errors import LimitError
from eventide.match.budget import MOST_OF_AN_END, Resource, Spent
from eventide.plan.sequences.growth import doubling_variables

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eventide.plan.plan import Plan

LARGE = 10**15
_HINTS = {
    Resource.MATCHES: "Narrow WITHIN, add LIMIT, raise max_matches, or use count() to learn how many there are.",
    Resource.CANDIDATES: "Narrow WITHIN, add LIMIT, raise max_matches, or use count() to learn how many there are.",
    Resource.MEMORY: "Narrow WITHIN, add LIMIT, select fewer columns, raise max_memory, or count() how many there are.",
    Resource.ROOM: "Narrow WITHIN, select without MAX, NEXT or LAST, or raise max_memory.",
    Resource.ALTERNATIVES: "Use fewer alternatives that fit the same event.",
    Resource.STEPS: "Narrow WITHIN, partition the events, compare neighbours (NEXT) instead of aggregates, or raise max_steps.",
}

_NARROW = "Narrow WITHIN, or partition the events."
_OF_STREAMS = {
    Resource.ALTERNATIVES: _HINTS[Resource.ALTERNATIVES],
    Resource.STEPS: "Narrow WITHIN, partition the events, or compare neighbours (NEXT) instead of aggregates.",
}
_ENDLESS = "Narrow WITHIN, add LIMIT, or select NEXT, LAST or MAX; count(), GROUP BY, ORDER BY and SAMPLE need no list of them."


@contextmanager
def errors_of_sequences(plan: Plan | None = None, *, streaming: bool = False) -> Iterator[None]:
    """Turn what matchers of events raise into errors that a user understands; streams have fewer settings to name."""
    try:
        yield
    except Spent as spent:
        hint = _ENDLESS if spent.amount == MOST_OF_AN_END else (_OF_STREAMS if streaming else _HINTS).get(spent.resource, _NARROW)
        raise limit_error(spent, hint, plan) from None
    except MemoryError:
        # Arrow's is one as well. What no budget foresaw is still an error of ours.
        hint = _HINTS[Resource.MEMORY]
        raise LimitError("TOO_MUCH_MEMORY", f"The process has no more memory.{why_many(plan)}", hint=hint) from None


def limit_error(spent: Spent, hint: str, plan: Plan | None = None) -> LimitError:
    """Say what ran out, how many matches there are where that is known, and which variable makes them many."""
    amount, why = spent.amount, why_many(plan)
    there_are = "" if spent.known is None else f"The query has {shown_number(spent.known)} matches or more"
    match spent.resource:
        case Resource.ALTERNATIVES:
            condition = "TOO_MANY_ALTERNATIVES"
            message = f"One event fits the pattern in {amount} ways; skip-till-next with conditions supports fewer."
        case Resource.PAIRS:
            condition = "TOO_MANY_PAIRS"
            message = f"The windows of the query hold {amount} pairs of events, "
            message += "more than conditions between neighbours can be judged for."
        case Resource.STEPS:
            condition, message = "TOO_MANY_STEPS", f"The search for matches took more than {amount} steps.{why}"
        case Resource.MEMORY:
            condition = "TOO_MUCH_MEMORY"
            message = f"{there_are}, which need" if there_are else "The matches of the query need"
            message += f" more than {shown_size(amount)} of memory.{why}"
        case Resource.ROOM:
            condition = "TOO_MUCH_MEMORY"
            message = f"The candidates for the matches that end at one event need more than {shown_size(amount)} of memory.{why}"
        case Resource.MATCHES | Resource.CANDIDATES:
            condition = "TOO_MANY_MATCHES"
            what = "matches" if spent.resource is Resource.MATCHES else "candidates for its matches"
            allowed = "more than can be written" if amount == MOST_OF_AN_END else f"max_matches allows {amount}"
            message = f"{there_are}; {allowed}." if there_are else f"The query has more than {amount} {what}."
            message += why if there_are else ""
    return LimitError(condition, message, hint=hint)


def why_many(plan: Plan | None) -> str:
    """Return a sentence that names the variables which make matches many; nothing where none does so by itself."""
    names = () if plan is None else doubling_variables(plan.root, [one.variables for one in plan.bound.occurrences])
    if not names:
        return ""
    return f" Every event that fits {' or '.join(names)} can be taken or left, which doubles what there is to look at."


def shown_number(number: int) -> str:
    """Return a number as one reads it.

    >>> shown_number(1234567), shown_number(2**100)
    ('1234567', '1.27e+30')
    """
    return str(number) if number < LARGE else f"{Decimal(number):.3g}"


def shown_size(size: int) -> str:
    """Return a number of bytes as one reads it.

    >>> shown_size(1 << 30), shown_size(300_000_000)
    ('1.0 GiB', '286 MiB')
    """
    return f"{size / (1 << 30):.1f} GiB" if size >= 1 << 30 else f"{size >> 20} MiB"
