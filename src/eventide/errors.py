"""Errors and warnings that a user of Eventide sees.

Every error has a condition name that scripts can test, one sentence, the place in the query with a caret where there is
one, and a hint that says what to type instead.
"""

from __future__ import annotations

import re
import sys
import warnings
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from eventide.records import record

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

CARET_CONTEXT = 100
_PACKAGE = str(Path(__file__).parent)


@record
class Span:
    """A half-open range of characters in the text of a query."""

    start: int
    end: int

    def shifted(self, offset: int) -> Span:
        """Return the span moved by `offset` characters."""
        return Span(self.start + offset, self.end + offset)


class EventideWarning(UserWarning):
    """Something will be slow, unbounded or left out; the query still runs."""


def warn(message: str) -> None:
    """Warn of something at the line of the user that called us, however deep we are."""
    level = above = 1
    frame = sys._getframe()  # noqa: SLF001 - warnings has no other way to name a caller before Python 3.12
    # Between our frames may stand those of libraries that call us back.
    while frame.f_back is not None:
        above += 1
        if frame.f_code.co_filename.startswith(_PACKAGE):
            level = above
        frame = frame.f_back
    warnings.warn(message, EventideWarning, stacklevel=level)


class EventideError(Exception):
    """The base of all errors that Eventide raises for a user's mistake.

    >>> print(EventideError("UNKNOWN_VARIABLE", "There is no variable x.", hint="Use a."))
    [UNKNOWN_VARIABLE] There is no variable x.
    Hint: Use a.
    """

    def __init__(
        self,
        condition: str,
        message: str,
        *,
        text: str | None = None,
        span: Span | None = None,
        hint: str | None = None,
    ) -> None:
        self.condition = condition
        self.message = message
        self.text = text
        self.span = span
        self.hint = hint
        super().__init__(self._render())

    def _render(self) -> str:
        lines = [f"[{self.condition}] {self.message}"]
        if self.text is not None and self.span is not None:
            lines.append(underline(self.text, self.span))
        if self.hint:
            lines.append(f"Hint: {self.hint}")
        return "\n".join(lines)

    def __reduce__(self) -> tuple[object, ...]:
        # Errors cross process borders on Spark; keyword-only fields need their own way through pickle.
        return (_rebuild, (type(self), self.condition, self.message, self.text, self.span, self.hint))


def _rebuild(
    kind: type[EventideError], condition: str, message: str, text: str | None, span: Span | None, hint: str | None
) -> EventideError:
    return kind(condition, message, text=text, span=span, hint=hint)


class ParseError(EventideError):
    """The text of a query is not well formed."""


class BindError(EventideError):
    """A query is well formed but does not fit the events it is given, or asks for what is not defined."""


class DataError(EventideError):
    """The events themselves cannot be used."""


class LimitError(EventideError):
    """A run was stopped by a cap that the user set or that protects the machine."""


class SetupError(EventideError):
    """The machine or the cluster lacks something that a run needs."""


# Between the sentence and the hint may stand the three lines of a place in the query. Workers without this package raise a
# RuntimeError.
_WRAPPED = re.compile(
    r"(?:eventide\.errors\.(?P<kind>\w+)|RuntimeError): \[(?P<condition>[A-Z_]+)\] (?P<message>[^\n]*)"
    r"(?:\n(?P<place>(?:[^\n]*\n){0,3}?)Hint: (?P<hint>[^\n]*))?"
)
_OTHER_PYTHON = re.compile(
    r"\[PYTHON_VERSION_MISMATCH\] Python in worker has different version: ?(\S+) than that in driver: ?(\d+\.\d+)"
)
WORKERS = "WORKERS_"
"""How the conditions begin that a worker raises about itself."""


@contextmanager
def errors() -> Iterator[None]:
    r"""Raise Eventide's own error where Spark raises one that wraps it: around `collect`, `toPandas` or `awaitTermination`.

    >>> with errors():
    ...     raise RuntimeError("Traceback...\neventide.errors.LimitError: [TOO_MANY_MATCHES] The query has more than 3 matches.")
    Traceback (most recent call last):
    eventide.errors.LimitError: [TOO_MANY_MATCHES] The query has more than 3 matches.
    """
    try:
        yield
    except EventideError:
        raise
    except Exception as error:
        ours = unwrapped(str(error))
        if ours is None:
            raise
        # What Spark says besides are its own stack traces.
        raise ours from None


def unwrapped(text: str) -> EventideError | None:
    r"""Return the error of ours that the text of one of Spark's holds.

    >>> print(unwrapped("Traceback...\neventide.errors.DataError: [REPLAY_CHANGED] Another file.\nHint: Use the same.\n"))
    [REPLAY_CHANGED] Another file.
    Hint: Use the same.
    """
    other = _OTHER_PYTHON.search(text)
    if other:
        return other_python(other[1], other[2])
    found = _WRAPPED.search(text)
    if found is None:
        return None
    if found["kind"] is None:
        kind: object = SetupError if found["condition"].startswith(WORKERS) else None
    else:
        kind = globals().get(found["kind"])
    if not (isinstance(kind, type) and issubclass(kind, EventideError)):
        return None
    error: EventideError = kind(found["condition"], found["message"], hint=found["hint"])
    if found["place"]:
        # The text of the query stayed behind; the lines that show the place did not.
        first, *rest = str(error).split("\n", 1)
        error.args = ("\n".join([first, found["place"].rstrip("\n"), *rest]),)
    return error


def other_python(theirs: str, ours: str) -> SetupError:
    """Return the error of workers that run another Python."""
    return SetupError(
        f"{WORKERS}RUN_ANOTHER_PYTHON",
        f"Spark's workers run Python {theirs}, this program runs {ours}.",
        hint="Set PYSPARK_PYTHON, or spark.pyspark.python, to a Python of the same version before the session starts.",
    )


def underline(text: str, span: Span) -> str:
    """Show the line of `text` that holds `span`, with a caret line under it.

    >>> print(underline("SELECT x", Span(7, 8)))
    line 1, column 8
      SELECT x
             ^
    """
    start = min(max(span.start, 0), len(text))
    line_start = text.rfind("\n", 0, start) + 1
    line_end = text.find("\n", start)
    line_end = len(text) if line_end < 0 else line_end
    line_number = text.count("\n", 0, start) + 1
    left = max(line_start, start - CARET_CONTEXT)
    right = min(line_end, start + CARET_CONTEXT)
    prefix = "..." if left > line_start else ""
    suffix = "..." if right < line_end else ""
    shown = prefix + text[left:right].replace("\t", " ") + suffix
    width = max(1, min(span.end, right) - start)
    caret = " " * (len(prefix) + start - left) + "^" * width
    return f"line {line_number}, column {start - line_start + 1}\n  {shown}\n  {caret}"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a hint that names the closest known word, or lists what there is.

    >>> did_you_mean("prise", ["price", "volume"])
    'Did you mean price?'
    >>> did_you_mean("zzz", ["price", "volume"])
    'There is: price, volume.'
    """
    words = list(dict.fromkeys(known))
    by_lower = {word.lower(): word for word in words}
    close = get_close_matches(name.lower(), by_lower, n=1, cutoff=0.6)
    if close:
        return f"Did you mean {by_lower[close[0]]}?"
    if not words:
        return "There is none."
    shown = ", ".join(words[:12]) + (", ..." if len(words) > 12 else "")
    return f"There is: {shown}."


def too_deep() -> BindError:
    """Return the error of a query that nests too deeply for the interpreter's stack."""
    hint = "Use fewer parentheses inside each other, or compute parts of an expression in columns of the events."
    return BindError("TOO_DEEP", "The query nests too deeply.", hint=hint)
