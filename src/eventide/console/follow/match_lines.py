"""Matches as they come: lines on the terminal, or rows of CSV and JSON lines."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING

import pyarrow as pa
import pyarrow.csv
from rich.text import Text

from eventide.console.choices import STANDARD_OUTPUT
from eventide.console.files import csv_ready
from eventide.console.inputs import UsageMistakeError
from eventide.console.report import cell
from eventide.console.values import plain_value
from eventide.sources.formats import Format

if TYPE_CHECKING:
    from rich.console import Console

    from eventide.console.results import Output


def match_words(row: dict[str, object]) -> Text:
    """Return a match as names and values on one line.

    >>> str(match_words({"card": 7, "amount": 1.5}))
    'card=7  amount=1.5'
    """
    words = Text()
    for name, value in row.items():
        words.append("  " if words else "").append(f"{name}=", "dim").append(cell(value))
    return words


class MatchWriter:
    """Writes the matches of one micro-batch after another where the user wants them."""

    def __init__(self, output: Output, console: Console, *, append: bool = False) -> None:
        self._console = console
        self._format: Format | None = None
        self._file: IO[str] | None = None
        self._begun = False
        self.matches = 0
        if output.path is None:
            return
        self._format = (output.format or Format.CSV) if output.path == STANDARD_OUTPUT else output.file_format()
        if self._format is Format.PARQUET:
            raise UsageMistakeError(
                "BAD_OPTION", "A stream of matches cannot be written as Parquet.", hint="--output matches.jsonl, or matches.csv"
            )
        if output.path == STANDARD_OUTPUT:
            self._file = sys.stdout
        else:
            self._begun = append and Path(output.path).exists()
            self._file = Path(output.path).open("a" if append else "w", encoding="utf-8")  # noqa: SIM115 - see close

    def write(self, table: pa.Table) -> None:
        """Write matches at once, so that a reader of the output sees them now."""
        self.matches += table.num_rows
        if self._file is None:
            for row in table.to_pylist():
                self._console.print(match_words(row), soft_wrap=True)
            return
        if self._format is Format.JSON:
            self._file.writelines(json.dumps(plain_value(row), ensure_ascii=False) + "\n" for row in table.to_pylist())
        elif table.num_rows or not self._begun:
            text = io.BytesIO()
            options = pyarrow.csv.WriteOptions(include_header=not self._begun)
            pyarrow.csv.write_csv(csv_ready(table), text, options)
            self._file.write(text.getvalue().decode())
            self._begun = True
        self._file.flush()

    def close(self) -> None:
        """Close the file, if it is one of our own."""
        if self._file is not None and self._file is not sys.stdout:
            self._file.close()
