"""Parquet, CSV and JSON lines as Arrow tables, in and out."""

from __future__ import annotations

import json
import os
import sys
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet

from eventide.console.values import plain_value
from eventide.errors import DataError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

STANDARD_OUTPUT = "-"
ROWS_PER_WRITE = 100_000
ROWS_PER_GROUP = 1_000_000


class Format(StrEnum):
    """The file formats that the command line reads and writes."""

    PARQUET = "parquet"
    CSV = "csv"
    JSON = "json"


SUFFIXES = {
    ".parquet": Format.PARQUET,
    ".pq": Format.PARQUET,
    ".csv": Format.CSV,
    ".json": Format.JSON,
    ".jsonl": Format.JSON,
    ".ndjson": Format.JSON,
}
COMPRESSIONS = {".gz", ".bz2", ".zst", ".lz4"}


def format_of(path: str, given: Format | None, option: str) -> Format:
    """Return the format that was given or that the suffix of the path says.

    >>> format_of("trades.csv.gz", None, "--input-format")
    <Format.CSV: 'csv'>
    """
    if given is not None:
        return given
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    while suffixes and suffixes[-1] in COMPRESSIONS:
        suffixes.pop()
    if suffixes and suffixes[-1] in SUFFIXES:
        return SUFFIXES[suffixes[-1]]
    if Path(path).is_dir() and any(Path(path).glob("*.parquet")):
        return Format.PARQUET
    raise DataError(
        "UNKNOWN_FORMAT",
        f"The name {path} does not say which format it has.",
        hint=f"Use a suffix ({', '.join(SUFFIXES)}) or {option} parquet|csv|json.",
    )


def require_file(path: str) -> None:
    """Refuse a path where there is nothing.

    >>> require_file(".")
    """
    place = Path(path)
    try:
        if place.exists():
            return
        entries = place.parent.iterdir() if place.parent.is_dir() else ()
        names = sorted(entry.name for entry in entries if not entry.name.startswith("."))
    except (OSError, ValueError) as error:
        raise DataError("UNREADABLE_FILE", f"{path} cannot be read: {_first_line(error)}.") from error
    hint = did_you_mean(place.name, names) if names else f"The folder {place.parent} is empty or does not exist."
    raise DataError("FILE_NOT_FOUND", f"There is no file {path}.", hint=hint)


def read_table(path: str, given: Format | None = None) -> pa.Table:
    r"""Read a file, or a folder of Parquet files, as an Arrow table.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
    ...     _ = file.write("kind,price\nA,1.5\n")
    ...     file.flush()
    ...     read_table(file.name).to_pylist()
    [{'kind': 'A', 'price': 1.5}]
    """
    require_file(path)
    file_format = format_of(path, given, "--input-format")
    with _unreadable_named(path, file_format):
        table = _READERS[file_format](path)
    _require_distinct(path, table.column_names)
    return table


def read_column_names(path: str) -> list[str]:
    """Return the names of the columns of a Parquet file, or of a folder of them, without reading the rows.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile(suffix=".parquet") as file:
    ...     write_table(pa.table({"low": [1.5]}), file.name)
    ...     read_column_names(file.name)
    ['low']
    """
    require_file(path)
    with _unreadable_named(path, Format.PARQUET):
        names = list(pyarrow.parquet.ParquetDataset(path).schema.names)
    _require_distinct(path, names)
    return names


@contextmanager
def _unreadable_named(path: str, file_format: Format) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise DataError(
            "UNREADABLE_FILE",
            f"{path} cannot be read as {file_format.value}: {_first_line(error)}.",
            hint="Check that the file is complete, or name its format with --input-format parquet|csv|json.",
        ) from error


def _require_distinct(path: str, names: list[str]) -> None:
    twice = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    if twice:
        raise DataError("DUPLICATE_COLUMN", f"{path} has two columns {twice[0]}.", hint="Rename one of them.")


def _read_csv(path: str) -> pa.Table:
    # An empty field is null and "" is the empty string; NA or null stay the words they are.
    convert = pyarrow.csv.ConvertOptions(null_values=[""], strings_can_be_null=True, quoted_strings_can_be_null=False)
    return pyarrow.csv.read_csv(path, convert_options=convert, parse_options=pyarrow.csv.ParseOptions(newlines_in_values=True))


_READERS: dict[Format, Callable[[str], pa.Table]] = {
    Format.PARQUET: pyarrow.parquet.read_table,
    Format.CSV: _read_csv,
    Format.JSON: pyarrow.json.read_json,
}


def write_table(
    table: pa.Table, target: str, given: Format | None = None, *, advance: Callable[[int], None] = lambda _: None
) -> None:
    """Write a table to a file, or to standard output when the target is `-` (CSV unless another format is given).

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
    with _opened(target) as sink:
        _WRITERS[file_format](table, sink, advance)


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
    with sink:
        yield sink


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


def _write_parquet(table: pa.Table, sink: Any, advance: Callable[[int], None]) -> None:
    with pyarrow.parquet.ParquetWriter(sink, table.schema) as writer:
        for start in range(0, table.num_rows, ROWS_PER_GROUP):
            part = table.slice(start, ROWS_PER_GROUP)
            writer.write_table(part)
            advance(part.num_rows)


def _write_csv(table: pa.Table, sink: Any, advance: Callable[[int], None]) -> None:
    header = pa.table({field.name: pa.array([], type=_csv_type(field.type)) for field in table.schema})
    if table.num_columns == 0:
        return
    pyarrow.csv.write_csv(header, sink)
    without_header = pyarrow.csv.WriteOptions(include_header=False)
    for start in range(0, table.num_rows, ROWS_PER_WRITE):
        part = table.slice(start, ROWS_PER_WRITE)
        columns = {name: _csv_column(part[name]) for name in part.column_names}
        pyarrow.csv.write_csv(pa.table(columns), sink, without_header)
        advance(part.num_rows)


def _csv_type(kind: pa.DataType) -> pa.DataType:
    return pa.string() if _needs_json(kind) else kind


def _csv_column(column: pa.ChunkedArray) -> pa.ChunkedArray | pa.Array:
    if not _needs_json(column.type):
        return column
    texts = [None if value is None else json.dumps(plain_value(value), ensure_ascii=False) for value in column.to_pylist()]
    return pa.array(texts, type=pa.string())


def _needs_json(kind: pa.DataType) -> bool:
    return bool(pa.types.is_nested(kind))


def _write_json(table: pa.Table, sink: Any, advance: Callable[[int], None]) -> None:
    for start in range(0, table.num_rows, ROWS_PER_WRITE):
        part = table.slice(start, ROWS_PER_WRITE)
        for row in part.to_pylist():
            sink.write(json.dumps(plain_value(row), ensure_ascii=False).encode() + b"\n")
        advance(part.num_rows)


_WRITERS: dict[Format, Callable[[pa.Table, Any, Callable[[int], None]], None]] = {
    Format.PARQUET: _write_parquet,
    Format.CSV: _write_csv,
    Format.JSON: _write_json,
}


def _first_line(error: BaseException) -> str:
    text = str(error).strip() or type(error).__name__
    return text.splitlines()[0].rstrip(".")
