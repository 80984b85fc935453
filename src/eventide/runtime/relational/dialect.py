"""What differs between the SQL of the relational engines."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import pyarrow as pa
from sqlglot import exp

from eventide.plan.expressions.schema import Kind
from eventide.runtime.relational.plain_sql import plain_sql, quoted_name, quoted_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eventide.runtime.relational.adapter import SortKey

DAY = 86_400_000_000


class Dialect(ABC):
    """What differs between the two relational engines."""

    name = ""

    @abstractmethod
    def micros(self, sql: str, kind: Kind) -> str:
        """Return an expression for a time as microseconds since 1970."""

    @abstractmethod
    def key_hash(self, columns: Sequence[str], salt: int) -> str:
        """Return an expression for 64 bits that stand for the values of columns; null is a value."""

    @abstractmethod
    def moment(self, clock: str, time: pa.DataType) -> str:
        """Return a clock as a moment of the calendar that event times have; a window may end in the middle of a day."""

    @abstractmethod
    def texts(self, texts: Sequence[str]) -> str:
        """Return a list of texts."""

    @abstractmethod
    def head(self, texts: str, count: str) -> str:
        """Return the first items of a list."""

    @abstractmethod
    def item(self, texts: str, number: str) -> str:
        """Return an item of a list, counted from 1."""

    @abstractmethod
    def struct(self, fields: Sequence[tuple[str, str]]) -> str:
        """Return a struct of (name, SQL); structs are ordered by their fields, the first one first."""

    def time(self, clock: str, time: pa.DataType) -> str:
        """Return a clock as a time of the events' own type."""
        if pa.types.is_date(time):
            return f"CAST({self.moment(clock, time)} AS DATE)"
        return self.moment(clock, time)

    def sql(self, tree: exp.Expression) -> str:
        """Return an expression in the engine's own SQL."""
        return tree.sql(dialect=self.name)

    def text(self, text: str) -> str:
        """Return a text as a literal."""
        return exp.Literal.string(text).sql(dialect=self.name)

    def term(self, key: SortKey) -> str:
        """Return a term of ORDER BY."""
        direction = "DESC" if key.descending else "ASC"
        return f"{self.quote(key.name)} {direction} NULLS {'FIRST' if key.nulls_first else 'LAST'}"

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


    def moment(self, clock: str, time: pa.DataType) -> str:
        """Return a clock as a moment."""
        if pa.types.is_integer(time):
            return clock
        if pa.types.is_timestamp(time) and time.tz is not None:
            return f"timestamp_micros({clock})"
        # Dates and times without a zone count from midnight of their own calendar, whatever the session's zone is.
        rest = f"make_dt_interval(0, 0, 0, CAST(pmod({clock}, {DAY}) AS DECIMAL(18, 6)) / 1000000)"
        return f"CAST(date_from_unix_date(CAST(floor({clock} / {DAY}) AS INT)) AS TIMESTAMP_NTZ) + {rest}"

    def time(self, clock: str, time: pa.DataType) -> str:
        """Return a clock as a time of the events' own type."""
        if pa.types.is_date(time):
            return f"date_from_unix_date(CAST({clock} DIV {DAY} AS INT))"
        narrow = {pa.int8(): "TINYINT", pa.int16(): "SMALLINT", pa.int32(): "INT"}
        return f"CAST({clock} AS {narrow[time]})" if time in narrow else self.moment(clock, time)

    def texts(self, texts: Sequence[str]) -> str:
        """Return a list of texts."""
        return f"array({', '.join(map(self.text, texts))})"

    def head(self, texts: str, count: str) -> str:
        """Return the first items of a list."""
        return f"slice({texts}, 1, {count})"

    def item(self, texts: str, number: str) -> str:
        """Return an item of a list, counted from 1."""
        return f"element_at({texts}, {number})"

    def struct(self, fields: Sequence[tuple[str, str]]) -> str:
        """Return a struct."""
        return f"struct({', '.join(f'{sql} AS {name}' for name, sql in fields)})"


class DuckDialect(Dialect):
    """DuckDB."""

    name = "duckdb"

    def sql(self, tree: exp.Expression) -> str:
        """Return an expression in DuckDB's SQL."""
        plain = plain_sql(tree)
        if plain is not None:
            return plain
        if tree.find(exp.Format) is not None:
            # Spark's FORMAT_STRING has the rules of printf; sqlglot makes it DuckDB's FORMAT, which has others.
            tree = tree.copy().transform(
                lambda node: exp.Anonymous(this="printf", expressions=[node.this, *node.expressions])
                if isinstance(node, exp.Format)
                else node
            )
        return super().sql(tree)

    def text(self, text: str) -> str:
        """Return a text as a literal."""
        return quoted_text(text)

    def quote(self, column: str) -> str:
        """Return a column's name for use in SQL."""
        return quoted_name(column)

    def micros(self, sql: str, kind: Kind) -> str:  # noqa: ARG002 - one function fits all kinds of time here
        """Return an expression for a time as microseconds since 1970."""
        return f"epoch_us({sql})"

    def key_hash(self, columns: Sequence[str], salt: int) -> str:
        """Return an expression for 64 bits that stand for the values of columns; null is a value."""
        return f"CAST(hash({salt}, {', '.join(self.quote(name) for name in columns)}) >> 1 AS BIGINT)"

    def moment(self, clock: str, time: pa.DataType) -> str:
        """Return a clock as a moment."""
        if pa.types.is_integer(time):
            return clock
        zoned = pa.types.is_timestamp(time) and time.tz is not None
        return f"CAST(make_timestamp({clock}) AS TIMESTAMPTZ)" if zoned else f"make_timestamp({clock})"

    def texts(self, texts: Sequence[str]) -> str:
        """Return a list of texts."""
        return f"[{', '.join(map(self.text, texts))}]"

    def head(self, texts: str, count: str) -> str:
        """Return the first items of a list."""
        return f"{texts}[1:{count}]"

    def item(self, texts: str, number: str) -> str:
        """Return an item of a list, counted from 1."""
        return f"{texts}[{number}]"

    def struct(self, fields: Sequence[tuple[str, str]]) -> str:
        """Return a struct."""
        return f"struct_pack({', '.join(f'{name} := {sql}' for name, sql in fields)})"
