"""What state belongs to: the parts of a query that shape it, in words that its user knows.

A query may change where its state stays valid: the names, the order and the expressions of what it shows, over columns that the
state holds. Every other change is refused, and named.
"""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from eventide.records import record

if TYPE_CHECKING:
    from collections.abc import Mapping

LONGEST = 60
"""Texts of more letters are cut where a message names them."""


@record
class StateOwner:
    """A query, as far as its state depends on it."""

    parts: Mapping[str, str]
    """What shapes the state, by the names that users know it by: clauses, roles of columns, settings."""
    computed: Mapping[str, str]
    """The columns that it matches by, with their SQL."""
    shown: Mapping[str, str]
    """The columns that it holds for the result, with their SQL."""
    types: Mapping[str, str] = field(default_factory=dict)
    """The types of all of these columns."""

    def typed(self, types: Mapping[str, str]) -> StateOwner:
        """Return the same with the types of its columns."""
        return replace(self, types={name: types[name] for name in (*self.computed, *self.shown)})

    def written(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return {name: dict(getattr(self, name)) for name in ("parts", "computed", "shown", "types")}

    def change_since(self, written: Mapping[str, Any]) -> str | None:
        """Say what differs from the query that wrote a state, or None where that state is valid for this one."""
        before = StateOwner(**written)
        for name in dict.fromkeys([*before.parts, *self.parts]):
            was, now = before.parts.get(name), self.parts.get(name)
            if was != now:
                return f"{name} was {_text(was)} and is {_text(now)}"
        for name in dict.fromkeys([*before.computed, *self.computed]):
            sql = self.computed.get(name)
            if before.computed.get(name) != sql:
                return f"a column was computed as {_text(before.computed.get(name))} and is computed as {_text(sql)}"
            if before.types.get(name) != self.types.get(name):
                return f"the type of {sql} was {before.types[name]} and is {self.types[name]}"
        held = {sql: before.types.get(name) for name, sql in before.shown.items()}
        for name, sql in self.shown.items():
            if sql not in held:
                return f"the result reads {_text(sql)}, which the state does not hold"
            if held[sql] != self.types.get(name):
                return f"the type of {sql} was {held[sql]} and is {self.types[name]}"
        return None

    def held_in(self, written: Mapping[str, Any]) -> HeldColumns:
        """Return how the columns of the result are called in a valid state."""
        names = {sql: name for name, sql in written["shown"].items()}
        return HeldColumns(frozenset(written["shown"]), {name: names[sql] for name, sql in self.shown.items()})


@record
class HeldColumns:
    """How the columns that a state holds for the result are called in it, and now."""

    before: frozenset[str] = frozenset()
    now: Mapping[str, str] = field(default_factory=dict)
    """Names in the state, by the names of now; a column that is no longer shown has none."""

    def renamed(self, table: pa.Table) -> pa.Table:
        """Return a held table with the columns that are shown now, under their names."""
        held = [name for name in table.column_names if name in self.before]
        shown = [(now, before) for now, before in self.now.items() if before in held]
        if held == [now for now, _ in shown] == [before for _, before in shown]:
            return table
        names: list[tuple[str, str]] = []
        for name in table.column_names:
            if name not in held:
                names.append((name, name))
            elif shown:
                # They stand side by side, where the first of them stood.
                names += shown
                shown = []
        return pa.table([table.column(before) for _, before in names], names=[now for now, _ in names])


AS_HELD = HeldColumns()
"""Nothing is called otherwise."""


def _text(value: str | None) -> str:
    if value is None:
        return "not there"
    return value if len(value) <= LONGEST else f"{value[: LONGEST - 1]}…"
