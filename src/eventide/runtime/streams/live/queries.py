"""An open stream of several queries, which come and go while it runs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from eventide.errors import BindError, did_you_mean
from eventide.runtime.streams.live.running import RunningFlow
from eventide.runtime.streams.live.stream import MATCHES, Live

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import pyarrow as pa

    from eventide.runtime.streams.live.flow import Flow
    from eventide.runtime.streams.live.saved import Recipe

    Opened = tuple[Flow, Recipe]


class LiveQueries(Live):
    """A stream that several queries share. A first column `query` names the query of a match."""

    def __init__(self, queries: Mapping[str, Any], plan: Callable[[Mapping[str, Any]], Opened], time: pa.DataType) -> None:
        """Take queries by name; `plan` returns the run of any of them, and what opens it again."""
        self._queries = dict(queries)
        self._plan = plan
        flow, recipe = plan(queries)
        super().__init__(recipe, time, {MATCHES: RunningFlow(flow)}, flow.work.job.lateness)

    @property
    def queries(self) -> tuple[str, ...]:
        """The names of the queries."""
        return tuple(self._queries)

    def add(self, name: str, query: Any) -> None:
        """Begin another query, a text or one that was read; it sees the events from now on, and the others keep their state."""
        self._check_open()
        if name in self._queries:
            raise BindError("BAD_REGISTRY", f"There is a query {name} already.", hint="Drop it first, or take another name.")
        self._change({**self._queries, name: query})

    def drop(self, name: str) -> None:
        """End a query: what it holds is forgotten. The others keep their state."""
        self._check_open()
        if name not in self._queries:
            raise BindError("BAD_REGISTRY", f"There is no query {name}.", hint=did_you_mean(name, self._queries))
        if len(self._queries) == 1:
            raise BindError("NO_QUERIES", f"{name} is the only query.", hint="Add another one first, or close the stream.")
        self._change({one: query for one, query in self._queries.items() if one != name})

    def _change(self, queries: Mapping[str, Any]) -> None:
        flow, recipe = self._plan(queries)
        running = RunningFlow(flow)
        # As a registry that changed between two runs: state goes to the queries that it belongs to.
        running.driver.load(self._matching.driver.dump())
        self._matching.close()
        self._flows[MATCHES] = running
        self._queries = dict(queries)
        self._recipe = replace(recipe, schemas=self._recipe.schemas)
