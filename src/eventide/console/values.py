"""Values of a result as JSON can hold them."""

from __future__ import annotations

import base64
import math
from datetime import date, datetime, time, timedelta


def plain_value(value: object) -> object:
    """Return the value made of dicts, lists, strings, numbers, booleans and None alone.

    Times become ISO 8601, intervals seconds, bytes base64; a number that JSON has no sign for becomes its name, as in Spark.

    >>> plain_value({"at": datetime(2024, 1, 2, 3, 4, 5), "rate": float("nan"), "steps": [1, None]})
    {'at': '2024-01-02T03:04:05', 'rate': 'NaN', 'steps': [1, None]}
    """
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            if math.isfinite(value):
                return value
            return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        case dict():
            return {str(name): plain_value(item) for name, item in value.items()}
        case list() | tuple():
            return [plain_value(item) for item in value]
        case datetime():
            return value.isoformat().replace("+00:00", "Z")
        case date() | time():
            return value.isoformat()
        case timedelta():
            return value.total_seconds()
        case bytes():
            return base64.b64encode(value).decode("ascii")
        case _:
            return str(value)
