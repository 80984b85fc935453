"""MEASURES and the columns of the result: fields that the match stage fills, and expressions over them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from eventide.errors import BindError
from eventide.pattern.row_patterns import RowsPerMatch, Variable, walk_rows
from eventide.plan.expressions.columns import check_kinds
from eventide.plan.expressions.evaluable import check_probes
from eventide.plan.row_patterns.conditions import probe_of, refuse_totals
from eventide.plan.row_patterns.readings import Cell, Reader, Total, mark_number
from eventide.records import record

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eventide.pattern.row_patterns import Measure, RowQuery
    from eventide.plan.expressions.schema import KindsOf
    from eventide.plan.row_patterns.readings import Names, Reading

MATCHED = "matched"
"""The field that tells rows of matches from unmatched ones."""


@record
class RowOutput:
    """Slots `s0`, `s1`, ... filled from readings, row columns `c0`, ... taken from the input, and the result over both."""

    fields: tuple[Reading, ...]
    payload: tuple[exp.Expression, ...]
    """Expressions over one row that fields and row columns read."""
    field_payload: tuple[int, ...]
    """[field]: its payload, or -1."""
    row_payload: tuple[int, ...]
    """[row column]: its payload."""
    columns: tuple[tuple[str, exp.Expression], ...]
    """Name and expression of each result column."""
    measures: Mapping[str, tuple[Reading, ...]]
    """What each measure reads of the match."""


def bind_output(query: RowQuery, names: Names, kinds_of: KindsOf) -> RowOutput:
    """Bind the measures and choose the columns of the result."""
    return _Binder(query, names, kinds_of).bind()


class _Binder:
    def __init__(
        self, query: RowQuery, names: Names, kinds_of: KindsOf
    ) -> None:
        self.query = query
        self.names = names
        self.kinds_of = kinds_of
        self.fields: dict[Reading, int] = {}
        self.payload: dict[str, int] = {}
        self.trees: list[exp.Expression] = []
        self.rows: dict[str, int] = {}
        self.readings: dict[str, tuple[Reading, ...]] = {}
        self.probes: list[tuple[exp.Expression, exp.Expression]] = []
        """What the engine is asked about, with the measure that it comes from."""

    def bind(self) -> RowOutput:
        one = self.query.rows_per_match is RowsPerMatch.ONE
        reader = Reader(self.names, last_row=one)
        measures = [(measure.name, self._measure(measure, reader)) for measure in self.query.measures]
        check_probes(self.probes, self.kinds_of, self.names.text)
        partition = [self._input(name.text) for name in self.query.partition_by]
        front = list(dict.fromkeys(partition))
        if not one:
            front.extend(name for key in self.query.order_by if (name := self._input(key.column.text)) not in front)
        behind = [] if one else [name for name in self.names.schema.columns if name not in front]
        columns: list[tuple[str, exp.Expression]] = [(name, self._row_column(name)) for name in front]
        columns.extend(measures)
        columns.extend((name, self._row_column(name)) for name in behind)
        self._refuse_duplicates([*front, *behind])
        if not columns:
            raise BindError(
                "NO_COLUMNS",
                "ONE ROW PER MATCH without PARTITION BY and MEASURES gives rows without columns.",
                text=self.names.text,
                span=next((node.span for node in walk_rows(self.query.pattern) if isinstance(node, Variable)), None),
                hint="Add MEASURES, for example MEASURES COUNT(*) AS n, or write ALL ROWS PER MATCH.",
            )
        field_payload = tuple(self._payload_of(field) for field in self.fields)
        row_payload = tuple(self._payload(exp.column(exp.to_identifier(name, quoted=True))) for name in self.rows)
        return RowOutput(tuple(self.fields), tuple(self.trees), field_payload, row_payload, tuple(columns), self.readings)

    def _measure(self, measure: Measure, reader: Reader) -> exp.Expression:
        taken = reader.take(measure.expression.tree)
        self.readings[measure.name] = taken.readings
        refuse_totals(taken, self.names, self.kinds_of)
        probe = probe_of(taken)
        check_kinds(probe, self.names.schema, self.names.text)
        self.probes.append((probe, measure.expression.tree))
        holder = exp.Paren(this=taken.rest.copy())
        for node in list(holder.walk(bfs=False)):
            number = mark_number(node)
            if number is not None:
                node.replace(exp.column(f"s{self._field(taken.readings[number])}"))
        tree: exp.Expression = holder.this
        if self.query.rows_per_match is RowsPerMatch.ALL_WITH_UNMATCHED:
            tree = exp.Case(ifs=[exp.If(this=exp.column(MATCHED), true=tree)])
        return tree

    def _field(self, reading: Reading) -> int:
        return self.fields.setdefault(reading, len(self.fields))

    def _payload_of(self, reading: Reading) -> int:
        if isinstance(reading, Cell | Total) and reading.tree is not None:
            return self._payload(reading.tree)
        return -1

    def _payload(self, tree: exp.Expression) -> int:
        sql = tree.sql(dialect="spark")
        if sql not in self.payload:
            self.payload[sql] = len(self.trees)
            self.trees.append(tree)
        return self.payload[sql]

    def _row_column(self, name: str) -> exp.Expression:
        return exp.column(f"c{self.rows.setdefault(name, len(self.rows))}")

    def _input(self, name: str) -> str:
        column = self.names.schema.resolve(name)
        assert column is not None
        return column

    def _refuse_duplicates(self, taken: list[str]) -> None:
        used = {name.lower() for name in taken}
        for measure in self.query.measures:
            if measure.name.lower() in used:
                raise BindError(
                    "DUPLICATE_COLUMN",
                    f"The result would have two columns {measure.name}.",
                    text=self.names.text,
                    span=measure.span,
                    hint="Give the measure another name.",
                )
