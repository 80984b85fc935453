"""Parquet, CSV and JSON lines as Arrow tables."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet

from eventide.errors import DataError, did_you_mean
from eventide.sources.formats import Format, format_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

INPUT_OPTION = "--input-format"


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


def read_table(path: str, given: Format | None = None, option: str = INPUT_OPTION) -> pa.Table:
    r"""Read a file, or a folder of Parquet files, as an Arrow table; `option` is what names the format where it is asked for.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
    ...     _ = file.write("kind,price\nA,1.5\n")
    ...     file.flush()
    ...     read_table(file.name).to_pylist()
    [{'kind': 'A', 'price': 1.5}]
    """
    require_file(path)
    file_format = format_of(path, given, option)
    with _unreadable_named(path, file_format, option):
        table = _READERS[file_format](path)
    _require_distinct(path, table.column_names)
    return table


def read_column_names(path: str) -> list[str]:
    """Return the names of the columns of a Parquet file, or of a folder of them, without reading the rows.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile(suffix=".parquet") as file:
    ...     pyarrow.parquet.write_table(pa.table({"low": [1.5]}), file.name)
    ...     read_column_names(file.name)
    ['low']
    """
    require_file(path)
    with _unreadable_named(path, Format.PARQUET, INPUT_OPTION):
        names = list(pyarrow.parquet.ParquetDataset(path).schema.names)
    _require_distinct(path, names)
    return names


@contextmanager
def _unreadable_named(path: str, file_format: Format, option: str) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise DataError(
            "UNREADABLE_FILE",
            f"{path} cannot be read as {file_format.value}: {_first_line(error)}.",
            hint=f"Check that the file is complete, or name its format with {option} parquet|csv|json.",
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


def parse_times(table: pa.Table, column: str, path: str) -> pa.Table:
    """Return the table with a time column of text turned into timestamps; other time columns stay as they are.

    >>> parse_times(pa.table({"ts": ["2024-01-02T14:30:00Z"]}), "ts", "trades.csv")["ts"].type
    TimestampType(timestamp[us, tz=UTC])
    """
    # CSV and JSON have no times of their own; what Arrow did not recognise is tried as ISO 8601 with and without a zone.
    texts = table[column]
    if not (pa.types.is_string(texts.type) or pa.types.is_large_string(texts.type)):
        return table
    for kind in (pa.timestamp("us"), pa.timestamp("us", tz="UTC")):
        try:
            parsed = texts.cast(kind)
        except pa.ArrowInvalid:
            continue
        return table.set_column(table.column_names.index(column), column, parsed)
    raise DataError(
        "BAD_TIME",
        f"The column {column} of {path} holds text that is not a time.",
        hint="Write times as 2024-01-02T14:30:00Z, or as whole numbers.",
    )


def _first_line(error: BaseException) -> str:
    text = str(error).strip() or type(error).__name__
    return text.splitlines()[0].rstrip(".")
