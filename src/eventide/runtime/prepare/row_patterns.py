"""Prepare for row patterns: the projections around the sort, written once for Spark SQL and DuckDB.

The *narrow* projection comes before the shuffle and the sort; conditions that look at neighbouring rows are computed in the
*sorted* projection behind it, with LAG and LEAD over the same order.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from sqlglot import exp

from eventide.records import record
from eventide.runtime.prepare.preparation import Finish, Preparation
from eventide.runtime.prepare.sequences import ARRIVAL, value_sql
from eventide.runtime.relational.adapter import SortKey

if TYPE_CHECKING:
    from eventide.plan.row_patterns.conditions import RowCondition
    from eventide.plan.row_patterns.plan import RowPlan
    from eventide.runtime.relational.adapter import Adapter, Relation
    from eventide.runtime.relational.dialect import Dialect

_MASK_TYPES = ((7, "TINYINT"), (15, "SMALLINT"), (31, "INT"), (62, "BIGINT"))


@record
class RowLayout:
    """The names of the columns between Prepare and Match that the plan does not give."""

    keys: tuple[str, ...]
    payload: tuple[str, ...]


@record
class RowPreparation:
    """The SQL of Prepare for one plan in one dialect."""

    plan: RowPlan
    dialect: Dialect

    @cached_property
    def keys(self) -> list[str]:
        """The columns of PARTITION BY."""
        return [f"k{number}" for number in range(len(self.plan.keys))]

    @cached_property
    def order(self) -> list[str]:
        """The columns of ORDER BY; a partition column needs no second copy."""
        return [self._key(name) or f"o{number}" for number, name in enumerate(self.plan.order)]

    @cached_property
    def payload(self) -> list[str]:
        """The columns that slots and result columns read."""
        names = []
        for number, tree in enumerate(self.plan.output.payload):
            key = self._key(tree.name) if isinstance(tree, exp.Column) else None
            names.append(key or f"p{number}")
        return names

    @property
    def layout(self) -> RowLayout:
        """The names that the match stage is told."""
        return RowLayout(tuple(self.keys), tuple(self.payload))

    @cached_property
    def columns(self) -> list[str]:
        """All columns that reach the match stage, in order."""
        timed = ["t"] if self.plan.window is not None else []
        values = [f"v{number}" for number in range(len(self.plan.values))]
        return list(dict.fromkeys([*self.keys, *timed, "m", *values, *self.payload]))

    def _key(self, column: str) -> str | None:
        return f"k{self.plan.keys.index(column)}" if column in self.plan.keys else None

    @cached_property
    def _carried(self) -> dict[str, str]:
        """The input columns that conditions on neighbours read, with their names behind the sort."""
        names: dict[str, str] = {}
        for condition in self.windowed:
            for tree in (condition.tree, *(neighbour.tree for neighbour in condition.neighbours)):
                for column in tree.find_all(exp.Column):
                    if not column.name.startswith("__et_n"):
                        names.setdefault(column.name, f"r{len(names)}")
        return names

    @cached_property
    def windowed(self) -> list[RowCondition]:
        """The conditions that the relational engine judges with LAG and LEAD."""
        return [condition for condition in self.plan.predicates if condition.windowed]

    def narrow(self) -> list[tuple[str, str]]:
        """Return the projection before the sort as (name, SQL) over the input."""
        quote = self.dialect.quote
        columns = {name: quote(column) for name, column in zip(self.keys, self.plan.keys, strict=True)}
        columns.update((name, quote(column)) for name, column in zip(self.order, self.plan.order, strict=True))
        columns[ARRIVAL] = ARRIVAL
        if self.plan.window is not None:
            time = self.plan.order[0]
            columns["t"] = self.dialect.micros(quote(time), self.plan.columns[time])
        bits = [(bit, condition) for bit, condition in enumerate(self.plan.predicates) if not condition.neighbours]
        columns["m"] = self._mask([(bit, self.dialect.sql(condition.tree)) for bit, condition in bits])
        columns.update((f"v{number}", value_sql(value, self.dialect)) for number, value in enumerate(self.plan.values))
        columns.update(
            (name, self.dialect.sql(tree)) for name, tree in zip(self.payload, self.plan.output.payload, strict=True)
        )
        columns.update((name, quote(column)) for column, name in self._carried.items())
        return list(columns.items())

    @cached_property
    def sort_keys(self) -> list[SortKey]:
        """How rows are sorted inside a partition."""
        keys = zip(self.order, self.plan.query.order_by, strict=True)
        return [*(SortKey(name, key.descending, key.nulls_first) for name, key in keys), SortKey(ARRIVAL)]

    def sorted(self) -> list[tuple[str, str]]:
        """Return the projection behind the sort as (name, SQL) over the narrow columns."""
        bits = [
            (bit, self._over_neighbours(condition)) for bit, condition in enumerate(self.plan.predicates) if condition.windowed
        ]
        mask = f"CAST(m + {self._mask(bits)} AS {self._mask_type})" if bits else "m"
        return [(name, mask if name == "m" else name) for name in self.columns]

    def _over_neighbours(self, condition: RowCondition) -> str:
        partition = f"PARTITION BY {', '.join(self.keys)} " if self.keys else ""
        window = f"OVER ({partition}ORDER BY {', '.join(self.dialect.term(key) for key in self.sort_keys)})"
        sql = self.dialect.sql(self._behind_sort(condition.tree))
        for number, neighbour in enumerate(condition.neighbours):
            function = "LAG" if neighbour.shift < 0 else "LEAD"
            value = self.dialect.sql(self._behind_sort(neighbour.tree))
            placeholder = self.dialect.quote(f"__et_n{number}__")
            sql = sql.replace(placeholder, f"{function}({value}, {abs(neighbour.shift)}) {window}")
        return sql

    def _behind_sort(self, tree: exp.Expression) -> exp.Expression:
        holder = exp.Paren(this=tree.copy())
        for column in list(holder.find_all(exp.Column)):
            name = f"{column.name}__" if column.name.startswith("__et_n") else self._carried[column.name]
            # Quoted, so that a placeholder is written in one way only.
            column.replace(exp.column(exp.to_identifier(name, quoted=True)))
        return holder

    @property
    def _mask_type(self) -> str:
        return next(name for bits, name in _MASK_TYPES if len(self.plan.predicates) <= bits)

    def _mask(self, bits: list[tuple[int, str]]) -> str:
        terms = [f"(CASE WHEN {sql} THEN CAST({1 << bit} AS {self._mask_type}) ELSE 0 END)" for bit, sql in bits]
        return f"CAST({' + '.join(terms) or '0'} AS {self._mask_type})"

    def preparation(self) -> Preparation:
        """Return how numbered rows are prepared."""
        return Preparation(self.narrow(), None, tuple(self.keys), tuple(self.sort_keys), self.sorted())

    def in_order(self, engine: Adapter, relation: Relation) -> bool:
        """Return whether rows come in the order of the clause, so that sorting them would only cost time and memory."""
        keys = zip(self.plan.order, self.plan.query.order_by, strict=True)
        order = [SortKey(name, key.descending, key.nulls_first) for name, key in keys]
        return not self.windowed and not self.plan.keys and engine.is_sorted(relation, order)

    def finish(self) -> Finish:
        """Return the projection over slots."""
        return Finish([(name, self.dialect.sql(tree)) for name, tree in self.plan.output.columns])
