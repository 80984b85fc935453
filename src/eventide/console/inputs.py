"""From what the user typed to queries and events."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import eventide as et
from eventide.console.choices import Engine
from eventide.console.spark import data_errors_named
from eventide.errors import DataError, EventideError, did_you_mean
from eventide.records import record
from eventide.sources.files import parse_times, read_column_names, read_table, require_file
from eventide.sources.formats import Format, format_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import pyarrow as pa
    from pyspark.sql import SparkSession

STANDARD_INPUT = "-"
LONGEST_PATH = 4096


@record
class Source:
    """Where the events come from and which columns play which role; `stream` None is the one stream of the query."""

    path: str
    time: str
    stream: str | None = None
    type: str | None = None
    tie_break: str | None = None
    time_unit: str | None = None
    format: Format | None = None


def read_query(given: str) -> str:
    """Return the text of a query: from a file, from standard input for `-`, or the argument itself.

    >>> read_query("SELECT * FROM S WHERE A")
    'SELECT * FROM S WHERE A'
    """
    try:
        if given == STANDARD_INPUT:
            return sys.stdin.read()
        if _is_file(given):
            return Path(given).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise DataError("UNREADABLE_FILE", f"The query in {given} is not UTF-8 text.", hint="Save it as UTF-8.") from None
    except OSError as error:
        raise DataError("UNREADABLE_FILE", f"The query in {given} cannot be read: {error.strerror}.") from error
    # A query has at least two words, so one word is the name of a file that is not there.
    if given and not any(character.isspace() or character == "(" for character in given):
        require_file(given)
        raise DataError("UNREADABLE_FILE", f"{given} is not a file.", hint="Give a file, - or the text of a query.")
    return given


def _is_file(given: str) -> bool:
    if len(given) > LONGEST_PATH or "\n" in given or "\0" in given:
        return False
    try:
        return Path(given).is_file()
    except OSError:
        return False


def split_setting(text: str, option: str, example: str) -> tuple[str, str]:
    """Split `name=value`.

    >>> split_setting("S1=a.parquet", "--stream", "S1=a.parquet")
    ('S1', 'a.parquet')
    """
    name, sign, value = text.partition("=")
    if not (name.strip() and sign and value.strip()):
        raise UsageMistakeError("BAD_OPTION", f"{option} {text} is not of the form name=value.", hint=f"{option} {example}")
    return name.strip(), value.strip()


class UsageMistakeError(EventideError):
    """Options that do not fit together."""


def load(sources: list[Source], engine: Engine, session: Callable[[], SparkSession]) -> dict[str | None, Any]:
    """Read the sources as Arrow tables, or as DataFrames of the session that is started when it is needed.

    >>> load([], Engine.LOCAL, lambda: None)
    {}
    """
    return {source.stream: _load_one(source, engine, session) for source in sources}


def _load_one(source: Source, engine: Engine, session: Callable[[], SparkSession]) -> Any:
    def with_times(table: pa.Table) -> pa.Table:
        return parse_times(table, source.time, source.path)

    def check(columns: list[str]) -> None:
        require_columns(source, columns)

    return bind_roles(source, read_data(source.path, source.format, engine, session, check, with_times))


def read_data(
    path: str,
    given: Format | None,
    engine: Engine,
    session: Callable[[], SparkSession],
    check: Callable[[list[str]], None] = lambda _: None,
    convert: Callable[[pa.Table], pa.Table] = lambda table: table,
) -> Any:
    """Read a file as an Arrow table or as a DataFrame; `check` gets its column names, `convert` what Arrow has read.

    >>> read_data("trades.parquet", None, Engine.LOCAL, lambda: None)  # doctest: +SKIP
    """
    if engine is Engine.LOCAL or format_of(path, given, "--input-format") is not Format.PARQUET:
        # On Spark, too, text is read by Arrow, so that it gets the same types on both engines.
        table = read_table(path, given)
        check(table.column_names)
        return convert(table) if engine is Engine.LOCAL else session().createDataFrame(convert(table))
    if "://" not in path:
        # What is wrong with a file is known long before a JVM has started.
        check(read_column_names(path))
    reader = session().read
    with data_errors_named(path):
        frame = reader.parquet(path)
    check(frame.columns)
    return frame


def require_columns(source: Source, columns: list[str]) -> None:
    """Refuse roles for columns that are not there.

    >>> require_columns(Source("trades.csv", "ts"), ["ts", "price"])
    """
    for option, name in (("--time", source.time), ("--type", source.type), ("--tie-break", source.tie_break)):
        if name is not None and name not in columns:
            raise DataError(
                "MISSING_COLUMN", f"{source.path} has no column {name}, which {option} names.", hint=did_you_mean(name, columns)
            )


def bind_roles(source: Source, data: Any) -> Any:
    """Return data as events.

    >>> import pyarrow as pa
    >>> bind_roles(Source("trades.csv", "ts"), pa.table({"ts": [1]})).schema.time
    'ts'
    """
    options: dict[str, Any] = {"tie_break": source.tie_break, "time_unit": source.time_unit}
    given = {name: value for name, value in options.items() if value is not None}
    return et.events(data, time=source.time, type=source.type, **given)


def as_arguments(events: Mapping[str | None, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return positional and named arguments for the methods of a query: one stream alone, several by name.

    >>> as_arguments({None: "events"})
    (('events',), {})
    >>> as_arguments({"S1": "first", "S2": "second"})
    ((), {'S1': 'first', 'S2': 'second'})
    """
    if None in events:
        return (events[None],), {}
    return (), {name: value for name, value in events.items() if name is not None}
