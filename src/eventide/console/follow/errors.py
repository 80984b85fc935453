"""What stops a stream, in our words: an error of ours comes back from Spark wrapped in its own."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING

from eventide import errors
from eventide.errors import EventideError

if TYPE_CHECKING:
    from collections.abc import Iterator

# Between the sentence and the hint may stand the three lines of a place in the query.
WRAPPED = re.compile(
    r"eventide\.errors\.(?P<kind>\w+): \[(?P<condition>\w+)\] (?P<message>[^\n]*)"
    r"(?:\n(?:[^\n]*\n){0,3}?Hint: (?P<hint>[^\n]*))?"
)


def unwrapped(text: str) -> EventideError | None:
    r"""Return the error of ours that the text of one of Spark's holds.

    >>> print(unwrapped("Traceback...\neventide.errors.DataError: [REPLAY_CHANGED] Another file.\nHint: Use the same.\n"))
    [REPLAY_CHANGED] Another file.
    Hint: Use the same.
    """
    found = WRAPPED.search(text)
    kind = getattr(errors, found["kind"], None) if found else None
    if found is None or not (isinstance(kind, type) and issubclass(kind, EventideError)):
        return None
    return kind(found["condition"], found["message"], hint=found["hint"])


@contextmanager
def stream_errors_named() -> Iterator[None]:
    """Raise an error of ours where Spark raises one that holds it.

    >>> with stream_errors_named():
    ...     pass
    """
    try:
        yield
    except EventideError:
        raise
    except Exception as error:
        ours = unwrapped(str(error))
        if ours is None:
            raise
        raise ours from error
