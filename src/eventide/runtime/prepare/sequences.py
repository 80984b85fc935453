"""Prepare: the projection that the relational engine runs before matching, written once for Spark SQL and DuckDB."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from eventide.pattern import WindowUnit
from eventide.plan.expressions.operators import Encoding
from eventide.plan.schema import CLOCK_COLUMN, Kind
from eventide.plan.sequences.output import TIME_COLUMN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eventide.plan.expressions.operators import ValueColumn
    from eventide.plan.plan import Plan
    from eventide.plan.schema import StreamSchema

CLOCK = CLOCK_COLUMN
TYPE = "__et_type"
TIE = "__et_tie"
STREAM = "__et_stream"
ARRIVAL = "__et_arrival"
ORDER = (CLOCK, TIE, STREAM, ARRIVAL)
"""The total order of events inside a partition; nulls in the tie-break come first."""


@dataclass(frozen=True)
class Layout:
    """The names of the columns between Prepare and Match."""

    keys: tuple[str, ...]
    clock: str
    attribute: str | None
    mask: str
    values: tuple[str, ...]
    payload: tuple[str, ...]
    order: tuple[str, ...]
    home: str | None = None

    def columns(self) -> list[str]:
        """Return all names in order."""
        some = [self.attribute] if self.attribute else []
        if self.home:
            some.append(self.home)
        return [*self.keys, self.clock, *some, self.mask, *self.values, *self.payload, *self.order]


def layout_of(plan: Plan, *, home: bool = False, slab: bool = False) -> Layout:
    """Return the column names of a plan's prepared events."""
    keys = len(plan.keys) + len(plan.derived_keys) + int(slab)
    limited = plan.most_rows is not None
    return Layout(
        tuple(f"k{number}" for number in range(keys)),
        "t",
        "w" if plan.window is not None and plan.window.unit is WindowUnit.ATTRIBUTE else None,
        "m",
        tuple(f"v{number}" for number in range(len(plan.values))),
        tuple(f"p{number}" for number in range(len(plan.output.payload))),
        tuple(f"o{number}" for number in range(3)) if limited else (),
        "h" if home else None,
    )


class Dialect(ABC):
    """What differs between the two relational engines."""

    name = ""

    @abstractmethod
    def micros(self, sql: str, kind: Kind) -> str:
        """Return an expression for a time as microseconds since 1970."""

    @abstractmethod
    def key_hash(self, columns: Sequence[str], salt: int) -> str:
        """Return an expression for 64 bits that stand for the values of columns; null is a value."""

    def sql(self, tree: exp.Expression) -> str:
        """Return an expression in the engine's own SQL."""
        return tree.sql(dialect=self.name)

    def quote(self, column: str) -> str:
        """Return a column's name for use in SQL."""
        return exp.to_identifier(column, quoted=True).sql(dialect=self.name)


class SparkDialect(Dialect):
    """Spark SQL."""

    name = "spark"

    def micros(self, sql: str, kind: Kind) -> str:
        """Return an expression for a time as microseconds since 1970."""
        if kind is Kind.DATE:
            return f"CAST(unix_date({sql}) AS BIGINT) * 86400000000"
        # A time without a zone has no moment that the session's zone could give it: in the hour that clocks go through twice, the
        # order would be lost. Spark folds the CASE away.
        since = f"CAST({sql} AS TIMESTAMP_NTZ) - TIMESTAMP_NTZ'1970-01-01 00:00:00'"
        local = f"CAST(CAST(CAST({since} AS INTERVAL SECOND) AS DECIMAL(18, 6)) * 1000000 AS BIGINT)"
        return f"CASE typeof({sql}) WHEN 'timestamp_ntz' THEN {local} ELSE unix_micros(CAST({sql} AS TIMESTAMP)) END"

    def key_hash(self, columns: Sequence[str], salt: int) -> str:
        """Return an expression for 64 bits that stand for the values of columns; null is a value."""
        # Spark's hash passes nulls over, so that (1, null) and (null, 1) would be one key.
        return f"xxhash64({salt}, {', '.join(f'{self.quote(name)}, {self.quote(name)} IS NULL' for name in columns)})"


class DuckDialect(Dialect):
    """DuckDB."""

    name = "duckdb"

    def sql(self, tree: exp.Expression) -> str:
        """Return an expression in DuckDB's SQL."""
        if tree.find(exp.Format) is not None:
            # Spark's FORMAT_STRING has the rules of printf; sqlglot makes it DuckDB's FORMAT, which has others.
            tree = tree.copy().transform(
                lambda node: exp.Anonymous(this="printf", expressions=[node.this, *node.expressions])
                if isinstance(node, exp.Format)
                else node
            )
        return super().sql(tree)

    def micros(self, sql: str, kind: Kind) -> str:  # noqa: ARG002 - one function fits all kinds of time here
        """Return an expression for a time as microseconds since 1970."""
        return f"epoch_us({sql})"

    def key_hash(self, columns: Sequence[str], salt: int) -> str:
        """Return an expression for 64 bits that stand for the values of columns; null is a value."""
        return f"CAST(hash({salt}, {', '.join(self.quote(name) for name in columns)}) >> 1 AS BIGINT)"


def role_columns(schema: StreamSchema, number: int, dialect: Dialect, arrival: str) -> list[tuple[str, str]]:
    """Return the columns that say time, type, tie-break, stream and arrival of a stream's events, as (name, SQL)."""
    time = dialect.quote(schema.time)
    kind = schema.columns[schema.time]
    clock = f"CAST({time} AS BIGINT)" if kind is Kind.INTEGER else dialect.micros(time, kind)
    return [
        (TIME_COLUMN, time),
        (CLOCK, clock),
        (TYPE, f"CAST({dialect.quote(schema.type)} AS STRING)" if schema.type else "CAST(NULL AS STRING)"),
        (TIE, dialect.quote(schema.tie_break) if schema.tie_break else "0"),
        (STREAM, f"CAST({number} AS INT)"),
        (ARRIVAL, arrival),
    ]


def condition_sql(plan: Plan, bit: int, dialect: Dialect) -> str:
    """Return the SQL that says whether an event sets a bit."""
    predicate = plan.predicates[bit]
    parts = []
    names = [name for name, _ in plan.streams]
    if predicate.stream is not None and len(names) > 1:
        parts.append(f"{STREAM} = {names.index(predicate.stream)}")
    if predicate.type is not None:
        untyped = [number for number, (_, schema) in enumerate(plan.streams) if schema.type is None]
        literal = exp.Literal.string(predicate.type).sql(dialect=dialect.name)
        if not untyped:
            parts.append(f"{TYPE} = {literal}")
        elif len(untyped) < len(names):
            parts.append(f"({TYPE} = {literal} OR {STREAM} IN ({', '.join(map(str, untyped))}))")
    parts.extend(f"({dialect.sql(condition)})" for condition in predicate.conditions)
    return " AND ".join(parts) if parts else "TRUE"


def mask_sql(plan: Plan, dialect: Dialect) -> str:
    """Return the SQL of the symbol mask, one bit for each predicate."""
    bits = [
        f"(CASE WHEN {condition_sql(plan, bit, dialect)} THEN {1 << bit} ELSE 0 END)" for bit in range(len(plan.predicates))
    ]
    return f"CAST({' + '.join(bits)} AS BIGINT)"


def value_sql(value: ValueColumn, dialect: Dialect) -> str:
    """Return the SQL of a value column, converted to what kernels take."""
    sql = dialect.sql(value.tree)
    if value.encoding is Encoding.CODE:
        return f"CAST({sql} AS STRING)"
    if value.encoding is Encoding.FLOAT:
        return f"CAST({sql} AS DOUBLE)"
    if value.kind in (Kind.TIMESTAMP, Kind.DATE):
        return dialect.micros(f"({sql})", value.kind)
    return f"CAST({sql} AS BIGINT)"


def prepared_columns(plan: Plan, layout: Layout, dialect: Dialect) -> list[tuple[str, str]]:
    """Return the columns of Prepare as (name, SQL) over the merged streams."""
    columns = [
        (name, dialect.quote(key)) for name, key in zip(layout.keys, [*plan.keys, *plan.derived_keys], strict=False)
    ]
    columns.append((layout.clock, CLOCK))
    if layout.attribute is not None:
        assert plan.window is not None and plan.window.attribute is not None
        schema = next(s for _, s in plan.streams if plan.window.attribute in s.columns)
        kind = schema.columns[plan.window.attribute]
        sql = dialect.quote(plan.window.attribute)
        if kind.numeric:
            measured = f"CAST({sql} AS {'BIGINT' if kind is Kind.INTEGER else 'DOUBLE'})"
        else:
            measured = dialect.micros(sql, kind)
        columns.append((layout.attribute, measured))
    columns.append((layout.mask, mask_sql(plan, dialect)))
    columns.extend((name, value_sql(value, dialect)) for name, value in zip(layout.values, plan.values, strict=True))
    columns.extend((name, dialect.sql(tree)) for name, tree in zip(layout.payload, plan.output.payload, strict=True))
    columns.extend(zip(layout.order, (TIE, STREAM, ARRIVAL), strict=False))
    return columns


def row_filter(plan: Plan, dialect: Dialect) -> str:
    """Return the SQL that keeps the events that can matter."""
    parts = [f"{CLOCK} IS NOT NULL"]
    if plan.window is not None and plan.window.attribute is not None:
        parts.append(f"{dialect.quote(plan.window.attribute)} IS NOT NULL")
    parts.extend(f"{dialect.quote(key)} IS NOT NULL" for key in plan.derived_keys)
    if plan.drops_irrelevant:
        bits = sorted({occurrence.bit for occurrence in plan.bound.occurrences} | {a.bit for a in plan.bound.absences})
        parts.append("(" + " OR ".join(f"({condition_sql(plan, bit, dialect)})" for bit in bits) + ")")
    return " AND ".join(parts)


def finish_columns(plan: Plan, dialect: Dialect) -> list[tuple[str, str]]:
    """Return the columns of the result as (name, SQL) over the slots."""
    return [(column.name, dialect.sql(column.tree)) for column in plan.output.columns]


def finish_filter(plan: Plan, dialect: Dialect) -> str | None:
    """Return the SQL of the conditions that no kernel knows, or None."""
    if not plan.output.refine:
        return None
    return " AND ".join(f"({dialect.sql(tree)})" for tree in plan.output.refine)


def select_list(columns: Sequence[tuple[str, str]], dialect: Dialect) -> str:
    """Return the columns as the list of a SELECT."""
    return ", ".join(f"{sql} AS {dialect.quote(name)}" for name, sql in columns)
