"""Prepare: the projection that the relational engine runs before matching, written once for Spark SQL and DuckDB."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eventide.pattern import WindowUnit
from eventide.plan.expressions.operators import Encoding
from eventide.plan.expressions.schema import CLOCK_COLUMN, STREAM_COLUMN, TIE_COLUMN, Kind
from eventide.plan.sequences.output import TIME_COLUMN
from eventide.records import record
from eventide.runtime.prepare.preparation import Finish, Preparation
from eventide.runtime.relational.adapter import SortKey

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eventide.plan.expressions.operators import ValueColumn
    from eventide.plan.expressions.schema import StreamSchema
    from eventide.plan.plan import Plan
    from eventide.runtime.relational.adapter import Adapter, Relation
    from eventide.runtime.relational.dialect import Dialect

CLOCK = CLOCK_COLUMN
RANK = "__et_rank"
"""The column of the match stage by which ORDER BY and SAMPLE choose matches, the lowest first."""
TYPE = "__et_type"
TIE = TIE_COLUMN
STREAM = STREAM_COLUMN
ARRIVAL = "__et_arrival"
ORDER = (CLOCK, TIE, STREAM, ARRIVAL)
"""The total order of events inside a partition; nulls in the tie-break come first."""


@record
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


def role_columns(schema: StreamSchema, number: int, dialect: Dialect) -> list[tuple[str, str]]:
    """Return the columns that say time, type, tie-break and stream of a stream's events, as (name, SQL)."""
    time = dialect.quote(schema.time)
    kind = schema.columns[schema.time]
    clock = f"CAST({time} AS BIGINT)" if kind is Kind.INTEGER else dialect.micros(time, kind)
    return [
        (TIME_COLUMN, time),
        (CLOCK, clock),
        (TYPE, f"CAST({dialect.quote(schema.type)} AS STRING)" if schema.type else "CAST(NULL AS STRING)"),
        (TIE, dialect.quote(schema.tie_break) if schema.tie_break else "0"),
        (STREAM, f"CAST({number} AS INT)"),
    ]


def merged(engine: Adapter, streams: Sequence[tuple[StreamSchema, Relation]]) -> Relation:
    """Return the events of all streams with the columns of their roles; those of tables are numbered as they come."""
    parts = []
    for number, (schema, relation) in enumerate(streams):
        roles = role_columns(schema, number, engine.dialect)
        if engine.is_stream(relation):
            # A stream numbers arrivals itself.
            parts.append(engine.extend(relation, [*roles, (ARRIVAL, "CAST(NULL AS BIGINT)")]))
        else:
            parts.append(engine.extend(engine.number(relation, ARRIVAL), roles))
    return engine.union(parts)


def condition_sql(plan: Plan, bit: int, dialect: Dialect) -> str:
    """Return the SQL that says whether an event sets a bit."""
    predicate = plan.predicates[bit]
    parts = []
    names = [name for name, _ in plan.streams]
    if predicate.stream is not None and len(names) > 1:
        parts.append(f"{STREAM} = {names.index(predicate.stream)}")
    if predicate.type is not None:
        untyped = [number for number, (_, schema) in enumerate(plan.streams) if schema.type is None]
        literal = dialect.text(predicate.type)
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


def event_order(plan: Plan) -> list[str]:
    """Return the columns that order events inside a key; those that never differ are left out of the sort."""
    schemas = [schema for _, schema in plan.streams]
    ties = [TIE] if any(schema.tie_break for schema in schemas) else []
    return [*ties, *([STREAM] if len(schemas) > 1 else []), ARRIVAL]


def preparation_of(plan: Plan, layout: Layout, dialect: Dialect, *, whole_groups: bool = False) -> Preparation:
    """Return how the merged events of a plan are prepared; `whole_groups` keeps all of a PARTITION BY group in one task."""
    keys = () if plan.interleaved else layout.keys
    spread_by = keys[: len(plan.keys)] if whole_groups else keys
    order = event_order(plan)
    return Preparation(
        narrow=[*prepared_columns(plan, layout, dialect), *((name, name) for name in order)],
        where=row_filter(plan, dialect),
        spread_by=spread_by,
        order=tuple(SortKey(name) for name in (*keys[len(spread_by) :], layout.clock, *order)),
        columns=[(name, name) for name in layout.columns()],
    )


def in_order(plan: Plan, engine: Adapter, streams: Sequence[Relation]) -> bool:
    """Return whether the events come in the order in which they are matched, so that sorting them would only cost time."""
    schema = plan.streams[0][1]
    alone = len(streams) == 1 and schema.tie_break is None and not plan.derived_keys and (plan.interleaved or not plan.keys)
    return alone and engine.is_sorted(streams[0], [SortKey(schema.time)])


def finish_of(plan: Plan, dialect: Dialect) -> Finish:
    """Return the result columns of a plan over the slots that a stage filled."""
    columns = [(column.name, dialect.sql(column.tree)) for column in plan.output.columns]
    where = " AND ".join(f"({dialect.sql(tree)})" for tree in plan.output.refine) or None
    if plan.most_rows is None:
        return Finish(columns, where)
    chosen = () if plan.results is None else (SortKey(RANK),)
    order = (*chosen, *(SortKey(name) for name in ("t", "o0", "o1", "o2")))
    return Finish(columns, where, order, plan.most_rows)
