"""Texts that sqlglot stumbles over: it promises nothing about what they make it raise, and users get one error."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from eventide.errors import ParseError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eventide.errors import Span


@contextmanager
def read_as(what: str, condition: str, text: str, span: Span, *, example: str, split: str) -> Iterator[None]:
    """Refuse a text that cannot be read as `what`, with an example to write, or that is too deep, with a way to split it."""
    try:
        yield
    except ParseError:
        raise
    except RecursionError:
        message = f"The {what.rsplit(maxsplit=1)[-1]} is nested too deeply."
        hint = f"Remove brackets that are not needed, or {split}."
        raise ParseError("QUERY_TOO_DEEP", message, text=text, span=span, hint=hint) from None
    except Exception as error:  # noqa: BLE001
        message = f"The text cannot be read as {what} ({type(error).__name__})."
        raise ParseError(condition, message, text=text, span=span, hint=f"Write a Spark SQL {example}.") from None
