"""What a run over a stream does, whatever the kind of pattern: how events are prepared and held, and results finished."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from eventide.records import record
from eventide.runtime.streams.output import FINAL

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sqlglot import exp

    from eventide.runtime.relational.adapter import Columns
    from eventide.runtime.relational.dialect import Dialect
    from eventide.runtime.streams.job import StreamJob, StreamQuery


@record
class QueryWork:
    """What becomes of the results of one query of a run."""

    query: StreamQuery
    schema: Callable[[pa.Schema], pa.Schema]
    """The columns that leave a bucket, given those of the query's prepared events; refuses types that cannot be collected."""
    columns: Callable[[pa.Schema], list[tuple[str, exp.Expression]]]
    """The columns of the result over those that leave a bucket."""
    where: exp.Expression | None = None

    def leaving(self, prepared: pa.Schema) -> pa.Schema:
        """Return the columns that leave a bucket, given those that the run prepares."""
        return self.schema(prepared_for(self.query, prepared))

    def shown(self, leaving: pa.Schema, dialect: Dialect) -> Columns:
        """Return the columns of the result in the SQL of an engine."""
        return [(name, dialect.sql(tree)) for name, tree in self.columns(leaving)]

    def kept(self, dialect: Dialect) -> str | None:
        """Return which results are shown, in the SQL of an engine."""
        return None if self.where is None else dialect.sql(self.where)


@record
class StreamWork:
    """A run: how events are prepared and held, and what is made of the results of its queries."""

    job: StreamJob
    columns: Columns
    queries: Mapping[str, QueryWork]
    output: str = FINAL
    warnings: tuple[str, ...] = ()


def prepared_for(query: StreamQuery, prepared: pa.Schema) -> pa.Schema:
    """Return the columns of a run as one of its queries names them."""
    return pa.schema([prepared.field(shared).with_name(own) for own, shared in query.columns])
