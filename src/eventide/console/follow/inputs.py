"""Files as streams: a folder to which files are added, or a file that is replayed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eventide.errors import DataError
from eventide.records import record
from eventide.sources.files import INPUT_OPTION, parse_times, read_table, require_file
from eventide.sources.formats import Format, format_of
from eventide.sources.plain_types import plain_table
from eventide.sources.recording import Recording
from eventide.sources.replay import register_sources
from eventide.sources.settings import ReplaySettings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame, SparkSession

REPLAY_FORMAT = "eventide_replay"


@record
class StreamInput:
    """A stream that can be opened once there is a Spark session; `recording` is None for a folder."""

    path: str
    format: Format
    schema: Any
    recording: Recording | None = None
    end_marker: str | None = None

    @property
    def rows(self) -> int | None:
        """The number of rows that will come, or None when nobody knows."""
        total = None if self.recording is None else self.recording.total
        return None if total is None else total + (self.end_marker is not None)

    def open(self, session: SparkSession) -> DataFrame:
        """Return the streaming DataFrame."""
        if self.recording is not None:
            register_sources(session)
            place = str(Path(self.path).resolve())
            settings = replace(self.recording.settings, path=place, end_marker=self.end_marker)
            return session.readStream.format(REPLAY_FORMAT).options(**settings.as_options()).load()
        from pyspark.sql.pandas.types import from_arrow_schema  # noqa: PLC0415 - optional, and slow to import

        reader = session.readStream.schema(from_arrow_schema(self.schema))
        # A file that is still being written usually has another name.
        first = _first_file(self.path)
        reader = reader.option("pathGlobFilter", "*" + "".join(first.suffixes[-2:]) if first.suffixes else "*")
        if self.format is Format.CSV:
            reader = reader.option("header", "true").option("escape", '"')
        return reader.format(self.format.value).load(str(Path(self.path).resolve()))


def look_at_input(path: str, given: Format | None, time: str | None, replay: Mapping[str, Any]) -> StreamInput:
    """Look at a folder or a file that is to become a stream; `replay` holds settings that only a file can have.

    >>> look_at_input("payments.parquet", None, "ts", {"rate": 100.0})  # doctest: +SKIP
    """
    require_file(path)
    if not Path(path).is_dir():
        recording = Recording(ReplaySettings(path, time, given, **replay))
        return StreamInput(path, format_of(path, given, INPUT_OPTION), recording.table.schema, recording)
    if replay:
        raise DataError(
            "NOT_A_FILE",
            f"{path} is a folder, and only a file can be replayed with --{next(iter(replay))}.",
            hint="Leave the option out, or give one of the files.",
        )
    first = _first_file(path)
    table = plain_table(read_table(str(first), given), str(first))
    if time is not None and time in table.column_names:
        table = parse_times(table, time, str(first))
    return StreamInput(path, format_of(str(first), given, INPUT_OPTION), table.schema)


def _first_file(folder: str) -> Path:
    # Spark does not read these either.
    files = [file for file in sorted(Path(folder).iterdir()) if file.is_file() and file.name[0] not in "._"]
    if not files:
        raise DataError(
            "EMPTY_FOLDER", f"There is no file in {folder} yet.", hint="Put a first file there: it says which columns there are."
        )
    return files[0]
