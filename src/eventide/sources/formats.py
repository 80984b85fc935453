"""The file formats, and how the name of a file tells which it has."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

from eventide.errors import DataError


class Format(StrEnum):
    """The file formats that are read and written."""

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
