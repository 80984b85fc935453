"""Comparing results whatever engine they come from: values, and rows in no order."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

SHOWN = 8


def comparable(value: Any, digits: int | None = 9) -> Any:
    """Return a value so that equal ones are equal: NaN equals itself, truth values are no numbers, an event is its id.

    >>> comparable([{"id": 3, "v": 1}]), comparable(-0.0), comparable(float("nan")), comparable(True)
    ((3,), 0.0, 'NaN', 'True')
    """
    match value:
        case bool():
            return str(value)
        case float() | Decimal():
            number = float(value)
            return "NaN" if math.isnan(number) else (number if digits is None else round(number, digits)) + 0.0
        case datetime():
            return (value.astimezone(UTC) if value.tzinfo else value).replace(tzinfo=None).isoformat(sep=" ")
        case {"id": event}:
            return event
        case dict():
            return tuple(comparable(part, digits) for part in value.values())
        case list() | tuple():
            return tuple(comparable(part, digits) for part in value)
    return value


def comparable_rows(rows: Iterable[Any], digits: int | None = 9) -> list[tuple[Any, ...]]:
    """Return rows, dicts or tuples, as tuples of values that compare."""
    return [tuple(comparable(value, digits) for value in (row.values() if isinstance(row, dict) else row)) for row in rows]


def bag(rows: Iterable[Any], digits: int | None = 9) -> Counter[tuple[Any, ...]]:
    """Return rows in no order."""
    return Counter(comparable_rows(rows, digits))


def difference(what: str, expected: Counter[Any], got: Counter[Any]) -> str | None:
    """Say how two bags differ, or return None."""
    if +expected == +got:
        return None
    lines = [f"  missing: {item}" for item in sorted((expected - got).elements(), key=repr)[:SHOWN]]
    lines += [f"  too many: {item}" for item in sorted((got - expected).elements(), key=repr)[:SHOWN]]
    return "\n".join((f"the {what} differ", *lines))
