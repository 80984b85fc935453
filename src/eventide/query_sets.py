"""Many queries over one stream: given as a mapping, or kept in a registry that changes between runs."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from eventide import pipeline
from eventide.api import Query, pushed_streams, query
from eventide.errors import BindError, EventideError
from eventide.records import record
from eventide.runtime.options import ERROR, FINAL, RunOptions

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import timedelta

    from eventide.api import Events
    from eventide.pattern import Query as QueryModel
    from eventide.plan.plan import Plan
    from eventide.runtime.inputs import EventInput
    from eventide.runtime.streams.live.queries import LiveQueries
    from eventide.runtime.work import Work


@record
class Queries:
    """Queries by name; made by `queries`."""

    by_name: Mapping[str, Query]

    def match(
        self,
        events: Events | None = None,
        /,
        *,
        lateness: str | int | timedelta | None = None,
        output: str = FINAL,
        buckets: int | None = None,
        max_state: int | None = None,
        overflow: str = ERROR,
        idle_after: str | int | timedelta | None = None,
        finish: bool = False,
        **streams: Events,
    ) -> Any:
        """Return the matches of all queries, with a first column `query`; columns that a query does not have are null.

        A stream is read, shuffled and kept once for all of them. After a restart from the same checkpoint, queries that are
        unchanged go on, changed and new ones begin anew, and the state of those that are gone is dropped.

        >>> import pyarrow as pa
        >>> from eventide import events
        >>> table = pa.table({"ts": [1, 2, 3], "kind": ["A", "B", "C"]})
        >>> both = queries({"ab": "SELECT b.ts AS t WHERE A ; B AS b", "ac": "SELECT c.ts AS t WHERE A ; C AS c"})
        >>> both.match(events(table, time="ts", type="kind")).to_pylist()
        [{'query': 'ab', 't': 2}, {'query': 'ac', 't': 3}]
        """
        options = RunOptions(
            lateness=lateness,
            output=output,
            buckets=buckets,
            max_state=max_state,
            overflow=overflow,
            idle_after=idle_after,
            finish=finish,
        )
        source, work = self._work(events, streams, options)
        return source.engine.result(pipeline.carry_out(work))

    def open(
        self,
        schema: Any = None,
        /,
        *,
        time: str | None = None,
        type: str | None = None,  # noqa: A002
        tie_break: str | None = None,
        types: Sequence[str] | None = None,
        time_unit: str | None = None,
        lateness: str | int | timedelta | None = None,
        output: str = FINAL,
        buckets: int | None = None,
        max_state: int | None = None,
        overflow: str = ERROR,
        **streams: Events,
    ) -> LiveQueries:
        """Open a stream in this process for all queries, in one pass. The arguments are those of `Query.open`.

        While it runs, `add` begins further queries and `drop` ends some; the others keep their state.

        >>> columns = {"ts": int, "kind": str}
        >>> live = queries({"ab": "SELECT b.ts AS t WHERE A ; B AS b WITHIN 9"}).open(columns, time="ts", type="kind")
        >>> live.add("ac", "SELECT c.ts AS t WHERE A ; C AS c WITHIN 9")
        >>> live.push([{"ts": n, "kind": kind} for n, kind in enumerate("ABCD")]).to_pylist()
        [{'query': 'ab', 't': 1}, {'query': 'ac', 't': 2}]
        """
        from eventide.opening.queries import open_queries  # noqa: PLC0415 - tables need none of it

        roles = {"time": time, "type": type, "tie_break": tie_break, "types": types, "time_unit": time_unit}
        given, named = pushed_streams("stream", schema, roles, streams)
        options = RunOptions(lateness=lateness, output=output, buckets=buckets, max_state=max_state, overflow=overflow)

        def run(chosen: Mapping[str, Any]) -> tuple[dict[str, QueryModel], EventInput, Work]:
            read = queries(chosen)
            return {name: one.model for name, one in read.by_name.items()}, *read._work(given, named, options)  # noqa: SLF001 - one of us

        first = next(iter(self.by_name.values()))
        return open_queries(self.by_name, run, first.input_of(given, named), options)

    def _work(
        self, events: Events | None, streams: Mapping[str, Events], options: RunOptions
    ) -> tuple[EventInput, Work]:
        """Return what the queries read, and the run of all of them."""
        plans: dict[str, Plan] = {}
        source: EventInput | None = None
        for name, one in self.by_name.items():
            try:
                source = one.input_of(events, streams)
                plans[name] = pipeline.plan(one.model, source, options)
            except EventideError as error:
                raise _named(error, name) from None
        assert source is not None
        if len(streams) + (events is not None) > 1:
            _refuse_other_streams(plans)
        _refuse_own_columns(plans)
        return source, pipeline.work_together(plans, source, options)


def queries(given: Mapping[str, Any] | str | Path | Any) -> Queries:
    """Read queries by name, from a mapping, a registry file or a table.

    A registry file is JSON (`{"name": "SELECT ..."}`) or TOML (`name = '''SELECT ...'''`). A table (a Spark DataFrame or anything
    with the Arrow C stream interface) has the columns `name` and `query`, and may have `language` and `enabled`.

    >>> sorted(queries({"pairs": "SELECT * WHERE A ; B"}).by_name)
    ['pairs']
    """
    read: dict[str, Query] = {}
    for name, text, language in _entries(given):
        if not isinstance(name, str) or not name:
            raise BindError("BAD_REGISTRY", f"A query name must be text, not {name!r}.", hint="Give each query a name.")
        if name in read:
            raise BindError("BAD_REGISTRY", f"There are two queries {name}.", hint="Rename one of them.")
        if text is None:
            raise BindError("BAD_REGISTRY", f"The query {name} has no text.", hint="Write it, or leave the name out.")
        try:
            read[name] = text if isinstance(text, Query) else query(text, language)
        except EventideError as error:
            raise _named(error, name) from None
    if not read:
        raise BindError("NO_QUERIES", "There is no query to run.", hint='Give some: et.queries({"name": "SELECT ..."}).')
    return Queries(read)


def _entries(given: Any) -> list[tuple[Any, Any, str | None]]:
    if isinstance(given, str | Path):
        given = _registry(Path(given))
    if isinstance(given, Mapping):  # a DataFrame of Spark Connect says yes to any attribute
        return [(name, text, None) for name, text in given.items()]
    if hasattr(given, "__arrow_c_stream__") or hasattr(given, "collect"):
        return _rows(given)
    raise BindError(
        "BAD_REGISTRY",
        f"A {type(given).__name__} holds no queries.",
        hint="Give a mapping of names to queries, the path of a .json or .toml file, or a table with name and query.",
    )


def _registry(path: Path) -> dict[str, Any]:
    readers = {".json": json.loads, ".toml": tomllib.loads}
    if path.suffix not in readers:
        raise BindError("BAD_REGISTRY", f"{path} is not a registry of queries.", hint="Use a .json or a .toml file.")
    try:
        read: Any = readers[path.suffix](path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BindError("BAD_REGISTRY", f"{path} cannot be read: {error.strerror}.", hint="Check the path.") from None
    except ValueError as error:
        raise BindError("BAD_REGISTRY", f"{path} cannot be read: {error}.", hint="Fix the file.") from None
    if not isinstance(read, dict) or not all(isinstance(text, str) for text in read.values()):
        raise BindError("BAD_REGISTRY", f"{path} does not map names to texts.", hint='Write {"name": "SELECT ..."}.')
    return read


def _rows(table: Any) -> list[tuple[Any, Any, str | None]]:
    rows = [row.asDict() for row in table.collect()] if hasattr(table, "collect") else pa.table(table).to_pylist()
    for row in rows:
        if not {"name", "query"} <= set(row):
            raise BindError(
                "BAD_REGISTRY", "The table of queries lacks the column name or query.", hint=f"It has: {', '.join(row)}."
            )
    return [(row["name"], row["query"], row.get("language")) for row in rows if row.get("enabled", True)]


def _named(error: EventideError, name: str) -> EventideError:
    return type(error)(error.condition, f"{name}: {error.message}", text=error.text, span=error.span, hint=error.hint)


def _refuse_own_columns(plans: Mapping[str, Plan]) -> None:
    for name, plan in plans.items():
        if any(column.name.lower() == "query" for column in plan.output.columns):
            raise BindError(
                "DUPLICATE_COLUMN",
                f"{name} has a column query, which is also the column that names the query.",
                hint="Give it another name: SELECT ... AS query_text.",
            )


def _refuse_other_streams(plans: Mapping[str, Plan]) -> None:
    first, *others = plans.items()
    for name, plan in others:
        # Streams are numbered by their places in FROM, and all queries read the same merged events.
        if [stream for stream, _ in plan.streams] != [stream for stream, _ in first[1].streams]:
            raise BindError(
                "OTHER_STREAMS",
                f"The queries {first[0]} and {name} read other streams, so one pass cannot serve both.",
                hint="Name the same streams in FROM, in the same order.",
            )
