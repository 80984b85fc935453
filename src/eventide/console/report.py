"""What a user sees on the terminal: errors, warnings, progress and tables.

Results go to standard output, everything else to standard error, so that a pipe carries results alone.
"""

from __future__ import annotations

import json
import os
from contextlib import contextmanager
from datetime import datetime
from time import perf_counter
from typing import TYPE_CHECKING

from pyarrow import types
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from eventide.console.values import plain_value
from eventide.errors import DataError, EventideError, LimitError, SetupError
from eventide.runtime.waiting import shown_otherwise, waiting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyarrow as pa

UNEXPECTED = 1
WRONG_QUERY = 2
BAD_DATA = 3
STOPPED = 4

CELL_WIDTH = 60
# Piped output has no width of its own; a narrow guess would cut the values that a script looks for.
PIPED_WIDTH = 200
# An error lays itself out; a terminal adds colours to its condition, its place with the caret, and its hint.
ERROR_STYLES = {
    r"^\[\w+\]": "bold red",
    r"(?m)^line \d+, column \d+$": "dim",
    r"(?m)^ +\^+$": "bold red",
    r"(?m)^Hint:": "bold cyan",
}


class Stopwatch:
    """Seconds since it was made.

    >>> Stopwatch().seconds < 60
    True
    """

    def __init__(self) -> None:
        self._start = perf_counter()

    @property
    def seconds(self) -> float:
        """The seconds that have passed."""
        return perf_counter() - self._start

    def __str__(self) -> str:
        return f"{self.seconds:.2f} s"


def exit_code(error: BaseException) -> int:
    """Return the exit code that tells a script what went wrong.

    >>> exit_code(DataError("FILE_NOT_FOUND", "There is no file x.csv."))
    3
    """
    match error:
        case SetupError():
            return UNEXPECTED
        case LimitError():
            return STOPPED
        case DataError():
            return BAD_DATA
        case EventideError():
            return WRONG_QUERY
        case _:
            return UNEXPECTED


def debugging() -> bool:
    """Say whether the user asked for tracebacks with EVENTIDE_DEBUG=1.

    >>> isinstance(debugging(), bool)
    True
    """
    return os.environ.get("EVENTIDE_DEBUG", "") not in {"", "0"}


def errors_console() -> Console:
    """Return a console on standard error as it is now.

    >>> errors_console().stderr
    True
    """
    return Console(stderr=True, highlight=False)


def results_console() -> Console:
    """Return a console on standard output as it is now.

    >>> results_console().stderr
    False
    """
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=PIPED_WIDTH)


def many(number: int, singular: str, plural: str) -> str:
    """Return a number with its noun.

    >>> many(1, "match", "matches"), many(1200, "match", "matches")
    ('1 match', '1,200 matches')
    """
    return f"{number:,} {singular if number == 1 else plural}"


def say(message: str) -> None:
    """Write one line for the user, next to the results.

    >>> say("3 matches")
    """
    errors_console().print(Text(message), soft_wrap=True)


def show_error(error: BaseException) -> None:
    """Write an error with its condition, its place and its hint, or the traceback when debugging.

    >>> show_error(DataError("FILE_NOT_FOUND", "There is no file x.csv."))
    """
    console = errors_console()
    if debugging():
        console.print_exception()
        return
    if not isinstance(error, EventideError):
        hint = "Set EVENTIDE_DEBUG=1 to see where it happened, and please report it."
        error = EventideError("UNEXPECTED_FAILURE", f"{type(error).__name__}: {_gist(error)}", hint=hint)
    shown = Text(str(error))
    for part, style in ERROR_STYLES.items():
        shown.highlight_regex(part, style)
    console.print(shown, soft_wrap=True)


def _gist(error: BaseException) -> str:
    lines = [line.strip(" :") for line in str(error).splitlines() if line.strip()]
    # Py4J says which call failed and only then what happened.
    return next((line for line in lines if not line.startswith("An error occurred while calling")), "no message")


def show_warning(message: str) -> None:
    """Write a warning.

    >>> show_warning("This query may find very many matches.")
    """
    errors_console().print(Text.assemble(("Warning: ", "bold yellow"), message), soft_wrap=True)


@contextmanager
def working(description: str) -> Iterator[Stopwatch]:
    """Show a spinner while the block runs, or a line on what is no terminal if it takes long, and give the time it takes.

    >>> with working("Counting") as watch:
    ...     pass
    >>> watch.seconds < 60
    True
    """
    watch = Stopwatch()
    console = errors_console()
    if not console.is_terminal:
        with waiting(description), shown_otherwise():
            yield watch
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress, shown_otherwise():
        progress.add_task(description, total=None)
        yield watch


@contextmanager
def counting(description: str, total: int) -> Iterator[Callable[[int], None]]:
    """Show a bar while the block runs, on a terminal only; the block calls what it gets with each number of rows done.

    >>> with counting("Writing", 10) as advance:
    ...     advance(10)
    """
    console = errors_console()
    if not console.is_terminal:
        yield lambda _: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(description, total=total)
        yield lambda rows: progress.advance(task, rows)


def show_rows(table: pa.Table, *, title: str, total: int | None = None) -> None:
    """Write rows as a table to standard output; `total` says how many there are if not all are shown.

    >>> import pyarrow as pa
    >>> show_rows(pa.table({"low": [1.5]}), title="Matches")  # doctest: +ELLIPSIS
    Matches...
    """
    shown = Table()
    for field in table.schema:
        shown.add_column(Text(field.name), justify="right" if _is_number(field.type) else "left", overflow="fold")
    for row in table.to_pylist():
        shown.add_row(*(Text(cell(value)) for value in row.values()))
    console = results_console()
    console.print(Text(title, "bold"))
    console.print(shown)
    if total is not None and total > table.num_rows:
        console.print(f"... {total - table.num_rows:,} more")


def _is_number(kind: pa.DataType) -> bool:
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind))


def cell(value: object) -> str:
    """Return a value as it is shown in a table or on a line.

    >>> cell(None), cell([1, 2]), cell(datetime(2024, 1, 2, 9, 30))
    ('null', '[1, 2]', '2024-01-02 09:30:00')
    """
    if value is None:
        return "null"
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%d %H:%M:%S.%f").rstrip("0").rstrip(".")
    text = json.dumps(plain_value(value), ensure_ascii=False) if isinstance(value, list | dict) else str(value)
    return text if len(text) <= CELL_WIDTH else text[: CELL_WIDTH - 3] + "..."
