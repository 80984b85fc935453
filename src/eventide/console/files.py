"""Arrow tables as Parquet, CSV and JSON lines, in files and on standard output."""

from __future__ import annotations

import json
import os
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from eventide.console.choices import STANDARD_OUTPUT
from eventide.console.values import plain_value
from eventide.errors import DataError
from eventide.sources.formats import Format, format_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROWS_PER_WRITE = 100_000
ROWS_PER_GROUP = 1_000_000


def write_table(
    table: pa.Table | pa.RecordBatchReader,
    target: str,
    given: Format | None = None,
    *,
    advance: Callable[[int], None] = lambda _: None,
) -> None:
    """Write a table to a file, or to standard output when the target is `-` (CSV unless another format is given).

    What is read in batches is written as it comes; a file that cannot be completed is removed.

    >>> write_table(pa.table({"low": [1.5]}), "-", Format.JSON)
    {"low": 1.5}
    """
    if target == STANDARD_OUTPUT:
        file_format = given or Format.CSV
        if file_format is Format.PARQUET:
            raise DataError(
                "UNKNOWN_FORMAT", "Parquet cannot be written to standard output.", hint="Use --output-format csv or json."
            )
    else:
        file_format = format_of(target, given, "--output-format")
    rows = ROWS_PER_GROUP if file_format is Format.PARQUET else ROWS_PER_WRITE
    pieces = _slices(table, rows) if isinstance(table, pa.Table) else _gathered(table)
    with _opened(target) as sink:
        _WRITERS[file_format](table.schema, pieces, sink, advance)


def _slices(table: pa.Table, rows: int) -> Iterator[pa.Table]:
    for start in range(0, table.num_rows, rows):
        yield table.slice(start, rows)


def _gathered(reader: pa.RecordBatchReader) -> Iterator[pa.Table]:
    """Yield tables of some rows each: matches may come a few at a time."""
    waiting: list[pa.RecordBatch] = []
    for batch in reader:
        waiting.append(batch)
        if sum(one.num_rows for one in waiting) >= ROWS_PER_WRITE:
            yield pa.Table.from_batches(waiting)
            waiting = []
    if waiting:
        yield pa.Table.from_batches(waiting)


@contextmanager
def _opened(target: str) -> Iterator[Any]:
    if target == STANDARD_OUTPUT:
        sys.stdout.flush()
        # A captured standard output may have no bytes under it.
        yield sys.stdout.buffer if hasattr(sys.stdout, "buffer") else _Encoded(sys.stdout)
        sys.stdout.flush()
        return
    require_writable(target)
    try:
        sink = Path(target).open("wb")  # noqa: SIM115 - only the opening is guarded here, not what is written
    except OSError as error:
        raise _unwritable(target, error.strerror or str(error)) from error
    try:
        with sink:
            yield sink
    except BaseException:
        # Half a result is none.
        Path(target).unlink(missing_ok=True)
        raise


def require_writable(target: str) -> None:
    """Make the folder of a file to write, and refuse a place where no file can be.

    >>> require_writable("matches.csv")
    """
    place = Path(target)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(target, error.strerror or str(error)) from error
    if not os.access(place.parent, os.W_OK):
        raise _unwritable(target, f"the folder {place.parent} is read-only")


def _unwritable(target: str, reason: str) -> DataError:
    return DataError("UNWRITABLE_FILE", f"{target} cannot be written: {reason}.", hint="Choose another --output.")


class _Encoded:
    """Bytes written to a text stream."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream
        self.closed = False

    def write(self, data: bytes) -> int:
        self._stream.write(bytes(data).decode("utf-8"))
        return len(data)

    def flush(self) -> None:
        self._stream.flush()


def _write_parquet(schema: pa.Schema, parts: Iterator[pa.Table], sink: Any, advance: Callable[[int], None]) -> None:
    with pyarrow.parquet.ParquetWriter(sink, schema) as writer:
        for part in parts:
            writer.write_table(part)
            advance(part.num_rows)


def _write_csv(schema: pa.Schema, parts: Iterator[pa.Table], sink: Any, advance: Callable[[int], None]) -> None:
    header = pa.table({field.name: pa.array([], type=_csv_type(field.type)) for field in schema})
    if not len(schema):
        return
    pyarrow.csv.write_csv(header, sink)
    without_header = pyarrow.csv.WriteOptions(include_header=False)
    for part in parts:
        pyarrow.csv.write_csv(csv_ready(part), sink, without_header)
        advance(part.num_rows)


def csv_ready(table: pa.Table) -> pa.Table:
    """Return a table with nested columns as JSON, which CSV can hold.

    >>> csv_ready(pa.table({"b": [[1, 2]]})).to_pylist()
    [{'b': '[1, 2]'}]
    """
    return pa.table({name: _csv_column(table[name]) for name in table.column_names})


def _csv_type(kind: pa.DataType) -> pa.DataType:
    return pa.string() if _needs_json(kind) else kind


def _csv_column(column: pa.ChunkedArray) -> pa.ChunkedArray | pa.Array:
    if not _needs_json(column.type):
        return column
    texts = [None if value is None else json.dumps(plain_value(value), ensure_ascii=False) for value in column.to_pylist()]
    return pa.array(texts, type=pa.string())


def _needs_json(kind: pa.DataType) -> bool:
    return bool(pa.types.is_nested(kind))


def _write_json(schema: pa.Schema, parts: Iterator[pa.Table], sink: Any, advance: Callable[[int], None]) -> None:  # noqa: ARG001
    for part in parts:
        for row in part.to_pylist():
            sink.write(json.dumps(plain_value(row), ensure_ascii=False).encode() + b"\n")
        advance(part.num_rows)


_WRITERS: dict[Format, Callable[[pa.Schema, Iterator[pa.Table], Any, Callable[[int], None]], None]] = {
    Format.PARQUET: _write_parquet,
    Format.CSV: _write_csv,
    Format.JSON: _write_json,
}
