"""Errors of Spark in our words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eventide.errors import BindError

if TYPE_CHECKING:
    from pyspark.errors import PySparkException


def bad_expression(error: PySparkException) -> BindError:
    """Turn an error of Spark into ours."""
    message = (error.getMessage() or str(error)).splitlines()[0]
    return BindError(
        "BAD_EXPRESSION",
        f"Spark cannot evaluate an expression: {message}",
        hint="Check the functions and the types of their arguments.",
    )
