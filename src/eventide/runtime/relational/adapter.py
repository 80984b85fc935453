"""What the runtime asks of a relational engine: the same few verbs, for every kind of pattern."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa

from eventide.records import record
from eventide.runtime.relational.arrow import arrow_kind

if TYPE_CHECKING:
    from sqlglot import exp

    from eventide.plan.expressions.schema import Kind
    from eventide.runtime.relational.dialect import Dialect

Columns = Sequence[tuple[str, str]]
"""Columns as (name, SQL in the engine's dialect)."""
Batches = Iterator[pa.RecordBatch]
Relation = Any
"""Rows that an engine can read; what it is, only the engine knows."""
OWN_NAMES = re.compile(r"__et_(?:table|match|started)_\d+")
"""The names that relations have in the queries we write."""


@record
class SortKey:
    """A column to sort by."""

    name: str
    descending: bool = False
    nulls_first: bool = True


class Adapter(ABC):
    """A relational engine. Relations are lazy where the engine is: nothing is copied between two verbs."""

    dialect: ClassVar[Dialect]
    in_process: ClassVar[bool]
    """Whether `through` reads its batches in this process: then a driver can look at the first ones, and rows have an order."""

    @abstractmethod
    def schema(self, relation: Relation) -> pa.Schema:
        """Return the columns with their Arrow types."""

    @abstractmethod
    def select(self, relation: Relation, columns: Columns, where: str | None = None) -> Relation:
        """Return columns of the rows that a condition keeps."""

    @abstractmethod
    def extend(self, relation: Relation, columns: Columns) -> Relation:
        """Return all rows with further columns."""

    @abstractmethod
    def number(self, relation: Relation, name: str) -> Relation:
        """Return all rows with a column that numbers them as they come."""

    @abstractmethod
    def union(self, relations: Sequence[Relation]) -> Relation:
        """Return the rows of all relations; columns go by name and are null where a relation lacks them."""

    @abstractmethod
    def arrange(self, relation: Relation, columns: Columns, spread_by: Sequence[str], order: Sequence[SortKey]) -> Relation:
        """Return columns of the rows, sorted; rows with the same values in `spread_by` are together, without it all of them."""

    @abstractmethod
    def through(self, relation: Relation, run: Callable[[Batches], Batches], schema: pa.Schema) -> Relation:
        """Return what a function makes of the rows, in batches; on a cluster each task runs it over its own rows."""

    @abstractmethod
    def first(self, relation: Relation, order: Sequence[SortKey], count: int) -> Relation:
        """Return the first rows in an order."""

    @abstractmethod
    def query(self, tree: exp.Expression, relations: Mapping[str, Relation]) -> Relation:
        """Return the rows of a query in Spark's dialect; `relations` are those that it knows by name."""

    @abstractmethod
    def run_sql(self, sql: str, relations: Mapping[str, Relation]) -> Relation:
        """Return the rows of a query in the engine's own dialect."""

    @abstractmethod
    def knows(self, table: exp.Table) -> bool:
        """Return whether the engine's catalog has a table."""

    @abstractmethod
    def result(self, relation: Relation) -> Any:
        """Return the rows as a user gets them."""

    @abstractmethod
    def batches(self, relation: Relation) -> Any:
        """Return the rows as batches that are computed as they are read."""

    @abstractmethod
    def result_schema(self, relation: Relation) -> Any:
        """Return the columns as a user gets them."""

    @abstractmethod
    def explained(self, relation: Relation) -> str:
        """Return how the engine would run a relation, in its own words."""

    def kinds(self, relation: Relation, trees: Sequence[exp.Expression]) -> list[Kind]:
        """Return the kinds of expressions over a row."""
        columns = [(f"c{number}", self.dialect.sql(tree)) for number, tree in enumerate(trees)]
        return [arrow_kind(field.type) for field in self.schema(self.select(relation, columns))]

    def is_stream(self, relation: Relation) -> bool:  # noqa: ARG002 - most have tables alone
        """Return whether a relation never ends."""
        return False

    def is_sorted(self, relation: Relation, order: Sequence[SortKey]) -> bool:  # noqa: ARG002 - most cannot know
        """Return whether the rows are known to come in an order: sorting them would only cost time and memory."""
        return False

    def count_nulls(self, relation: Relation, column: str) -> int | None:  # noqa: ARG002 - most would have to read the rows
        """Return how many rows have no value in a column, or None where that would have to be counted."""
        return None
