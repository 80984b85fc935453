"""Several queries over the same table, one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eventide.runtime.relational.adapter import Adapter, Relation
    from eventide.runtime.work import Work

QUERY = "query"


class QueriesWork:
    """The runs of several queries; a first column names the query of a row."""

    def __init__(self, engine: Adapter, works: Mapping[str, Work]) -> None:
        self._engine = engine
        self._works = works

    def prepare(self) -> list[Any]:
        """Return the prepared events of each query."""
        return [work.prepare() for work in self._works.values()]

    def match(self, prepared: list[Any]) -> list[Any]:
        """Return what the stages of each query find."""
        return [work.match(events) for work, events in zip(self._works.values(), prepared, strict=True)]

    def finish(self, found: list[Any]) -> Relation:
        """Return the rows of all queries; columns that a query does not have are null."""
        results = [(name, work.finish(one)) for (name, work), one in zip(self._works.items(), found, strict=True)]
        return self._engine.union([self._named(name, result) for name, result in results])

    def explained(self) -> str:
        """Return how the engine runs each query."""
        return "\n".join(f"{name}\n{work.explained()}" for name, work in self._works.items())

    def _named(self, name: str, result: Relation) -> Relation:
        dialect = self._engine.dialect
        columns = [(column, dialect.quote(column)) for column in self._engine.schema(result).names]
        return self._engine.select(result, [(QUERY, dialect.text(name)), *columns])
