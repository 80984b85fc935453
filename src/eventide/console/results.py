"""Where results go: a table on the terminal, a file, standard output, or a folder that Spark writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from eventide.console.choices import STANDARD_OUTPUT
from eventide.console.files import require_writable, write_table
from eventide.console.report import Stopwatch, many, say, show_rows
from eventide.console.spark import write_parquet
from eventide.records import record
from eventide.sources.formats import Format, format_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@record
class Output:
    """Where the user wants the result: a path, `-`, or None for a table of the first `limit_rows` rows."""

    path: str | None = None
    format: Format | None = None
    limit_rows: int = 20

    @property
    def is_file(self) -> bool:
        """Whether the result goes to a file of its own."""
        return self.path not in {None, STANDARD_OUTPUT}

    def file_format(self) -> Format:
        """Return the format of the file, or refuse a name that does not say it."""
        return format_of(self.path or "", self.format, "--output-format")

    def require_usable(self) -> None:
        """Refuse a place that cannot be written, before the search and not after it."""
        if self.path is not None and self.is_file:
            self.file_format()
            if "://" not in self.path:
                require_writable(self.path)


@record
class Delivered:
    """How many rows there are, and the first of them when they are to be shown."""

    rows: int
    shown: pa.Table | None = None


def deliver(result: Any, output: Output) -> Delivered:
    """Compute a result, if Spark has not yet done so, and write it where it should go.

    >>> deliver(pa.table({"low": [1.5, 2.5]}), Output(limit_rows=1)).rows
    2
    """
    if isinstance(result, pa.RecordBatchReader):
        return _deliver_batches(result, output)
    if isinstance(result, pa.Table):
        return _deliver_table(result, output)
    return _deliver_frame(result, output)


def _deliver_table(table: pa.Table, output: Output) -> Delivered:
    if output.path is None:
        return Delivered(table.num_rows, table.slice(0, output.limit_rows))
    write_table(table, output.path, output.format)
    return Delivered(table.num_rows)


def _deliver_batches(reader: pa.RecordBatchReader, output: Output) -> Delivered:
    """Write matches as they are found."""
    assert output.path is not None
    written: list[int] = []
    write_table(reader, output.path, output.format, advance=written.append)
    return Delivered(sum(written))


def _deliver_frame(frame: DataFrame, output: Output) -> Delivered:
    if output.path is None:
        # Kept, so that counting and showing do not search the events twice; never collected, as it may be large.
        kept = frame.persist()
        try:
            return Delivered(kept.count(), kept.limit(output.limit_rows).toArrow())
        finally:
            kept.unpersist()
    if output.is_file and output.file_format() is Format.PARQUET:
        write_parquet(frame, output.path)
        return Delivered(frame.sparkSession.read.parquet(output.path).count())
    return _deliver_table(frame.toArrow(), output)


def show_delivered(delivered: Delivered, output: Output, watch: Stopwatch, *, title: str, nouns: tuple[str, str]) -> None:
    """Write the first rows where they are to be shown, and how many there are.

    >>> show_delivered(Delivered(2), Output("low.csv"), Stopwatch(), title="Matches", nouns=("match", "matches"))
    """
    if delivered.shown is not None:
        show_rows(delivered.shown, title=title, total=delivered.rows)
    say(f"{many(delivered.rows, *nouns)} in {watch}" + (f", written to {output.path}" if output.is_file else ""))


def show_schema(schema: pa.Schema) -> None:
    """Write the columns of a result with their types.

    >>> show_schema(pa.schema([("low", pa.float64())]))  # doctest: +ELLIPSIS
    Columns of the result...
    """
    rows = pa.table({"column": schema.names, "type": [str(field.type) for field in schema]})
    show_rows(rows, title="Columns of the result")
