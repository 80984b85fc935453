"""Prepare and Finish, whatever the kind of pattern: what the relational engine does before and after matching."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from eventide.records import record
from eventide.runtime.relational.adapter import SortKey

if TYPE_CHECKING:
    from eventide.runtime.relational.adapter import Adapter, Columns, Relation


@record
class Preparation:
    """A projection before the shuffle and the sort, and one behind them.

    Tasks share the rows by `spread_by`, and rows are sorted by it and then by `order`.
    """

    narrow: Columns
    where: str | None
    spread_by: tuple[str, ...]
    order: tuple[SortKey, ...]
    columns: Columns
    """What reaches the stage."""

    def of(self, engine: Adapter, relation: Relation) -> Relation:
        """Return the prepared rows of a relation."""
        return engine.arrange(engine.select(relation, self.narrow, self.where), self.columns, self.spread_by, self.order)

    def unsorted(self) -> Preparation:
        """Return the preparation of rows that come in their order and in one piece."""
        return replace(self, spread_by=(), order=())

    def together(self) -> Preparation:
        """Return the preparation with all rows in one task, sorted as before."""
        return replace(self, spread_by=(), order=(*map(SortKey, self.spread_by), *self.order))

    def carrying(self, name: str) -> Preparation:
        """Return the preparation of rows with a further column, by which they are spread and sorted first."""
        carried = [(name, name)]
        return replace(
            self,
            narrow=[*self.narrow, *carried],
            spread_by=(name, *self.spread_by),
            columns=[*carried, *self.columns],
        )


@record
class Finish:
    """The rows of a result, made of what a stage found: the first `most` of them, filtered, as columns."""

    columns: Columns | None
    """None leaves the rows as they are."""
    where: str | None = None
    order: tuple[SortKey, ...] = ()
    most: int | None = None

    def of(self, engine: Adapter, found: Relation) -> Relation:
        """Return the result."""
        if self.most is not None:
            found = engine.first(found, self.order, self.most)
        return found if self.columns is None else engine.select(found, self.columns, self.where)
