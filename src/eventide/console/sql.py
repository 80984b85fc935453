"""SQL on the command line: when a text is SQL, which options fit it, and files as its tables."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from eventide.console.choices import Engine
from eventide.console.inputs import UsageMistakeError, read_data, split_setting
from eventide.errors import BindError, ParseError
from eventide.language.reading.tokens import is_word
from eventide.language.sql.tokens import tokenize_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pyspark.sql import SparkSession

    from eventide.sources.formats import Format

SQL = "sql"
# The names of other arguments of `et.statement(...).run` and `explain`.
_CAPS = ("max_matches", "max_steps", "max_memory", "max_state")
TAKEN_NAMES = ("spark", "format", "lateness", "output", "buckets", "overflow", *_CAPS)


def is_sql(text: str, language: str | None, tables: list[str] | None) -> bool:
    """Say whether a text is SQL: by what the user says, by its tables, or because it holds the word MATCH_RECOGNIZE.

    >>> is_sql("SELECT * FROM t MATCH_RECOGNIZE (PATTERN (A))", None, None)
    True
    >>> is_sql("SELECT * FROM S WHERE A FILTER A[x = 'MATCH_RECOGNIZE (']", None, None)
    False
    """
    if language is not None:
        return language.lower() == SQL
    if tables:
        return True
    try:
        tokens = tokenize_rows(text, 0, text)
    except ParseError:
        # A text that cannot be cut into words is wrong in every language, and all of them say so in the same way.
        return False
    return any(is_word(token, "MATCH_RECOGNIZE") for token in tokens)


def refuse_event_options(given: Mapping[str, Any]) -> None:
    """Refuse options for events and their matchers; `given` holds the value of each, None or False when it is not there.

    >>> refuse_event_options({"--type": None, "--count": False})
    """
    if given.get("--data"):
        raise UsageMistakeError(
            "BAD_OPTION",
            "--data is for events; SQL names its tables.",
            hint=f"--table NAME={given['--data']}, as the query names it",
        )
    if given.get("--stream"):
        raise UsageMistakeError(
            "BAD_OPTION", "--stream is for events; SQL names its tables.", hint=f"--table {given['--stream'][0]}"
        )
    for option, value in given.items():
        if value:
            raise UsageMistakeError(
                "BAD_OPTION", f"{option} does not go with SQL.", hint=_REPLACEMENTS.get(option, "Leave it out.")
            )


_REPLACEMENTS = {
    "--time": "Write ORDER BY in MATCH_RECOGNIZE.",
    "--time-unit": "Write ORDER BY in MATCH_RECOGNIZE, over a timestamp when it has WITHIN.",
    "--tie-break": "Write ORDER BY in MATCH_RECOGNIZE, with the tie-break as its last column.",
    "--type": "Write a condition on the column in DEFINE.",
    "--count": "Write SELECT COUNT(*) FROM ... MATCH_RECOGNIZE (...).",
    "--distribution": "Write PARTITION BY in MATCH_RECOGNIZE: partitions are spread over the tasks.",
    "--slices": "Write PARTITION BY in MATCH_RECOGNIZE: partitions are spread over the tasks.",
    "--matcher": "Leave it out; eventide explain says which way is taken and why.",
}


def refuse_sql_options(given: Mapping[str, Any]) -> None:
    """Refuse options that only SQL has.

    >>> refuse_sql_options({"--table": None})
    """
    for option, value in given.items():
        if value:
            raise UsageMistakeError(
                "BAD_OPTION",
                f"{option} is for SQL, and the query is not SQL.",
                hint="Say --language sql, or give the events with --data FILE.",
            )


def load_tables(
    settings: list[str] | None, engine: Engine, given: Format | None, session: Callable[[], SparkSession]
) -> dict[str, Any]:
    """Read files, given as NAME=FILE, as Arrow tables or as DataFrames; on Spark the session is given beside them.

    >>> load_tables(None, Engine.LOCAL, None, lambda: None)
    {}
    """
    paths = named_paths(settings or [], "--table")
    loaded = {name: read_data(path, given, engine, session) for name, path in paths.items()}
    return {"spark": session(), **loaded} if engine is Engine.SPARK else loaded


def named_paths(settings: list[str], option: str) -> dict[str, str]:
    """Return files by the names that an option gives them.

    >>> named_paths(["trades=trades.parquet"], "--table")
    {'trades': 'trades.parquet'}
    """
    paths: dict[str, str] = {}
    for setting in settings:
        name, path = split_setting(setting, option, "trades=trades.parquet")
        if name in paths or name in TAKEN_NAMES:
            problem = f"There are two tables {name}." if name in paths else f"A table cannot be called {name} here."
            raise UsageMistakeError("BAD_OPTION", problem, hint=f"{option} {name}_2={path}, and the same name in the query")
        paths[name] = path
    return paths


@contextmanager
def tables_named() -> Iterator[None]:
    """Say how a missing table is given here, which is not how it is given in Python.

    >>> with tables_named():
    ...     pass
    """
    try:
        yield
    except BindError as error:
        if error.condition != "UNKNOWN_TABLE":
            raise
        guess = error.hint.partition(" Give ")[0] if error.hint else ""
        shown = f"{guess} " if guess.startswith("Did") else ""
        name = error.text[error.span.start : error.span.end] if error.text and error.span else "NAME"
        raise BindError(
            error.condition, error.message, text=error.text, span=error.span, hint=f"{shown}Give it a file: --table {name}=FILE."
        ) from None
